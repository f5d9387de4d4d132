/** The Lua scripts are the transitions: any history gives the same replies and the same changes (times apart). */
import { afterAll, assert, describe, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Lease from "#actors/lease/Lease.ts"
import { LeaseStore, type LeaseOutcome } from "#actors/lease/LeaseStore.ts"
import type { AcquireReply, LeaseChange, Lease as HeldLease } from "#schemas/protocols/Lease.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import * as RedisLeaseStore from "#src/features/leases/RedisLeaseStore.ts"
import { claimOf, histories, moveOf, recent, wishOf } from "./histories.ts"
import { canStartRedis, type OwnRedis, ownRedis } from "#test/support/redis.ts"

/** Long enough that nothing expires while the test runs. */
const ttls = [600_000, 700_000, 800_000, 900_000]

const timeless = (lease: HeldLease) => ({ ...lease, acquiredAt: 0, renewedAt: 0, expiresAt: lease.expiresAt - lease.renewedAt })
const told = <Reply>({ changes, reply }: LeaseOutcome<Reply>): unknown => ({
  reply: typeof reply === "object" && reply !== null && "lease" in reply ? { ...reply, lease: timeless(reply.lease as HeldLease) } : reply,
  changes: changes.map(({ kind, lease, reason }: LeaseChange) => ({ kind, reason, lease: timeless(lease) }))
})
/** What depends on the life of the store and its clock. */
const acquired = (outcome: LeaseOutcome<AcquireReply>): unknown => {
  const { reply } = outcome
  return reply._tag === "Draw" ? { draw: reply.highest } : reply._tag === "Capacity" ? "Capacity" : told(outcome)
}

describe.skipIf(!canStartRedis())("the Redis store", () => {
  let server: OwnRedis | null = null
  afterAll(() => server?.stop())
  const redis = Layer.unwrap(Effect.promise(async () => {
    server = await ownRedis()
    return IoRedisStore.layer({ url: Redacted.make(server.url), prefix: "same:", deadlineMs: 2_000 })
  }))
  let runs = 0

  withLayer(Layer.provide(RedisLeaseStore.layer, redis), { excludeTestServices: true })("", (it) => {
    it.effect.prop("answers every history as the transitions do", { history: histories }, ({ history }) => Effect.gen(function*() {
      const store = yield* LeaseStore
      const prefix = `run${++runs}-`
      let state = Lease.fresh("e")
      let now = 1_000
      const step = <Reply>([reply, next, changes]: Lease.LeaseStep<Reply>): LeaseOutcome<Reply> => {
        state = next
        return { reply, changes }
      }
      const granted: Array<HeldLease> = []
      for (const act of history) {
        now++
        if (act.act === "wait" || act.act === "sweep") continue
        if (act.act === "acquire") {
          const wish = wishOf(act, ttls, prefix)
          const [there, here] = [yield* store.acquire(wish), step(Lease.acquire(state, wish, now))]
          assert.deepStrictEqual(acquired(there), acquired(here))
          if (there.reply._tag !== "Draw" || here.reply._tag !== "Draw") continue
          const generation = here.reply.highest + 1
          const [second, mine] = [
            yield* store.acquire({ ...wish, drawn: { epoch: there.reply.epoch, generation } }),
            step(Lease.acquire(state, { ...wish, drawn: { epoch: here.reply.epoch, generation } }, now))
          ]
          assert.deepStrictEqual(acquired(second), acquired(mine))
          if (mine.reply._tag === "Granted") granted.push(mine.reply.lease)
          continue
        }
        const lease = recent(granted, act.which)
        if (lease === undefined) continue
        if (act.act === "invalidate") {
          assert.deepStrictEqual(told(yield* store.invalidate(lease, "HEALTH_OR_COOLDOWN")), told(step(Lease.invalidate(state, lease, "HEALTH_OR_COOLDOWN", now))))
          continue
        }
        const claim = claimOf(lease, act)
        if (act.act === "find") {
          const found = store.find(claim)
          const there = Effect.isEffect(found) ? yield* found : found
          const here = Lease.find(state, claim, now)
          assert.deepStrictEqual(there === null ? null : timeless(there), here === null ? null : timeless(here))
        } else if (act.act === "renew") {
          assert.deepStrictEqual(told(yield* store.renew(claim, 650_000)), told(step(Lease.renew(state, claim, 650_000, now))))
        } else if (act.act === "release") {
          assert.deepStrictEqual(told(yield* store.release(claim, "CLIENT_CANCELLED")), told(step(Lease.release(state, claim, "CLIENT_CANCELLED", now))))
        } else if (act.act === "move") {
          const { from, to } = moveOf(lease, act, prefix)
          assert.deepStrictEqual(told(yield* store.move(claim, from, to)), told(step(Lease.move(state, claim, from, to, now))))
        }
      }
      const mine = (leases: ReadonlyArray<HeldLease>) => leases.filter(({ owner }) => owner.startsWith(prefix)).map(timeless).sort((a, b) => a.owner < b.owner ? -1 : 1)
      assert.deepStrictEqual(mine(yield* store.active), mine(Lease.active(state, now)))
    }), { arbitrary: { runs: 60 }, timeout: 180_000 })
  })
})
