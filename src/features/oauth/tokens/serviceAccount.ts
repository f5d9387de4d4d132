/** Exchanges a service-account document for an access token: the JWT bearer grant (RFC 7523), signed RS256. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { importPKCS8, SignJWT } from "jose"
import { CredentialFailure } from "#actors/request/ports/Credentials.ts"
import { readServiceAccount } from "#src/providers/credentialKind.ts"
import type { Asker } from "#src/platform/upstream/egress/ControlCalls.ts"
import type { Grant, TokenEndpoint } from "./tokenEndpoint.ts"

const GRANT_TYPE = "urn:ietf:params:oauth:grant-type:jwt-bearer"
/** Life of the assertion (s), the most that vendors accept. */
const ASSERTION_S = 3_600
/** The assertion begins a little in the past, for a token endpoint whose clock is behind (s). */
const SKEW_S = 10

const malformed = (message: string): CredentialFailure =>
  new CredentialFailure({ reason: "malformed", source: "operator", retry: "never", code: null, message })

export const exchange = Effect.fnUntraced(function*(endpoint: TokenEndpoint, document: Redacted.Redacted<string>, scope: string, asker: Asker) {
  const account = readServiceAccount(Redacted.value(document))
  if (account === null) return yield* malformed("The service-account document is no JSON with client_email and private_key")
  if (!URL.canParse(account.tokenUri)) return yield* malformed("The service-account document's token_uri is no URL")
  const now = Math.floor((yield* Clock.currentTimeMillis) / 1000)
  const assertion = yield* Effect.tryPromise({
    try: async () => await new SignJWT({ scope })
      .setProtectedHeader({ alg: "RS256", typ: "JWT", ...(account.keyId === null ? {} : { kid: account.keyId }) })
      .setIssuer(account.email)
      .setSubject(account.email)
      .setAudience(account.tokenUri)
      .setIssuedAt(now - SKEW_S)
      .setExpirationTime(now - SKEW_S + ASSERTION_S)
      .sign(await importPKCS8(account.privateKey, "RS256")),
    // The library's words may quote the key.
    catch: () => malformed("The service-account document's private_key is no RSA key in PKCS #8 PEM")
  })
  const grant: Grant = yield* endpoint.grant(account.tokenUri, { grant_type: GRANT_TYPE, assertion }, asker)
  return grant
})
