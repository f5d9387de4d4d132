import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { AuthType, Connection, TestStatus } from "#schemas/records/Connection.ts"
import { InterceptionRules } from "#schemas/tools/InterceptionRules.ts"
import { Owner } from "#schemas/FileOwned.ts"
import { ParamFilters } from "#schemas/words/ParamFilters.ts"
import { Access, administers, reads } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { clearable, Document, integer, isoTime, listOf, Message, partial, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey
const { accessToken: _a, apiKey: _k, idToken: _i, refreshToken: _r, ...visible } = Connection.fields

/** A connection as replies show it: no secret, providerSpecificData without secret-looking members. */
export const ConnectionView = Schema.Struct({
  ...visible,
  owner: Owner,
  hasApiKey: Schema.Boolean,
  hasAccessToken: Schema.Boolean,
  hasRefreshToken: Schema.Boolean
}).annotate({ identifier: "Connection" })
export interface ConnectionView extends Schema.Schema.Type<typeof ConnectionView> {}

const one = Schema.Struct({ connection: ConnectionView })
const id = { id: Schema.String }
const secret = Schema.String.check(Schema.isMaxLength(100_000))

const RateLimitOverrides = Schema.Struct({
  rpm: opt(integer(0, 1_000_000)),
  rpd: opt(integer(0, 10_000_000)),
  tpm: opt(integer(0, 100_000_000)),
  tpd: opt(integer(0, 10_000_000_000)),
  minTime: opt(integer(0, 60_000)),
  maxConcurrent: opt(integer(0, 10_000)),
  maxWaitMs: opt(integer(0, 120_000))
})

export const NewConnection = Schema.Struct({
  provider: text(1, 100),
  apiKey: opt(secret),
  name: text(1, 200),
  priority: opt(integer(1, 100)),
  globalPriority: clearable(integer(1, 100)),
  defaultModel: clearable(text(0, 200)),
  testStatus: opt(TestStatus),
  providerSpecificData: opt(Document)
})
export interface NewConnection extends Schema.Schema.Type<typeof NewConnection> {}

/** Fields of PUT /api/providers/{id}. */
export const ConnectionChange = Schema.Struct({
  name: opt(text(1, 200)),
  priority: opt(integer(1, 100_000)),
  globalPriority: clearable(integer(1, 100_000)),
  defaultModel: clearable(text(0, 200)),
  projectId: clearable(text(0, 200)),
  testStatus: opt(TestStatus),
  lastError: clearable(text(0, 4096)),
  lastErrorAt: clearable(isoTime),
  lastErrorType: clearable(text(0, 200)),
  lastErrorSource: clearable(text(0, 200)),
  errorCode: clearable(text(0, 200)),
  rateLimitedUntil: clearable(isoTime),
  lastTested: clearable(isoTime),
  isActive: opt(Schema.Boolean),
  proxyEnabled: opt(Schema.Boolean),
  perKeyProxyEnabled: opt(Schema.Boolean),
  quotaVisible: opt(Schema.Boolean),
  rateLimitProtection: opt(Schema.Boolean),
  /** Applied only to connections whose authType is `apikey`. */
  apiKey: opt(secret),
  healthCheckInterval: clearable(integer(0, 1440)),
  group: clearable(text(0, 100)),
  maxConcurrent: clearable(integer(0, 1_000_000)),
  quotaWindowThresholds: clearable(
    Schema.Record(Schema.String, Schema.NullOr(Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 100 }))))
  ),
  rateLimitOverrides: clearable(RateLimitOverrides),
  /** Shallow merge; null removes a key. */
  providerSpecificData: opt(Document)
})
export interface ConnectionChange extends Schema.Schema.Type<typeof ConnectionChange> {}

export const Diagnosis = Schema.Struct({
  type: Schema.String, source: Schema.String, code: Schema.String, message: Schema.String
})

export const TestResult = Schema.Struct({
  provider: Schema.String,
  connectionId: Schema.String,
  connectionName: Schema.String,
  authType: AuthType,
  valid: Schema.Boolean,
  latencyMs: Schema.Number,
  error: Schema.NullOr(Schema.String),
  diagnosis: Schema.NullOr(Diagnosis),
  statusCode: Schema.NullOr(Schema.Int),
  testedAt: Schema.String
}).annotate({ identifier: "ConnectionTest" })
export interface TestResult extends Schema.Schema.Type<typeof TestResult> {}

export const TestMode = Schema.Literals([
  "provider", "oauth", "free", "no-auth", "apikey", "compatible", "all", "web-cookie", "search", "audio", "local",
  "upstream-proxy", "cloud-agent", "ide", "selected"
])
export type TestMode = typeof TestMode.Type

const ModelEntry = Schema.Struct({ id: Schema.String, name: Schema.NullOr(Schema.String) })
const ModelsReply = Schema.Struct({
  provider: Schema.String,
  connectionId: Schema.String,
  models: Schema.Array(ModelEntry),
  /** `upstream` (read just now), `synced` (read earlier), or `registry`. */
  source: Schema.String
})

const rowResult = Schema.Struct({
  index: Schema.Int,
  name: Schema.String,
  provider: Schema.String,
  success: Schema.Boolean,
  id: opt(Schema.String),
  error: opt(Schema.String)
})
export interface RowResult extends Schema.Schema.Type<typeof rowResult> {}
const ImportReply = Schema.Struct({
  total: Schema.Int, created: Schema.Int, failed: Schema.Int, results: Schema.Array(rowResult)
})

