/** The brake of the password over several nodes: the contract of its stores, and two nodes on one Redis over HTTP. */
import { randomBytes } from "node:crypto"
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/testing/TestClock"
import { afterAll } from "vitest"
import { LoginAttempts } from "#src/management/authentication/brake/LoginAttempts.ts"
import { AuditStore } from "#actors/ports/Stores.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import * as MemoryLoginAttempts from "#src/management/authentication/brake/MemoryLoginAttempts.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import * as RedisLoginAttempts from "#src/management/authentication/brake/RedisLoginAttempts.ts"
import { suite } from "#test/suites/LoginAttempts.suite.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"
import { canStartRedis, ownRedis } from "#test/support/redis.ts"

const redis = canStartRedis() ? await ownRedis() : null
afterAll(() => redis?.stop())

/** `deadlineMs`: a busy machine is no failure of Redis here. */
const onRedis = (prefix: string) => RedisLoginAttempts.layer.pipe(
  Layer.provide(IoRedisStore.layer({ url: Redacted.make(redis?.url ?? ""), prefix, deadlineMs: 2_000 })),
  Layer.provide(Layer.succeed(Secrets, Sealer.make({ current: Redacted.make("test master secret 0123456789"), previous: [] })))
)
const freshPrefix = (): string => `t${randomBytes(4).toString("hex")}:`

suite("memory", Effect.map(MemoryLoginAttempts.make, (store) => ({ store, pass: (ms) => TestClock.adjust(ms) })))

if (redis !== null) {
  const client = redis.client()
  suite("Redis", Effect.suspend(() => {
    const prefix = freshPrefix()
    return Effect.map(Layer.build(onRedis(prefix)), (context) => ({
      store: Context.get(context, LoginAttempts),
      pass: (ms: number) => Effect.promise(async () => {
        for (const key of await client.keys(`${prefix}*`)) await client.pexpire(key, Math.max(0, await client.pttl(key) - ms))
      })
    }))
  }))
}

const guess = { body: { password: "wrong-guess" } }
const right = { body: { password: Management.PASSWORD } }

const nodes = Effect.gen(function*() {
  const prefix = freshPrefix()
  const [one, two] = yield* Effect.all([Management.make({ loginAttempts: onRedis(prefix) }), Management.make({ loginAttempts: onRedis(prefix) })])
  return { one, two, prefix }
})

describe.skipIf(redis === null)("the brake over two nodes", () => {
  it.effect("counts guesses on both as one, refuses on both, and tells the log once; its addresses are not in Redis", () => Effect.gen(function*() {
    const { one, prefix, two } = yield* nodes
    const statuses = yield* Effect.forEach([one, two, one, two, one, two, one], (node) => Effect.map(node.ask("/api/auth/login", guess), ({ status }) => status))
    assert.deepStrictEqual(statuses, [401, 401, 401, 401, 401, 429, 429])
    for (const node of [one, two]) {
      const locked = yield* node.ask("/api/auth/login", right)
      assert.deepStrictEqual([locked.status, at(locked.json, "error", "code")], [429, "login_locked"])
      assert.isTrue(Number(locked.headers.get("retry-after")) > 840 && Number(locked.headers.get("retry-after")) <= 900)
      assert.strictEqual((yield* node.ask("/api/auth/login", { ...right, from: "198.51.100.1" })).status, 200)
    }
    const told = yield* Effect.forEach([one, two], ({ context }) => Context.get(context, AuditStore).query({ limit: 50, offset: 0, action: "auth.login.locked" }))
    assert.strictEqual(told.reduce((sum, { total }) => sum + total, 0), 1)
    const keys = yield* Effect.promise(async () => await redis?.client().keys(`${prefix}*`) ?? [])
    // An address is sealed beside its count, for as long as it is locked.
    assert.deepStrictEqual(keys.map((key) => key.replace(/^.*?:/, "").replace(/[0-9a-f]{64}$/, "digest")).sort(), ["login:digest", "logins-locked"])
    const login = keys.find((key) => !key.endsWith("logins-locked")) ?? ""
    const kept = yield* Effect.promise(async () => JSON.stringify([await redis?.client().hgetall(login), await redis?.client().zrange(`${prefix}logins-locked`, 0, -1)]))
    assert.match(kept, /"address":"v1\./)
    assert.notInclude(kept, "203.0.113")
  }))

  it.effect("a success on one node forgets the guesses on both", () => Effect.gen(function*() {
    const { one, two } = yield* nodes
    for (const node of [one, two, one, two]) assert.strictEqual((yield* node.ask("/api/auth/login", guess)).status, 401)
    assert.strictEqual((yield* two.ask("/api/auth/login", right)).status, 200)
    for (const node of [one, one, two, one]) assert.strictEqual((yield* node.ask("/api/auth/login", guess)).status, 401)
    assert.strictEqual((yield* one.ask("/api/auth/login", right)).status, 200)
  }))

  it.effect("without Redis each node brakes by what it has seen, from before the fault, too", () => Effect.gen(function*() {
    const { one, two } = yield* nodes
    for (const node of [one, one, one, two]) assert.strictEqual((yield* node.ask("/api/auth/login", guess)).status, 401)
    yield* Effect.acquireRelease(Effect.sync(() => redis?.freeze()), () => Effect.sync(() => redis?.thaw()))
    const statusesOf = (node: typeof one) => Effect.forEach(Array.from({ length: 6 }), () => Effect.map(node.ask("/api/auth/login", guess), ({ status }) => status))
    assert.deepStrictEqual(yield* statusesOf(one), [401, 401, 429, 429, 429, 429])
    assert.deepStrictEqual(yield* statusesOf(two), [401, 401, 401, 401, 429, 429])
  }), 180_000)
})
