/** Sessions of MCP clients: the contract in memory and on a real Redis, and a budget that lives as long as its session. */
import { randomBytes } from "node:crypto"
import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { afterAll, expect, it as plain } from "vitest"
import { McpSessions, SESSION_MS } from "#src/features/mcp/ports/McpSessions.ts"
import * as MemoryMcpSessions from "#src/features/mcp/stores/MemoryMcpSessions.ts"
import * as RedisMcpSessions from "#src/features/mcp/stores/RedisMcpSessions.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import { suite } from "#test/suites/McpSessions.suite.ts"
import { canStartRedis, ownRedis } from "#test/support/redis.ts"

const server = canStartRedis() ? await ownRedis() : null
afterAll(() => server?.stop())
const redis = (prefix: string) => IoRedisStore.layer({ url: Redacted.make(server?.url ?? ""), prefix, deadlineMs: 2_000 })

suite("memory", MemoryMcpSessions.layer)
if (server !== null) suite("Redis", RedisMcpSessions.layer.pipe(Layer.provide(redis(`t${randomBytes(4).toString("hex")}:`))))

it.effect("in memory a session that is used keeps its budget beyond an hour, and one that is not loses both", () => Effect.gen(function*() {
  const sessions = yield* McpSessions
  yield* sessions.put({ id: "s", owner: "operator", opening: null })
  yield* sessions.guard("s", { maxCost: 1, action: "block" })
  for (let i = 0; i < 3; i++) {
    yield* TestClock.adjust(SESSION_MS * 0.9)
    assert.isNotNull(yield* sessions.find("s"))
  }
  assert.strictEqual((yield* sessions.budget("s")).guard?.maxCost, 1)
  yield* TestClock.adjust(SESSION_MS)
  assert.deepStrictEqual([yield* sessions.find("s"), yield* sessions.budget("s")], [null, { guard: null, spent: 0 }])
}).pipe(Effect.provide(MemoryMcpSessions.layer)))

plain.skipIf(server === null)("on Redis finding a session, and a message for it, prolong its budget as well", async () => {
  const prefix = `t${randomBytes(4).toString("hex")}:`
  await Effect.runPromise(Effect.gen(function*() {
    const sessions = yield* McpSessions
    const store = yield* RedisStore
    const keys = ["mcp:session:s", "mcp:budget:s"].map((key) => prefix + key)
    const left = Effect.forEach(keys, (key) => Effect.map(store.command("PTTL", [key]), Number))
    const shorten = Effect.forEach(keys, (key) => store.command("PEXPIRE", [key, 60_000]))
    yield* sessions.put({ id: "s", owner: "operator", opening: null })
    yield* sessions.guard("s", { maxCost: 1, action: "block" })
    for (const use of [sessions.find("s"), sessions.append("s", "server", "{}"), Effect.andThen(sessions.spend("s", 0.1), sessions.find("s"))]) {
      yield* shorten
      yield* use
      expect((yield* left).map((ms) => ms > SESSION_MS - 60_000 && ms <= SESSION_MS)).toEqual([true, true])
    }
  }).pipe(Effect.provide(RedisMcpSessions.layer.pipe(Layer.provideMerge(redis(prefix)))), Effect.scoped))
})
