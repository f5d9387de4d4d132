import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { type CallCondition, type CallPlace, UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { ledgerRow } from "./records.ts"

const hour = 3_600_000
const windowOf = (place: number) => ({ since: 2_100_000_000_000 + place * hour, until: 2_100_000_000_000 + (place + 1) * hour })
const rowOf = (place: number, index: number, fields: Partial<LedgerRow> = {}) =>
  ledgerRow({ attemptId: `calls-${place}-${String(index).padStart(4, "0")}`, requestId: `calls-${place}-r`, startedAt: windowOf(place).since + index, ...fields })

const only = (name: string, ...anyOf: CallCondition["anyOf"]): CallCondition => ({ name, anyOf })

export const suite = (name: string, layer: Layer.Layer<UsageStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`searches of UsageStore on ${name}`, (it) => {
    it.effect("pages behind each other have each row once, whatever is inserted meanwhile", () => Effect.gen(function*() {
      const store = yield* UsageStore
      // Five rows of one millisecond stand across the ends of pages.
      yield* store.insert(Array.from({ length: 25 }, (_, index) => rowOf(0, index, { startedAt: windowOf(0).since + Math.floor(index / 5) })))
      const seen: Array<string> = []
      let after: CallPlace | null = null
      let pages = 0
      do {
        const page: { readonly rows: ReadonlyArray<LedgerRow>; readonly next: CallPlace | null } = yield* store.calls({ ...windowOf(0), conditions: [] }, { after, limit: 7, look: 100 })
        seen.push(...page.rows.map(({ attemptId }) => attemptId))
        after = page.next
        yield* store.insert([rowOf(0, 100 + pages, { startedAt: windowOf(0).since + 1_000 + pages })])
        pages++
      } while (after !== null)
      assert.strictEqual(pages, 4)
      assert.deepStrictEqual(seen, Array.from({ length: 25 }, (_, index) => `calls-0-${String(24 - index).padStart(4, "0")}`))
    }))

    it.effect("one look reads a bounded number of rows and says where the search goes on", () => Effect.gen(function*() {
      const store = yield* UsageStore
      yield* store.insert(Array.from({ length: 50 }, (_, index) => rowOf(1, index, { model: index < 3 ? "rare" : "common" })))
      const search = { ...windowOf(1), conditions: [only("model", { field: "model", is: ["rare"] })] }
      const first = yield* store.calls(search, { after: null, limit: 10, look: 20 })
      assert.deepStrictEqual([first.rows.length, first.next?.attemptId], [0, "calls-1-0030"])
      const second = yield* store.calls(search, { after: first.next, limit: 10, look: 20 })
      assert.deepStrictEqual([second.rows.length, second.next?.attemptId], [0, "calls-1-0010"])
      const last = yield* store.calls(search, { after: second.next, limit: 10, look: 20 })
      assert.deepStrictEqual([last.rows.map(({ attemptId }) => attemptId), last.next], [["calls-1-0002", "calls-1-0001", "calls-1-0000"], null])
    }))

    it.effect("terms compare whole values, parts in any case, and numbers; a field without a value never fits", () => Effect.gen(function*() {
      const store = yield* UsageStore
      yield* store.insert([
        rowOf(2, 0, { model: "GPT-4o", apiKeyName: null, status: 200, errorCode: null }), rowOf(2, 1, { model: "claude_%", apiKeyName: "Ops's", status: 429, errorCode: "rate_limited" }),
        rowOf(2, 2, { model: "gpt-4o-mini", apiKeyName: "App", status: 502, errorCode: "upstream_error", provider: "node-1" })
      ])
      const found = (...conditions: ReadonlyArray<CallCondition>) =>
        Effect.map(store.calls({ ...windowOf(2), conditions }, { after: null, limit: 10, look: 100 }), ({ rows }) => rows.map(({ attemptId }) => Number(attemptId.slice(-1))))
      assert.deepStrictEqual(yield* found(only("m", { field: "model", has: "gpt-4O" })), [2, 0])
      assert.deepStrictEqual(yield* found(only("m", { field: "model", has: "_%" })), [1])
      assert.deepStrictEqual(yield* found(only("m", { field: "model", is: ["gpt-4o-mini", "claude_%"] })), [2, 1])
      assert.deepStrictEqual(yield* found(only("m", { field: "model", is: [] })), [])
      assert.deepStrictEqual(yield* found(only("k", { field: "apiKeyName", has: "'" }, { field: "errorCode", is: ["upstream_error"] })), [2, 1])
      assert.deepStrictEqual(yield* found(only("s", { field: "status", from: 400, to: 499 })), [1])
      assert.deepStrictEqual(yield* found(only("s", { field: "status", from: 400, to: 999 }), only("m", { field: "model", has: "gpt" })), [2])
      assert.deepStrictEqual(yield* found(only("p", { field: "provider", has: "node", except: ["node-1"] })), [])
    }))

    it.effect("a look at calls that left by a proxy reads no others", () => Effect.gen(function*() {
      const store = yield* UsageStore
      yield* store.insert(Array.from({ length: 40 }, (_, index) => rowOf(4, index, { proxyId: index === 3 ? "a" : index === 5 ? "b" : null })))
      const found = (conditions: ReadonlyArray<CallCondition>) => Effect.map(
        store.calls({ ...windowOf(4), proxied: true, conditions }, { after: null, limit: 10, look: 2 }), ({ next, rows }) => [rows.map(({ proxyId }) => proxyId), next?.attemptId]
      )
      assert.deepStrictEqual(yield* found([]), [["b", "a"], undefined])
      assert.deepStrictEqual((yield* found([only("proxy", { field: "proxyId", is: ["a"] })]))[0], ["a"])
    }))

    it.effect("each facet counts what fits the other filters, most first; the histogram fits all", () => Effect.gen(function*() {
      const store = yield* UsageStore
      const { since } = windowOf(3)
      yield* store.insert([
        rowOf(3, 0, { provider: "a", model: "m1", apiKeyId: "k1", apiKeyName: "Old", status: 200 }), rowOf(3, 1, { provider: "a", model: "m2", apiKeyId: "k1", apiKeyName: "New", status: 500, errorCode: "e" }),
        rowOf(3, 2, { provider: "b", model: "m1", apiKeyId: null, apiKeyName: null, startedAt: since + 60_000 }), rowOf(3, 3, { provider: "b", model: "m1", status: 404, startedAt: since + 60_001, connectionId: null })
      ])
      const bounds = { look: 100, most: 10, bucketMs: 60_000 }
      const counted = yield* store.facets({ ...windowOf(3), conditions: [only("provider", { field: "provider", is: ["b"] })] }, bounds)
      const of = (facet: string) => counted.values.filter((each) => each.facet === facet).map(({ count, label, value }) => [value, count, label])
      assert.deepStrictEqual([counted.count, counted.looked], [2, 4])
      assert.deepStrictEqual(of("provider"), [["a", 2, null], ["b", 2, null]])
      assert.deepStrictEqual(of("model"), [["m1", 2, null]])
      assert.deepStrictEqual(of("status"), [["200", 1, null], ["404", 1, null]])
      assert.deepStrictEqual(of("connection"), [["connection-1", 1, null]])
      assert.deepStrictEqual(counted.buckets.map((bucket) => ({ ...bucket })), [{ start: Math.floor((since + 60_000) / 60_000) * 60_000, count: 2, errors: 1 }])
      const all = yield* store.facets({ ...windowOf(3), conditions: [] }, { ...bounds, most: 1 })
      assert.deepStrictEqual(all.values.filter(({ facet }) => facet === "apiKey").map(({ count, label, value }) => [value, count, label]), [["k1", 2, "New"]])
      assert.deepStrictEqual((yield* store.facets({ ...windowOf(3), conditions: [] }, { ...bounds, look: 1 })).looked, 1)
    }))
  })
}
