/** The durable queue of jobs: one event for one webhook. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"

type Op<A> = Effect.Effect<A, StoreError>

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
