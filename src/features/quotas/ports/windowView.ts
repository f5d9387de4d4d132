/** A quota window in the replies of quotas and of usage. */
import * as Schema from "effect/Schema"

/** `exhausted` = at or below its cut-off, so that requests pass it by; `warning` = at or below the warning. */
export const QuotaStatus = Schema.Literals(["ok", "warning", "exhausted"])
export type QuotaStatus = typeof QuotaStatus.Type

/** One window of a connection; counts are requests or tokens, or percent where the vendor tells only a share. */
export const QuotaWindowView = Schema.Struct({
  used: Schema.NullOr(Schema.Number),
  total: Schema.NullOr(Schema.Number),
  remaining: Schema.NullOr(Schema.Number),
  remainingPercentage: Schema.Number,
  resetAt: Schema.NullOr(Schema.String),
  unlimited: Schema.Boolean,
  /** The model that the window counts; null when it counts the whole connection. */
  model: Schema.NullOr(Schema.String),
  status: QuotaStatus,
  cutoffPercent: Schema.Number,
  warningPercent: Schema.Number,
  seenAt: Schema.String
}).annotate({ identifier: "QuotaWindow" })
export interface QuotaWindowView extends Schema.Schema.Type<typeof QuotaWindowView> {}
