/** Webhooks and the outcomes of their deliveries. */
import * as Schema from "effect/Schema"

/** The reader of the payload: a program of the operator's, or a chat tool with its own body shape. */
export const WebhookKind = Schema.Literals(["custom", "slack", "discord", "telegram"])
export type WebhookKind = typeof WebhookKind.Type

/** The event names that are dispatched; a subscription takes no other. */
export const eventTypes = [
  "request.completed", "request.failed", "quota.exceeded", "batch.completed", "batch.failed", "batch.expired", "batch.cancelled", "test.ping"
] as const

/** Failed deliveries one after another that switch a webhook off. */
export const DISABLE_AFTER = 10
/** Characters of a payload that its delivery keeps. */
export const SNAPSHOT_CHARS = 2_000

/** One webhook as stored: url, secret and metadata are sealed at rest. Times are ISO 8601 strings. */
export const Webhook = Schema.Struct({
  id: Schema.String,
  /** Where it is sent to; for telegram the chat id. The addresses of chat tools carry their credential. */
  url: Schema.Redacted(Schema.String),
  /** Event names, or `*` for all. */
  events: Schema.Array(Schema.String),
  /** Key of the signature. */
  secret: Schema.Redacted(Schema.String),
  enabled: Schema.Boolean,
  description: Schema.NullOr(Schema.String),
  kind: WebhookKind,
  /** JSON text of the kind's own fields. */
  metadata: Schema.NullOr(Schema.Redacted(Schema.String)),
  /** Failed deliveries since the last one that succeeded. */
  failureCount: Schema.Int,
  lastTriggeredAt: Schema.NullOr(Schema.String),
  /** HTTP status of the last attempt, 0 = none came. */
  lastStatus: Schema.NullOr(Schema.Int),
  createdAt: Schema.String,
  updatedAt: Schema.String,
  /** When it was made or last switched on: it gets no event from before. */
  enabledAt: Schema.String
})
export interface Webhook extends Schema.Schema.Type<typeof Webhook> {}

/** One attempt to deliver. */
export const WebhookDelivery = Schema.Struct({
  id: Schema.String,
  webhookId: Schema.String,
  eventType: Schema.String,
  status: Schema.Literals(["success", "failed"]),
  /** Null when no answer came. */
  httpStatus: Schema.NullOr(Schema.Int),
  latencyMs: Schema.Number,
  error: Schema.NullOr(Schema.String),
  /** The body's first characters; null for chat tools. */
  payloadSnapshot: Schema.NullOr(Schema.String),
  createdAt: Schema.String
})
export interface WebhookDelivery extends Schema.Schema.Type<typeof WebhookDelivery> {}
