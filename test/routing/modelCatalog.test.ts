import { describe, expect, it } from "vitest"
import * as Registry from "#src/providers/Registry.ts"
import * as ModelCatalog from "#src/routing/models/modelCatalog.ts"
import { resolveModel } from "#src/routing/models/resolveModel.ts"
import { fixture } from "#test/providers/fixture.ts"

const custom = (change: Partial<ModelCatalog.CatalogCustomModel> & Pick<ModelCatalog.CatalogCustomModel, "provider" | "modelId">): ModelCatalog.CatalogCustomModel => ({
  modelName: null,
  apiFormat: "chat-completions",
  supportedEndpoints: [],
  modelType: null,
  maxInputTokens: null,
  maxOutputTokens: null,
  contextWindowOverride: null,
  dimensions: null,
  supportsVision: null,
  isHidden: false,
  supportedInputTypes: [],
  createdAt: "2026-02-01T00:00:00.000Z",
  ...change
})

const node = (prefix: string, apiType: ModelCatalog.CatalogNode["apiType"]): ModelCatalog.CatalogNode => ({
  id: `openai-compatible-${apiType}-${prefix}`, prefix, name: `Node ${prefix}`, apiType, createdAt: "2026-02-01T00:00:00.000Z"
})

const nodes = [node("mine", "chat"), node("vec", "embeddings"), node("rank", "rerank")]

const view = (change: Partial<ModelCatalog.CatalogView> = {}): ModelCatalog.CatalogView => ({
  registry: fixture,
  nodes,
  customModels: [
    custom({ provider: "mine", modelId: "org/model", maxInputTokens: 5000, maxOutputTokens: 1000, supportsVision: true }),
    custom({ provider: "openai-compatible-embeddings-vec", modelId: "e1" }),
    custom({ provider: "acme", modelId: "added", modelName: "Added" })
  ],
  aliases: new Map([["fast", "ac/small"], ["gone", "solo/shared"], ["calm", "no-think/th/claude-thinks"]]),
  simulatorCallable: true,
  activeProviders: new Set(["acme", "thinkers", "sim", ...nodes.map((one) => one.id)]),
  combos: [{ name: "team", createdAt: "2026-03-01T00:00:00.000Z" }],
  ...change
})

const options = (change: Partial<ModelCatalog.CatalogOptions> = {}): ModelCatalog.CatalogOptions => ({
  prefixMode: "dual", includeNames: true, noThinkingAliases: true, thinkingLevels: false, ...change
})
const ids = (entries: ReadonlyArray<ModelCatalog.ModelEntry>) => entries.map((entry) => entry.id)
const listed = (change: Partial<ModelCatalog.CatalogOptions> = {}, of: Partial<ModelCatalog.CatalogView> = {}) =>
  ModelCatalog.entriesOf(view(of), options(change))

