import { describe, expect, it } from "vitest"
import * as Schema from "effect/Schema"
import { type ModelKind, Provider } from "#schemas/Provider.ts"
import * as Registry from "#src/providers/Registry.ts"

const rows = Registry.builtin.all
const rowsWith = (keep: (row: Provider) => boolean) => rows.filter(keep).map((row) => row.id)
const placeholders = /\{[a-zA-Z]+\}/g

/** First segments that mean something else than a provider. */
const reserved = ["combo", "auto", "no-think", "claude-3-gateway-no-thinking", "qtSd", "models"]

/** Models without a conversation that have no price, and why. */
const unpriced: Readonly<Record<string, string>> = {
  "vertex/multimodalembedding@001": "paid by characters, images and seconds, which embeddings do not count",
  "github-models/openai/text-embedding-3-small": "free within rate limits; no price of paid use was found",
  "openrouter/google/veo-3.1": "the price depends on sound and resolution; none was confirmed",
  "siliconflow/Qwen/Qwen3-Embedding-8B": "no price in USD was found",
  "siliconflow/Qwen/Qwen3-Reranker-8B": "no price in USD was found",
  "zhipu/embedding-3": "no price in USD was found",
  "upstage/solar-embedding-2-passage": "no public price was found",
  "upstage/solar-embedding-2-query": "no public price was found",
  "contextual/ctxl-rerank-v1-instruct": "the vendor lists prices of version 2 only",
  "ollama-search/web": "no price of a single search was found",
  "firecrawl/page": "paid by credits, whose price depends on the plan",
  "jina-reader/page": "paid by the tokens of the page, which a fetch does not count",
  "nimble-search/page": "the price depends on the driver that the vendor chooses"
}

const tokens = ["input", "output", "cached"]

/** What a price of each kind may name: what its requests count. A call counts for all. */
const counted: Readonly<Record<Exclude<ModelKind, "chat">, ReadonlyArray<string>>> = {
  embedding: tokens,
  rerank: [...tokens, "per_search_unit", "per_query", "per_document"],
  image: [...tokens, "per_image"],
  audio: [...tokens, "per_second", "per_character"],
  video: ["per_second"],
  music: ["per_second"],
  moderation: tokens,
  ocr: [...tokens, "per_page"],
  search: ["per_query"],
  fetch: ["per_page"]
}

