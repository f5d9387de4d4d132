/** Single sign-on: operators sign in at their own OpenID Connect issuer, beside the password or instead of it. */
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { OidcGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import * as SignOn from "./SignOn.ts"

export const oidc = Feature.make({
  name: "oidc",
  groups: [OidcGroup],
  handlers: Layer.provide(Http.layer, Layer.provide(SignOn.layer, SecureRandom.layerWebCrypto)),
  degradation
})
