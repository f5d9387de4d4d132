/** The webhooks of this node, as emitters and handlers ask them. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { Webhook } from "#schemas/records/Webhook.ts"
import type { QueuedEvent } from "./WebhookQueue.ts"
import type { Answered, SentEvent } from "./WebhookSender.ts"

type Op<A> = Effect.Effect<A, StoreError>

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
