import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, anyone, ForeignQuery } from "#schemas/api/Access.ts"
import { text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey

/** A redirect: `Location` says where to. */
const Elsewhere = Schema.Void.pipe(HttpApiSchema.status(302))

/** Signing in to the gateway itself at the operator's OpenID Connect issuer. */
export const OidcGroup = HttpApiGroup.make("oidc").add(
  HttpApiEndpoint.get("login", "/api/auth/oidc/login", {
    query: {
      /** Where the browser goes afterwards: a path of the dashboard with its query; `/dashboard` when absent. */
      returnTo: opt(text(1, 2_000))
    },
    success: Elsewhere
  }).annotate(Access, anyone).annotate(OpenApi.Summary, "Sends the browser to the issuer's page; sets the oidc_state cookie"),
  HttpApiEndpoint.get("callback", "/api/auth/oidc/callback", {
    query: {
      state: opt(text(0, 256)), code: opt(text(0, 8_192)), error: opt(text(0, 256)), error_description: opt(text(0, 4_096)), iss: opt(text(0, 500))
    },
    success: Elsewhere
  }).annotate(Access, anyone).annotate(ForeignQuery, true)
    .annotate(OpenApi.Summary, "Where the issuer sends the browser back; sets the auth_token cookie and goes to the dashboard")
).annotateMerge(OpenApi.annotations({
  title: "Single sign-on",
  description: "Signing in by OpenID Connect. Errors are a page for browsers (Accept: text/html) and JSON for others."
}))
