import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import * as References from "effect/References"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as Units from "#schemas/records/Units.ts"
import { asJson, asText, kept, ledgerRow } from "./records.ts"

const rows = (count: number, mark: string, fields: Partial<LedgerRow> = {}): ReadonlyArray<LedgerRow> =>
  Array.from({ length: count }, (_, index) => ledgerRow({ attemptId: `${mark}-${String(index).padStart(5, "0")}`, nodeId: mark, ...fields }))

/** Bounded numbers are logged as errors: here they are meant. */
const quietly = Effect.provideService(References.MinimumLogLevel, "None")

/** Numbers as the ledger bounds them, cost to ten decimals. */
const stored = (given: LedgerRow): LedgerRow => {
  const bounded = (value: number, max: number) =>
    value === Infinity ? max : Number.isFinite(value) ? Math.min(Math.max(value, -max), max) : 0
  const whole = (value: number) => Math.round(bounded(value, Number.MAX_SAFE_INTEGER))
  /** JSON has one zero. */
  const zero = (value: number) => whole(value) + 0
  const small = (value: number) => Math.round(bounded(value, 2_147_483_647))
  return kept({
    ...given,
    attempt: small(given.attempt), upstreamStatus: small(given.upstreamStatus), status: small(given.status),
    startedAt: whole(given.startedAt), settledAt: whole(given.settledAt), tokensIn: whole(given.tokensIn),
    tokensOut: whole(given.tokensOut), tokensCacheRead: whole(given.tokensCacheRead),
    tokensCacheCreation: whole(given.tokensCacheCreation), tokensReasoning: whole(given.tokensReasoning),
    units: Units.possible(asJson(given.units)),
    costUsd: bounded(given.costUsd, 9_999_999_999),
    latencyMs: bounded(given.latencyMs, Number.MAX_VALUE),
    ttftMs: given.ttftMs === null ? null : bounded(given.ttftMs, Number.MAX_VALUE),
    tokensCompressed: given.tokensCompressed === null ? null : whole(given.tokensCompressed),
    phases: given.phases === null ? null : {
      before: zero(given.phases.before), queue: zero(given.phases.queue), limits: zero(given.phases.limits), end: zero(given.phases.end),
      sent: given.phases.sent === null ? null : zero(given.phases.sent), head: given.phases.head === null ? null : zero(given.phases.head)
    }
  })
}

