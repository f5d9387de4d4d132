import { assert, layer as withLayer } from "@effect/vitest"
import * as Effect from "effect/Effect"
import type * as Layer from "effect/Layer"
import { BudgetStore, RegisteredKeyStore, TokenLimitStore } from "#actors/limits/ports/LimitRecords.ts"
import type { Budget, RegisteredKey, TokenLimit } from "#schemas/records/Limits.ts"
import { at } from "./records.ts"

const budget = (fields: Partial<Budget> = {}): Budget => ({
  apiKeyId: "key-1", dailyLimitUsd: 0.25, weeklyLimitUsd: 0, monthlyLimitUsd: 12.5, warningThreshold: 0.8, resetInterval: "daily", resetTime: "03:00",
  createdAt: at(0), updatedAt: at(0), ...fields
})
const tokenLimit = (fields: Partial<TokenLimit> = {}): TokenLimit => ({
  id: "limit-1", apiKeyId: "key-1", scopeType: "model", scopeValue: "openai/gpt-4o", tokenLimit: 9_007_199_254_740_991, resetInterval: "monthly",
  resetTime: "00:00", enabled: true, createdAt: at(0), updatedAt: at(0), ...fields
})
const registered = (fields: Partial<RegisteredKey> = {}): RegisteredKey => ({
  id: "key-1", name: "issued", provider: "", accountId: "", keyPrefix: "sk-abcde", issuerId: null, idempotencyKey: null, dailyBudget: null,
  hourlyBudget: null, expiresAt: null, createdAt: at(0), revokedAt: null, ...fields
})

