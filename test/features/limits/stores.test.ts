/** The limit stores keep their contract, in memory and on a real Redis. */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll, assert, it } from "vitest"
import * as MemoryLimitStore from "#src/features/limits/MemoryLimitStore.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import * as RedisLimitStore from "#src/features/limits/RedisLimitStore.ts"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import { suite } from "#test/suites/LimitStore.suite.ts"
import { canStartRedis, ownRedis } from "#test/support/redis.ts"

suite("memory", async () => {
  const state = new MemoryLimitStore.State()
  let ahead = 0
  return {
    node: (node) => MemoryLimitStore.make({ node, state, shared: true, now: () => Date.now() + ahead }),
    forget: Effect.sync(() => state.clear()),
    lapse: (ms) => Effect.sync(() => {
      ahead += ms
    })
  }
})

const server = canStartRedis() ? await ownRedis() : null
const scope = Scope.makeUnsafe()
afterAll(async () => {
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await server?.stop()
})

if (server !== null) {
  suite("Redis", async () => {
    const layer = IoRedisStore.layer({ url: Redacted.make(server.url), prefix: `t${randomBytes(4).toString("hex")}:`, deadlineMs: 2_000 })
    const redis = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), RedisStore)
    let ahead = 0
    return {
      // The server's own clock, until a test lets time go by.
      node: (node) => RedisLimitStore.make(redis, node, () => ahead === 0 ? null : Date.now() + ahead),
      forget: Effect.asVoid(Effect.orDie(redis.command("FLUSHALL", []))),
      lapse: (ms) => Effect.sync(() => {
        ahead += ms
      })
    }
  })

  it("every key of limits in Redis ends by itself: an amount a minute after its window, a rate an hour after it", async () => {
    const prefix = `t${randomBytes(4).toString("hex")}:`
    const layer = IoRedisStore.layer({ url: Redacted.make(server.url), prefix, deadlineMs: 2_000 })
    const redis = Context.get(await Effect.runPromise(Layer.buildWithScope(layer, scope)), RedisStore)
    const store = RedisLimitStore.make(redis, "n")
    const hour = 3_600_000
    const draw = { id: "m", end: Date.now() + hour, limit: 9, total: 1, reserved: 0, need: 1, want: 1, seen: new Map(), settled: [] }
    const lives = await Effect.runPromise(Effect.gen(function*() {
      yield* store.exchange([draw, { ...draw, id: "late", end: Date.now() - hour }])
      yield* store.seedPermits("idle", 60_000, 3, [])
      yield* store.seedPermits("busy", 60_000, 3, [[5, 1]])
      yield* store.permits("busy", 60_000, 3, 1)
      yield* store.session("k", "s", 3, 300_000)
      yield* store.replayed
      const names = ((yield* redis.command("KEYS", [`${prefix}*`])) as ReadonlyArray<unknown>).map(String)
      return yield* Effect.forEach(names.toSorted(), (name) => Effect.map(redis.command("PTTL", [name]), (ms) => [name.slice(prefix.length), Math.ceil(Number(ms) / 10_000) * 10_000] as const))
    }))
    const rate = hour + 60_000 + 1_000
    const expected = [["limits:m:late", 60_000], ["limits:m:m", hour + 60_000], ["limits:n:n", 40 * 24 * hour], ["limits:s:k", 300_000], ["limits:w:busy", rate], ["limits:w:idle", rate]] as const
    assert.deepStrictEqual(lives.map(([name]) => name), expected.map(([name]) => name))
    for (const [index, [name, ms]] of expected.entries()) assert.isAtMost(Math.abs((lives[index]?.[1] ?? -1) - ms), 20_000, name)
  })
}
