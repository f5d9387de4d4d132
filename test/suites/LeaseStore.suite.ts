/** What every lease store owes: one holder per connection, one lease per owner, generations that fit exactly. */
import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { LeaseStore } from "#actors/lease/LeaseStore.ts"
import type { Acquire, AcquireReply, LeaseClaim, Lease } from "#schemas/protocols/Lease.ts"

type Store = LeaseStore["Service"]

const ttlMs = 60_000
/** Long enough for a store to answer twice in it, short enough to be waited for. */
const shortMs = 60

let sequence = 0
/** Names that no other test of the store uses. */
export const named = (prefix: string): string => `${prefix}-${process.pid}-${++sequence}`

const wish = (owner: string, connections: ReadonlyArray<string>, more: Partial<Acquire> = {}): Acquire => ({
  owner, keyId: "key-1", keyPrint: "print-1", fits: connections, available: connections, ttlMs, drawn: null, ...more
})

/** Acquires as the keeper does: asks, draws above what the store has seen, asks again. */
export const acquire = (store: Store, command: Acquire): Effect.Effect<AcquireReply> =>
  Effect.gen(function*() {
    const { reply } = yield* store.acquire(command)
    if (reply._tag !== "Draw") return reply
    return (yield* store.acquire({ ...command, drawn: { epoch: reply.epoch, generation: reply.highest + 1 } })).reply
  }).pipe(Effect.orDie)

export const granted = (reply: AcquireReply): Lease => {
  assert.strictEqual(reply._tag, "Granted", JSON.stringify(reply))
  return (reply as Extract<AcquireReply, { readonly _tag: "Granted" }>).lease
}

export const claimOf = ({ generation, keyId, keyPrint, owner }: Lease): LeaseClaim => ({ owner, keyId, keyPrint, generation })

const find = (store: Store, claim: LeaseClaim): Effect.Effect<Lease | null> => {
  const found = store.find(claim)
  return Effect.isEffect(found) ? Effect.orDie(found) : Effect.succeed(found)
}

/** Looks until the lease's time is over. */
const expired = (store: Store, claim: LeaseClaim): Effect.Effect<void> =>
  Effect.flatMap(find(store, claim), (lease) => lease === null ? Effect.void : Effect.delay(Effect.suspend(() => expired(store, claim)), 5))

