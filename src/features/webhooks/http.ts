import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Redacted from "effect/Redacted"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import { WebhookStore } from "#actors/webhook/ports/WebhookStore.ts"
import type { Webhook } from "#schemas/records/Webhook.ts"
import { answer } from "#src/management/answer.ts"
import { ownerOf } from "#src/management/ownership/ownership.ts"
import { redact } from "#src/management/redact.ts"
import * as Surface from "#src/management/Surface.ts"
import { isKnownEvent, type WebhookView, WebhooksGroup } from "./api.ts"
import { ManagedWebhooks, masked, metadataOf } from "./ManagedWebhooks.ts"

const DELIVERIES = 50

const view = (webhook: Webhook, inList: boolean, snapshot: Snapshot): WebhookView => {
  const secret = Redacted.value(webhook.secret)
  const metadata = metadataOf(webhook)
  return {
    id: webhook.id, url: Redacted.value(webhook.url), events: webhook.events, secret: inList ? masked(secret) : secret,
    enabled: webhook.enabled, description: webhook.description, kind: webhook.kind, metadata: metadata === null ? null : redact(metadata),
    failure_count: webhook.failureCount, last_triggered_at: webhook.lastTriggeredAt, last_status: webhook.lastStatus, created_at: webhook.createdAt,
    owner: ownerOf(snapshot, "webhook", webhook.id)
  }
}

export const layer = HttpApiBuilder.group(Surface.make(WebhooksGroup), "webhooks", Effect.fn(function*(handlers) {
  const configuration = yield* Configuration
  const guard = yield* UrlGuard
  const managed = yield* ManagedWebhooks
  const store = yield* WebhookStore

  const viewOf = (webhook: Webhook, inList: boolean) => view(webhook, inList, configuration.current())

  /** A receiver may be made for events of another release: no reason to refuse. */
  const stored = (webhook: Webhook) => {
    const unknown = webhook.events.filter((event) => !isKnownEvent(event))
    return { webhook: viewOf(webhook, false), ...(unknown.length === 0 ? {} : { warning: `No event is called ${unknown.join(", ")}: nothing is sent for it.` }) }
  }

  return handlers.handleAll({
    list: () => answer(Effect.map(store.list, (all) => ({ webhooks: all.map((webhook) => viewOf(webhook, true)) }))),
    create: ({ payload }) => answer(Effect.map(managed.create(payload), stored)),
    validateUrl: ({ payload }) => Effect.match(guard.check(payload.url, "webhook"), {
      onFailure: ({ message, reason }) => reason === "unresolvable" ? { valid: true, warning: message } : { valid: false, reason: message },
      onSuccess: () => ({ valid: true })
    }),
    get: ({ params }) => answer(Effect.map(managed.get(params.id), (webhook) => ({ webhook: viewOf(webhook, false) }))),
    update: ({ params, payload }) => answer(Effect.map(managed.change(params.id, payload), stored)),
    remove: ({ params }) => answer(Effect.as(managed.remove(params.id), { success: true as const })),
    test: ({ params }) => answer(managed.test(params.id)),
    replay: ({ params }) => answer(managed.replay(params.id, params.deliveryId)),
    deliveries: ({ params }) => answer(Effect.andThen(managed.get(params.id), Effect.map(store.deliveries(params.id, DELIVERIES), (deliveries) => ({ deliveries }))))
  })
}))
