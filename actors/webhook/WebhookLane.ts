/** The lane of one webhook on this node: it takes jobs from the queue, delivers each in attempts, and writes down what happened. */
import * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Schedule from "effect/Schedule"
import * as Supervisor from "#actors/Supervisor.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { after } from "./deliveryStep.ts"
import type { WebhookJob, WebhookQueue } from "./ports/WebhookQueue.ts"
import type { Answered, SentEvent, WebhookSender } from "./ports/WebhookSender.ts"
import type { WebhookStore } from "./ports/WebhookStore.ts"
import { DISABLE_AFTER, SNAPSHOT_CHARS, type Webhook, type WebhookDelivery } from "#schemas/records/Webhook.ts"

/** Deliveries of one webhook that a node makes at once. */
export const LANE_WIDTH = 8
/** A claim outlasts four attempts of 10 s, their pauses and a slow store, ms. */
export const HOLD_MS = 120_000
/** Between two tries to write down what happened, ms. */
const STORE_PAUSE_MS = 1_000
/** How often that is tried before the job is left to its claim's end. */
const STORE_TRIES = 20

/** The record of one attempt; chat tools leave no snapshot. */
const deliveryOf = (
  webhook: Webhook,
  event: { readonly type: string; readonly body: string },
  answered: Answered,
  times: { readonly startedAt: number; readonly latencyMs: number },
  id: string
): WebhookDelivery => ({
  id,
  webhookId: webhook.id,
  eventType: event.type,
  status: answered.error === null ? "success" : "failed",
  httpStatus: answered.status === 0 ? null : answered.status,
  latencyMs: times.latencyMs,
  error: answered.error,
  payloadSnapshot: webhook.kind === "custom" ? event.body.slice(0, SNAPSHOT_CHARS) : null,
  createdAt: new Date(times.startedAt).toISOString()
})

export interface WebhookLaneOptions {
  readonly store: WebhookStore["Service"]
  readonly queue: WebhookQueue["Service"]
  readonly sender: WebhookSender["Service"]
  /** The claimant. */
  readonly owner: string
  readonly makeId: () => string
  /** Runs deliveries; they outlive a lane that is closed, so that what was sent is also written down. */
  readonly fork: (delivery: Effect.Effect<void>) => void
  /** The webhook was switched off. */
  readonly onDisabled: (webhook: Webhook) => Effect.Effect<void>
}

/** Keeps an attempt while the store is away; gives up in the end, and the job comes back when its claim ends. */
const patiently = <A>(op: Effect.Effect<A, StoreError>): Effect.Effect<A, StoreError> =>
  Effect.retry(op, { while: ({ reason }) => reason === "unavailable", times: STORE_TRIES - 1, schedule: Schedule.spaced(STORE_PAUSE_MS) })

/** One attempt, written down. */
export const attempt = Effect.fnUntraced(function*(options: Pick<WebhookLaneOptions, "store" | "sender" | "makeId">, webhook: Webhook, event: SentEvent, number: number) {
  const startedAt = yield* Clock.currentTimeMillis
  const answered = yield* options.sender.send(webhook, event)
  const latencyMs = Math.max(0, (yield* Clock.currentTimeMillis) - startedAt)
  const step = after(webhook.kind, number, answered)
  const counts = step._tag === "Again" ? "attempt" : step._tag === "Delivered" ? "delivered" : "failed"
  const marks = yield* patiently(options.store.note(deliveryOf(webhook, event, answered, { startedAt, latencyMs }, options.makeId()), counts))
  return { answered, step, marks }
})

/** Deliveries of one webhook on this node, several at a time; lanes of other nodes take from the same queue. */
export class Lane {
  webhook: Webhook
  readonly wake = Latch.makeUnsafe(true)
  readonly #room = Latch.makeUnsafe(true)
  readonly #options: WebhookLaneOptions
  #running = 0

  constructor(webhook: Webhook, options: WebhookLaneOptions) {
    this.webhook = webhook
    this.#options = options
  }

  /** Takes jobs when woken, as many as fit; never ends by itself. */
  get run(): Effect.Effect<void> {
    return Supervisor.supervised("webhook lane", this.#turn, { fields: { webhook: this.webhook.id } })
  }

  get #turn(): Effect.Effect<void> {
    return Effect.gen({ self: this }, function*() {
      yield* this.wake.await
      // Closed before the look: what is queued during it opens it again.
      this.wake.closeUnsafe()
      while (yield* this.#take) yield* this.#room.await
    }).pipe(
      Effect.catch((error) => Effect.logWarning(`webhook ${this.webhook.id}: its queue cannot be read now: ${error.message}`).pipe(
        Effect.andThen(Effect.sleep(STORE_PAUSE_MS)),
        Effect.andThen(this.wake.open)
      )),
      // What it was woken for is still there.
      Effect.tapDefect(() => this.wake.open)
    )
  }

  get #take(): Effect.Effect<boolean, StoreError> {
    const { fork, owner, queue } = this.#options
    return Effect.uninterruptible(Effect.flatMap(
      queue.claim(this.webhook.id, owner, LANE_WIDTH - this.#running, HOLD_MS),
      (jobs) => Effect.sync(() => {
        for (const job of jobs) {
          if (++this.#running >= LANE_WIDTH) this.#room.closeUnsafe()
          fork(this.#deliver(job))
        }
        return jobs.length > 0
      })
    ))
  }

  #deliver(job: WebhookJob): Effect.Effect<void> {
    const { onDisabled, queue, store } = this.#options
    return Effect.gen({ self: this }, function*() {
      for (let number = 1;; number++) {
        const { webhook } = this
        const { marks, step } = yield* attempt(this.#options, webhook, job, number)
        if (step._tag === "Again") {
          yield* Effect.sleep(step.afterMs)
          continue
        }
        yield* patiently(queue.done(webhook.id, job.id))
        if (step._tag === "Failed" && marks !== null && marks.enabled && marks.failureCount >= DISABLE_AFTER) {
          const at = new Date(yield* Clock.currentTimeMillis).toISOString()
          if (yield* store.disableFailed(webhook.id, at)) yield* onDisabled(webhook)
        }
        return
      }
    }).pipe(
      Effect.catchCause((cause) => Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.logWarning(`webhook ${this.webhook.id}: event ${job.id} is delivered again later`, cause)),
      Effect.ensuring(Effect.sync(() => {
        this.#running--
        this.#room.openUnsafe()
      }))
    )
  }
}
