import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import type { CachedAnswer } from "#src/features/cache/ports/ResponseCache.ts"
import { MemoryCache } from "#src/features/cache/MemoryCache.ts"
import { RecentReplies } from "#src/features/cache/idempotency/RecentReplies.ts"

const whole = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

const answer = (signature: string, bytes = 10, fields: Partial<CachedAnswer> = {}): CachedAnswer => ({
  signature, apiKeyId: null, model: "m", provider: "p", strategy: "single", format: "chat-completions", body: Buffer.alloc(bytes),
  tokensIn: 1, tokensOut: 1, costUsd: 0, createdAt: 0, expiresAt: 1_000, ...fields
})

describe("MemoryCache", () => {
  it("the least recently used goes first", () => {
    const cache = new MemoryCache(() => ({ maxEntries: 2, maxBytes: 100_000 }))
    cache.set(answer("a"))
    cache.set(answer("b"))
    assert.isNotNull(cache.get("a", 0))
    cache.set(answer("c"))
    assert.deepStrictEqual(["a", "b", "c"].map((name) => cache.get(name, 0) !== null), [true, false, true])
  })

  it("an answer is not given after its time, nor kept when it is larger than the cache", () => {
    const cache = new MemoryCache(() => ({ maxEntries: 10, maxBytes: 2_000 }))
    cache.set(answer("a"))
    assert.isNull(cache.get("a", 1_000))
    assert.strictEqual(cache.bytes, 0)
    cache.set(answer("big", 5_000))
    assert.strictEqual(cache.size, 0)
  })

  it.prop("never more entries or bytes than its bounds, and the bytes are those of its answers", {
    moves: Schema.Array(Schema.Struct({ name: whole(0, 12), bytes: whole(0, 3_000), drop: Schema.Boolean })).check(Schema.isMaxLength(80))
  }, ({ moves }) => {
    const cache = new MemoryCache(() => ({ maxEntries: 5, maxBytes: 6_000 }))
    for (const { bytes, drop, name } of moves) {
      if (drop) cache.delete(`k${name}`)
      else cache.set(answer(`k${name}`, bytes))
      assert.isTrue(cache.size <= 5 && cache.bytes <= 6_000)
    }
    for (let i = 0; i <= 12; i++) cache.delete(`k${i}`)
    assert.deepStrictEqual([cache.size, cache.bytes], [0, 0])
  }, { arbitrary: { size: 80 } })

  it("forgets by model and by age", () => {
    const cache = new MemoryCache(() => ({ maxEntries: 10, maxBytes: 100_000 }))
    for (const one of [answer("a", 1, { model: "x" }), answer("b", 1, { createdAt: 5 }), answer("c", 1, { createdAt: 9 })]) cache.set(one)
    cache.forget({ _tag: "Model", model: "x" })
    cache.forget({ _tag: "Stale", storedBefore: 5 })
    assert.deepStrictEqual(["a", "b", "c"].map((name) => cache.get(name, 0) !== null), [false, false, true])
  })
})

describe("RecentReplies", () => {
  const recent = (until: number, bytes = 10) => ({ digest: "d", until, reply: { status: 200, headers: [], body: Buffer.alloc(bytes) } })

  it("keeps a reply for its whole window, and not longer, whatever else comes", () => {
    const replies = new RecentReplies(1_000_000, 10_000)
    for (let now = 0; now < 50_000; now += 100) {
      replies.put(`k${now}`, recent(now + 5_000), now, 5_000)
      assert.isNotNull(replies.get(`k${Math.max(0, now - 4_900)}`, now))
      assert.isNull(replies.get(`k${now - 5_000}`, now))
    }
    assert.strictEqual(replies.size(49_900), 50)
  })

  it("holds no more bytes than its bound; what is too large is not kept", () => {
    const replies = new RecentReplies(1_000, 10_000)
    for (let i = 0; i < 100; i++) replies.put(`k${i}`, recent(9_000, 100), 0, 5_000)
    let held = 0
    for (let i = 0; i < 100; i++) held += replies.get(`k${i}`, 0)?.reply.body.length ?? 0
    assert.isTrue(held <= 1_000 && held >= 500)
    replies.put("big", recent(9_000, 600), 0, 5_000)
    assert.isNull(replies.get("big", 0))
  })
})
