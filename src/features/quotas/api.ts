import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads } from "#schemas/api/Access.ts"
import { text } from "#schemas/api/fields.ts"
import { QuotaStatus } from "./ports/windowView.ts"

const opt = Schema.optionalKey

/** `expiring` = 15 minutes or less. */
export const TokenStatus = Schema.Literals(["valid", "expiring", "expired", "refreshing"])
export type TokenStatus = typeof TokenStatus.Type

/** The tightest window of a connection; its fields are null while no upstream reported any. */
const Row = Schema.Struct({
  name: Schema.String,
  provider: Schema.String,
  connectionId: Schema.String,
  window: Schema.NullOr(Schema.String),
  quotaUsed: Schema.NullOr(Schema.Number),
  quotaTotal: Schema.NullOr(Schema.Number),
  percentRemaining: Schema.NullOr(Schema.Number),
  resetAt: Schema.NullOr(Schema.String),
  status: Schema.NullOr(QuotaStatus),
  tokenStatus: TokenStatus
})
export interface QuotaRow extends Schema.Schema.Type<typeof Row> {}

const Health = Schema.Struct({
  /** Signed-in connections that are active. */
  total: Schema.Int,
  healthy: Schema.Int,
  /** Their token is over, or its renewal was refused. */
  errored: Schema.Int,
  /** Their token ends within 15 minutes, or its last renewal failed. */
  warning: Schema.Int,
  /** End of the last round of the background check; null before the first. */
  lastCheckAt: Schema.NullOr(Schema.String),
  status: Schema.Literals(["healthy", "warning", "error", "disabled"])
})
export interface TokenHealthView extends Schema.Schema.Type<typeof Health> {}

/** Quotas of the connections as their upstreams report them, and the health of their tokens. */
export const QuotasGroup = HttpApiGroup.make("quotas").add(
  HttpApiEndpoint.get("list", "/api/usage/quota", {
    query: { provider: opt(text(1, 200)), connectionId: opt(text(1, 200)) },
    success: Schema.Struct({
      providers: Schema.Array(Row),
      meta: Schema.Struct({
        generatedAt: Schema.String,
        filters: Schema.Struct({ provider: Schema.NullOr(Schema.String), connectionId: Schema.NullOr(Schema.String) }),
        totalProviders: Schema.Int
      })
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "What is left of each connection's quota, and how its token is"),
  HttpApiEndpoint.get("tokenHealth", "/api/token-health", { success: Health })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Tokens of signed-in connections: how many are well, and when they were looked at")
).annotateMerge(OpenApi.annotations({ title: "Quotas", description: "Quota windows from the headers of upstreams, and tokens of signed-in connections." }))