export const suite = (name: string, layer: Layer.Layer<UsageStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`UsageStore on ${name}`, (it) => {
    it.effect("a thousand rows go in once, however often they come", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const batch = rows(1_000, "twice")
        assert.strictEqual(yield* store.insert(batch), 1_000)
        assert.strictEqual(yield* store.insert(batch), 0)
        assert.strictEqual(yield* store.insert([...batch.slice(0, 10), ...rows(5, "twice-new", { nodeId: "twice" })]), 5)
        assert.strictEqual(yield* store.insert([]), 0)
        assert.deepStrictEqual(yield* store.count("twice"), new Map([["completed", 1_005]]))
      }))

    it.effect("the same row twice in one batch counts once, and concurrent replays of one batch count once in all", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const [row] = rows(1, "double")
        assert.strictEqual(yield* store.insert([row ?? ledgerRow(), row ?? ledgerRow()]), 1)
        const batch = rows(300, "replayed")
        const added = yield* Effect.forEach([batch, [...batch].reverse(), batch, batch], (some) => store.insert(some), { concurrency: "unbounded" })
        assert.strictEqual(added.reduce((sum, count) => sum + count, 0), 300)
      }))

    it.effect("more rows than one statement takes are still all or nothing", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        assert.strictEqual(yield* store.insert(rows(2_500, "many")), 2_500)
        assert.strictEqual(yield* store.insert(rows(2_500, "many")), 0)
      }))

    it.effect("a batch is encoded in turns, so that sockets are served meanwhile", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        let read = 0
        let most = 0
        let done = false
        const counted = rows(1_000, "turns").map((row) => Object.defineProperty({ ...row }, "requestId", { get: () => (read++, row.requestId) }))
        const sample = (): void => {
          most = Math.max(most, read)
          read = 0
          if (!done) setImmediate(sample)
        }
        sample()
        assert.strictEqual(yield* store.insert(counted), 1_000)
        done = true
        assert.isAbove(most, 0)
        assert.isAtMost(most, 500)
      }))

    it.effect("rows that share nothing, and text that needs escaping, come back as they were put", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const texts = ["plain", "", "null", "NULL", "{a,b}", "a \"quoted\" \\ text", "new\nline", "tab\t", "模型🔑", "c:\\dir\\", "a,b", " "]
        const given = Array.from({ length: 1_000 }, (_, index) => {
          const text = `${texts[index % texts.length]}`
          return ledgerRow({
            attemptId: `own-${text}-${index}`, requestId: text, nodeId: "own", requestedModel: `${text}${index}`, model: text,
            sessionTag: index % 3 === 0 ? null : text, apiKeyName: index % 5 === 0 ? null : `${index}${text}`, errorCode: index % 7 === 0 ? text : null,
            attempt: index, tokensIn: index, costUsd: index / 1e7, ttftMs: index % 2 === 0 ? null : index / 3, final: index % 2 === 0, estimated: index % 3 === 0
          })
        })
        assert.strictEqual(yield* store.insert(given), 1_000)
        const found = new Map((yield* store.rows({})).filter((row) => row.nodeId === "own").map((row) => [row.attemptId, { ...row }]))
        for (const row of given) assert.deepStrictEqual(found.get(row.attemptId), stored(row))
      }))

    it.effect("hostile values never keep a batch out: they are stored bounded", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const hostile = [
          ledgerRow({ attemptId: "x-1", nodeId: "hostile", requestedModel: "a\0b", errorCode: "\ud800" }),
          ledgerRow({ attemptId: "x-2", nodeId: "hostile", costUsd: Number.NaN, tokensIn: Infinity, tokensOut: 1e300, latencyMs: Number.NaN }),
          ledgerRow({ attemptId: "x-3", nodeId: "hostile", costUsd: 1e15, startedAt: 12.7, status: 1e12, ttftMs: Infinity }),
          ledgerRow({ attemptId: "x-4", nodeId: "hostile", model: "\\u0000 is six characters", sessionTag: "'; DROP TABLE usage; --" })
        ]
        hostile.push(ledgerRow({ attemptId: "x-5", nodeId: "hostile", units: { image: Number.NaN, second: -1, page: 2 } }))
        assert.strictEqual(yield* quietly(store.insert(hostile)), 5)
        const found = new Map((yield* store.rows({})).filter((row) => row.nodeId === "hostile").map((row) => [row.attemptId, row]))
        assert.strictEqual(found.get("x-1")?.requestedModel, "a\uFFFDb")
        assert.deepInclude({ ...found.get("x-2") }, { costUsd: 0, tokensIn: Number.MAX_SAFE_INTEGER, latencyMs: 0 })
        assert.deepInclude({ ...found.get("x-3") }, { costUsd: 9_999_999_999, startedAt: 13, status: 2_147_483_647 })
        assert.deepInclude({ ...found.get("x-4") }, { model: "\\u0000 is six characters", sessionTag: "'; DROP TABLE usage; --" })
        assert.deepStrictEqual(found.get("x-5")?.units, { page: 2 })
        assert.strictEqual(yield* store.removeBefore(14), 1)
      }))

    it.effect("rows keep what was used beside tokens, each its own", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const given = [null, { image: 2 }, { image: 2 }, { image: 3 }, { second: 0.25, request: 1 }].map((units, index) =>
          ledgerRow({ attemptId: `un-${index}`, requestId: "req-units", startedAt: 40 + index, units, unpriced: index === 3 }))
        assert.strictEqual(yield* store.insert(given), 5)
        const found = (yield* store.rows({ requestId: "req-units" })).map(({ units, unpriced }) => ({ units, unpriced }))
        assert.deepStrictEqual(found.reverse(), given.map(({ units, unpriced }) => ({ units, unpriced })))
      }))

    it.effect("rows keep where their time went, in whole milliseconds, and older rows have nothing of it", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const phases = { before: 3, queue: 40, limits: 1, sent: 2, head: 90, end: 400 }
        yield* store.insert([null, phases, { ...phases, sent: null, head: null, queue: 0.6 }].map((given, index) =>
          ledgerRow({ attemptId: `ph-${index}`, requestId: "req-phases", startedAt: 60 + index, phases: given })))
        assert.deepStrictEqual((yield* store.rows({ requestId: "req-phases" })).map((row) => row.phases).reverse(), [null, phases, { ...phases, sent: null, head: null, queue: 1 }])
        assert.strictEqual((yield* store.rows({ attemptId: "ph-1" })).length, 1)
      }))

    it.effect("rows keep by how many tokens their prompt was shorter, and others have nothing of it", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        yield* store.insert([null, 0, 120].map((tokensCompressed, index) => ledgerRow({ attemptId: `tc-${index}`, requestId: "req-compressed", startedAt: 80 + index, tokensCompressed })))
        assert.deepStrictEqual((yield* store.rows({ requestId: "req-compressed" })).map((row) => row.tokensCompressed).reverse(), [null, 0, 120])
      }))

    it.effect("rows keep the proxy that they left by, and others have none", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        yield* store.insert([null, "proxy-1", "proxy-2", null].map((proxyId, index) => ledgerRow({ attemptId: `px-${index}`, requestId: "req-proxied", startedAt: 90 + index, proxyId })))
        assert.deepStrictEqual((yield* store.rows({ requestId: "req-proxied" })).map((row) => row.proxyId).reverse(), [null, "proxy-1", "proxy-2", null])
      }))

    it.effect("rows are newest first, filtered and limited", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        yield* store.insert([
          ledgerRow({ attemptId: "f-1", requestId: "req-f", provider: "filter", startedAt: 100, final: false, status: 502, outcome: "upstream-status" }),
          ledgerRow({ attemptId: "f-2", requestId: "req-f", provider: "filter", startedAt: 200, model: "m2" }),
          ledgerRow({ attemptId: "f-3", provider: "filter", startedAt: 300, apiKeyId: "key-f", connectionId: "conn-f" })
        ])
        const ids = (filter: Parameters<typeof store.rows>[0]) => Effect.map(store.rows({ provider: "filter", ...filter }), (found) => found.map((row) => row.attemptId))
        assert.deepStrictEqual(yield* ids({}), ["f-3", "f-2", "f-1"])
        assert.deepStrictEqual(yield* ids({ limit: 1 }), ["f-3"])
        assert.deepStrictEqual(yield* ids({ since: 200, until: 299.5 }), ["f-2"])
        assert.deepStrictEqual(yield* ids({ requestId: "req-f", finalOnly: true }), ["f-2"])
        assert.deepStrictEqual(yield* ids({ status: 502 }), ["f-1"])
        assert.deepStrictEqual(yield* ids({ model: "m2" }), ["f-2"])
        assert.deepStrictEqual(yield* ids({ apiKeyId: "key-f", connectionId: "conn-f" }), ["f-3"])
        assert.deepStrictEqual([yield* ids({ apiKeyId: "key-f" }), yield* ids({ connectionId: "conn-f" })], [["f-3"], ["f-3"]])
        assert.deepStrictEqual(yield* ids({ apiKeyId: "key-f", status: 500 }), [])
      }))

    it.effect("totals and groups add up, to the last decimal of the cost", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const since = 5_000_000
        const group = (attemptId: string, fields: Partial<LedgerRow>) => ledgerRow({ attemptId, startedAt: since + 1, tokensIn: 1, tokensOut: 2, costUsd: 0.1, ...fields })
        yield* store.insert([
          group("g-1", { provider: "p1", model: "m1", apiKeyId: "k1", apiKeyName: "Old name", units: { image: 2 } }),
          group("g-2", { provider: "p1", model: "m2", apiKeyId: "k1", apiKeyName: "New name", startedAt: since + 9, units: { image: 3, second: 1.5 } }),
          group("g-3", { provider: "p2", model: "m1", apiKeyId: null, apiKeyName: null, connectionId: null, costUsd: 0.2 })
        ])
        assert.deepStrictEqual(yield* store.totals({ since }), { requests: 3, promptTokens: 3, completionTokens: 6, units: { image: 5, second: 1.5 }, cost: 0.4 })
        assert.deepStrictEqual(yield* store.totals({ since: since * 2 }), { requests: 0, promptTokens: 0, completionTokens: 0, units: null, cost: 0 })
        const empty = { provider: null, model: null, connectionId: null, apiKeyId: null, apiKeyName: null }
        const plain = (groups: ReadonlyArray<object>) => groups.map((found) => ({ ...found }))
        assert.deepStrictEqual(plain(yield* store.groupBy("provider", { since })), [
          { ...empty, provider: "p1", requests: 2, promptTokens: 2, completionTokens: 4, units: { image: 5, second: 1.5 }, cost: 0.2, lastUsed: since + 9 },
          { ...empty, provider: "p2", requests: 1, promptTokens: 1, completionTokens: 2, units: null, cost: 0.2, lastUsed: since + 1 }
        ])
        assert.deepStrictEqual(
          (yield* store.groupBy("model", { since })).map(({ model, provider }) => [provider, model]),
          [["p1", "m1"], ["p1", "m2"], ["p2", "m1"]]
        )
        assert.deepStrictEqual(
          (yield* store.groupBy("apiKey", { since })).map(({ apiKeyId, apiKeyName, requests }) => [apiKeyId, apiKeyName, requests]),
          [["k1", "New name", 2], [null, null, 1]]
        )
        assert.deepStrictEqual(
          (yield* store.groupBy("connection", { since, limit: 1 })).map(({ connectionId, provider }) => [provider, connectionId]),
          [["p1", "connection-1"]]
        )
      }))

    it.effect("what a key used is told by node and model, tokens and cost of all its attempts", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const since = 5_500_000
        const use = (attemptId: string, fields: Partial<LedgerRow>) =>
          ledgerRow({ attemptId, startedAt: since, apiKeyId: "k-use", nodeId: "n1", provider: "p", model: "m", tokensIn: 3, tokensOut: 4, costUsd: 0.1, ...fields })
        yield* store.insert([
          use("u-1", {}), use("u-2", { final: false, costUsd: 0.2 }), use("u-3", { nodeId: "n2" }), use("u-4", { model: "m2" }),
          use("u-5", { apiKeyId: "another" }), use("u-6", { startedAt: since - 1 })
        ])
        const told = (yield* store.usedBy("k-use", since)).map(({ costUsd, model, nodeId, provider, tokens }) => [nodeId, provider, model, tokens, costUsd])
        assert.deepStrictEqual(told.sort(), [["n1", "p", "m", 14, 0.3], ["n1", "p", "m2", 7, 0.1], ["n2", "p", "m", 7, 0.1]].map((row) => [...row]))
        assert.deepStrictEqual(yield* store.usedBy("nobody", since), [])
      }))

    it.effect("what connections used is told in stretches of time, the oldest first, over all nodes", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const since = 5_600_000
        const use = (attemptId: string, startedAt: number, fields: Partial<LedgerRow> = {}) =>
          ledgerRow({ attemptId, startedAt, connectionId: "c-use", nodeId: "n1", tokensIn: 3, tokensOut: 4, ...fields })
        yield* store.insert([
          use("cu-1", since - 1), use("cu-2", since), use("cu-3", since + 999, { nodeId: "n2", final: false }), use("cu-4", since + 1_000, { tokensIn: 0, tokensOut: 0 }),
          use("cu-5", since + 2_500, { connectionId: "c-use-2" }), use("cu-6", since, { connectionId: "another" }), use("cu-7", since, { connectionId: null })
        ])
        assert.deepStrictEqual((yield* store.connectionUse(["c-use", "c-use-2"], since, 1_000)).map((row) => ({ ...row })), [
          { connectionId: "c-use", begin: since, last: since + 999, requests: 2, tokens: 14 },
          { connectionId: "c-use", begin: since + 1_000, last: since + 1_000, requests: 1, tokens: 0 },
          { connectionId: "c-use-2", begin: since + 2_000, last: since + 2_500, requests: 1, tokens: 7 }
        ])
        assert.deepStrictEqual(yield* store.connectionUse([], since, 1_000), [])
      }))

    it.effect("the last ten minutes are ten buckets, oldest first, each open at its start and closed at its end", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const now = 1_800_000_000_000
        const times = [now, now - 59_999, now - 60_000, now - 599_999, now - 600_000, now + 1]
        yield* store.insert(times.map((startedAt, index) => ledgerRow({ attemptId: `m-${index}`, startedAt, tokensIn: 1, tokensOut: 0, costUsd: 1 })))
        const buckets = yield* store.lastMinutes(now)
        assert.deepStrictEqual(buckets.map((bucket) => bucket.requests), [1, 0, 0, 0, 0, 0, 0, 0, 1, 2])
        assert.deepStrictEqual({ ...buckets[9] }, { requests: 2, promptTokens: 2, completionTokens: 0, units: null, cost: 2 })
      }))

    it.effect("count is per node and outcome, or over all nodes", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        yield* store.insert([...rows(2, "counted"), ...rows(1, "counted-x", { nodeId: "counted", outcome: "crashed" })])
        assert.deepStrictEqual(yield* store.count("counted"), new Map([["completed", 2], ["crashed", 1]]))
        assert.isTrue(((yield* store.count()).get("completed") ?? 0) >= 2)
        assert.deepStrictEqual(yield* store.count("nobody"), new Map())
      }))

    it.effect.prop("any row comes back as it was put, bounded", [LedgerRow], ([given]) =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const row = { ...given, attemptId: `any-${crypto.randomUUID()}`, requestId: crypto.randomUUID() }
        assert.strictEqual(yield* quietly(store.insert([row])), 1)
        const found = yield* store.rows({ requestId: asText(row.requestId) })
        const expected = stored(row)
        const costUsd = found[0]?.costUsd ?? Number.NaN
        // The column rounds the decimal text to ten places: half of the last one, and what a double of this size cannot tell apart.
        assert.isAtMost(Math.abs(costUsd - expected.costUsd), 0.5e-10 + Number.EPSILON * Math.abs(expected.costUsd))
        assert.deepStrictEqual(found.map((some) => ({ ...some })), [{ ...expected, costUsd }])
      }), { arbitrary: { runs: 25 } })

    it.effect("everything goes but what a key's limits count, and what started later", () =>
      Effect.gen(function*() {
        const store = yield* UsageStore
        const at = 5_000_000_000_000
        yield* store.insert([
          ...[at - 3, at - 2, at - 1, at].map((startedAt, index) => ledgerRow({ attemptId: `k-${index}`, nodeId: "kept", apiKeyId: "counted", startedAt })),
          ledgerRow({ attemptId: "k-other", nodeId: "kept", apiKeyId: "free", startedAt: at - 1 }),
          ledgerRow({ attemptId: "k-none", nodeId: "kept", apiKeyId: null, startedAt: at - 1 })
        ])
        for (let batch = 0; batch < 3; batch++) yield* store.insert(rows(700, `many-${batch}`, { nodeId: "many", startedAt: at - 10 }))
        const left = Effect.map(store.rows({}), (found) => found.filter(({ nodeId }) => nodeId === "kept" || nodeId === "many").map(({ attemptId }) => attemptId).sort())
        assert.isAtLeast(yield* store.removeBut(at, [{ apiKeyId: "counted", since: at - 2 }, { apiKeyId: "stranger", since: 0 }]), 2_103)
        assert.deepStrictEqual(yield* left, ["k-1", "k-2", "k-3"])
        assert.strictEqual(yield* store.removeBut(at, [{ apiKeyId: "counted", since: at - 2 }]), 0)
        assert.isAtLeast(yield* store.removeBut(at, []), 2)
        assert.deepStrictEqual(yield* left, ["k-3"])
      }))
  })
}
