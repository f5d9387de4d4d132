/** Readers of sessions on this node that wait for the next message. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"

export interface Wakers {
  readonly next: (id: string) => Effect.Effect<Effect.Effect<void>>
  readonly wakeUnsafe: (id: string) => void
}

export const make = (): Wakers => {
  const waiting = new Map<string, Deferred.Deferred<void>>()
  return {
    next: (id) => Effect.sync(() => {
      let deferred = waiting.get(id)
      if (deferred === undefined) waiting.set(id, deferred = Deferred.makeUnsafe<void>())
      return Deferred.await(deferred)
    }),
    wakeUnsafe: (id) => {
      const deferred = waiting.get(id)
      if (deferred === undefined) return
      waiting.delete(id)
      Deferred.doneUnsafe(deferred, Effect.void)
    }
  }
}
