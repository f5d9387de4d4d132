/** Webhooks: their records, the durable queue of (webhook, event) jobs, the wire, and the actor that brings them together. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { Webhook, WebhookDelivery } from "#schemas/records/Webhook.ts"

type Op<A> = Effect.Effect<A, StoreError>

/** What a management call may change. */
export type WebhookChange = Partial<Pick<Webhook, "url" | "events" | "secret" | "enabled" | "description" | "kind" | "metadata" | "failureCount">>

/** An event on its way to the queue. */
export interface QueuedEvent {
  /** The same for every copy of one event: a second one with the id adds nothing. */
  readonly id: string
  readonly type: string
  /** When it happened, ISO 8601 as in the payload: a webhook that was made or switched on later does not get it. */
  readonly at: string
  /** The payload as it is signed and sent. */
  readonly body: string
}

/** An event as it is sent. */
export interface SentEvent extends Pick<QueuedEvent, "type" | "body"> {
  /** Time of a sending that is not the event's own, ISO 8601; the header tells it instead of the payload's. */
  readonly sentAt?: string
}

/** One event for one webhook, held by one lane until its claim ends. */
export interface WebhookJob extends Omit<QueuedEvent, "at"> {
  readonly webhookId: string
}

/** What a webhook is when the gateway looks: whether it is as it was read, and whether something waits for it. */
export interface WebhookState {
  readonly id: string
  readonly updatedAt: string
  readonly enabled: boolean
  readonly waiting: boolean
}

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

/** At-least-once, over all nodes: a job is there until it is done, and a claim that is not kept falls back. */
export class WebhookQueue extends Context.Service<WebhookQueue, {
  /** Adds events with a job for each webhook that wants them and was enabled when they happened; answers the webhooks that got one. Idempotent by event id. */
  readonly append: (events: ReadonlyArray<QueuedEvent>, now: string) => Op<ReadonlyArray<string>>
  /** Takes up to `limit` jobs of an enabled webhook, oldest first, that are not claimed. */
  readonly claim: (webhookId: string, owner: string, limit: number, holdMs: number) => Op<ReadonlyArray<WebhookJob>>
  readonly done: (webhookId: string, eventId: string) => Op<void>
  /** Gives back everything that an owner holds. */
  readonly release: (owner: string) => Op<void>
  /** Drops the oldest waiting jobs above `keep`; answers how many. */
  readonly trim: (webhookId: string, keep: number) => Op<number>
  readonly states: Op<ReadonlyArray<WebhookState>>
}>()("gateway/ports/WebhookQueue") {}

/** What a receiver said; `status` 0 = nothing. */
export interface Answered {
  readonly status: number
  /** Null when it took the event. Safe to show: no URL, no secret. */
  readonly error: string | null
  /** Nothing was sent, because the address is forbidden. */
  readonly blocked: boolean
}

/** One wire call; it never fails, and it ends within its deadline. */
export class WebhookSender extends Context.Service<WebhookSender, {
  readonly send: (webhook: Webhook, event: SentEvent) => Effect.Effect<Answered>
}>()("gateway/ports/WebhookSender") {}

/** The lanes of this node. */
export class Webhooks extends Context.Service<Webhooks, {
  /** Whether an enabled webhook listens to this event. */
  readonly wants: (type: string) => boolean
  /** Brings events into the queue and wakes the lanes. */
  readonly append: (events: ReadonlyArray<QueuedEvent>) => Op<void>
  /** Reads the records anew, after one was changed here. */
  readonly refresh: Op<void>
  /** One attempt with `test.ping`, whatever the webhook listens to and even if it is off. */
  readonly test: (webhook: Webhook) => Op<Answered>
  /** One attempt with an event that was sent before; its failure counts as one of a delivery. */
  readonly replay: (webhook: Webhook, event: Pick<SentEvent, "type" | "body">) => Op<Answered>
}>()("gateway/ports/Webhooks") {}
