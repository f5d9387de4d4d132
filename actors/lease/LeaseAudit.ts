/**
 * Writes the changes of leases down, off the path of their cause: a bounded backlog that waits for the records to come back.
 * A change beyond the bound is counted and logged, never dropped silently. An invalidation also gets its entry in the audit log.
 */
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Supervisor from "#actors/Supervisor.ts"
import { LeaseRecords } from "./LeaseRecords.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { AuditStore } from "#actors/ports/Stores.ts"
import type { LeaseChange } from "#schemas/protocols/Lease.ts"
import type { AuditEntry } from "#schemas/records/AuditEntry.ts"

/** Changes that wait for the records at most. */
const capacity = 10_000
/** Changes written at once. */
const batch = 500
/** Pause after a failed write: doubles from the first to the second, ms. */
const firstPauseMs = 250
const longestPauseMs = 15_000
/** Longest time for the last write when the gateway stops, ms. */
const finalWriteMs = 2_000

export interface LeaseAudit {
  readonly note: (changes: ReadonlyArray<LeaseChange>) => void
}

/** A change that waits, with its entry of the audit log if it is to have one. */
interface Waiting {
  readonly change: LeaseChange
  readonly entry: AuditEntry | null
}

/** The entry never names the owner: its hash tells one session from another, and operators need the key and the connection only. */
const entryOf = ({ at, kind, lease, reason }: LeaseChange): AuditEntry | null => kind !== "INVALIDATED" ? null : {
  id: SecureRandom.uuidV4Unsafe(),
  timestamp: new Date(at).toISOString(),
  action: "lease.invalidated",
  actor: "gateway",
  target: lease.connection,
  details: { reason, keyId: lease.keyId, connectionId: lease.connection, generation: lease.generation, acquiredAt: new Date(lease.acquiredAt).toISOString() },
  ipAddress: null,
  resourceType: "lease",
  status: "success",
  requestId: null
}

export const make = Effect.gen(function*() {
  const records = yield* LeaseRecords
  const auditLog = yield* AuditStore
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const pending: Array<Waiting> = []
  let writing = false
  let lost = 0

  /** An entry may be there already: its first write succeeded, but the reply was lost. */
  const enter = (entry: AuditEntry) =>
    Effect.catchIf(auditLog.append(entry), ({ reason }) => reason === "conflict", () => Effect.void)

  const keep = (some: ReadonlyArray<Waiting>): Effect.Effect<void, StoreError> =>
    Effect.andThen(
      records.append(some.map(({ change }) => change)),
      Effect.forEach(some, ({ entry }) => entry === null ? Effect.void : enter(entry), { discard: true })
    )

  const write = (pauseMs: number): Effect.Effect<void> =>
    Effect.suspend(() => {
      if (pending.length === 0) {
        writing = false
        return Effect.void
      }
      const some = pending.slice(0, batch)
      return Effect.matchEffect(keep(some), {
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
    Effect.suspend(() => pending.length === 0 ? Effect.void : Effect.ignore(Effect.timeout(keep(pending), finalWriteMs))))

  const audit: LeaseAudit = {
    note: (changes) => {
      if (changes.length === 0) return
      const room = capacity - pending.length
      if (changes.length > room) {
        lost += changes.length - room
        fork(Effect.logError(`${lost} changes of leases were not written down: more than ${capacity} wait for the records`))
      }
      pending.push(...changes.slice(0, room).map((change) => ({ change, entry: entryOf(change) })))
      if (writing || pending.length === 0) return
      writing = true
      fork(Supervisor.supervised("lease records", Effect.suspend(() => write(firstPauseMs))))
    }
  }
  return audit
})
