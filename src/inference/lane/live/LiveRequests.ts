/** The requests that are being served, so that a shutdown can end each with an error in its own format. */
import * as Effect from "effect/Effect"
import type { Onlooker } from "#src/inference/ports/LiveWatch.ts"
import type { LiveCall } from "#src/inference/ports/LiveCalls.ts"
import type { LiveRequest } from "#actors/request/LiveRequest.ts"
import { Roster } from "#src/platform/structures/Roster.ts"

export class LiveRequests {
  private readonly requests = new Roster<LiveRequest>()
  private readonly failed: (error: unknown) => void
  /** Hears of requests; null while none watches. */
  onlooker: Onlooker | null = null

  /** `failed` is called with the exception of one request, which does not affect the others. */
  constructor(failed: (error: unknown) => void) {
    this.failed = failed
  }

  get size(): number {
    return this.requests.size
  }

  readonly add = (request: LiveRequest): void => {
    this.requests.add(request)
    if (this.onlooker !== null) this.onlooker.began(request)
  }

  /** Those that run now. */
  get running(): Iterable<LiveRequest> {
    return this.requests
  }

  readonly remove = (request: LiveRequest): void => {
    this.requests.remove(request)
  }

  /** Says something on every stream that is silent. */
  readonly beat = (now: number): void => {
    for (const request of this.requests) {
      try {
        request.beat(now)
      } catch (error) {
        this.failed(error)
      }
    }
  }

  /** Ends every live request; each settles its own ledger row. */
  readonly shutDown = (): void => {
    for (const request of this.requests) {
      try {
        request.shutDown()
      } catch (error) {
        this.failed(error)
      }
    }
  }

  /** Ends what still runs when the scope that owns the requests closes: nothing outlives it. */
  readonly close: Effect.Effect<void> = Effect.suspend(() =>
    Effect.forEach([...this.requests], (request) => request.interrupted, { concurrency: "unbounded", discard: true }))

  /** Attempts in flight, grouped by target. */
  readonly list = (): ReadonlyArray<LiveCall> => {
    const calls = new Map<string, { model: string; provider: string; connectionId: string | null; count: number }>()
    for (const { target } of this.requests) {
      if (target === null) continue
      const connectionId = target.connection === null ? null : target.connection.id
      const id = `${target.provider} ${target.model} ${connectionId}`
      const known = calls.get(id)
      if (known === undefined) calls.set(id, { model: target.model, provider: target.provider, connectionId, count: 1 })
      else known.count++
    }
    return [...calls.values()]
  }
}
