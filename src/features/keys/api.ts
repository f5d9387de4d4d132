import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { ApiKeyPolicy } from "#schemas/records/ApiKey.ts"
import { Owner } from "#schemas/FileOwned.ts"
import { Access, grants, reads, writes } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { amount, clearable, integer, isoTime, listOf, Message, queryInteger, text } from "#schemas/api/fields.ts"

const opt = Schema.optionalKey
const clock = Schema.String.check(Schema.isPattern(/^([01]\d|2[0-3]):[0-5]\d$/, { message: "Expected HH:MM" }))
const rule = text(1, 240)

/** What an operator may set on a key; absent fields keep their value. */
export const PolicyInput = Schema.Struct({
  modelAccessMode: opt(Schema.Literals(["all", "restricted"])),
  connectionAccessMode: opt(Schema.Literals(["all", "restricted"])),
  allowedModels: opt(listOf(rule, 1000)),
  blockedModels: opt(listOf(rule, 1000)),
  allowedCombos: opt(listOf(rule, 500)),
  allowedConnections: opt(listOf(text(1, 100), 100)),
  preferredConnections: opt(listOf(text(1, 100), 100)),
  allowedQuotas: opt(listOf(text(1, 200), 100)),
  allowedEndpoints: opt(listOf(text(1, 100), 20)),
  allowedMcpTools: opt(listOf(text(1, 100), 200)),
  scopes: opt(listOf(text(1, 64), 32)),
  noLog: opt(Schema.Boolean),
  allowUsageCommand: opt(Schema.Boolean),
  usageLimitEnabled: opt(Schema.Boolean),
  dailyUsageLimitUsd: clearable(amount),
  weeklyUsageLimitUsd: clearable(amount),
  chaosModeEnabled: opt(Schema.Boolean),
  autoResolve: opt(Schema.Boolean),
  isActive: opt(Schema.Boolean),
  isBanned: opt(Schema.Boolean),
  throttleDelayMs: opt(integer(0, 300_000)),
  expiresAt: clearable(isoTime),
  maxSessions: opt(integer(0, 10_000)),
  accessSchedule: clearable(Schema.Struct({
    enabled: Schema.Boolean,
    from: clock,
    until: clock,
    days: listOf(integer(0, 6), 7),
    tz: text(1, 64)
  }).annotate({ identifier: "AccessSchedule" })),
  rateLimits: clearable(listOf(Schema.Struct({ limit: integer(1, 1_000_000_000), window: integer(1, 31_536_000) }).annotate({ identifier: "RateLimit" }), 50)),
  maxRequestsPerMinute: clearable(integer(0, 1_000_000_000)),
  maxRequestsPerDay: clearable(integer(0, 1_000_000_000)),
  streamDefaultMode: opt(Schema.Literals(["legacy", "json"])),
  compressionEnabled: opt(Schema.Boolean),
  cacheDefaultMode: opt(Schema.Literals(["legacy", "bypass"])),
  disableNonPublicModels: opt(Schema.Boolean),
  ipAllowlist: opt(listOf(text(1, 64), 200)),
  disabledGuardrails: opt(listOf(text(1, 100), 50)),
  allowGuardrailOptOut: opt(Schema.Boolean),
  disconnectPolicy: opt(Schema.Literals(["cancel", "drain-for-usage", "drain-to-cache"]))
})
export interface PolicyInput extends Schema.Schema.Type<typeof PolicyInput> {}

/** A value that clients hold already, in place of a generated one. */
export const OwnKey = Schema.String.check(Schema.isPattern(/^[\x21-\x7e]{20,200}$/, { message: "Expected 20 to 200 visible ASCII characters" }))

const identity = {
  id: Schema.String,
  name: Schema.String,
  machineId: Schema.String,
  /** The key that issued it; null for a key of an operator. */
  issuerId: Schema.NullOr(Schema.String),
  keyPrefix: Schema.String,
  createdAt: Schema.String,
  updatedAt: Schema.String,
  lastUsedAt: Schema.NullOr(Schema.String),
  revokedAt: Schema.NullOr(Schema.String)
}

