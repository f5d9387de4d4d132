import * as Schema from "effect/Schema"

const list = Schema.Array(Schema.String)

/** An allowed window of the week. */
export const AccessSchedule = Schema.Struct({
  enabled: Schema.Boolean,
  from: Schema.String,
  until: Schema.String,
  days: Schema.Array(Schema.Int),
  tz: Schema.String
})

/** What `allowedEndpoints` of a key may name; the format that a client speaks is no endpoint of its own. */
export const endpointNames = [
  "a2a", "audio", "batches", "chat", "classify", "embeddings", "files", "images", "management", "mcp", "models", "moderations", "music", "ocr",
  "registered-keys", "rerank", "search", "segment", "videos", "web-fetch"
] as const
export type EndpointName = typeof endpointNames[number]

/** What an operator may set on a key; every field has a default, so the object is always whole. */
export const ApiKeyPolicy = Schema.Struct({
  modelAccessMode: Schema.Literals(["all", "restricted"]),
  connectionAccessMode: Schema.Literals(["all", "restricted"]),
  allowedModels: list,
  blockedModels: list,
  allowedCombos: list,
  allowedConnections: list,
  preferredConnections: list,
  allowedQuotas: list,
  allowedEndpoints: list,
  /** Names of MCP servers, or patterns of their tools, that the key may use. */
  allowedMcpTools: list,
  scopes: list,
  noLog: Schema.Boolean,
  allowUsageCommand: Schema.Boolean,
  usageLimitEnabled: Schema.Boolean,
  dailyUsageLimitUsd: Schema.NullOr(Schema.Number),
  weeklyUsageLimitUsd: Schema.NullOr(Schema.Number),
  chaosModeEnabled: Schema.Boolean,
  autoResolve: Schema.Boolean,
  isActive: Schema.Boolean,
  isBanned: Schema.Boolean,
  throttleDelayMs: Schema.Int,
  expiresAt: Schema.NullOr(Schema.String),
  maxSessions: Schema.Int,
  accessSchedule: Schema.NullOr(AccessSchedule),
  rateLimits: Schema.NullOr(Schema.Array(Schema.Struct({ limit: Schema.Int, window: Schema.Int }))),
  maxRequestsPerMinute: Schema.NullOr(Schema.Int),
  maxRequestsPerDay: Schema.NullOr(Schema.Int),
  streamDefaultMode: Schema.Literals(["legacy", "json"]),
  compressionEnabled: Schema.Boolean,
  cacheDefaultMode: Schema.Literals(["legacy", "bypass"]),
  disableNonPublicModels: Schema.Boolean,
  ipAllowlist: list,
  disabledGuardrails: list,
  allowGuardrailOptOut: Schema.Boolean,
  disconnectPolicy: Schema.Literals(["cancel", "drain-for-usage", "drain-to-cache"])
})
export interface ApiKeyPolicy extends Schema.Schema.Type<typeof ApiKeyPolicy> {}

export const defaultPolicy: ApiKeyPolicy = {
  modelAccessMode: "all", connectionAccessMode: "all", allowedModels: [], blockedModels: [], allowedCombos: [],
  allowedConnections: [], preferredConnections: [], allowedQuotas: [], allowedEndpoints: [], allowedMcpTools: [], scopes: [], noLog: false,
  allowUsageCommand: false, usageLimitEnabled: false, dailyUsageLimitUsd: null, weeklyUsageLimitUsd: null,
  chaosModeEnabled: false, autoResolve: false, isActive: true, isBanned: false, throttleDelayMs: 0, expiresAt: null,
  maxSessions: 0, accessSchedule: null, rateLimits: null, maxRequestsPerMinute: null, maxRequestsPerDay: null,
  streamDefaultMode: "legacy", compressionEnabled: true, cacheDefaultMode: "legacy", disableNonPublicModels: false,
  ipAllowlist: [], disabledGuardrails: [], allowGuardrailOptOut: true, disconnectPolicy: "cancel"
}

/** A client's key. Only its SHA-256 and first eight characters are kept; `sealedKey` only while ALLOW_API_KEY_REVEAL is on. */
export const ApiKey = Schema.Struct({
  id: Schema.String,
  name: Schema.String,
  keyHash: Schema.String,
  keyPrefix: Schema.String,
  keySuffix: Schema.String,
  sealedKey: Schema.NullOr(Schema.Redacted(Schema.String)),
  machineId: Schema.String,
  /** The key that issued it and whose rights bound it; null for a key of an operator. */
  issuerId: Schema.NullOr(Schema.String),
  policy: ApiKeyPolicy,
  createdAt: Schema.String,
  updatedAt: Schema.String,
  lastUsedAt: Schema.NullOr(Schema.String),
  revokedAt: Schema.NullOr(Schema.String)
})
export interface ApiKey extends Schema.Schema.Type<typeof ApiKey> {
  /** The key of `issuerId` as it stands now, with every key that the port Keys gives; null when it is gone. Stored nowhere. */
  readonly issuer?: ApiKey | null
  /** A key of the environment, with full access to inference: limits that keys have by default do not bind it. Stored nowhere. */
  readonly isPermanent?: boolean
}
