/** Where webhooks and their deliveries are kept. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { Webhook, WebhookDelivery } from "#schemas/records/Webhook.ts"

type Op<A> = Effect.Effect<A, StoreError>

/** What a management call may change. */
export type WebhookChange = Partial<Pick<Webhook, "url" | "events" | "secret" | "enabled" | "description" | "kind" | "metadata" | "failureCount">>

export class WebhookStore extends Context.Service<WebhookStore, {
  /** Oldest first. */
  readonly list: Op<ReadonlyArray<Webhook>>
  readonly get: (id: string) => Op<Webhook | null>
  readonly insert: (webhook: Webhook) => Op<void>
  /** Answers the changed record; null when the id is unknown. One that this switches on gets events from `updatedAt` on. */
  readonly change: (id: string, change: WebhookChange, updatedAt: string) => Op<Webhook | null>
  /** Its jobs and deliveries go with it. */
  readonly remove: (id: string) => Op<boolean>
  /** Newest first. */
  readonly deliveries: (id: string, limit: number) => Op<ReadonlyArray<WebhookDelivery>>
  /** One of its deliveries that are kept. */
  readonly delivery: (webhookId: string, id: string) => Op<WebhookDelivery | null>
  /** Keeps the attempt and marks the webhook; the last attempt of a delivery also counts: answers the record's counters. */
  readonly note: (delivery: WebhookDelivery, counts: "attempt" | "delivered" | "failed") => Op<{ readonly failureCount: number; readonly enabled: boolean } | null>
  /** Switches it off if it has failed `DISABLE_AFTER` times; true when this call did. */
  readonly disableFailed: (id: string, updatedAt: string) => Op<boolean>
  /** Removes what is older than these times (ISO), and of each webhook all but the newest `keep` deliveries; answers how many rows went. */
  readonly prune: (deliveriesBefore: string, eventsBefore: string, keep: number) => Op<number>
}>()("gateway/ports/WebhookStore") {}
