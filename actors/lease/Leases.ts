/**
 * The keeper of leases: draws generations before a lease is made, ends leases whose key or connection may no longer hold them, removes
 * expired ones and records every change. The store decides; the keeper never remembers a lease itself.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { firstInARow } from "#actors/firstInARow.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import * as LeaseAudit from "#actors/lease/LeaseAudit.ts"
import * as Standing from "#actors/lease/standing.ts"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { LeaseRecords } from "./LeaseRecords.ts"
import { LeaseStore, LeaseStoreDown, type LeaseOutcome } from "./LeaseStore.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import type {
  Acquire, AcquireReply, LeaseClaim, ClaimReply, GenerationDraw, EndReason, Lease, MoveReply, ReleaseReason
} from "#schemas/protocols/Lease.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

/** Bounds of GATEWAY_EXCLUSIVE_LEASE_TTL_MS. */
const shortestTtlMs = 1_000
const longestTtlMs = 1_800_000
/** Interval of the sweep that removes expired leases and checks the others, ms. */
const sweepMs = 30_000
/** Generations drawn for one request at most: each draw after the first follows another acquisition of the same owner. */
const maxDraws = 8

const gauge = Metric.gauge("gateway_leases_active", { description: "Session leases that are ACTIVE, as this node last knew." })

type StoreQuestion<A> = Effect.Effect<A, LeaseStoreDown>
type Found = Lease | null

export interface Options {
  readonly ttlMs: number
}

export class Leases extends Context.Service<Leases, {
  /** `fits` and `available` are ids of connections, as `Acquire` has them. */
  readonly acquire: (owner: string, key: ApiKey, fits: ReadonlyArray<string>, available: ReadonlyArray<string>) => StoreQuestion<Exclude<AcquireReply, GenerationDraw>>
  readonly renew: (claim: LeaseClaim, key: ApiKey) => StoreQuestion<ClaimReply>
  readonly release: (claim: LeaseClaim, key: ApiKey, reason: ReleaseReason) => StoreQuestion<ClaimReply>
  /** The ACTIVE lease that the claim fits and that its key and connection may still have; at once where the store is this process. */
  readonly find: (claim: LeaseClaim, key: ApiKey) => Found | StoreQuestion<Found>
  readonly move: (claim: LeaseClaim, from: string, to: string) => StoreQuestion<MoveReply>
  /** Ends exactly this lease, soon. */
  readonly end: (lease: Lease, reason: EndReason) => void
  /** Ends exactly this lease now; false when it had ended, moved or was followed by another. */
  readonly revoke: (lease: Lease, reason: EndReason) => StoreQuestion<boolean>
  /** ACTIVE leases of the store. */
  readonly list: StoreQuestion<ReadonlyArray<Lease>>
  /** How many there are, as this node last knew. */
  readonly active: () => number
}>()("gateway/actors/Leases") {}

/** What a key claims when it presents an owner (SHA-256, hex) and a generation. */
export const claimOf = (owner: string, key: ApiKey, generation: number): LeaseClaim => ({
  owner, keyId: key.id, keyPrint: Standing.printOf(key), generation
})

