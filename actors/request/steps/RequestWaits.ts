/** What a request waits for beside the calls themselves: each wait brings one event, unless it is ended before. */
import type * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Fiber from "effect/Fiber"
import type { RequestEvent } from "#actors/request/walk/RequestState.ts"

/** The request that waits. */
export interface Waiting {
  readonly fiber: Fiber.Fiber<unknown, unknown> | null
  hear(event: RequestEvent): void
  fail(cause: Cause.Cause<never>): void
}

const delayOver: RequestEvent = { _tag: "DelayOver" }
const hedgeDue: RequestEvent = { _tag: "HedgeDue" }

export class RequestWaits {
  readonly #request: Waiting
  #stopDelay: (() => void) | null = null
  #disarmHedge: (() => void) | null = null
  #drainTimer: ReturnType<typeof setTimeout> | null = null

  constructor(request: Waiting) {
    this.#request = request
  }

  /** Runs beside the request until it brings its event; answers how to end it. */
  until(effect: Effect.Effect<RequestEvent>): () => void {
    const request = this.#request
    let isOver = false
    const fiber = Effect.runForkWith((request.fiber as Fiber.Fiber<unknown, unknown>).context)(effect)
    fiber.addObserver((exit) => {
      if (isOver) return
      isOver = true
      if (Exit.isSuccess(exit)) request.hear(exit.value)
      else request.fail(exit.cause)
    })
    return () => {
      isOver = true
      fiber.interruptUnsafe()
    }
  }

  delay(ms: number): void {
    this.#stopDelay = this.until(Effect.as(Effect.sleep(ms), delayOver))
  }

  stopDelay(): void {
    this.#stopDelay?.()
  }

  /** The lead is called first, also with a delay of 0. */
  armHedge(ms: number): void {
    this.#disarmHedge = this.until(Effect.as(Effect.andThen(Effect.yieldNow, Effect.sleep(ms)), hedgeDue))
  }

  disarmHedge(): void {
    this.#disarmHedge?.()
  }

  /** The longest time that the rest of an answer is read for its usage. */
  drainFor(ms: number): void {
    this.#drainTimer = setTimeout(() => this.#request.hear({ _tag: "DrainOver" }), ms)
  }

  close(): void {
    if (this.#drainTimer !== null) clearTimeout(this.#drainTimer)
  }
}
