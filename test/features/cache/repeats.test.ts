/** What nodes share of idempotency and the response cache, on a real Redis: contracts, forgetting over nodes, a server that is lost. */
import { randomBytes } from "node:crypto"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as Schedule from "effect/Schedule"
import * as Scope from "effect/Scope"
import { afterAll, afterEach, describe, expect, it } from "vitest"
import { type CachedAnswer, SharedCacheTier } from "#src/features/cache/ports/ResponseCache.ts"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { RedisStore, type SharedStoreDown } from "#src/platform/redis/RedisStore.ts"
import * as RedisCacheTier from "#src/features/cache/RedisCacheTier.ts"
import * as RedisIdempotencyStore from "#src/features/cache/idempotency/RedisIdempotencyStore.ts"
import * as IdempotencyStore from "#test/suites/IdempotencyStore.suite.ts"
import { eventually } from "#test/support/operator.ts"
import { canStartRedis, type OwnRedis, ownRedis } from "#test/support/redis.ts"

const server: OwnRedis | null = canStartRedis() ? await ownRedis() : null
afterAll(() => server?.stop())

const closers: Array<() => Promise<unknown>> = []
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

const redisAt = (prefix: string) => IoRedisStore.layer({ url: Redacted.make(server?.url ?? ""), prefix })
const freshPrefix = (): string => `t${randomBytes(4).toString("hex")}:`

if (server !== null) IdempotencyStore.suite("Redis", RedisIdempotencyStore.layer.pipe(Layer.provide(redisAt(freshPrefix()))))

const answer = (signature: string): CachedAnswer => ({
  signature, apiKeyId: "k1", model: "lab/echo", provider: "lab", strategy: "single", format: "messages", body: Buffer.from('{"text":"häß 😀"}'),
  tokensIn: 10, tokensOut: 5, costUsd: 0.0000012345, createdAt: 1_000, expiresAt: 10_000
})

/** One node's tier, with what it was told to drop. */
const node = async (prefix: string) => {
  const scope = Scope.makeUnsafe()
  closers.push(() => Effect.runPromise(Scope.close(scope, Exit.void)))
  const context = await Effect.runPromise(Layer.buildWithScope(RedisCacheTier.layer.pipe(Layer.provideMerge(redisAt(prefix))), scope))
  const tier = Context.get(context, SharedCacheTier)
  const dropped: Array<ReadonlyArray<string> | null> = []
  tier.onRemoved((signatures) => dropped.push(signatures))
  return { tier, redis: Context.get(context, RedisStore), dropped }
}
/** Under load a call may miss its deadline; what a store answers is asked until it answers. */
const run = <A>(effect: Effect.Effect<A, StoreError | SharedStoreDown>): Promise<A> =>
  Effect.runPromise(Effect.retry(effect, { schedule: Schedule.spaced(20), times: 100 }))

describe.skipIf(server === null)("the tier of the response cache that nodes share", () => {
  it("an answer of one node is found by another, byte by byte, and expires by itself", async () => {
    const prefix = freshPrefix()
    const [one, two] = [await node(prefix), await node(prefix)]
    await run(one.tier.put(answer("k1.a"), 60_000))
    const found = await run(two.tier.find("k1.a"))
    expect(found === null ? null : { ...found, body: Buffer.from(found.body) }).toEqual(answer("k1.a"))
    expect(await run(two.tier.find("k1.b"))).toBeNull()
    await run(one.tier.put(answer("k1.short"), 20))
    await eventually(() => run(two.tier.find("k1.short")), (seen) => seen === null, "the expiry of the answer")
  })

  it("forgetting reaches every node's memory: by signature, and all of it", async () => {
    const prefix = freshPrefix()
    const [one, two] = [await node(prefix), await node(prefix)]
    await run(one.tier.put(answer("k1.a"), 60_000))
    await run(one.tier.put(answer("k1.b"), 60_000))
    await run(one.tier.remove(["k1.a"]))
    await eventually(async () => two.dropped.length, (count) => count === 1, "the message")
    expect(two.dropped).toEqual([["k1.a"]])
    expect([await run(two.tier.find("k1.a")), (await run(two.tier.find("k1.b")))?.signature]).toEqual([null, "k1.b"])
    await run(two.tier.remove(null))
    await eventually(async () => one.dropped.at(-1), (last) => last === null, "the message")
    expect(await run(one.tier.find("k1.b"))).toBeNull()
    await run(one.tier.put(answer("k1.b"), 60_000))
    expect((await run(two.tier.find("k1.b")))?.signature).toBe("k1.b")
  })

  it("bytes that are no answer are a miss", async () => {
    const prefix = freshPrefix()
    const one = await node(prefix)
    for (const bytes of ["0:", "0:\xc1\xff", "0:\x80"]) {
      await run(one.redis.command("SET", [`${prefix}cache:answer:k1.a`, Buffer.from(bytes, "latin1")]))
      expect(await run(one.tier.find("k1.a"))).toBeNull()
    }
  })

  it("a frozen server costs a look-up its deadline, and fails as unavailable", async () => {
    const prefix = freshPrefix()
    const one = await node(prefix)
    server?.freeze()
    try {
      const began = performance.now()
      const result = await Effect.runPromise(Effect.flip(one.tier.find("k1.a")))
      expect(result.reason).toBe("unavailable")
      expect(performance.now() - began).toBeLessThan(500)
    } finally {
      server?.thaw()
    }
  })
})