describe("GET /v1/models", () => {
  for (const prefixMode of ["dual", "alias", "canonical"] as const) {
    it(`is the golden list in prefix mode ${prefixMode}`, async () => {
      await expect(`${JSON.stringify(listed({ prefixMode }), null, 1)}\n`).toMatchFileSnapshot(`golden/catalog.${prefixMode}.json`)
    })
  }

  it("lists combos first", () => {
    expect(listed()[0]).toMatchObject({ id: "team", owned_by: "combo", parent: null })
  })

  it("emits both ids of a model in dual mode, the mirror pointing at the primary", () => {
    const entries = listed().filter((entry) => entry.root === "small" && entry.id !== "fast")
    expect(entries.map(({ id, parent }) => [id, parent])).toEqual([["ac/small", null], ["acme/small", "ac/small"]])
  })

  it("emits one entry per model in the other modes, also for a provider without a distinct alias", () => {
    const of = { activeProviders: new Set(["acme", "solo"]), aliases: new Map(), combos: [], nodes: [], customModels: [] }
    expect(ids(listed({ prefixMode: "alias" }, of))).toEqual(expect.arrayContaining(["ac/small", "solo/org/nested"]))
    expect(ids(listed({ prefixMode: "canonical" }, of))).toEqual(expect.arrayContaining(["acme/small", "solo/org/nested"]))
    for (const prefixMode of ["alias", "canonical"] as const) {
      const entries = listed({ prefixMode }, of)
      expect(entries.every((entry) => entry.parent === null)).toBe(true)
      expect(new Set(entries.map((entry) => `${entry.owned_by} ${entry.root}`)).size).toBe(entries.length)
    }
    expect(ids(listed({}, of)).filter((id) => id === "solo/shared")).toHaveLength(1)
  })

  it("omits name when MODEL_CATALOG_INCLUDE_NAMES is off", () => {
    expect(listed({ includeNames: false }).some((entry) => "name" in entry)).toBe(false)
    expect(listed().every((entry) => typeof entry.name === "string")).toBe(true)
  })

  it("advertises no-thinking variants of Claude-like thinking models that honour it, and of those that say so", () => {
    const variants = ids(listed({ prefixMode: "canonical" })).filter((id) => id.startsWith("claude-3-gateway-no-thinking/"))
    expect(variants).toEqual(["claude-3-gateway-no-thinking/thinkers/claude-thinks", "claude-3-gateway-no-thinking/thinkers/other-thinks"])
    expect(ids(listed({ noThinkingAliases: false })).some((id) => id.includes("no-thinking"))).toBe(false)
  })

  it("lists only what can be reached now", () => {
    const owners = new Set(listed().map((entry) => entry.owned_by))
    expect([...owners].sort()).toEqual(["acme", "combo", "mine", "sim", "thinkers", "vec"])
    expect(listed({}, { activeProviders: new Set() }).map((entry) => entry.owned_by)).toEqual(["combo"])
  })

  it("lists an alias whose target is offered, under the alias itself", () => {
    expect(listed().find((entry) => entry.id === "fast")).toMatchObject({ owned_by: "acme", root: "small", parent: null })
    expect(ids(listed())).not.toContain("gone")
  })

  it("lets a custom model override or hide a registered one", () => {
    const customModels = [
      custom({ provider: "acme", modelId: "small", contextWindowOverride: 42, modelName: "Mine", apiFormat: "chat-completions" }),
      custom({ provider: "acme", modelId: "long", isHidden: true })
    ]
    const entries = listed({ prefixMode: "canonical" }, { customModels })
    expect(entries.find((entry) => entry.id === "acme/small")).toMatchObject({ name: "Mine", context_length: 42, max_output_tokens: 10_000 })
    expect(ids(entries)).not.toContain("acme/long")
  })

  it("lists no id twice", () => {
    const all = ids(listed())
    expect(new Set(all).size).toBe(all.length)
  })

  it("lists only ids that resolve back to the model they stand for", () => {
    const of = view()
    const resolver = { ...of, wildcardAliases: [], noThinkingAliases: true }
    for (const entry of ModelCatalog.entriesOf(of, options()).filter((one) => one.owned_by !== "combo")) {
      expect(resolveModel(resolver, entry.id), entry.id).toMatchObject({ _tag: "Resolved", id: `${entry.owned_by}/${entry.root}` })
    }
  })

  it("is built once per view, mode and flags", () => {
    const of = view()
    expect(ModelCatalog.entriesOf(of, options())).toBe(ModelCatalog.entriesOf(of, options()))
    expect(ModelCatalog.entriesOf(of, options())).not.toBe(ModelCatalog.entriesOf(of, options({ includeNames: false })))
  })

  it("takes ?prefix= in any case, and an unknown one for the default", () => {
    expect(ModelCatalog.prefixMode("alias", "dual")).toBe("alias")
    expect(ModelCatalog.prefixMode("Dual", "canonical")).toBe("dual")
    expect(ModelCatalog.prefixMode("both", "canonical")).toBe("canonical")
    expect(ModelCatalog.prefixMode(null, "dual")).toBe("dual")
  })
})

