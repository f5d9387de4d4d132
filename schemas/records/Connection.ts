import * as Schema from "effect/Schema"

/** Where a connection's credential comes from. */
export const AuthType = Schema.Literals(["apikey", "oauth", "none"])
export type AuthType = typeof AuthType.Type

/** Health of a connection; the last three are terminal: only a test, a re-login or an edit clears them. */
export const TestStatus = Schema.Literals([
  "unknown", "active", "unavailable", "error", "refreshing", "expired", "banned", "credits_exhausted"
])
export type TestStatus = typeof TestStatus.Type

const nullable = <S extends Schema.Top>(schema: S) => Schema.NullOr(schema)

/** What the gateway itself reads of providerSpecificData is typed at its point of use. */
export const ProviderSpecificData = Schema.Record(Schema.String, Schema.Json)

/**
 * One stored credential of one provider: the unit that is picked, cooled down and leased.
 *
 * Secrets are Redacted in memory, AES-256-GCM at rest, and absent from every reply. Times are ISO 8601 strings.
 */
export const Connection = Schema.Struct({
  id: Schema.String,
  provider: Schema.String,
  authType: AuthType,
  name: Schema.String,
  email: nullable(Schema.String),
  displayName: nullable(Schema.String),
  priority: Schema.Int,
  globalPriority: nullable(Schema.Int),
  isActive: Schema.Boolean,
  apiKey: nullable(Schema.Redacted(Schema.String)),
  accessToken: nullable(Schema.Redacted(Schema.String)),
  refreshToken: nullable(Schema.Redacted(Schema.String)),
  idToken: nullable(Schema.Redacted(Schema.String)),
  tokenType: nullable(Schema.String),
  scope: nullable(Schema.String),
  projectId: nullable(Schema.String),
  expiresAt: nullable(Schema.String),
  tokenExpiresAt: nullable(Schema.String),
  expiresIn: nullable(Schema.Int),
  testStatus: TestStatus,
  lastError: nullable(Schema.String),
  lastErrorType: nullable(Schema.String),
  lastErrorSource: nullable(Schema.String),
  errorCode: nullable(Schema.String),
  lastErrorAt: nullable(Schema.String),
  lastTested: nullable(Schema.String),
  lastHealthCheckAt: nullable(Schema.String),
  backoffLevel: Schema.Int,
  /** Calls in a row that the upstream refused with the word that the account is banned. */
  bannedSignals: Schema.Int,
  rateLimitedUntil: nullable(Schema.String),
  healthCheckInterval: nullable(Schema.Int),
  providerSpecificData: ProviderSpecificData,
  defaultModel: nullable(Schema.String),
  consecutiveUseCount: Schema.Int,
  rateLimitProtection: Schema.Boolean,
  maxConcurrent: nullable(Schema.Int),
  group: nullable(Schema.String),
  quotaWindowThresholds: nullable(Schema.Record(Schema.String, nullable(Schema.Number))),
  rateLimitOverrides: nullable(Schema.Record(Schema.String, Schema.Json)),
  proxyEnabled: Schema.Boolean,
  perKeyProxyEnabled: Schema.Boolean,
  quotaVisible: Schema.Boolean,
  createdAt: Schema.String,
  updatedAt: Schema.String
})
export interface Connection extends Schema.Schema.Type<typeof Connection> {}

/** Fields of a connection that never leave the gateway. */
export const secretFields = ["apiKey", "accessToken", "refreshToken", "idToken"] as const
