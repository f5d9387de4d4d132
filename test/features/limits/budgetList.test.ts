import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { KeyStore } from "#actors/ports/Stores.ts"
import * as Management from "#test/support/management.ts"
import { at } from "#test/support/management.ts"
import { apiKey } from "#test/suites/records.ts"

describe("the list of budgets", () => {
  it.effect("has every key with a budget: behind a thousand newer keys, and of the environment", () => Effect.gen(function*() {
    const { ask, context, login } = yield* Management.make()
    const cookie = yield* login()
    const store = Context.get(context, KeyStore)
    yield* store.insert(apiKey({ id: "old", name: "Old", keyHash: "old", createdAt: "2025-01-01T00:00:00.000Z" }))
    for (let index = 0; index < 1_000; index++) yield* store.insert(apiKey({ id: `new-${index}`, keyHash: `new-${index}` }))
    const named = Effect.map(ask("/api/usage/budget", { cookie }), ({ json }) => {
      const budgets = at(json, "budgets") as ReadonlyArray<{ readonly apiKeyId: string; readonly apiKeyName: string | null; readonly dailyLimitUsd: number }>
      return [budgets.length, ...budgets.slice(1_000).map(({ apiKeyId, apiKeyName, dailyLimitUsd }) => [apiKeyId, apiKeyName, dailyLimitUsd])]
    })
    assert.deepStrictEqual(yield* named, [1_000])
    for (const apiKeyId of ["old", "env:GATEWAY_API_KEY"]) {
      assert.strictEqual((yield* ask("/api/usage/budget", { cookie, body: { apiKeyId, dailyLimitUsd: 5 } })).status, 200)
    }
    assert.deepStrictEqual(yield* named, [1_002, ["old", "Old", 5], ["env:GATEWAY_API_KEY", null, 5]])
  }))
})
