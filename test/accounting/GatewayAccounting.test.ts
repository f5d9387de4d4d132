import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as GatewayAccounting from "#src/platform/accounting/GatewayAccounting.ts"
import { byCharacters } from "#src/platform/accounting/tokens/TokenEstimate.ts"

const target = (price: Target["price"]): Target => ({
  provider: "openai", providerAlias: "openai", publicModel: "openai/gpt-4o", model: "gpt-4o", connection: null, wireFormat: "chat-completions",
  origin: "https://api.openai.com", path: "/v1/chat/completions", streamPath: "/v1/chat/completions", headers: [], price, streamOptions: true, proxy: null,
  maxOutputTokens: null, reasoning: null, thinking: null
})

describe("GatewayAccounting", () => {
  it.effect("turns usage into money by the target's price", () =>
    Effect.gen(function*() {
      const accounting = yield* Accounting
      const usage = { input: 1000, output: 100, cacheRead: 400, cacheCreation: 100, reasoning: 40 }
      // 500 x 2 + 400 x 1 + 100 x 2.5 + 60 x 8 + 40 x 8, in millionths.
      assert.strictEqual(accounting.cost(target({ input: 2, output: 8, cached: 1, cache_creation: 2.5 }), usage, null), 0.00245)
      assert.strictEqual(accounting.cost(target(null), usage, null), 0)
      assert.strictEqual(accounting.estimate("twelve chars"), 3)
    }).pipe(Effect.provide(GatewayAccounting.layer(byCharacters))))
})