export const suite = (name: string, layer: Layer.Layer<BudgetStore | TokenLimitStore | RegisteredKeyStore>): void => {
  withLayer(layer, { excludeTestServices: true })(`LimitRecords on ${name}`, (it) => {
    it.effect("a key has one budget, which a second put changes and whose creation time stays", () => Effect.gen(function*() {
      const store = yield* BudgetStore
      yield* store.put(budget({ apiKeyId: "b-1" }))
      yield* store.put(budget({ apiKeyId: "b-1", dailyLimitUsd: 3, resetInterval: "weekly", createdAt: at(9), updatedAt: at(9) }))
      assert.deepStrictEqual((yield* store.list).filter(({ apiKeyId }) => apiKeyId === "b-1"), [
        budget({ apiKeyId: "b-1", dailyLimitUsd: 3, resetInterval: "weekly", updatedAt: at(9) })
      ])
      yield* store.put(budget({ apiKeyId: "b-2" }))
      assert.deepStrictEqual([yield* store.remove("b-1"), yield* store.remove("b-1")], [true, false])
      assert.deepStrictEqual((yield* store.list).map(({ apiKeyId }) => apiKeyId), ["b-2"])
    }))

    it.effect("token limits are listed oldest first, replaced and removed by id", () => Effect.gen(function*() {
      const store = yield* TokenLimitStore
      const rows = [tokenLimit({ id: "t-2", createdAt: at(1) }), tokenLimit({ id: "t-1", createdAt: at(2), enabled: false, scopeType: "global", scopeValue: "" })]
      for (const row of rows.toReversed()) yield* store.insert(row)
      assert.deepStrictEqual(yield* store.list, rows)
      const next = tokenLimit({ id: "t-1", tokenLimit: 5, createdAt: at(2) })
      assert.isTrue(yield* store.replace(next))
      assert.deepStrictEqual((yield* store.list)[1], next)
      assert.isFalse(yield* store.replace(tokenLimit({ id: "nobody" })))
      assert.deepStrictEqual([yield* store.remove("t-1"), yield* store.remove("t-1")], [true, false])
      assert.strictEqual((yield* Effect.flip(store.insert(rows[0] ?? next))).reason, "conflict")
    }))

    it.effect("issued keys are found by provider, account and issuer, newest first; an idempotency key is taken once", () => Effect.gen(function*() {
      const store = yield* RegisteredKeyStore
      const rows = [
        registered({ id: "r-1", provider: "openai", accountId: "a", issuerId: "k", idempotencyKey: "k:1", createdAt: at(1), dailyBudget: 10, hourlyBudget: 2, expiresAt: at(99) }),
        registered({ id: "r-2", provider: "openai", accountId: "b", createdAt: at(2) })
      ]
      for (const row of rows) assert.isNull(yield* store.issue(row, () => "nobody set a limit"))
      assert.deepStrictEqual(yield* store.list({ provider: "openai" }), rows.toReversed())
      assert.deepStrictEqual((yield* store.list({ accountId: "a" })).map(({ id }) => id), ["r-1"])
      assert.deepStrictEqual((yield* store.list({ provider: "openai", issuerId: null })).map(({ id }) => id), ["r-2"])
      assert.deepStrictEqual((yield* store.list({ issuerId: "k" })).map(({ id }) => id), ["r-1"])
      assert.deepStrictEqual(yield* store.byIdempotencyKey("k:1"), rows[0] ?? null)
      assert.isNull(yield* store.byIdempotencyKey("k:2"))
      assert.strictEqual((yield* Effect.flip(store.issue(registered({ id: "r-3", idempotencyKey: "k:1" }), () => null))).reason, "conflict")
      assert.deepStrictEqual([yield* store.revoke("r-1", at(5)), yield* store.revoke("r-1", at(6))], [true, false])
      assert.deepStrictEqual([(yield* store.get("r-1"))?.revokedAt, (yield* store.get("r-2"))?.revokedAt], [at(5), null])
      assert.deepStrictEqual([yield* store.get("nobody"), yield* store.remove("r-2"), yield* store.remove("r-2")], [null, true, false])
      assert.strictEqual((yield* store.get("r-1"))?.id, "r-1")
    }))

    it.effect("issues that come at once never pass a limit together: each is judged by what the ones before it left", () => Effect.gen(function*() {
      const store = yield* RegisteredKeyStore
      const none = { maxActiveKeys: 0, dailyIssueLimit: 0, hourlyIssueLimit: 0 }
      yield* store.putIssueLimits({ ...none, subject: "provider:race", maxActiveKeys: 7 })
      for (const team of ["a", "b", "c"]) yield* store.putIssueLimits({ ...none, subject: `account:race-${team}`, maxActiveKeys: 3 })
      const all = Array.from({ length: 40 }, (_, i) => registered({ id: `race-${i}`, provider: "race", accountId: `race-${"abc"[i % 3]}`, createdAt: at(i) }))
      const judged = yield* Effect.forEach(all, (key) => store.issue(key, ({ keys, kind, limits }) => keys.length >= limits.maxActiveKeys ? kind : null), { concurrency: "unbounded" })
      const kept = yield* store.list({ provider: "race" })
      assert.strictEqual(kept.length, 7)
      assert.strictEqual(judged.filter((refusal) => refusal === null).length, 7)
      for (const team of ["a", "b", "c"]) assert.isAtMost(kept.filter(({ accountId }) => accountId === `race-${team}`).length, 3)
      assert.isTrue(judged.every((refusal) => refusal === null || refusal === "provider" || refusal === "account"))
    }))

    it.effect("a provider that is renamed keeps its issued keys and its limits", () => Effect.gen(function*() {
      const store = yield* RegisteredKeyStore
      const limits = { subject: "provider:old-name", maxActiveKeys: 4, dailyIssueLimit: 0, hourlyIssueLimit: 0 }
      yield* store.putIssueLimits(limits)
      yield* store.putIssueLimits({ ...limits, subject: "provider:new-name", maxActiveKeys: 1 })
      yield* store.issue(registered({ id: "renamed-1", provider: "old-name" }), () => null)
      assert.isTrue(yield* store.renameProvider("old-name", "new-name"))
      assert.deepStrictEqual((yield* store.list({ provider: "new-name" })).map(({ id }) => id), ["renamed-1"])
      assert.deepStrictEqual(yield* store.issueLimits("provider:new-name"), { ...limits, subject: "provider:new-name" })
      assert.isNull(yield* store.issueLimits("provider:old-name"))
      assert.isFalse(yield* store.renameProvider("old-name", "new-name"))
    }))

    it.effect("issue limits are absent until they are set, then changed in place", () => Effect.gen(function*() {
      const store = yield* RegisteredKeyStore
      assert.isNull(yield* store.issueLimits("provider:p"))
      const limits = { subject: "provider:p", maxActiveKeys: 1, dailyIssueLimit: 2, hourlyIssueLimit: 3 }
      yield* store.putIssueLimits(limits)
      yield* store.putIssueLimits({ ...limits, maxActiveKeys: 9 })
      assert.deepStrictEqual(yield* store.issueLimits("provider:p"), { ...limits, maxActiveKeys: 9 })
    }))
  })
}
