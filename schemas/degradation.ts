/** The degradation contract: what each feature does while a server, disk or node that it depends on fails. */
import * as Schema from "effect/Schema"

/**
 * What may be away, and how. `frozen` takes connections and says nothing; `slow` answers late; `flushed` lost its data (of Postgres: the
 * tables are empty; a restart loses nothing and is `refused`). Of nodes: one of several is killed (-9), is paused, or has a clock that is wrong.
 */
export const faults = [
  "redis-refused", "redis-frozen", "redis-slow", "redis-flushed",
  "postgres-refused", "postgres-frozen", "postgres-slow", "postgres-flushed",
  "disk-full", "log-sink-blocked",
  "node-killed", "node-paused", "clock-skewed"
] as const
export const Fault = Schema.Literals(faults)
export type Fault = typeof Fault.Type

export const DegradationEffect = Schema.Struct({
  /** What happens to what asks for the feature: it is let in, refused, or kept for later. */
  outcome: Schema.Literals(["admitted", "denied", "queued"]),
  /** How old what is acted on may be, ms; null = as old as the fault. */
  stalenessMs: Schema.NullOr(Schema.Finite),
  /** Largest time that one request loses by it, ms; null = its own deadline. */
  addedLatencyMs: Schema.NullOr(Schema.Finite),
  note: Schema.String
}).annotate({ identifier: "DegradationEffect" })
export interface DegradationEffect extends Schema.Schema.Type<typeof DegradationEffect> {}

export const DegradationRow = Schema.Struct({
  feature: Schema.String,
  effects: Schema.Record(Fault, DegradationEffect)
})
/** How the faults of one table combine. */
export const combined = "Faults at the same time: of each feature the worst outcome (denied, then queued, then admitted), the longest staleness, and the sum of the latencies."
export interface DegradationRow extends Schema.Schema.Type<typeof DegradationRow> {}
