/** The Lua scripts are the transitions: any history of exchanges gives the same answers in memory and on Redis. */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll, assert, describe, it } from "vitest"
import type { BlockDraw, BlockDrawn } from "#actors/limits/ports/LimitStore.ts"
import * as MemoryLimitStore from "#src/features/limits/MemoryLimitStore.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import * as RedisLimitStore from "#src/features/limits/RedisLimitStore.ts"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import { chance } from "#test/support/chance.ts"
import { canStartRedis, ownRedis } from "#test/support/redis.ts"

const names = ["a", "b", "c@1", "d:e"]
const histories = 60
const steps = 60

const server = canStartRedis() ? await ownRedis() : null
const scope = Scope.makeUnsafe()
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await server?.stop()
})

/** Redis keeps its fields in no order. */
const plain = ({ unsettled, ...answer }: BlockDrawn) => ({ ...answer, unsettled: [...unsettled].sort((a, b) => a.node < b.node ? -1 : 1) })

describe.skipIf(server === null)("the Redis limit store", () => {
  it("answers every history as the transitions do", async () => {
    const layer = IoRedisStore.layer({ url: Redacted.make(server?.url ?? ""), prefix: `t${randomBytes(4).toString("hex")}:`, deadlineMs: 2_000 })
    const redis = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), RedisStore)
    const first = chance().seed
    for (let seed = first; seed < first + histories; seed++) {
      const { below, one } = chance(seed)
      let now = Date.now()
      const state = new MemoryLimitStore.State()
      const here = names.map((node) => MemoryLimitStore.make({ node, state, shared: true, leaseMs: RedisLimitStore.leaseMs, now: () => now }))
      const there = names.map((node) => RedisLimitStore.make(redis, node, () => now))
      for (let step = 0; step < steps; step++) {
        now += one([0, 1, 400, 3_000, RedisLimitStore.leaseMs, 12_000])
        const at = below(names.length)
        const [mine, other] = [here[at], there[at]]
        if (mine === undefined || other === undefined) throw new Error("no such node")
        if (below(10) === 0) {
          await Effect.runPromise(Effect.andThen(mine.replayed, other.replayed))
          continue
        }
        const asked: BlockDraw = {
          id: `${seed}`, end: now + 3_600_000, limit: one([100, 100, 80, 9e15]), total: below(60), reserved: one([0, 0, below(30)]), need: one([0, below(50)]), want: below(200),
          seen: below(3) === 0 ? new Map(names.filter(() => below(2) === 0).map((name) => [name, below(60)])) : null,
          settled: below(4) === 0 ? names.filter(() => below(2) === 0) : []
        }
        const [[expected], [answer]] = await Effect.runPromise(Effect.all([mine.exchange([asked]), other.exchange([asked])]))
        if (expected === undefined || answer === undefined) throw new Error("an exchange is answered")
        const told = expected.known ? { ...expected } : { ...expected, leaseMs: answer.leaseMs }
        assert.deepStrictEqual(plain(answer), plain(told), `seed ${seed}, step ${step}: ${names[at]} ${JSON.stringify(asked)}`)
        assert.deepStrictEqual(await Effect.runPromise(other.replays(names)), await Effect.runPromise(mine.replays(names)))
      }
      await Effect.runPromise(redis.command("FLUSHALL", []))
    }
  }, 180_000)
})