export const make = Effect.fnUntraced(function*(options: Options) {
  const store = yield* LeaseStore
  const records = yield* LeaseRecords
  const configuration = yield* Configuration
  const keys = yield* Keys
  const clock = yield* Clock.Clock
  const keyStore = yield* KeyStore
  const audit = yield* LeaseAudit.make
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const ttlMs = Math.min(longestTtlMs, Math.max(shortestTtlMs, options.ttlMs))
  let active = 0
  /** Whether leases are in use at all, as far as this node knows: while not, a change of the configuration costs nothing here. */
  let used = false
  const registry = yield* Effect.context<never>()
  yield* Effect.acquireRelease(
    Effect.sync(() => Metric.registerUnsafe(gauge, registry, { get: () => ({ value: active }), update: () => {}, modify: () => {} })),
    ({ remove }) => Effect.sync(remove)
  )

  const told = <Reply>(op: Effect.Effect<LeaseOutcome<Reply>, LeaseStoreDown>): StoreQuestion<Reply> =>
    Effect.map(op, ({ changes, reply }) => {
      for (const { kind } of changes) {
        if (kind === "ACQUIRED") active++
        else if (kind !== "MOVED" && active > 0) active--
      }
      audit.note(changes)
      return reply
    })

  const revoke = (lease: Lease, reason: EndReason): StoreQuestion<boolean> => told(store.invalidate(lease, reason))

  const invalidate = (lease: Lease, reason: EndReason): StoreQuestion<void> => Effect.asVoid(revoke(lease, reason))

  /** A failure heals with the next sweep; until then calls with the lease are refused. */
  const soon = (work: Effect.Effect<void, unknown>): void => {
    fork(Effect.ignore(work))
  }

  const end = (lease: Lease, reason: EndReason): void => soon(invalidate(lease, reason))

  const keyReason = (lease: Lease, key: ApiKey | null): EndReason | null => Standing.ofKey(lease, key, clock.currentTimeMillisUnsafe())

  /** Null for a lease that its key or its connection may no longer have. */
  const standing = (lease: Found, key: ApiKey): Found => {
    if (lease === null) return null
    const reason = keyReason(lease, key) ?? Standing.ofConnection(lease.connection, configuration.current())
    if (reason === null) return lease
    end(lease, reason)
    return null
  }

  const find = (claim: LeaseClaim, key: ApiKey): Found | StoreQuestion<Found> => {
    const found = store.find(claim)
    return Effect.isEffect(found) ? Effect.map(found, (lease) => standing(lease, key)) : standing(found, key)
  }

  /** Runs `op` for a claim that is still good. */
  const whileHeld = (claim: LeaseClaim, key: ApiKey, op: StoreQuestion<ClaimReply>): StoreQuestion<ClaimReply> => {
    const found = find(claim, key)
    const go = (lease: Found): StoreQuestion<ClaimReply> => lease === null ? Effect.succeed({ _tag: "Stale" }) : op
    return Effect.isEffect(found) ? Effect.flatMap(found, go) : go(found)
  }

  const acquire = (command: Acquire, draws: number): StoreQuestion<Exclude<AcquireReply, GenerationDraw>> =>
    Effect.flatMap(told(store.acquire(command)), (reply) => {
      if (reply._tag !== "Draw") return Effect.succeed(reply)
      if (draws === 0) return Effect.fail(new LeaseStoreDown({ message: "Other acquisitions of the same owner came before this one again and again." }))
      return Effect.flatMap(
        Effect.mapError(records.nextGeneration(command.owner, reply.highest), ({ message }) => new LeaseStoreDown({ message })),
        (generation) => acquire({ ...command, drawn: { generation, epoch: reply.epoch } }, draws - 1)
      )
    })

  const usable = (ids: ReadonlyArray<string>, snapshot: Snapshot) => ids.filter((id) => Standing.ofConnection(id, snapshot) === null)

  /** Ends those that `why` gives a reason for. */
  const look = (why: (lease: Lease) => EndReason | null) =>
    Effect.flatMap(store.active, (leases) =>
      Effect.forEach(leases, (lease) => {
        const reason = why(lease)
        return reason === null ? Effect.void : invalidate(lease, reason)
      }, { discard: true }))

  const lookAtKey = (id: string) =>
    Effect.flatMap(keyStore.get(id), (key) => look((lease) => lease.keyId === id ? keyReason(lease, key) : null))

  /** Ends every lease whose key or connection may no longer have it. */
  const lookOver = Effect.gen(function*() {
    const leases = yield* store.active
    for (const id of new Set(leases.map(({ keyId }) => keyId))) {
      const key = yield* keyStore.get(id)
      for (const lease of leases) {
        if (lease.keyId !== id) continue
        const reason = keyReason(lease, key) ?? Standing.ofConnection(lease.connection, configuration.current())
        if (reason !== null) yield* invalidate(lease, reason)
      }
    }
  })

  yield* Effect.acquireRelease(
    Effect.sync(() => configuration.onChange((snapshot) => {
      if (used) soon(look(({ connection }) => Standing.ofConnection(connection, snapshot)))
    })),
    (unhear) => Effect.sync(unhear)
  )
  yield* Effect.acquireRelease(
    Effect.sync(() => keys.onForget((id) => {
      if (used) soon(id === null ? lookOver : lookAtKey(id))
    })),
    (unhear) => Effect.sync(unhear)
  )

  const sweep = Effect.gen(function*() {
    active = yield* told(store.sweep)
    used = active > 0
    if (used) yield* lookOver
  })
  yield* Supervisor.loop("lease sweep", Effect.delay(
    firstInARow(sweep, ({ message }) => Effect.logWarning(`Leases cannot be looked over: ${message}`)),
    sweepMs
  ))

  return Leases.of({
    acquire: (owner, key, fits, available) => Effect.suspend(() => {
      used = true
      const snapshot = configuration.current()
      return acquire({
        owner, keyId: key.id, keyPrint: Standing.printOf(key), fits: usable(fits, snapshot), available: usable(available, snapshot), ttlMs, drawn: null
      }, maxDraws)
    }),
    renew: (claim, key) => whileHeld(claim, key, told(store.renew(claim, ttlMs))),
    release: (claim, key, reason) => whileHeld(claim, key, told(store.release(claim, reason))),
    find,
    move: (claim, from, to) => told(store.move(claim, from, to)),
    end,
    revoke,
    list: store.active,
    active: () => active
  })
})

export const layer = (options: Options) => Layer.effect(Leases, make(options))
