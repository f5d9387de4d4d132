/** The locks of a gateway that is alone on its records. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"

export const layer = Layer.effect(RecordLocks, Effect.sync(() => {
  const locks = new Map<string, Semaphore.Semaphore>()
  return RecordLocks.of({
    of: (subject) => {
      const lock = locks.get(subject) ?? Semaphore.makeUnsafe(1)
      locks.set(subject, lock)
      return lock.withPermits(1)
    }
  })
}))
