/**
 * Writes the changes of leases down, off the path of whoever made them: a bounded backlog that waits for the records to come back.
 * A change beyond the bound is counted and said aloud, never dropped in silence.
 */
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import { LeaseRecords } from "#actors/ports/LeaseRecords.ts"
import type { Change } from "#schemas/protocols/Lease.ts"

/** Changes that wait for the records at most. */
const capacity = 10_000
/** Changes written at once. */
const batch = 500
/** Pause after a failed write: doubles from the first to the second, ms. */
const firstPauseMs = 250
const longestPauseMs = 15_000
/** What is left when the gateway stops gets so long, ms. */
const lastWordMs = 2_000

export interface LeaseAudit {
  readonly note: (changes: ReadonlyArray<Change>) => void
}

export const make = Effect.gen(function*() {
  const records = yield* LeaseRecords
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const pending: Array<Change> = []
  let writing = false
  let lost = 0

  const write = (pauseMs: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (pending.length === 0) {
        writing = false
        return Effect.void
      }
      const some = pending.slice(0, batch)
      return Effect.matchEffect(records.append(some), {
        onSuccess: () => {
          pending.splice(0, some.length)
          return write(firstPauseMs)
        },
        onFailure: (error) =>
          Effect.andThen(
            pauseMs === firstPauseMs ? Effect.logWarning(`Changes of leases wait for the records: ${error.message}`) : Effect.void,
            Effect.delay(Effect.suspend(() => write(Math.min(longestPauseMs, pauseMs * 2))), pauseMs)
          )
      })
    })

  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => pending.length === 0 ? Effect.void : Effect.ignore(Effect.timeout(records.append(pending), lastWordMs))))

  const audit: LeaseAudit = {
    note: (changes) => {
      if (changes.length === 0) return
      const room = capacity - pending.length
      if (changes.length > room) {
        lost += changes.length - room
        fork(Effect.logError(`${lost} changes of leases were not written down: more than ${capacity} wait for the records`))
      }
      pending.push(...changes.slice(0, room))
      if (writing || pending.length === 0) return
      writing = true
      fork(write(firstPauseMs))
    }
  }
  return audit
})
