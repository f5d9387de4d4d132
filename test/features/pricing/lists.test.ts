/** What is read from public lists of models, entry by entry, and when it is read again. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import * as SyncedModels from "#schemas/catalogue/SyncedModels.ts"
import type { Price } from "#schemas/Provider.ts"
import * as Changes from "#src/features/pricing/sync/changes.ts"
import * as Litellm from "#src/features/pricing/sync/litellm.ts"
import * as ModelsDev from "#src/features/pricing/sync/modelsDev.ts"
import { ENTRIES_MAX } from "#src/features/pricing/sync/reading.ts"
import { readList } from "#src/features/pricing/sync/readJob.ts"
import * as Turns from "#src/features/pricing/sync/turns.ts"
import * as SyncedCatalogue from "#src/platform/configuration/SyncedCatalogue.ts"
import * as Pricing from "#src/providers/pricing.ts"
import * as Registry from "#src/providers/Registry.ts"
import * as SyncedFacts from "#src/providers/syncedFacts.ts"
import { litellm, modelsDev } from "#test/support/modelLists.ts"

type Doc = Record<string, unknown>
const pricesOf = (entries: Doc) => Object.fromEntries(Litellm.read(entries).prices)
const entry = (more: Doc): Doc => ({ litellm_provider: "openai", mode: "chat", input_cost_per_token: 1e-6, output_cost_per_token: 2e-6, ...more })
const document = Arbitrary.schema(Schema.Json)

describe("LiteLLM's list", () => {
  it("becomes prices for a million tokens or one unit, under the names of this gateway's providers", () => {
    const { prices, warnings } = Litellm.read(litellm)
    assert.deepStrictEqual(Object.fromEntries(prices), {
      "openai/gpt-4o-mini": { input: 0.16, output: 0.64, cached: 0.075 },
      "openai/gpt-9-preview": { input: 2, output: 8, reasoning: 9 },
      "anthropic/claude-haiku-4-5": { input: 1, output: 5, cached: 0.1, cache_creation: 1.25, cache_creation_1h: 2 },
      "gemini/gemini-2.5-pro": { input: 1.25, output: 10, cached: 0.125, long: { above: 200_000, input: 2.5, output: 15 } },
      "openai/whisper-1": { per_second: 0.0001 },
      "cohere/rerank-v3.5": { input: 0, output: 0, per_search_unit: 0.002 }
    })
    assert.deepStrictEqual(warnings, [])
  })

  it("of providers with several rows, regions and prefixes", () => {
    assert.deepStrictEqual(Object.keys(pricesOf({
      "anthropic.claude-haiku-4-5": entry({ litellm_provider: "bedrock_converse" }), "bedrock/us-east-1/anthropic.claude-v1": entry({ litellm_provider: "bedrock" }),
      "vertex_ai/claude-haiku-4-5@20251001": entry({ litellm_provider: "vertex_ai-anthropic_models" }), "azure/eu/gpt-4o": entry({ litellm_provider: "azure" }),
      "openrouter/openai/gpt-4o": entry({ litellm_provider: "openrouter" }), "groq/openai/gpt-oss-20b": entry({ litellm_provider: "groq" })
    })), ["bedrock/anthropic.claude-haiku-4-5", "bedrock-anthropic/anthropic.claude-haiku-4-5", "vertex-anthropic/claude-haiku-4-5@20251001", "openrouter/openai/gpt-4o", "groq/openai/gpt-oss-20b"])
  })

  it("entries that cannot be true cost themselves alone, and are named", () => {
    const hostile = JSON.parse(JSON.stringify({
      good: entry({}), negative: entry({ input_cost_per_token: -1e-6 }), words: entry({ output_cost_per_token: "2e-6" }), huge: entry({ input_cost_per_token: 1 }),
      constructor: entry({}), "new\nline": entry({}), text: "no entry", [`long-${"x".repeat(300)}`]: entry({}), "half-tier": entry({ input_cost_per_token_above_200k_tokens: 4e-6 })
    }).replace("{", `{"__proto__":${JSON.stringify(entry({}))},`)) as Doc
    const { prices, warnings } = Litellm.read(hostile)
    assert.deepStrictEqual(Object.fromEntries(prices), { "openai/good": { input: 1, output: 2 }, "openai/half-tier": { input: 1, output: 2 } })
    assert.deepStrictEqual(warnings, [
      "__proto__: its name is not one of a model", "negative: input_cost_per_token is negative", "words: output_cost_per_token is no number", "huge: input_cost_per_token is larger than 100000 USD",
      "constructor: its name is not one of a model", "new?line: its name has spaces or invisible characters", "text: it is no object",
      `long-${"x".repeat(75)}: its name does not have 1 to 240 characters`
    ])
    assert.strictEqual(Object.getPrototypeOf({}), Object.prototype)
    assert.deepStrictEqual(Litellm.read({ nan: entry({ input_cost_per_token: Number.NaN }) }).warnings, ["nan: input_cost_per_token is no number"])
  })

  it("warnings and entries are bounded", () => {
    const many = Object.fromEntries(Array.from({ length: 60 }, (_, index) => [`m-${index}`, entry({ input_cost_per_token: -1 })]))
    assert.deepStrictEqual([Litellm.read(many).warnings.length, Litellm.read(many).warnings.at(-1)], [51, "and 10 more"])
    const all = Object.fromEntries(Array.from({ length: ENTRIES_MAX + 3 }, (_, index) => [`m-${index}`, entry({})]))
    assert.strictEqual(Litellm.read(all).prices.size, ENTRIES_MAX)
  })
})

describe("models.dev's list", () => {
  it("becomes prices and facts", () => {
    const { facts, prices, warnings } = ModelsDev.read(modelsDev)
    assert.deepStrictEqual(Object.fromEntries(prices), {
      "openai/gpt-4o-mini": { input: 0.15, output: 0.6, cached: 0.08 },
      "openai/gpt-5.5": { input: 5, output: 30, cached: 0.5, long: { above: 272_000, input: 10, output: 45, cached: 1 } },
      "bedrock/anthropic.claude-haiku-4-5": { input: 1, output: 5 }, "bedrock-anthropic/anthropic.claude-haiku-4-5": { input: 1, output: 5 }
    })
    assert.deepStrictEqual(facts.get("openai/gpt-4o-mini"), {
      contextWindow: 8_192, maxOutputTokens: 4_096, inputModalities: ["text", "image"], outputModalities: ["text"], tools: false, structuredOutput: true, vision: true
    })
    assert.deepStrictEqual(facts.get("bedrock-anthropic/anthropic.claude-haiku-4-5"), { maxOutputTokens: 64_000 })
    assert.deepStrictEqual(warnings, [])
  })

  it("facts stand over those of the registry, and what a list does not say stays", () => {
    const facts = ModelsDev.read(modelsDev).facts
    const registry = SyncedFacts.registryOf({ synced: { prices: new Map(), facts } })
    const before = Registry.builtin.modelsOf.get("openai")?.get("gpt-4o-mini")
    const after = registry.modelsOf.get("openai")?.get("gpt-4o-mini")
    assert.deepStrictEqual<unknown>({ ...after, capabilities: after?.capabilities?.toSorted() }, {
      ...before, contextWindow: 8_192, maxOutputTokens: 4_096, inputModalities: ["text", "image"], outputModalities: ["text"], capabilities: ["structuredOutput", "vision"]
    })
    assert.strictEqual(registry, SyncedFacts.registryOf({ synced: { prices: new Map(), facts } }))
    assert.strictEqual(registry.modelsOf.get("anthropic")?.get("claude-haiku-4-5"), Registry.builtin.modelsOf.get("anthropic")?.get("claude-haiku-4-5"))
    assert.strictEqual(SyncedFacts.registryOf({ synced: { prices: new Map(), facts: new Map() } }), Registry.builtin)
  })
})

describe("any list", () => {
  it.prop("is read without a defect, and what is kept is a price or a fact", { document }, ({ document }) => {
    for (const source of ["litellm", "models.dev"] as const) {
      for (const list of [{ "gpt-x": document, other: entry({ input_cost_per_token: document }) }, { openai: { models: { "gpt-x": document, y: { cost: document, limit: document, modalities: document } } } }, { openai: document }]) {
        const { entries, modelCount } = readList(source, "prices", list)
        const read = JSON.parse(Buffer.from(entries).toString()) as Record<string, Price>
        assert.strictEqual(Object.keys(read).length, modelCount)
        for (const { input = 0, output = 0 } of Object.values(read)) assert.isTrue(input >= 0 && output >= 0 && input <= 100_000 && output <= 100_000)
      }
    }
  }, { arbitrary: { runs: 200 } })

  it("names providers of the registry only", () => {
    const named = [...Litellm.providers.values()].flatMap(({ as }) => as).concat([...ModelsDev.providers.values()].flat())
    assert.deepStrictEqual(named.filter((id) => !Registry.builtin.byId.has(id)), [])
  })

  it("the same entries have the same revision, whatever their order", () => {
    assert.strictEqual(readList("litellm", "prices", litellm).revision, readList("litellm", "prices", Object.fromEntries(Object.entries(litellm).toReversed())).revision)
  })
})

describe("what a snapshot has", () => {
  it.effect("is read again only for another revision, in the order of the sources", () => Effect.gen(function*() {
    const stored = new Map<string, Map<string, unknown>>()
    const reads: Array<string> = []
    const of = (kind: string) => stored.get(kind) ?? new Map<string, unknown>()
    const documents = {
      list: (kind: string) => Effect.sync(() => of(kind)),
      get: (kind: string, key: string) => Effect.sync(() => {
        reads.push(key)
        return of(kind).get(key)
      })
    }
    const put = (key: string, revision: string, entries: unknown) => {
      stored.set("catalogue-state", new Map([...of("catalogue-state"), [key, { revision, syncedAt: "", modelCount: 1, providerCount: 1, warnings: [] }]]))
      stored.set("catalogue-entries", new Map([...of("catalogue-entries"), [key, entries]]))
    }
    const load = SyncedCatalogue.make(documents, ["litellm"])
    assert.strictEqual(yield* load, SyncedModels.none)
    put("prices/models.dev", "1", { "openai/a": { input: 1 }, "openai/b": { input: 1 } })
    put("prices/litellm", "1", { "openai/a": { input: 2 } })
    put("facts/models.dev", "1", { "openai/a": { contextWindow: 5 }, "openai/b": { contextWindow: "wide" } })
    const first = yield* load
    assert.deepStrictEqual([Object.fromEntries(first.prices), Object.fromEntries(first.facts)], [{ "openai/a": { input: 2 }, "openai/b": { input: 1 } }, { "openai/a": { contextWindow: 5 } }])
    assert.strictEqual(yield* load, first)
    assert.deepStrictEqual(reads, ["prices/models.dev", "prices/litellm", "facts/models.dev"])
    put("prices/litellm", "2", { "openai/a": { input: 3 } })
    assert.deepStrictEqual((yield* load).prices.get("openai/a"), { input: 3 })
  }))
})

describe("prices that leap", () => {
  it("by more than a factor of 10, or from or to nothing, are named; an operator's own price is no measure", () => {
    const view: Pricing.PricingView = {
      registry: Registry.builtin, user: new Map([["openai/a", { input: 500 }]]),
      synced: new Map(Object.entries({ "openai/a": { input: 1, output: 4 }, "openai/b": { input: 1, output: 4 }, "openai/c": { input: 0, output: 4 }, "openai/d": { input: 100, output: 4 } }))
    }
    const next = new Map<string, Price>(Object.entries({ "openai/a": { input: 10, output: 40.1 }, "openai/b": { input: 10, output: 0.4 }, "openai/c": { input: 1, output: 4 }, "openai/d": { input: 9, output: 4 }, "openai/new": { input: 9 } }))
    assert.deepStrictEqual(Changes.leaps(view, next), [
      "openai/a: output changes from 4 to 40.1 USD for a million tokens", "openai/c: input changes from 0 to 1 USD for a million tokens", "openai/d: input changes from 100 to 9 USD for a million tokens"
    ])
  })
})

describe("the price of long prompts", () => {
  const priceOf = (synced: unknown, user?: unknown) => Pricing.priceOf({
    registry: Registry.builtin, synced: new Map([["gemini/gemini-2.5-pro", synced]]), user: user === undefined ? new Map() : new Map([["gemini/gemini-2.5-pro", user]])
  }, "gemini", "gemini-2.5-pro")
  const shipped = Registry.builtin.modelsOf.get("gemini")?.get("gemini-2.5-pro")?.price

  it("is that of its source; a source with the same base leaves the registry's, one with another base takes it away", () => {
    const long = { above: 100_000, input: 3, output: 16 }
    assert.deepStrictEqual(priceOf({ input: 1, output: 2, long })?.long, long)
    assert.deepStrictEqual(priceOf({ input: shipped?.input, output: shipped?.output })?.long, shipped?.long)
    assert.isUndefined(priceOf({ input: 1, output: 2 })?.long)
    assert.isUndefined(priceOf({ input: 1, output: 2, long }, { input: 5 })?.long)
    assert.isUndefined(priceOf({ input: 1, output: 2, long: { above: -1, input: 3, output: 16 } })?.long)
  })
})

describe("the price of what is written for an hour", () => {
  it("stays while a source has the same price of writing, and goes with another one", () => {
    const priceOf = (synced: unknown) => Pricing.priceOf({ registry: Registry.builtin, user: new Map(), synced: new Map([["anthropic/claude-haiku-4-5", synced]]) }, "anthropic", "claude-haiku-4-5")
    assert.strictEqual(priceOf({ input: 1, output: 5, cache_creation: 1.25 })?.cache_creation_1h, 2)
    assert.isUndefined(priceOf({ input: 1, output: 5, cache_creation: 1 })?.cache_creation_1h)
    assert.strictEqual(priceOf({ input: 1, output: 5, cache_creation: 1, cache_creation_1h: 1.6 })?.cache_creation_1h, 1.6)
  })
})

describe("the schedule", () => {
  const at = Date.parse("2026-11-27T10:00:00Z")
  const day = 86_400_000

  it("reads at once, then once in an interval, and five minutes after a failure, twice as long after each further one", () => {
    assert.isTrue(Turns.isDue(Turns.none, day, at))
    const next = (failures: number, everyMs = day) => Turns.nextAt({ at, failures, error: null }, everyMs, at) - at
    assert.deepStrictEqual([0, 1, 2, 3, 4].map((failures) => next(failures)), [day, 300_000, 600_000, 1_200_000, 2_400_000])
    assert.deepStrictEqual([next(10), next(1_000), next(5, 60_000)], [6 * 3_600_000, 6 * 3_600_000, 60_000])
    assert.isTrue(Turns.isDue({ at: at + 3_600_000, failures: 0, error: null }, day, at))
    assert.deepStrictEqual(Turns.turnOf({ at: "yesterday" }), Turns.none)
  })
})
