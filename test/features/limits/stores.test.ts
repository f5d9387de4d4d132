/** The limit stores keep their contract, in memory and on a real Redis. */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { afterAll } from "vitest"
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
}