describe("the type of a row", () => {
  const typeOf = (change: Partial<ModelCatalog.CatalogCustomModel>, prefix = "mine") =>
    listed({ prefixMode: "canonical" }, { customModels: [custom({ provider: prefix, modelId: "m", ...change })] })
      .find((entry) => entry.id === `${prefix}/m`)?.type

  it("follows the API type of the node when the row has no endpoint metadata", () => {
    expect(typeOf({}, "vec")).toBe("embedding")
    expect(typeOf({}, "rank")).toBe("rerank")
    expect(typeOf({}, "mine")).toBeUndefined()
  })

  it("takes the default supportedEndpoints for nothing said: the model type, the node or the registered model decides", () => {
    expect(typeOf({ supportedEndpoints: ["chat"], modelType: "embedding" })).toBe("embedding")
    expect(typeOf({ supportedEndpoints: ["chat"] }, "vec")).toBe("embedding")
    expect(typeOf({ supportedEndpoints: ["chat"] }, "rank")).toBe("rerank")
    const overridden = listed({ prefixMode: "canonical" }, { customModels: [custom({ provider: "acme", modelId: "vectors", supportedEndpoints: ["chat"] })] })
    expect(overridden.find((entry) => entry.id === "acme/vectors")).toMatchObject({ type: "embedding", supported_endpoints: ["embeddings"] })
  })

  it("follows explicit supportedEndpoints before anything else", () => {
    expect(typeOf({ supportedEndpoints: ["chat", "responses"], modelType: "embedding" }, "vec")).toBeUndefined()
    expect(typeOf({ supportedEndpoints: ["rerank"] }, "vec")).toBe("rerank")
    expect(typeOf({ supportedEndpoints: ["images-generations"] })).toBe("image")
    expect(typeOf({ supportedEndpoints: ["embeddings", "chat"] })).toBeUndefined()
  })

  it("follows the model type and the API format of the row before its node", () => {
    expect(typeOf({ modelType: "image" }, "vec")).toBe("image")
    expect(typeOf({ apiFormat: "audio-speech" })).toBe("audio")
    expect(typeOf({ apiFormat: "rerank" })).toBe("rerank")
  })

  it("is the registry's kind, absent for chat, with a subtype for audio", () => {
    const entry = (id: string) => listed({ prefixMode: "canonical" }).find((one) => one.id === id)
    expect(entry("acme/small")?.type).toBeUndefined()
    expect(entry("acme/vectors")).toMatchObject({ type: "embedding", dimensions: 8, supported_endpoints: ["embeddings"] })
    expect(entry("acme/voice")).toMatchObject({ type: "audio", subtype: "speech", supported_endpoints: ["audio-speech"] })
  })
})

describe("the shorter lists", () => {
  it("GET /v1/embeddings holds embedding models, GET /v1/images/generations image models", () => {
    const entries = listed({ prefixMode: "canonical" })
    expect(ids(ModelCatalog.ofType(entries, "embedding"))).toEqual(["acme/vectors", "acme/family", "vec/e1"])
    expect(ids(ModelCatalog.ofType(entries, "image"))).toEqual(["acme/paint"])
    expect(ids(ModelCatalog.ofType(entries, "chat"))).toContain("acme/small")
  })

  it("a provider's list is found by id, alias or node prefix, and never holds combos", () => {
    const of = view()
    const by = (prefix: string) => ids(ModelCatalog.ofProvider(of, options({ prefixMode: "canonical" }), prefix))
    expect(by("acme")).toEqual(by("ac"))
    expect(by("mine")).toEqual(["mine/org/model"])
    expect([by("solo"), by("nobody"), by("combo")]).toEqual([[], [], []])
  })

  it("GET /v1/models/{id} finds an entry by the id of any prefix mode", () => {
    const find = (id: string) => ModelCatalog.entryById(view(), options({ prefixMode: "alias" }), id)?.id ?? null
    expect(["ac/small", "acme/small", "team", "fast"].map(find)).toEqual(["ac/small", "acme/small", "team", "fast"])
    expect(find("solo/shared")).toBeNull()
  })
})

describe("GET /api/models/catalog", () => {
  it("groups every provider and node by owner and says whether it is active", () => {
    const catalog = ModelCatalog.managementCatalog(view())
    expect(Object.keys(catalog)).toEqual(["acme", "thinkers", "solo", "sim", "mine", "vec", "rank"])
    expect(catalog["solo"]).toMatchObject({ provider: "Solo", active: false })
    expect(catalog["vec"]).toEqual({
      provider: "Node vec",
      active: true,
      models: [{ id: "vec/e1", name: "e1", type: "embedding", custom: true }]
    })
    expect(catalog["acme"]?.models[0]).toEqual({
      id: "acme/small",
      name: "SMALL",
      type: "chat",
      custom: false,
      capabilities: { tools: true },
      context_length: 100_000,
      max_output_tokens: 10_000,
      input_modalities: ["text"],
      output_modalities: ["text"],
      supported_endpoints: ["chat"]
    })
  })

  it("hides the simulator while it is not offered", () => {
    expect(Object.keys(ModelCatalog.managementCatalog(view({ activeProviders: new Set() })))).not.toContain("sim")
  })
})

describe("the shipped registry as a catalogue", () => {
  it("builds for all providers at once, every id resolving back", () => {
    const registry = Registry.builtin
    const of = view({ registry, nodes: [], customModels: [], aliases: new Map(), combos: [], activeProviders: new Set(registry.byId.keys()) })
    const entries = ModelCatalog.entriesOf(of, options())
    const resolver = { ...of, wildcardAliases: [], noThinkingAliases: true }
    for (const entry of entries) expect(resolveModel(resolver, entry.id), entry.id).toMatchObject({ id: `${entry.owned_by}/${entry.root}` })
    expect(entries.length).toBeGreaterThan(600)
  })
})
