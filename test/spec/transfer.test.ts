/** The configuration as one JSON document: exported without credentials, and imported whole or not at all. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import { type InProcess, inProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

const SECRETS = ["sk-laboratory-one-main", "sk-header-blue", "sk-extra-secret", "client-secret"]
type Fields = Readonly<Record<string, unknown>>
interface Document extends Fields {
  readonly connections: ReadonlyArray<Fields>
  readonly combos: ReadonlyArray<Fields>
  readonly nodes: ReadonlyArray<Fields>
  readonly settings: Fields
}
interface Imported {
  readonly dryRun: boolean
  readonly summary: Fields
  readonly entries: ReadonlyArray<{ readonly section: string; readonly name: string; readonly action: string; readonly note?: string }>
}

let sim: Sim
let gateway: InProcess
let connectionId = ""
const call = <A>(method: string, path: string, body?: unknown) => gateway.operator.call<A>(method, path, body)
const exported = async (): Promise<{ readonly text: string; readonly document: Document }> => {
  const { status, text } = await gateway.operator.raw("GET", "/api/settings/export-json")
  expect(status, text).toBe(200)
  return { text, document: JSON.parse(text) as Document }
}
const take = (document: unknown, query = "") => call<Imported>("POST", `/api/settings/import-json${query}`, document)
const refused = async (document: unknown) => {
  const reply = await gateway.operator.raw("POST", "/api/settings/import-json", document)
  const { error } = JSON.parse(reply.text) as { readonly error: { readonly code: string; readonly details?: ReadonlyArray<{ readonly field: string; readonly message: string }> } }
  return { status: reply.status, code: error.code, fields: (error.details ?? []).map(({ field }) => field), messages: (error.details ?? []).map(({ message }) => message) }
}
const part = (content: Fields) => ({ format: "gateway-configuration", version: 1, ...content })
const noted = ({ entries }: Imported, ...sections: ReadonlyArray<string>) =>
  entries.filter(({ action, section }) => action !== "unchanged" && (sections.length === 0 || sections.includes(section))).map(({ action, name, section }) => [section, name, action])

beforeAll(async () => {
  sim = await startSim()
  gateway = await inProcess()
  const { operator } = gateway
  await operator.call("POST", "/api/provider-nodes", {
    type: "openai-compatible", apiType: "chat", prefix: "lab", name: "Lab", baseUrl: `${sim.url}/v1`, customHeaders: { "x-team": "blue", "x-api-key": "sk-header-blue" }
  })
  connectionId = await operator.createConnection({ provider: "lab", name: "main", apiKey: "sk-laboratory-one-main", providerSpecificData: { validationModelId: "echo" } })
  await operator.changeConnection(connectionId, { maxConcurrent: 7 })
  await call("POST", "/api/provider-models", { provider: "lab", modelId: "echo", contextWindowOverride: 4_000, upstreamHeaders: { "x-secret-key": "sk-extra-secret" } })
  await call("PUT", "/api/models/alias", { alias: "small", model: "lab/echo" })
  await call("POST", "/api/combos", { name: "inner", models: [{ model: "echo", provider: "lab", connectionId }] })
  const { id } = await call<{ readonly id: string }>("POST", "/api/combos", { name: "outer", models: [{ kind: "combo-ref", comboName: "inner" }, "lab/tokens"], description: "both" })
  await call("POST", "/api/model-combo-mappings", { pattern: "gpt-*", comboId: id, priority: 3 })
  await operator.price("lab", "echo", { input: 2 })
  await operator.setFlag("CAPABILITY_FILTER_ENABLED", "true")
  await operator.setFlag("REQUIRE_API_KEY", "true")
  await call("PATCH", "/api/settings", { stickyRoundRobinLimit: 5, blockedProviders: ["lab"], oidcClientSecret: "client-secret", corsOrigins: "https://chat.example.com" })
  await call("PATCH", "/api/settings", { blockedProviders: [] })
  await call("PUT", "/api/settings/system-prompt", { enabled: true, prefixPrompt: "Be kind." })
  await call("PUT", "/api/settings/auto-disable-accounts", { enabled: true })
  await call("POST", "/api/fallback/chains", { model: "echo", chain: [{ provider: "lab" }, { provider: "openai", enabled: false }] })
})
afterAll(async () => {
  await gateway.close()
  await sim.stop()
})

describe("an export", () => {
  it("holds what operators configure, in one order, without a credential", async () => {
    const { document, text } = await exported()
    expect((await exported()).text).toBe(text)
    for (const secret of SECRETS) expect(text).not.toContain(secret)
    expect(Object.keys(document)).toEqual(["aliases", "combos", "connections", "flags", "format", "mappings", "models", "nodes", "prices", "settings", "version"])
    expect(document).toMatchObject({
      format: "gateway-configuration", version: 1,
      aliases: { small: "lab/echo" }, flags: { CAPABILITY_FILTER_ENABLED: "true" },
      mappings: [{ pattern: "gpt-*", combo: "outer", priority: 3, enabled: true, description: null }],
      prices: { lab: { echo: { input: 2 } } },
      nodes: [{ prefix: "lab", baseUrl: `${sim.url}/v1`, customHeaders: { "x-team": "blue", "x-api-key": "[redacted]" } }],
      models: [{ provider: "lab", modelId: "echo", contextWindowOverride: 4_000, upstreamHeaders: { "x-secret-key": "[redacted]" } }]
    })
    expect(document.flags).toEqual({ CAPABILITY_FILTER_ENABLED: "true" })
    expect(document.connections).toEqual([{
      id: connectionId, provider: "lab", name: "main", authType: "apikey", priority: 1, globalPriority: null, defaultModel: null, projectId: null, isActive: true, proxyEnabled: true,
      perKeyProxyEnabled: true, quotaVisible: true, rateLimitProtection: false, healthCheckInterval: null, group: null, maxConcurrent: 7, quotaWindowThresholds: null,
      rateLimitOverrides: null, providerSpecificData: { validationModelId: "echo" }
    }])
    expect(document.settings).toMatchObject({ stickyRoundRobinLimit: 5, systemPrompt: { enabled: true, prefixPrompt: "Be kind." } })
    expect(document.settings).toMatchObject({
      autoDisableAccounts: { enabled: true, threshold: 3 },
      fallbackChains: [{ model: "echo", chain: [{ provider: "lab", priority: 1, enabled: true }, { provider: "openai", priority: 2, enabled: false }] }]
    })
    for (const name of ["corsOrigins", "oidcClientSecret", "setupComplete", "requireLogin"]) expect(document.settings).not.toHaveProperty(name)
  })

  it("and an import need all rights", async () => {
    const { key } = await gateway.operator.createKey("manager", { scopes: ["manage"] })
    for (const [method, path] of [["GET", "/api/settings/export-json"], ["POST", "/api/settings/import-json"]] as const) {
      const reply = await fetch(`${gateway.url}${path}`, { method, headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }, ...method === "POST" ? { body: "{}" } : {} })
      expect([path, reply.status]).toEqual([path, 403])
    }
  })
})

describe("an import", () => {
  let before: { readonly text: string; readonly document: Document }
  beforeEach(async () => {
    before = await exported()
  })

  it("of what stands changes nothing", async () => {
    const { entries, summary } = await take(before.document)
    expect(summary).toEqual({ created: 0, changed: 0, unchanged: entries.length, leftOut: 0 })
    expect((await exported()).text).toBe(before.text)
    // What no document holds stayed.
    expect((await gateway.operator.raw("GET", "/api/settings")).text).toContain("https://chat.example.com")
  })

  it("changes what differs and tells so before, in a dry run; the rest stays", async () => {
    const change = part({
      settings: { stickyRoundRobinLimit: 9, systemPrompt: { prefixPrompt: "Be brief." } }, aliases: { large: "lab/tokens" }, prices: { lab: { echo: { input: 2 }, tokens: { output: 4 } } },
      connections: [{ ...before.document.connections[0], maxConcurrent: 8 }], combos: [{ name: "inner", models: ["lab/tokens"] }, { name: "third", models: [{ kind: "combo-ref", comboName: "inner" }] }],
      mappings: [{ pattern: "o3-*", combo: "third" }], flags: { CAPABILITY_FILTER_ENABLED: "false" }, nodes: [{ ...before.document.nodes[0], name: "Laboratory" }]
    })
    const expected = [
      ["nodes", "lab", "changed"], ["settings", "stickyRoundRobinLimit", "changed"], ["settings", "systemPrompt", "changed"], ["flags", "CAPABILITY_FILTER_ENABLED", "changed"],
      ["connections", "main", "changed"], ["aliases", "large", "created"], ["combos", "inner", "changed"], ["combos", "third", "created"], ["mappings", "o3-* > third", "created"],
      ["prices", "lab/tokens", "created"]
    ]
    const dry = await take(change, "?dryRun=1")
    expect(dry.dryRun).toBe(true)
    expect(noted(dry)).toEqual(expected)
    expect(dry.summary).toEqual({ created: 4, changed: 6, unchanged: 1, leftOut: 0 })
    expect((await exported()).text).toBe(before.text)
    const done = await take(change)
    expect(noted(done)).toEqual(expected)
    const { document } = await exported()
    expect(document).toMatchObject({
      settings: { stickyRoundRobinLimit: 9, systemPrompt: { enabled: true, prefixPrompt: "Be brief." } }, aliases: { large: "lab/tokens", small: "lab/echo" },
      nodes: [{ name: "Laboratory" }], connections: [{ maxConcurrent: 8 }], prices: { lab: { echo: { input: 2 }, tokens: { output: 4 } } }
    })
    // The credential and the secret header stayed: the model answers.
    const { key } = await gateway.operator.createKey("client")
    const reply = await Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: "lab/echo", messages: [{ role: "user", content: "Hello" }] }, headers: { authorization: `Bearer ${key}` } })
    expect(reply.status, reply.text).toBe(200)
    const [sent] = await sim.ended({ model: "echo" })
    expect(sent?.headers).toMatchObject({ "authorization": "…main", "x-api-key": "…blue" })
    const [entry] = await call<ReadonlyArray<{ readonly details: Fields }>>("GET", "/api/compliance/audit-log?action=configuration.imported&limit=1")
    expect(entry?.details).toMatchObject({ created: 4, changed: 6, unchanged: 1, leftOut: 0, records: expected.map((one) => one.join(" ")) })
    await take(before.document)
  })

  it("sets chains by their models, and refuses those of unknown providers by their place", async () => {
    const chain = [{ provider: "openai", priority: 1, enabled: true }]
    const done = await take(part({ settings: { autoDisableAccounts: { threshold: 5 }, fallbackChains: [{ model: "other", chain: [{ provider: "openai" }] }] } }))
    expect(noted(done)).toEqual([["settings", "fallbackChains", "changed"], ["settings", "autoDisableAccounts", "changed"]])
    expect((await call<{ readonly chains: unknown }>("GET", "/api/fallback/chains")).chains).toMatchObject([{ model: "echo" }, { model: "other", chain }])
    expect(await call("GET", "/api/settings/auto-disable-accounts")).toEqual({ enabled: true, threshold: 5 })
    expect((await refused(part({ settings: { fallbackChains: [{ model: "a", chain }, { model: "b", chain: [{ provider: "toString" }] }] } }))).fields).toEqual(["settings.fallbackChains.1.chain.0.provider"])
    await call("DELETE", "/api/fallback/chains", { model: "other" })
    await take(before.document)
  })

  it("takes a value under its older name over what stands under its newer one", async () => {
    const before = await exported()
    const acting = async () => (await call<{ readonly waitForCooldown: Fields }>("GET", "/api/resilience")).waitForCooldown
    await call("PATCH", "/api/settings", { requestRetry: 1 })
    await call("PATCH", "/api/resilience", { waitForCooldown: { maxRetries: 5, maxRetryWaitSec: 20 } })
    const { document } = await exported()
    expect(document.settings).not.toHaveProperty("requestRetry")
    await take({ ...document, settings: { requestRetry: 2 } })
    expect(await acting()).toEqual({ enabled: true, maxRetries: 2, maxRetryWaitSec: 20 })
    await call("PATCH", "/api/resilience", { waitForCooldown: { maxRetries: 3, maxRetryWaitSec: 30 } })
    expect((await exported()).text).toBe(before.text)
  })

  it("brings back what was removed; a connection waits for its credential", async () => {
    const [node] = (await call<{ readonly nodes: ReadonlyArray<{ readonly id: string }> }>("GET", "/api/provider-nodes")).nodes
    for (const { id } of (await call<{ readonly combos: ReadonlyArray<{ readonly id: string }> }>("GET", "/api/combos")).combos) await call("DELETE", `/api/combos/${id}`)
    await call("DELETE", `/api/provider-nodes/${node?.id}`)
    const done = await take(before.document)
    expect(noted(done, "nodes", "connections", "models", "combos", "mappings").map(([section, name]) => `${section} ${name}`)).toEqual([
      "nodes lab", "connections main", "models lab/echo", "combos inner", "combos outer", ...done.entries.filter(({ name, section }) => section === "combos" && name === "third").map(() => "combos third"),
      "mappings gpt-* > outer", ...done.entries.filter(({ name }) => name.startsWith("o3-")).map(() => "mappings o3-* > third")
    ])
    const { connections } = await call<{ readonly connections: ReadonlyArray<Fields> }>("GET", "/api/providers")
    expect(connections).toMatchObject([{ id: connectionId, name: "main", authType: "apikey", hasApiKey: false, isActive: false, maxConcurrent: 7 }])
    await gateway.operator.changeConnection(connectionId, { apiKey: "sk-laboratory-one-main", isActive: true })
    const { document } = await exported()
    const bare = (one: Document) => ({ ...one, nodes: one.nodes.map(({ customHeaders: _headers, ...rest }) => rest), models: null })
    expect(bare(document)).toEqual(bare(before.document))
  })

  it.each([
    ["another format", { format: "gateway", version: 1 }, ["format"]],
    ["another version", { format: "gateway-configuration", version: 2 }, ["version"]],
    ["a setting that decides about access", part({ settings: { requireLogin: false, oidcClientSecret: "x", stickyRoundRobinLimit: 1 } }), ["settings.requireLogin", "settings.oidcClientSecret"]],
    ["a flag that does", part({ flags: { REQUIRE_API_KEY: "false", GATEWAY_MCP_ENFORCE_SCOPES: "false" } }), ["flags.REQUIRE_API_KEY", "flags.GATEWAY_MCP_ENFORCE_SCOPES"]],
    ["unknown fields and values that cannot be", part({ settings: { nothing: 1, stickyRoundRobinLimit: -1 }, hats: [] }), ["hats", "settings.nothing", "settings.stickyRoundRobinLimit"]],
    ["fields that do not act", part({ settings: { hideHealthCheckLogs: true }, connections: [{ id: "x", provider: "openai", name: "n", authType: "apikey", providerSpecificData: { reasoningControl: "g" } }] }), ["settings.hideHealthCheckLogs", "connections.0.providerSpecificData.reasoningControl"]],
    ["names that mean nothing", part({
      combos: [{ name: "a", models: ["nowhere/model", { kind: "combo-ref", comboName: "none" }] }], mappings: [{ pattern: "x", combo: "none" }], prices: { nowhere: { m: { input: 1 } } },
      models: [{ provider: "nowhere", modelId: "m" }], connections: [{ id: "x", provider: "nowhere", name: "n", authType: "none" }]
    }), ["connections.0.provider", "models.0.provider", "combos.0.models.1.comboName", "combos.0.models.0.model", "mappings.0.combo", "prices.nowhere"]],
    ["a circle", part({ combos: [{ name: "a", models: [{ kind: "combo-ref", comboName: "b" }] }, { name: "b", models: [{ kind: "combo-ref", comboName: "a" }] }] }), ["combos.0.models", "combos.1.models"]],
    ["two of one name", part({ combos: [{ name: "a" }, { name: "a" }] }), ["combos.1.name"]],
    ["a provider that needs a credential, without one", part({ connections: [{ id: "x", provider: "openai", name: "n", authType: "none" }] }), ["connections.0.authType"]],
    ["an address that is not allowed", part({ nodes: [{ type: "openai-compatible", apiType: "chat", prefix: "meta", name: "m", baseUrl: "http://169.254.169.254/v1" }] }), ["nodes.0.baseUrl"]]
  ])("with %s is refused, and nothing of it is written", async (_what, document, fields) => {
    const { aliases: _a, ...rest } = document as Fields
    const answer = await refused({ ...rest, aliases: { written: "lab/echo" } })
    expect(answer.status).toBe(400)
    expect(answer.fields).toEqual(fields)
    expect((await exported()).text).toBe(before.text)
  })

  it("never sends a stored credential to another server", async () => {
    const answer = await refused(part({ nodes: [{ ...before.document.nodes[0], baseUrl: "https://elsewhere.example.com/v1" }] }))
    expect([answer.status, answer.fields]).toEqual([400, ["nodes.0.baseUrl"]])
    expect(answer.messages[0]).toContain("Stored credentials would be sent to another server")
  })

  it("leaves out a connection that is signed in to, and says what to do", async () => {
    const { entries } = await take(part({ connections: [{ id: "x", provider: "claude", name: "mine", authType: "oauth" }] }), "?dryRun=true")
    expect(entries).toEqual([{ section: "connections", name: "mine", action: "left_out", note: "It is signed in to: sign in here under the same name, then import again" }])
    const answer = await refused(part({
      connections: [{ id: "x", provider: "claude", name: "mine", authType: "oauth" }], combos: [{ name: "a", models: [{ model: "lab/echo", connectionId: "x" }] }]
    }))
    expect(answer.fields[0]).toBe("combos.0.models.0.connectionId")
  })
})
