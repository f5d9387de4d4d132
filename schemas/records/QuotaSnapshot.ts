import * as Schema from "effect/Schema"

/** How much of one quota window was left at a time; times in ms since the epoch. */
export const QuotaSnapshot = Schema.Struct({
  provider: Schema.String,
  connectionId: Schema.String,
  /** The model that the window counts; null when it counts the whole connection. */
  model: Schema.NullOr(Schema.String),
  windowKey: Schema.String,
  /** 0 to 100. */
  remainingPercentage: Schema.Finite,
  isExhausted: Schema.Boolean,
  nextResetAt: Schema.NullOr(Schema.Int),
  windowDurationMs: Schema.NullOr(Schema.Int),
  /** What was said beyond that: limit and remaining as counts, whether it fills evenly, and how long it counts without a reset, ms. */
  rawData: Schema.Struct({
    limit: Schema.NullOr(Schema.Finite),
    remaining: Schema.NullOr(Schema.Finite),
    refills: Schema.Boolean,
    believedMs: Schema.optionalKey(Schema.Int)
  }),
  createdAt: Schema.Int
})
export interface QuotaSnapshot extends Schema.Schema.Type<typeof QuotaSnapshot> {}