describe("the shipped registry", () => {
  it("decodes row by row, without a field the schema does not know", () => {
    const decode = Schema.decodeUnknownSync(Provider, { onExcessProperty: "error" })
    for (const row of rows) expect(() => decode(row), row.id).not.toThrow()
  })

  it("holds at least 45 providers besides the simulator", () => {
    expect(rows.length - 1).toBeGreaterThanOrEqual(45)
  })

  it("gives every provider an id and an alias that nobody else answers to", () => {
    const owners = new Map<string, string>()
    for (const row of rows) {
      for (const name of new Set([row.id, row.alias])) {
        expect(owners.get(name), `${name} of ${row.id}`).toBeUndefined()
        owners.set(name, row.id)
      }
    }
    expect(reserved.filter((name) => owners.has(name))).toEqual([])
  })

  it("calls nothing over plain http except loopback, and only rows of category local live there", () => {
    const loopback = /^http:\/\/127\.0\.0\.1:\d+/
    expect(rowsWith((row) => !row.baseUrl.startsWith("https://") && row.category !== "local")).toEqual([])
    expect(rowsWith((row) => row.category === "local" && row.id !== "sim" && !loopback.test(row.baseUrl))).toEqual([])
    expect(rowsWith((row) => row.category !== "local" && !URL.canParse(row.baseUrl.replace(placeholders, "x")))).toEqual([])
  })

  it("leaves only the simulator's base URL to the run time", () => {
    expect(rowsWith((row) => row.baseUrl === "")).toEqual(["sim"])
  })

  it("has a chat path exactly where it speaks a chat format, and no trailing slash on a base URL", () => {
    expect(rowsWith((row) => (row.wireFormat === "none") !== (row.chatPath === null))).toEqual([])
    expect(rowsWith((row) => row.baseUrl.endsWith("/"))).toEqual([])
  })

  it("names an environment variable for every provider that needs a key", () => {
    expect(rowsWith((row) => !row.authKinds.includes("none") && row.env.length === 0)).toEqual([])
  })

  it("lists no model id or alias twice for one provider", () => {
    for (const row of rows) {
      const ids = row.models.flatMap((model) => [model.id, ...(model.aliases ?? [])])
      expect(new Set(ids).size, row.id).toBe(ids.length)
    }
  })

  it("has every upstream id of a family among the models of the same provider", () => {
    for (const row of rows) {
      for (const model of row.models) {
        if (model.upstreamId !== undefined) expect(row.models.some((one) => one.id === model.upstreamId), model.id).toBe(true)
      }
    }
  })

  it("declares every kind of its models among its modalities", () => {
    for (const row of rows) for (const model of row.models) expect(row.modalities, `${row.id}/${model.id}`).toContain(model.kind)
  })

  it("never prices cached input above fresh input, nor output of a chat model below its input", () => {
    for (const row of rows) {
      for (const { id, kind, price } of row.models) {
        if (price?.cached !== undefined) expect(price.cached, `${row.id}/${id}`).toBeLessThanOrEqual(price.input ?? 0)
        if (kind === "chat" && price !== undefined) expect(price.output, `${row.id}/${id}`).toBeGreaterThanOrEqual(price.input ?? 0)
      }
    }
  })

  it("prices flex below the standard tier, and priority above it", () => {
    const factors = rows.flatMap((row) => row.models.flatMap(({ id, price }) => price?.tiers === undefined ? [] : [{ name: `${row.id}/${id}`, ...price.tiers }]))
    expect(factors.length).toBeGreaterThan(20)
    for (const { flex = 0.5, name, priority = 2 } of factors) {
      expect(flex, name).toBeLessThan(1)
      expect(priority, name).toBeGreaterThan(1)
    }
  })

  it("prices what a vendor keeps for an hour above what it keeps for minutes", () => {
    const priced = rows.flatMap((row) => row.models.flatMap(({ id, price }) => price?.cache_creation_1h === undefined ? [] : [{ name: `${row.id}/${id}`, price }]))
    expect(priced.length).toBeGreaterThan(10)
    for (const { name, price } of priced) expect(price.cache_creation_1h, name).toBeGreaterThan(price.cache_creation ?? Infinity)
  })

  it("prices every model without a conversation, or says why it cannot", () => {
    const missing = rows.flatMap((row) => row.models.flatMap(({ id, kind, price }) => kind === "chat" || price !== undefined ? [] : [`${row.id}/${id}`]))
    expect(missing.sort()).toEqual(Object.keys(unpriced).sort())
  })

  it("prices what the requests of a kind count", () => {
    for (const row of rows) {
      for (const { id, kind, price } of row.models) {
        if (kind !== "chat") expect([...counted[kind], "per_request"], `${row.id}/${id}`).toEqual(expect.arrayContaining(Object.keys(price ?? {})))
      }
    }
  })

  it("says for every row but the simulator when and where its facts were read", () => {
    expect(rowsWith((row) => row.id !== "sim" && row.source.urls.length === 0)).toEqual([])
  })

  it("knows the wire quirks of the big three", () => {
    const { byId } = Registry.builtin
    expect(byId.get("openai")).toMatchObject({ baseUrl: "https://api.openai.com/v1", auth: { type: "bearer" } })
    expect(byId.get("anthropic")).toMatchObject({
      wireFormat: "messages",
      auth: { type: "header", name: "x-api-key" },
      headers: { "anthropic-version": "2023-06-01" }
    })
    expect(byId.get("gemini")).toMatchObject({ wireFormat: "generateContent", auth: { type: "header", name: "x-goog-api-key" } })
  })
})

describe("the indexes", () => {
  const row = rows.find((one) => one.id === "openai") as Provider

  it("find a provider by id and by alias", () => {
    expect(Registry.builtin.byId.get("openai")).toBe(row)
    expect(Registry.builtin.byAlias.get(row.alias)).toBe(row)
    expect(Registry.builtin.byPrefix.get(row.alias)).toBe(Registry.builtin.byPrefix.get("openai"))
  })

  it("find a model by its dated alias as well", () => {
    const models = Registry.modelsOf(Registry.builtin, "openai")
    expect(models.get("gpt-4o-mini-2024-07-18")).toBe(models.get("gpt-4o-mini"))
    expect(Registry.modelsOf(Registry.builtin, "nobody").size).toBe(0)
  })

  it("list every provider that serves a bare id", () => {
    const owners = Registry.builtin.byModel.get("openai/gpt-oss-120b")?.map((one) => one.id)
    expect(owners).toEqual(expect.arrayContaining(["groq", "together", "nebius"]))
  })

  it("are frozen to the last array", () => {
    expect(Object.isFrozen(row)).toBe(true)
    expect(Object.isFrozen(row.models[0]?.price)).toBe(true)
    expect(Object.isFrozen(row.models)).toBe(true)
  })
})