/** A key as replies show it: `key` is its first 8 characters, `****`, and its last 4. */
export const KeyView = Schema.Struct({ ...identity, key: Schema.String, owner: Owner, ...ApiKeyPolicy.fields }).annotate({ identifier: "ApiKey" })
export interface KeyView extends Schema.Schema.Type<typeof KeyView> {}

const UsageLimits = Schema.Struct({
  usageLimitEnabled: Schema.Boolean,
  dailyUsageLimitUsd: Schema.NullOr(Schema.Number),
  weeklyUsageLimitUsd: Schema.NullOr(Schema.Number)
})

const id = { id: Schema.String }

/** API keys of clients. */
export const KeysGroup = HttpApiGroup.make("keys").add(
  HttpApiEndpoint.get("list", "/api/keys", {
    query: { limit: Schema.optionalKey(queryInteger(1, 1000)), offset: Schema.optionalKey(queryInteger(0, 1_000_000)), search: Schema.optionalKey(text(1, 200)) },
    success: Schema.Struct({ keys: Schema.Array(KeyView), total: Schema.Int, allowKeyReveal: Schema.Boolean })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Keys, newest first, values masked; search: a part of the name, the id or the masked value"),
  HttpApiEndpoint.post("create", "/api/keys", {
    payload: Schema.Struct({ name: text(1, 200), key: opt(OwnKey), ...PolicyInput.fields }),
    // Here `key` is the raw value, shown this once.
    success: KeyView.pipe(HttpApiSchema.status(201))
  }).annotate(Access, grants).annotate(OpenApi.Summary, "Create a key; its raw value is shown once"),
  HttpApiEndpoint.get("get", "/api/keys/:id", { params: id, success: KeyView })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One key, value masked"),
  HttpApiEndpoint.patch("update", "/api/keys/:id", {
    params: id,
    payload: Schema.Struct({ name: opt(text(1, 200)), key: opt(OwnKey), ...PolicyInput.fields }),
    success: Schema.Record(Schema.String, Schema.Json)
  }).annotate(SentBack, sentBack({ moves: ["lastUsedAt"] })).annotate(Access, grants).annotate(OpenApi.Summary, "Change fields; the reply is `message` and the changed fields"),
  HttpApiEndpoint.delete("remove", "/api/keys/:id", { params: id, success: Message })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Delete a key; it is dead at once"),
  HttpApiEndpoint.get("reveal", "/api/keys/:id/reveal", { params: id, success: Schema.Struct({ key: Schema.String }) })
    .annotate(Access, grants).annotate(OpenApi.Summary, "The raw value, while ALLOW_API_KEY_REVEAL is on and it is recoverable"),
  HttpApiEndpoint.post("regenerate", "/api/keys/:id/regenerate", {
    params: id,
    success: Schema.Struct({ id: Schema.String, key: Schema.String })
  }).annotate(Access, grants).annotate(OpenApi.Summary, "A new value for the same key; the old one is dead at once"),
  HttpApiEndpoint.get("devices", "/api/keys/:id/devices", {
    params: id,
    success: Schema.Struct({
      keyId: Schema.String,
      name: Schema.String,
      count: Schema.Int,
      devices: Schema.Array(Schema.Struct({ ip: Schema.String, userAgent: Schema.String, lastSeenAt: Schema.String }))
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Clients seen with this key since the process started"),
  HttpApiEndpoint.get("usageLimits", "/api/keys/:id/usage-limits", { params: id, success: UsageLimits })
    .annotate(Access, reads).annotate(OpenApi.Summary, "USD limits of the key"),
  HttpApiEndpoint.put("setUsageLimits", "/api/keys/:id/usage-limits", {
    params: id,
    payload: Schema.Struct({
      usageLimitEnabled: opt(Schema.Boolean),
      dailyUsageLimitUsd: clearable(amount),
      weeklyUsageLimitUsd: clearable(amount)
    }),
    success: UsageLimits
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Set the USD limits of the key")
).annotateMerge(OpenApi.annotations({ title: "API keys", description: "Keys that clients call the inference surface with." }))