export const suite = (name: string, layer: Layer.Layer<LeaseStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`LeaseStore on ${name}`, (it) => {
    it.effect("an owner gets the first free connection and keeps it; another owner gets the next; the third hears when the first is free", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const [a, b, c] = [named("o"), named("o"), named("o")]
        const pool = [named("c"), named("c")]
        const first = granted(yield* acquire(store, wish(a, pool)))
        assert.deepStrictEqual([first.connection, first.generation, first.expiresAt - first.acquiredAt, first.renewedAt], [pool[0], 1, ttlMs, first.acquiredAt])
        const second = granted(yield* acquire(store, wish(b, pool, { ttlMs: 2 * ttlMs })))
        assert.strictEqual(second.connection, pool[1])
        const reply = yield* acquire(store, wish(c, pool))
        assert.strictEqual(reply._tag, "Capacity")
        if (reply._tag === "Capacity") {
          assert.strictEqual(reply.freeAt, first.expiresAt)
          assert.isTrue(reply.now >= second.acquiredAt && reply.now < reply.freeAt)
        }
        assert.deepStrictEqual(yield* find(store, claimOf(first)), first)
      }))

    it.effect("acquiring again reuses and renews the lease that fits; one that does not fit is replaced under a new generation", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const owner = named("o")
        const [one, two] = [named("c"), named("c")]
        const lease = granted(yield* acquire(store, wish(owner, [one])))
        const again = yield* store.acquire(wish(owner, [two, one], { available: [] }))
        assert.deepStrictEqual([again.reply._tag, again.changes], ["Granted", []])
        const renewed = granted(again.reply)
        assert.deepStrictEqual([renewed.connection, renewed.generation, renewed.acquiredAt], [one, 1, lease.acquiredAt])
        assert.isTrue(renewed.expiresAt >= lease.expiresAt)
        const draw = (yield* store.acquire(wish(owner, [two]))).reply
        assert.deepStrictEqual([draw._tag, draw._tag === "Draw" ? draw.highest : 0], ["Draw", 1])
        const { changes, reply } = yield* store.acquire(wish(owner, [two], { drawn: { epoch: draw._tag === "Draw" ? draw.epoch : "", generation: 2 } }))
        assert.deepStrictEqual([granted(reply).connection, granted(reply).generation], [two, 2])
        assert.deepStrictEqual(changes.map(({ kind, lease: { generation }, reason }) => [kind, reason, generation]), [
          ["INVALIDATED", "MODEL_INELIGIBLE", 1], ["ACQUIRED", null, 2]
        ])
        assert.isNull(yield* find(store, claimOf(lease)))
        assert.strictEqual(granted(yield* acquire(store, wish(named("o"), [one]))).connection, one)
      }))

    it.effect("every claim that differs in owner, key, the key's value or generation finds nothing and changes nothing", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const connection = named("c")
        const other = named("c")
        const lease = granted(yield* acquire(store, wish(named("o"), [connection])))
        const right = claimOf(lease)
        for (const wrong of [
          { ...right, owner: named("o") }, { ...right, keyId: "key-2" }, { ...right, keyPrint: "print-2" },
          { ...right, generation: 0 }, { ...right, generation: 2 }, { ...right, generation: Number.MAX_SAFE_INTEGER }
        ]) {
          assert.isNull(yield* find(store, wrong))
          for (const op of [store.renew(wrong, ttlMs * 5), store.release(wrong, "OWNER_EXIT"), store.move(wrong, connection, other)]) {
            assert.deepStrictEqual(yield* op, { reply: { _tag: "Stale" }, changes: [] })
          }
        }
        assert.deepStrictEqual(yield* find(store, right), lease)
      }))

    it.effect("an owner's lease is not given to the same owner under another key; under the key's new value it is replaced", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const owner = named("o")
        const pool = [named("c")]
        const lease = granted(yield* acquire(store, wish(owner, pool)))
        assert.deepStrictEqual(yield* store.acquire(wish(owner, pool, { keyId: "key-2" })), { reply: { _tag: "Stale" }, changes: [] })
        const next = granted(yield* acquire(store, wish(owner, pool, { keyPrint: "print-2" })))
        assert.deepStrictEqual([next.generation, next.connection], [2, lease.connection])
        assert.isNull(yield* find(store, claimOf(lease)))
      }))

    it.effect("a release ends the lease at once and is written down; a second one finds nothing; the next generation is higher", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const owner = named("o")
        const pool = [named("c")]
        const lease = granted(yield* acquire(store, wish(owner, pool)))
        const { changes, reply } = yield* store.release(claimOf(lease), "CLIENT_CANCELLED")
        assert.deepStrictEqual(reply, { _tag: "Held", lease })
        assert.deepStrictEqual(changes.map(({ kind, lease, reason }) => [kind, reason, lease]), [["RELEASED", "CLIENT_CANCELLED", lease]])
        assert.deepStrictEqual((yield* store.release(claimOf(lease), "OWNER_EXIT")).reply, { _tag: "Stale" })
        assert.isNull(yield* find(store, claimOf(lease)))
        const next = granted(yield* acquire(store, wish(named("o"), pool)))
        assert.strictEqual(next.connection, pool[0])
        assert.strictEqual(granted(yield* acquire(store, wish(owner, [named("c")]))).generation, 2)
      }))

    it.effect("an expired lease counts as ended before anybody swept it: its connection is free, its claims find nothing", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const pool = [named("c")]
        const lease = granted(yield* acquire(store, wish(named("o"), pool, { ttlMs: shortMs })))
        yield* expired(store, claimOf(lease))
        assert.deepStrictEqual((yield* store.renew(claimOf(lease), ttlMs)).reply, { _tag: "Stale" })
        const command = wish(named("o"), pool)
        const draw = (yield* store.acquire(command)).reply
        const { changes, reply } = yield* store.acquire({ ...command, drawn: { epoch: draw._tag === "Draw" ? draw.epoch : "", generation: 1 } })
        assert.strictEqual(granted(reply).connection, pool[0])
        assert.deepStrictEqual(changes.map(({ kind, lease: { owner }, reason }) => [kind, reason, owner]), [
          ["EXPIRED", "TTL_EXPIRED", lease.owner], ["ACQUIRED", null, command.owner]
        ])
      }))

    it.effect("a sweep takes away the expired, tells of each once, and counts the others", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const short = granted(yield* acquire(store, wish(named("o"), [named("c")], { ttlMs: shortMs })))
        const long = granted(yield* acquire(store, wish(named("o"), [named("c")])))
        yield* expired(store, claimOf(short))
        const { changes, reply } = yield* store.sweep
        assert.deepStrictEqual(changes.filter(({ lease }) => lease.owner === short.owner).map(({ kind, reason }) => [kind, reason]), [["EXPIRED", "TTL_EXPIRED"]])
        const active = yield* store.active
        assert.strictEqual(active.length, reply)
        assert.deepStrictEqual(active.filter(({ owner }) => owner === short.owner || owner === long.owner), [long])
        assert.deepStrictEqual((yield* store.sweep).changes, [])
      }))

    it.effect("a renewal extends from now, and only the time", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const lease = granted(yield* acquire(store, wish(named("o"), [named("c")])))
        const { changes, reply } = yield* store.renew(claimOf(lease), 3 * ttlMs)
        assert.deepStrictEqual(changes, [])
        assert.strictEqual(reply._tag, "Held")
        if (reply._tag !== "Held") return
        assert.deepStrictEqual({ ...reply.lease, renewedAt: lease.renewedAt, expiresAt: lease.expiresAt }, lease)
        assert.strictEqual(reply.lease.expiresAt, reply.lease.renewedAt + 3 * ttlMs)
        assert.deepStrictEqual(yield* find(store, claimOf(lease)), reply.lease)
      }))

    it.effect("a lease moves to a connection that nobody holds, with its generation and its time; what it left is free", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const [one, two, three] = [named("c"), named("c"), named("c")]
        const lease = granted(yield* acquire(store, wish(named("o"), [one])))
        const other = granted(yield* acquire(store, wish(named("o"), [two])))
        assert.deepStrictEqual(yield* store.move(claimOf(lease), one, two), { reply: { _tag: "Taken" }, changes: [] })
        assert.deepStrictEqual((yield* store.move(claimOf(lease), two, three)).reply, { _tag: "Held", lease })
        const { changes, reply } = yield* store.move(claimOf(lease), one, three)
        assert.deepStrictEqual(reply, { _tag: "Held", lease: { ...lease, connection: three } })
        assert.deepStrictEqual(changes.map(({ kind, lease: { connection }, reason }) => [kind, reason, connection]), [["MOVED", null, three]])
        assert.deepStrictEqual(yield* find(store, claimOf(lease)), { ...lease, connection: three })
        assert.deepStrictEqual(yield* find(store, claimOf(other)), other)
        assert.strictEqual(granted(yield* acquire(store, wish(named("o"), [one]))).connection, one)
        assert.strictEqual((yield* acquire(store, wish(named("o"), [three])))._tag, "Capacity")
      }))

    it.effect("an invalidation ends exactly the lease it was decided for", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const [one, two] = [named("c"), named("c")]
        const lease = granted(yield* acquire(store, wish(named("o"), [one])))
        yield* store.move(claimOf(lease), one, two)
        assert.deepStrictEqual(yield* store.invalidate(lease, "CONNECTION_INELIGIBLE"), { reply: false, changes: [] })
        const moved = { ...lease, connection: two }
        const { changes, reply } = yield* store.invalidate(moved, "MANAGED_KEY_REVOKED")
        assert.isTrue(reply)
        assert.deepStrictEqual(changes.map(({ kind, lease, reason }) => [kind, reason, lease]), [["INVALIDATED", "MANAGED_KEY_REVOKED", moved]])
        assert.isNull(yield* find(store, claimOf(lease)))
        assert.isFalse((yield* store.invalidate(moved, "MANAGED_KEY_REVOKED")).reply)
      }))

    it.effect("a generation that is not above all of this owner, or drawn for another life of the store, is not taken", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const owner = named("o")
        const pool = [named("c")]
        const command = wish(owner, pool)
        const draw = (yield* store.acquire(command)).reply
        const epoch = draw._tag === "Draw" ? draw.epoch : ""
        const seven = granted((yield* store.acquire({ ...command, drawn: { epoch, generation: 7 } })).reply)
        yield* store.release(claimOf(seven), "OWNER_EXIT")
        for (const drawn of [{ epoch, generation: 6 }, { epoch, generation: 7 }, { epoch: "another life", generation: 8 }]) {
          assert.deepStrictEqual((yield* store.acquire({ ...command, drawn })).reply, { _tag: "Draw", epoch, highest: 7 })
        }
        const largest = granted((yield* store.acquire({ ...command, drawn: { epoch, generation: Number.MAX_SAFE_INTEGER } })).reply)
        assert.strictEqual(largest.generation, Number.MAX_SAFE_INTEGER)
        assert.deepStrictEqual(yield* find(store, claimOf(largest)), largest)
      }))

    it.effect("without an available connection nothing is given and nothing is drawn", () =>
      Effect.gen(function*() {
        const store = yield* LeaseStore
        const connection = named("c")
        assert.deepStrictEqual((yield* store.acquire(wish(named("o"), [connection], { available: [] }))).reply, { _tag: "Unavailable" })
      }))
  })
}
