import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { SentBack, sentBack } from "#schemas/api/SentBack.ts"
import { clearable, Document, listOf, Success, text } from "#schemas/api/fields.ts"
import { Owner } from "#schemas/FileOwned.ts"
import { eventTypes, WebhookDelivery, WebhookKind } from "#schemas/records/Webhook.ts"

const WebhookView = Schema.Struct({
  id: Schema.String,
  url: Schema.String,
  events: Schema.Array(Schema.String),
  /** In lists its first 10 characters, at most a third of it, and `...`. */
  secret: Schema.String,
  enabled: Schema.Boolean,
  description: Schema.NullOr(Schema.String),
  kind: WebhookKind,
  /** Secret members read `[redacted]`. */
  metadata: Schema.NullOr(Document),
  failure_count: Schema.Int,
  last_triggered_at: Schema.NullOr(Schema.String),
  last_status: Schema.NullOr(Schema.Int),
  created_at: Schema.String,
  owner: Owner
}).annotate({ identifier: "Webhook" })
export type WebhookView = typeof WebhookView.Type

const url = text(1, 2_000)
/** `*` stands for every event. A name that this release does not know is kept, and hears nothing. */
const knownEvents = Schema.Literals(["*", ...eventTypes])
const events = listOf(Schema.Union([knownEvents, text(1, 200)]), 100)
export const isKnownEvent = Schema.is(knownEvents)
const secret = text(1, 500)
const metadata = Schema.Record(Schema.String, Schema.String.check(Schema.isMaxLength(2_000)))

/** A boolean, or 0 and 1: clients send both. */
const onOff = Schema.Union([Schema.Boolean, Schema.Literals([0, 1])])

export const NewWebhook = Schema.Struct({
  url,
  events: Schema.optionalKey(events),
  secret: clearable(secret),
  description: clearable(text(0, 1_000)),
  active: Schema.optionalKey(onOff),
  enabled: Schema.optionalKey(onOff),
  kind: Schema.optionalKey(WebhookKind),
  metadata: clearable(metadata)
})
export type NewWebhook = typeof NewWebhook.Type

export const WebhookChange = Schema.Struct({
  url: Schema.optionalKey(url),
  events: Schema.optionalKey(events),
  /** As the list shows it, it stays. */
  secret: Schema.optionalKey(secret),
  description: clearable(text(0, 1_000)),
  enabled: Schema.optionalKey(onOff),
  active: Schema.optionalKey(onOff),
  kind: Schema.optionalKey(WebhookKind),
  metadata: clearable(metadata)
})
export type WebhookChange = typeof WebhookChange.Type

const params = { id: Schema.String }
const Sent = Schema.Struct({ delivered: Schema.Boolean, status: Schema.Int, error: Schema.NullOr(Schema.String) })
const One = Schema.Struct({ webhook: WebhookView })
/** `warning`: which of the events are unknown. */
const Stored = Schema.Struct({ ...One.fields, warning: Schema.optionalKey(Schema.String) })

/** Webhooks: events that the gateway sends to receivers. */
export const WebhooksGroup = HttpApiGroup.make("webhooks").add(
  HttpApiEndpoint.get("list", "/api/webhooks", { success: Schema.Struct({ webhooks: Schema.Array(WebhookView) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Webhooks, their secrets masked"),
  HttpApiEndpoint.post("create", "/api/webhooks", { payload: NewWebhook, success: Stored.pipe(HttpApiSchema.status(201)) })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Add a webhook; without a secret one is generated"),
  HttpApiEndpoint.post("validateUrl", "/api/webhooks/validate-url", {
    payload: Schema.Struct({ url: Schema.String.check(Schema.isMaxLength(10_000)) }),
    /** `warning`: nothing forbids the URL, and its name cannot be resolved now. */
    success: Schema.Struct({ valid: Schema.Boolean, reason: Schema.optionalKey(Schema.String), warning: Schema.optionalKey(Schema.String) })
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Whether a URL may be used, without calling it"),
  HttpApiEndpoint.get("get", "/api/webhooks/:id", { params, success: One })
    .annotate(Access, reads).annotate(OpenApi.Summary, "One webhook with its secret"),
  HttpApiEndpoint.put("update", "/api/webhooks/:id", { params, payload: WebhookChange, success: Stored })
    .annotate(SentBack, sentBack({ moves: ["failure_count", "last_triggered_at", "last_status"] })).annotate(Access, writes).annotate(OpenApi.Summary, "Change a webhook; enabled true forgets its failures"),
  HttpApiEndpoint.delete("remove", "/api/webhooks/:id", { params, success: Success })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Remove a webhook, what waits for it and its deliveries"),
  HttpApiEndpoint.post("test", "/api/webhooks/:id/test", { params, success: Sent }).annotate(Access, writes).annotate(OpenApi.Summary, "Send test.ping once; status 0 = no answer"),
  HttpApiEndpoint.get("deliveries", "/api/webhooks/:id/deliveries", { params, success: Schema.Struct({ deliveries: Schema.Array(WebhookDelivery) }) })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The newest 50 delivery attempts"),
  HttpApiEndpoint.post("replay", "/api/webhooks/:id/deliveries/:deliveryId/replay", { params: { ...params, deliveryId: Schema.String }, success: Sent })
    .annotate(Access, writes).annotate(OpenApi.Summary, "Send a past delivery once more, with the same event id and body; status 0 = no answer")
).annotateMerge(OpenApi.annotations({ title: "Webhooks", description: "Signed events to receivers of the operator's." }))
