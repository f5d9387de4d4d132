import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, administers, anyone, bearerWrites, governs, mints, reads } from "#schemas/api/Access.ts"
import { Document, integer, Success, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey
const nullable = Schema.NullOr(Schema.String)

/** A sync token without its value. */
const SyncTokenView = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  /** The API key that made it, and with which it ends. */
  syncApiKeyId: nullable,
  revokedAt: nullable,
  lastUsedAt: nullable,
  createdAt: Schema.String,
  updatedAt: Schema.String
}).annotate({ identifier: "SyncToken" })

/** How following another gateway stands. */
export const CloudStatus = Schema.Struct({
  enabled: Schema.Boolean,
  /** The newest try succeeded. */
  connected: Schema.Boolean,
  /** When the bundle was last applied, or found unchanged. */
  lastSync: nullable,
  cloudUrl: nullable,
  hasToken: Schema.Boolean,
  /** Of the bundle that was applied. */
  version: nullable,
  lastError: nullable,
  /** Entries that could not be taken; their records stay as they were. */
  refused: Schema.Array(Schema.Struct({ kind: Schema.String, name: Schema.String, message: Schema.String }))
}).annotate({ identifier: "CloudStatus" })
export interface CloudStatus extends Schema.Schema.Type<typeof CloudStatus> {}

export const CloudAction = Schema.Struct({
  action: Schema.Literals(["enable", "sync", "disable"]),
  /** A sync token of the gateway at cloudUrl; with `enable`. */
  token: opt(Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,200}$/, { message: "Expected a token without spaces" })))
})
export type CloudAction = typeof CloudAction.Type

/** Configuration from gateway to gateway. */
export const SyncGroup = HttpApiGroup.make("sync").add(
  HttpApiEndpoint.get("tokens", "/api/sync/tokens", { success: Schema.Struct({ tokens: Schema.Array(SyncTokenView) }) })
    .annotate(Access, mints).annotate(OpenApi.Summary, "Sync tokens, without their values"),
  HttpApiEndpoint.post("createToken", "/api/sync/tokens", {
    payload: Schema.Struct({ name: text(1, 200) }),
    success: Schema.Struct({ token: Schema.String, syncToken: SyncTokenView }).pipe(HttpApiSchema.status(201))
  }).annotate(Access, mints).annotate(OpenApi.Summary, "Create a sync token; its value is shown once"),
  HttpApiEndpoint.delete("revokeToken", "/api/sync/tokens/:id", { params: { id: Schema.String }, success: Success })
    .annotate(Access, mints).annotate(OpenApi.Summary, "Revoke a sync token at once"),
  HttpApiEndpoint.get("bundle", "/api/sync/bundle", { success: [Document, HttpApiSchema.Empty(304)] })
    .annotate(Access, anyone).annotate(OpenApi.Summary, "What this gateway's records declare, without secrets; with a sync token as Bearer")
    .annotate(OpenApi.Description, "The reply has an ETag and the header x-config-version; with If-None-Match of the tag the answer is 304."),
  HttpApiEndpoint.post("initialize", "/api/sync/initialize", {
    success: Schema.Struct({ success: Schema.Literal(true), initialized: Schema.Boolean, status: CloudStatus })
  }).annotate(Access, governs).annotate(OpenApi.Summary, "Synchronise once where following another gateway is enabled; for start scripts"),
  HttpApiEndpoint.get("cloud", "/api/sync/cloud", { success: CloudStatus })
    .annotate(Access, reads).annotate(OpenApi.Summary, "How following the gateway at cloudUrl stands"),
  HttpApiEndpoint.post("changeCloud", "/api/sync/cloud", {
    payload: CloudAction, success: Schema.Struct({ success: Schema.Literal(true), action: CloudAction.fields.action, status: CloudStatus })
  }).annotate(Access, governs).annotate(OpenApi.Summary, "Follow the gateway at cloudUrl, take its bundle now, or follow it no longer")
).annotateMerge(OpenApi.annotations({ title: "Synchronisation", description: "One gateway follows the configuration of another." }))

const ConnectionFacts = Schema.Struct({
  provider: Schema.String,
  authType: Schema.String,
  hasApiKey: Schema.Boolean,
  hasAccessToken: Schema.Boolean,
  hasRefreshToken: Schema.Boolean,
  maskedApiKey: nullable,
  projectId: nullable,
  expiresAt: nullable,
  priority: Schema.Int,
  globalPriority: Schema.NullOr(Schema.Int),
  defaultModel: nullable,
  isActive: Schema.Boolean
})
export interface ConnectionFacts extends Schema.Schema.Type<typeof ConnectionFacts> {}

const secret = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{1,16384}$/, { message: "Expected a token without spaces" }))

export const CredentialsUpdate = Schema.Struct({
  provider: text(1, 200),
  /** Which sign-in, where the provider has several. */
  connectionId: opt(text(1, 200)),
  credentials: Schema.Struct({
    accessToken: opt(secret),
    refreshToken: opt(secret),
    /** Seconds that the access token is good for. */
    expiresIn: opt(integer(1, 315_360_000))
  })
})
export interface CredentialsUpdate extends Schema.Schema.Type<typeof CredentialsUpdate> {}

/** What clients of a synchronised gateway ask. */
export const CloudGroup = HttpApiGroup.make("cloud").add(
  HttpApiEndpoint.post("auth", "/api/cloud/auth", {
    success: Schema.Struct({ connections: Schema.Array(ConnectionFacts), modelAliases: Schema.Record(Schema.String, Schema.String) })
  }).annotate(Access, bearerWrites).annotate(OpenApi.Summary, "Connections and aliases that the caller may use, with keys masked; any API key, or an operator"),
  HttpApiEndpoint.post("resolve", "/api/cloud/model/resolve", {
    payload: Schema.Struct({ alias: text(1, 400) }), success: Schema.Struct({ alias: Schema.String, provider: Schema.String, model: Schema.String })
  }).annotate(Access, bearerWrites).annotate(OpenApi.Summary, "Provider and model that an id stands for; any API key, or an operator"),
  HttpApiEndpoint.post("updateCredentials", "/api/cloud/credentials/update", {
    payload: CredentialsUpdate,
    success: Schema.Struct({ success: Schema.Literal(true), provider: Schema.String, connectionId: Schema.String, expiresAt: nullable })
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Store newer tokens of a sign-in")
).annotateMerge(OpenApi.annotations({ title: "Cloud clients", description: "Programs beside the gateway that use its connections." }))
