import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, administers, ForeignQuery } from "#schemas/api/Access.ts"
import { Document, integer, isoTime, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey
const provider = { provider: Schema.String }
const Flow = Schema.Literals(["authorization-code", "device-code"])
/** A token becomes a header: visible ASCII. */
const token = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,16384}$/, { message: "Expected a token without blanks" }))
const state = text(16, 256)
const code = text(1, 4096)

const Offer = Schema.Struct({
  provider: Schema.String,
  /** False while the operator's client id is not set: nothing can be started. */
  configured: Schema.Boolean,
  flows: Schema.Array(Flow),
  /** Environment variables to set. */
  missing: Schema.Array(Schema.String),
  /** The address to register with the provider. */
  redirectUri: Schema.String
})

const Started = Schema.Union([
  Schema.Struct({
    configured: Schema.Literal(true), flow: Schema.Literal("authorization-code"), state: Schema.String, authorizeUrl: Schema.String,
    redirectUri: Schema.String, expiresAt: Schema.String
  }),
  Schema.Struct({
    configured: Schema.Literal(true), flow: Schema.Literal("device-code"), state: Schema.String, userCode: Schema.String,
    verificationUri: Schema.String, verificationUriComplete: Schema.NullOr(Schema.String), intervalMs: Schema.Int, expiresAt: Schema.String
  }),
  Schema.Struct({ ...Offer.fields, configured: Schema.Literal(false) })
])

const Done = Schema.Struct({ success: Schema.Literal(true), provider: Schema.String, connectionId: Schema.String })

const target = {
  /** Label of the new connection; default: the account that signed in. */
  name: opt(text(1, 200)),
  /** Sign in again for this connection instead of making a new one. */
  connectionId: opt(text(1, 100)),
  /** Values of the provider's URLs, such as project, region, resource, tenant. */
  providerSpecificData: opt(Document)
}

export const Import = Schema.Struct({
  ...target,
  accessToken: token,
  refreshToken: opt(token),
  idToken: opt(token),
  /** End of the access token. */
  expiresAt: opt(isoTime),
  /** The same as seconds from now. */
  expiresIn: opt(integer(1, 31_536_000)),
  email: opt(text(0, 320))
})
export interface Import extends Schema.Schema.Type<typeof Import> {}

/** Signing in to providers: the generic OAuth 2.0 mechanism over the registry's rows. */
export const OAuthGroup = HttpApiGroup.make("oauth").add(
  HttpApiEndpoint.get("offer", "/api/oauth/:provider", { params: provider, success: Offer })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Which sign-ins a provider offers, and what is missing to use them"),
  HttpApiEndpoint.post("start", "/api/oauth/:provider/start", {
    params: provider, payload: Schema.Struct({ ...target, flow: opt(Flow) }), success: Started
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Begin a sign-in; without a client id the reply says configured:false"),
  HttpApiEndpoint.get("callback", "/api/oauth/:provider/callback", {
    params: provider,
    query: { state: opt(text(0, 256)), code: opt(text(0, 4096)), error: opt(text(0, 256)) },
    success: Done
  }).annotate(Access, administers).annotate(ForeignQuery, true).annotate(OpenApi.Summary, "Where the provider sends the operator's browser back: its session and a one-time state are both needed"),
  HttpApiEndpoint.post("exchange", "/api/oauth/:provider/exchange", {
    params: provider, payload: Schema.Struct({ state, code }), success: Done
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Finish a sign-in with a pasted code, when the browser cannot reach the callback"),
  HttpApiEndpoint.post("poll", "/api/oauth/:provider/poll", {
    params: provider, payload: Schema.Struct({ state }),
    success: Schema.Union([
      Schema.Struct({ status: Schema.Literal("pending"), intervalMs: Schema.Int, expiresAt: Schema.String }),
      Schema.Struct({ status: Schema.Literal("complete"), ...Done.fields })
    ])
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Ask whether a device sign-in is finished; the provider is asked once per interval"),
  HttpApiEndpoint.post("import", "/api/oauth/:provider/import", {
    params: provider, payload: Import, success: Done.pipe(HttpApiSchema.status(201))
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Store tokens that were minted elsewhere; an access token alone is sent as it is")
).annotateMerge(OpenApi.annotations({
  title: "OAuth",
  description: "Sign-ins to providers: authorization code with PKCE, device code, imported tokens. Tokens are written, never read back."
}))
