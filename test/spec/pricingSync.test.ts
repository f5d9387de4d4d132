/** Prices and facts from public lists over HTTP: /api/pricing/sync, /api/settings/models-dev, and what they change. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import * as ModelLists from "#test/support/modelLists.ts"
import { eventually } from "#test/support/operator.ts"

const SYNC = "/api/pricing/sync"
const FACTS = "/api/settings/models-dev"
const TOKEN = "canary-list-t0ken"
/** Of the registry: a list that names none leaves them. */
const tiers = { priority: 1.6666667 }

let lab: Lab
let lists: ModelLists.ModelLists
beforeAll(async () => {
  lists = await ModelLists.start()
  lab = await startLab({ environment: lists.environment })
  await lab.gateway.operator.createConnection({ provider: "openai", apiKey: "sk-synced-0000000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
})
afterAll(async () => {
  await lab.close()
  await lists.close()
})
afterEach(async () => {
  await call("DELETE", SYNC)
  await call("DELETE", FACTS)
  await call("DELETE", "/api/pricing")
  lists.answers.set("/litellm.json", { body: ModelLists.litellm }).set("/models-dev.json", { body: ModelLists.modelsDev })
})

type Body = Record<string, unknown>
type Prices = Record<string, Record<string, Body>>
interface Status { enabled: boolean; intervalMs: number; lastSync: string | null; nextSync: string | null; lastError: string | null; activeSources: ReadonlyArray<string>; sources: ReadonlyArray<Body> }

const call = <A = Body>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
const priceOf = async (provider: string, model: string) => (await call<Prices>("GET", "/api/pricing?includeSources=1"))[provider]?.[model]
const status = (path = SYNC) => call<Status>("GET", path)
const audited = (action: string) => call<ReadonlyArray<{ actor: string; target: string; status: string; details: Body }>>("GET", `/api/compliance/audit-log?action=${action}`)
const refused = async (path: string, body: unknown) => {
  const reply = await lab.gateway.operator.raw("POST", path, body)
  return { status: reply.status, code: errorIn(reply)["code"], message: String(errorIn(reply)["message"]), text: reply.text }
}
/** What a request cost that used a million tokens each way. */
const costOf = async (model: string) => {
  const [row] = await lab.rows(await lab.chat({ model: `openai/${model}` }))
  return row?.costUsd
}

describe("the schedule", () => {
  it("reads prices while the flag is on, and again sooner after a failure", async () => {
    const { operator } = lab.gateway
    lists.answers.set("/litellm.json", { status: 503, body: "away" })
    await operator.setFlag("PRICING_SYNC_ENABLED", "true")
    const failed = await eventually(() => status(), ({ lastError }) => lastError?.includes("status 503") === true, "the first reading")
    expect(failed).toMatchObject({ enabled: true, lastSync: null })
    const wait = Date.parse(failed.nextSync ?? "") - Date.now()
    expect([wait > 200_000, wait <= 300_000]).toEqual([true, true])
    await operator.clearFlags()
    // An operator's own reading ends the series of failures.
    lists.answers.set("/litellm.json", { body: ModelLists.litellm })
    await call("POST", SYNC, {})
    expect(await status()).toMatchObject({ lastError: null, sources: [{ modelCount: 6 }] })
    expect(await status()).toMatchObject({ enabled: false, nextSync: null })
  })
})

describe("POST, GET, DELETE /api/pricing/sync", () => {
  it("a dry run shows what would be stored, and stores nothing", async () => {
    const shipped = await priceOf("openai", "gpt-4o-mini")
    const { data, ...reply } = await call("POST", SYNC, { dryRun: true })
    expect(reply).toEqual({ success: true, modelCount: 6, providerCount: 4, source: "litellm", dryRun: true })
    expect((data as Prices)["openai"]).toEqual({ "gpt-4o-mini": { input: 0.16, output: 0.64, cached: 0.075 }, "gpt-9-preview": { input: 2, output: 8, reasoning: 9 }, "whisper-1": { per_second: 0.0001 } })
    expect(await priceOf("openai", "gpt-4o-mini")).toEqual(shipped)
    expect(shipped).toMatchObject({ input: 0.15, source: "default" })
    expect(await status()).toEqual({ enabled: false, intervalMs: 86_400_000, activeSources: ["litellm"], lastSync: null, nextSync: null, lastError: null, sources: [] })
    expect(await audited("pricing.synced")).toHaveLength(1)
  })

  it("a list that comes in many reads is read whole", async () => {
    lists.answers.set("/litellm.json", { body: " ".repeat(300_000) + JSON.stringify(ModelLists.litellm) })
    expect(await call("POST", SYNC, { dryRun: true })).toMatchObject({ success: true, modelCount: 6, providerCount: 4 })
    lists.answers.set("/litellm.json", { body: ModelLists.litellm })
  })

  it("a price that is too large to be counted is refused by its field, and the largest one is counted", async () => {
    const fields = async (price: Body) => {
      const { status, text } = await lab.gateway.operator.raw("PATCH", "/api/pricing", { openai: { "gpt-4o-mini": price } })
      return [status, ((JSON.parse(text) as { error: { details?: ReadonlyArray<{ field: string }> } }).error.details ?? []).map(({ field }) => field)]
    }
    for (const [price, field] of [
      [{ input: 1e308 }, "input"], [{ output: 100_001 }, "output"], [{ per_request: 10_001 }, "per_request"], [{ tiers: { flex: 1_001 } }, "tiers.flex"]
    ] as const) expect(await fields(price)).toEqual([400, [`openai.gpt-4o-mini.${field}`]])
    await lab.sim.rule({ match: { model: "gpt-4o-mini" }, script: { usage: { promptTokens: 1_000_000, completionTokens: 1_000_000, totalTokens: 2_000_000 } } })
    await call("PATCH", "/api/pricing", { openai: { "gpt-4o-mini": { input: 100_000, output: 0, per_request: 10_000 } } })
    expect(await costOf("gpt-4o-mini")).toBe(110_000)
    await call("DELETE", "/api/pricing")
  })

  it("synchronised prices stand between the operator's and the shipped ones, in the list and in the ledger, also after a restart", async () => {
    await lab.sim.rule({ match: { model: "gpt-4o-mini" }, script: { usage: { promptTokens: 1_000_000, completionTokens: 1_000_000, totalTokens: 2_000_000 } } })
    expect(await costOf("gpt-4o-mini")).toBeCloseTo(0.75, 10)
    expect(await call("POST", SYNC, {})).toEqual({ success: true, modelCount: 6, providerCount: 4, source: "litellm", dryRun: false })
    expect(await priceOf("openai", "gpt-4o-mini")).toEqual({ input: 0.16, output: 0.64, cached: 0.075, tiers, source: "synced" })
    expect(await priceOf("openai", "gpt-9-preview")).toEqual({ input: 2, output: 8, reasoning: 9, source: "synced" })
    expect(await priceOf("gemini", "gemini-2.5-pro")).toMatchObject({ input: 1.25, long: { above: 200_000, input: 2.5, output: 15 } })
    expect(await costOf("gpt-4o-mini")).toBeCloseTo(0.8, 10)
    await call("PATCH", "/api/pricing", { openai: { "gpt-4o-mini": { output: 3 } } })
    expect(await priceOf("openai", "gpt-4o-mini")).toEqual({ input: 0.16, output: 3, cached: 0.075, tiers, source: "user" })
    await lab.gateway.restart()
    expect(await costOf("gpt-4o-mini")).toBeCloseTo(3.16, 10)
    await call("DELETE", "/api/pricing?provider=openai&model=gpt-4o-mini")
    expect(await costOf("gpt-4o-mini")).toBeCloseTo(0.8, 10)
    const { lastSync, sources } = await status()
    expect(sources).toEqual([{ source: "litellm", host: new URL(lists.environment["GATEWAY_LITELLM_PRICES_URL"] ?? "").host, syncedAt: lastSync, modelCount: 6, providerCount: 4, warnings: [] }])
    const rows = (await audited("pricing.synced")).map(({ details, target }) => [target, details])
    expect(rows[0]).toEqual(["litellm", { modelCount: 6, providerCount: 4, warnings: 0 }])
    expect(await call("DELETE", SYNC)).toEqual({ success: true, cleared: 1 })
    expect(await costOf("gpt-4o-mini")).toBeCloseTo(0.75, 10)
    expect(await priceOf("openai", "gpt-9-preview")).toBeUndefined()
    expect(await call("DELETE", SYNC)).toEqual({ success: true, cleared: 0 })
  })

  it("of two sources the first one's price of a model counts, and each one's own models stay", async () => {
    expect(await call("POST", SYNC, { sources: ["models.dev", "litellm"] })).toMatchObject({ source: "models.dev, litellm", modelCount: 9, providerCount: 6 })
    // PRICING_SYNC_SOURCES, not the order of a call, says which one counts.
    expect(await priceOf("openai", "gpt-4o-mini")).toMatchObject({ input: 0.16 })
    expect(await priceOf("openai", "gpt-5.5")).toMatchObject({ input: 5, output: 30, source: "synced" })
    expect((await refused(SYNC, { sources: ["somewhere"] })).status).toBe(400)
  })

  it("refuses impossible prices one by one, and names prices that leap", async () => {
    const entry = { litellm_provider: "openai", mode: "chat", output_cost_per_token: 6.4e-7 }
    lists.answers.set("/litellm.json", { body: { "gpt-4o-mini": { ...entry, input_cost_per_token: 1.5e-5 }, "gpt-4o": { ...entry, input_cost_per_token: -1 } } })
    expect(await call("POST", SYNC, {})).toEqual({
      success: true, modelCount: 1, providerCount: 1, source: "litellm", dryRun: false,
      warnings: ["openai/gpt-4o-mini: input changes from 0.15 to 15 USD for a million tokens", "gpt-4o: input_cost_per_token is negative"]
    })
    expect(await priceOf("openai", "gpt-4o-mini")).toMatchObject({ input: 15, source: "synced" })
    expect(await priceOf("openai", "gpt-4o")).toMatchObject({ source: "default" })
  })

  it("a list that cannot be read leaves what is stored, and its failure names no token", async () => {
    await call("POST", SYNC, {})
    const before = await priceOf("openai", "gpt-4o-mini")
    for (const [body, why] of [
      [{ status: 500, body: "no" }, "answered with status 500"], [{ status: 302, headers: { location: "/models-dev.json" }, body: "" }, "answered with status 302; redirects are not followed"],
      [{ body: "<html>" }, "it is no JSON object, or too large to be read"], [{ body: [] }, "it is no JSON object, or too large to be read"],
      [{ body: { "gpt-4o": { litellm_provider: "elsewhere", input_cost_per_token: 1e-6 } } }, "it names no model of a provider that this gateway knows"],
      [{ body: Buffer.alloc(33 * 1024 * 1024, 32) }, "is larger than 33554432 bytes"]
    ] as const) {
      lists.answers.set("/litellm.json", body)
      const { code, message, status: answered, text } = await refused(SYNC, {})
      expect([answered, code, message]).toEqual([503, "source_unavailable", expect.stringContaining(why)])
      expect(text).not.toContain(TOKEN)
    }
    expect(await priceOf("openai", "gpt-4o-mini")).toEqual(before)
    // The schedule does not wait longer because an operator tried.
    expect((await status()).lastError).toBeNull()
    expect((await audited("pricing.synced")).filter(({ status }) => status === "failure")).toHaveLength(6)
    // One of two that fails is a warning.
    expect(await call("POST", SYNC, { sources: ["litellm", "models.dev"] })).toMatchObject({ modelCount: 4, warnings: [expect.stringContaining("litellm was not read: ")] })
  })
})

describe("facts of models.dev", () => {
  const listed = async (id: string) => ((JSON.parse((await Http.send(lab.gateway.url, { method: "GET", path: "/v1/models" })).text) as { data: ReadonlyArray<Body> }).data).find((model) => model["id"] === id)

  it("stand between the operator's and the registry's, in the lists of models and in what a model may be asked for", async () => {
    const shipped = await listed("openai/gpt-4o-mini")
    expect(await call("POST", FACTS, { dryRun: true })).toMatchObject({ success: true, modelCount: 4, providerCount: 3, source: "models.dev", dryRun: true })
    expect(await listed("openai/gpt-4o-mini")).toEqual(shipped)
    expect(await call("POST", FACTS, {})).toEqual({ success: true, modelCount: 4, providerCount: 3, source: "models.dev", dryRun: false })
    expect(await listed("openai/gpt-4o-mini")).toMatchObject({ context_length: 8_192, max_output_tokens: 4_096, input_modalities: ["text", "image"] })
    expect((await listed("openai/gpt-4o-mini"))?.["capabilities"]).not.toHaveProperty("tools")
    const long = await lab.chat({ model: "openai/gpt-4o-mini", messages: [{ role: "user", content: "word ".repeat(20_000) }] })
    expect([long.status, errorIn(long)["code"]]).toEqual([400, "context_length_exceeded"])
    await call("POST", "/api/provider-models", { provider: "openai", modelId: "gpt-4o-mini", contextWindowOverride: 64_000 })
    expect(await listed("openai/gpt-4o-mini")).toMatchObject({ context_length: 64_000, max_output_tokens: 4_096 })
    await call("DELETE", "/api/provider-models?provider=openai&model=gpt-4o-mini")
    expect(await call("DELETE", FACTS)).toEqual({ success: true, cleared: 1 })
    expect(await listed("openai/gpt-4o-mini")).toEqual(shipped)
    expect((await audited("models.synced")).map(({ actor, target }) => [actor.split(":")[0], target])).toHaveLength(1)
  })

  it("are read on a schedule while modelsDevSyncEnabled is on", async () => {
    expect(await status(FACTS)).toMatchObject({ enabled: false, intervalMs: 86_400_000, sources: [] })
    await call("PATCH", "/api/settings", { modelsDevSyncEnabled: true, modelsDevSyncInterval: 3_600 })
    // The last test read them by hand: the turn is an hour later.
    const { enabled, intervalMs, nextSync } = await status(FACTS)
    expect([enabled, intervalMs]).toEqual([true, 3_600_000])
    expect(Date.parse(nextSync ?? "") - Date.now()).toBeGreaterThan(3_000_000)
    await call("PATCH", "/api/settings", { modelsDevSyncEnabled: false })
  })
})

describe("GET /api/models and POST /api/models/test", () => {
  it("list every model with its aliases, and ask one for a token", async () => {
    await call("PUT", "/api/models/alias", { alias: "handy", model: "openai/gpt-4o-mini" })
    const { models } = await call<{ models: ReadonlyArray<Body> }>("GET", "/api/models?provider=openai")
    expect(models.find(({ model }) => model === "gpt-4o-mini")).toEqual({
      provider: "openai", model: "gpt-4o-mini", fullModel: "openai/gpt-4o-mini", name: "GPT-4o mini", type: "chat", custom: false, active: true, aliases: ["handy"]
    })
    expect(models.every(({ provider }) => provider === "openai")).toBe(true)
    expect((await call<{ models: ReadonlyArray<Body> }>("GET", "/api/models")).models.length).toBeGreaterThan(models.length)
    expect(await call("POST", "/api/models/test", { provider: "lab", model: "echo" })).toMatchObject({ provider: "lab", model: "echo", connectionId: lab.connection, valid: true, statusCode: 200, error: null })
    await lab.sim.rule({ match: { model: "gone" }, script: { status: 404, error: { message: "no such model" } } })
    expect(await call("POST", "/api/models/test", { provider: "lab", model: "gone" })).toMatchObject({ valid: false, statusCode: 404 })
    expect([(await refused("/api/models/test", { provider: "nowhere", model: "x" })).status, (await refused("/api/models/test", { provider: "lab", model: "x", connectionId: "none" })).status]).toEqual([400, 400])
    await call("DELETE", "/api/models/alias?alias=handy")
  })
})
