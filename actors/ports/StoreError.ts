import * as Schema from "effect/Schema"

/** A record store could not do its work. `unavailable` may be retried; `conflict` names the unique field in conflict. */
export class StoreError extends Schema.TaggedError<StoreError>()("StoreError", {
  store: Schema.String,
  operation: Schema.String,
  reason: Schema.Literals(["unavailable", "conflict", "corrupt"]),
  message: Schema.String,
  /** The unique field in conflict, where the store knows it. */
  field: Schema.optional(Schema.String),
  cause: Schema.optional(Schema.Defect())
}) {}