/** Provider connections. */
export const ProvidersGroup = HttpApiGroup.make("providers").add(
  HttpApiEndpoint.get("list", "/api/providers", { success: Schema.Struct({ connections: Schema.Array(ConnectionView) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "All connections"),
  HttpApiEndpoint.post("create", "/api/providers", { payload: NewConnection, success: one.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Store a credential of a provider or provider node"),
  HttpApiEndpoint.patch("activate", "/api/providers", {
    payload: Schema.Struct({ ids: listOf(text(1, 100), 100).check(Schema.isMinLength(1)), isActive: Schema.Boolean }),
    success: Schema.Struct({ updated: Schema.Int })
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Switch several connections on or off"),
  HttpApiEndpoint.get("client", "/api/providers/client", { success: Schema.Struct({ providers: Schema.Array(Document) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The provider catalogue for a user interface"),
  HttpApiEndpoint.get("expiration", "/api/providers/expiration", { success: Schema.Struct({ connections: Schema.Array(Document) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Credentials that expire within seven days or have expired"),
  HttpApiEndpoint.post("validate", "/api/providers/validate", {
    payload: Schema.Struct({
      provider: text(1, 100),
      apiKey: opt(secret),
      validationModelId: opt(text(0, 240)),
      customUserAgent: opt(text(0, 500)),
      baseUrl: opt(text(0, 2000)),
      region: opt(text(0, 64)),
      accessKeyId: opt(text(0, 500)),
      sessionToken: opt(secret),
      cx: opt(text(0, 500))
    }),
    success: Schema.Struct({
      valid: Schema.Boolean,
      error: Schema.NullOr(Schema.String),
      warning: Schema.NullOr(Schema.String),
      method: Schema.NullOr(Schema.String)
    })
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Probe a credential without storing it"),
  HttpApiEndpoint.post("testBatch", "/api/providers/test-batch", {
    payload: Schema.Struct({
      mode: TestMode, providerId: opt(text(1, 100)), connectionIds: opt(listOf(text(1, 100), 100))
    }),
    success: Schema.Struct({
      mode: TestMode,
      providerId: Schema.NullOr(Schema.String),
      results: Schema.Array(TestResult),
      testedAt: Schema.String,
      summary: Schema.Struct({ total: Schema.Int, passed: Schema.Int, failed: Schema.Int })
    })
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Test a group of connections, five at a time"),
  HttpApiEndpoint.post("bulk", "/api/providers/bulk", {
    payload: Schema.Struct({
      provider: text(1, 100),
      entries: listOf(Schema.Struct({
        name: text(1, 200), apiKey: secret.check(Schema.isNonEmpty()), accountId: opt(text(0, 200))
      }), 200).check(Schema.isMinLength(1)),
      priority: opt(integer(1, 100)),
      globalPriority: clearable(integer(1, 100)),
      providerSpecificData: opt(Document),
      validateKeys: opt(Schema.Boolean)
    }),
    success: ImportReply
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Add many keys of one provider"),
  HttpApiEndpoint.post("import", "/api/providers/import", {
    payload: Schema.Struct({
      entries: listOf(Schema.Struct({
        provider: text(1, 100),
        name: text(1, 200),
        apiKey: secret.check(Schema.isNonEmpty()),
        baseUrl: opt(text(0, 2000)),
        priority: opt(integer(1, 100))
      }), 200).check(Schema.isMinLength(1)),
      validateKeys: opt(Schema.Boolean)
    }),
    success: ImportReply
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Add a mixed list of keys; failures are per row"),
  HttpApiEndpoint.get("get", "/api/providers/:id", { params: id, success: one })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One connection"),
  HttpApiEndpoint.put("update", "/api/providers/:id", { params: id, payload: ConnectionChange, success: one })
    .annotate(SentBack, sentBack({ moves: ["expiresAt", "tokenExpiresAt", "expiresIn", "lastHealthCheckAt", "backoffLevel", "bannedSignals", "consecutiveUseCount", "updatedAt"] })).annotate(Access, administers).annotate(OpenApi.Summary, "Change a connection"),
  HttpApiEndpoint.delete("remove", "/api/providers/:id", { params: id, success: Message })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Delete a connection and its credential"),
  HttpApiEndpoint.post("test", "/api/providers/:id/test", { params: id, success: TestResult })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Call the upstream with the stored credential"),
  HttpApiEndpoint.post("refresh", "/api/providers/:id/refresh", {
    params: id, success: Schema.Struct({ success: Schema.Literal(true), expiresAt: Schema.NullOr(Schema.String) })
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Renew the connection's token now"),
  HttpApiEndpoint.get("models", "/api/providers/:id/models", { params: id, success: ModelsReply })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Models of the connection's provider"),
  HttpApiEndpoint.post("syncModels", "/api/providers/:id/sync-models", { params: id, success: ModelsReply })
    .annotate(Access, administers).annotate(OpenApi.Summary, "Read the upstream's model list again and keep it"),
  HttpApiEndpoint.get("paramFilters", "/api/providers/:id/param-filters", { params: id, success: ParamFilters })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Parameters that are removed before a request goes upstream"),
  HttpApiEndpoint.put("setParamFilters", "/api/providers/:id/param-filters", {
    params: id, payload: partial(ParamFilters), success: ParamFilters
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Replace the parameter filters"),
  HttpApiEndpoint.get("interceptionRules", "/api/providers/:id/interception-rules", { params: id, success: InterceptionRules })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Which tool calls the gateway answers itself"),
  HttpApiEndpoint.put("setInterceptionRules", "/api/providers/:id/interception-rules", {
    params: id, payload: partial(InterceptionRules), success: InterceptionRules
  }).annotate(Access, administers).annotate(OpenApi.Summary, "Replace the interception rules")
).annotateMerge(OpenApi.annotations({
  title: "Providers",
  description: "Stored credentials (connections) of providers. Secrets are written, never read back."
}))
