import * as Schema from "effect/Schema"

/** One line of the audit log. `details` is redacted before it is written. */
export const AuditEntry = Schema.Struct({
  id: Schema.String,
  timestamp: Schema.String,
  action: Schema.String,
  actor: Schema.String,
  target: Schema.NullOr(Schema.String),
  details: Schema.Record(Schema.String, Schema.Json),
  ipAddress: Schema.NullOr(Schema.String),
  resourceType: Schema.NullOr(Schema.String),
  status: Schema.String,
  requestId: Schema.NullOr(Schema.String)
})
export interface AuditEntry extends Schema.Schema.Type<typeof AuditEntry> {}
