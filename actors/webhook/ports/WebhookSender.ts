/** The wire of a delivery. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Webhook } from "#schemas/records/Webhook.ts"
import type { QueuedEvent } from "./WebhookQueue.ts"

/** An event as it is sent. */
export interface SentEvent extends Pick<QueuedEvent, "type" | "body"> {
  /** Time of a sending that is not the event's own, ISO 8601; the header tells it instead of the payload's. */
  readonly sentAt?: string
}

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
