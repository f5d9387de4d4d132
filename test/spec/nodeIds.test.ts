/** Operators read a provider node by its prefix; its generated id stands only in the node's own record and in what refers to it. */
import * as fs from "node:fs"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { nameOf } from "#src/inference/lane/bodies/identity.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import * as Market from "#test/support/market.ts"
import { longOutput, messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { type Sink, startSink } from "#test/support/sink.ts"

const prefix = "cellar"
const endless = { tokens: 100_000, paceMs: 20 }
const file = path.join(import.meta.dirname, "../../openapi.json")
const { paths } = JSON.parse(fs.readFileSync(file, "utf8")) as { readonly paths: Readonly<Record<string, Readonly<Record<string, unknown>>>> }
const reads = Object.entries(paths).filter(([, methods]) => methods["get"] !== undefined).map(([route]) => route)

let market: Market.Market
let gateway: InProcess
let sim: Sim
let sink: Sink
let nodeId = ""
let admin = ""
let syncToken = ""
/** What a client read whose token limit for the node was used up. */
let refused = ""
let streaming: Http.Opened | undefined
/** Values of path parameters by route; one that is missing here stands in `unread`. */
const filled: Record<string, string> = {}
const requestIds: Array<string> = []

/** Routes that say nothing of a node, and why they are not asked. */
const unread: Readonly<Record<string, string>> = {
  "/api/oauth/{provider}": "sign-ins belong to providers of the registry",
  "/api/oauth/{provider}/callback": "the same",
  "/api/auth/oidc/login": "a way to the issuer, and off", "/api/auth/oidc/callback": "the same",
  "/api/translator/load": "what an operator saved", "/api/v1/agents/tasks/{id}": "a task of an agent at its vendor",
  "/api/mcp/sse": "frames of another protocol", "/api/mcp/stream": "the same",
  "/api/live": "a socket", "/v1/ws": "a socket", "/v1/responses": "a socket", "/responses": "a socket", "/api/v1/responses": "a socket",
  "/v1/responses/{id}": "the client's own answers", "/v1/responses/{id}/input_items": "the client's own words",
  "/v1/conversations/{id}": "the client's own words", "/v1/conversations/{id}/items": "the same", "/v1/conversations/{id}/items/{item}": "the same",
  "/v1/files/{id}": "the client's own bytes", "/v1/files/{id}/content": "the same", "/api/files/{id}/content": "the same",
  "/v1/batches/{id}": "counts of the client's lines, and files of its answers", "/api/batches/{id}": "the same"
}

/** Everything on one page. */
const pages: Readonly<Record<string, string>> = {
  "/api/compliance/audit-log": "?limit=500", "/api/usage/call-logs": "?limit=500", "/api/routing/decisions": "?limit=500", "/api/keys": "?limit=100",
  "/api/cli-tools/status": "?tool=pi"
}

/** Where the contract has the id itself: the name of the only member that may hold it. */
const identities: Readonly<Record<string, string>> = {
  // The node's own record, and the catalogue that lists each provider with its id and its alias.
  "/api/provider-nodes": "id",
  "/api/provider-nodes/{id}": "id",
  "/api/providers/client": "id",
  // A connection refers to its node by id; the prefix stands beside it, in providerSpecificData.
  "/api/providers": "provider",
  "/api/providers/{id}": "provider",
  // What was created, changed or deleted.
  "/api/compliance/audit-log": "target"
}

const post = <A = Record<string, never>>(at: string, body: unknown): Promise<A> => gateway.operator.call<A>("POST", at, body)
const chat = async (model: string, more: Record<string, unknown> = {}): Promise<Http.Reply> => {
  const reply = await Http.send(gateway.url, {
    path: "/v1/chat/completions", headers: { authorization: `Bearer ${admin}`, "x-gateway-session-id": "tagged" }, body: { model, messages, ...more }
  })
  requestIds.push(reply.headers["x-gateway-request-id"] ?? "")
  return reply
}

beforeAll(async () => {
  sim = await startSim({ models: { "*": {} } })
  sink = await startSink()
  market = await Market.start("both")
  gateway = await inProcess({ environment: {
    OUTBOUND_SSRF_GUARD_ENABLED: "false", LOG_LEVEL: "info", GATEWAY_PLUGINS: "on",
    GATEWAY_SKILLSMP_URL: market.address, GATEWAY_SKILLSSH_URL: market.address, GATEWAY_PLUGINS_MARKET_URL: market.address
  } })
  const { operator } = gateway
  await operator.setFlag("ALLOW_API_KEY_REVEAL", "true")
  for (const [model, status] of [["broken", 503], ["missing", 404], ["limited", 429]] as const) await sim.rule({ match: { model }, script: { status } })
  await sim.rule({ match: { model: "endless" }, script: endless })
  const made = await post<{ node: { id: string }; connection: { id: string } }>("/api/provider-nodes", {
    type: "openai-compatible", apiType: "chat", name: "The cellar", prefix, baseUrl: `${sim.url}/v1`, apiKey: "sk-cellar"
  })
  nodeId = made.node.id
  const connection = made.connection.id
  const key = await operator.createKey("all rights", { scopes: ["manage", "admin", "self:account-quota"], allowUsageCommand: true })
  admin = key.key
  syncToken = (await post<{ token: string }>("/api/sync/tokens", { name: "reads" })).token
  const memory = await post<{ id: string }>("/api/memory", { key: "k", content: "c" })
  const { server } = await post<{ server: { id: string } }>("/api/mcp/servers", { name: "tools", url: `${sim.url}/mcp`, enabled: false })
  const skill = await post<{ id: string }>("/api/skills/install", { name: "adder", handlerCode: "return input.a + input.b" })
  await post("/api/plugins", { manifest: { name: "reader", version: "1.0.0" }, code: "export const onRequest = () => null" })
  const { webhook } = await post<{ webhook: { id: string } }>("/api/webhooks", { url: `${sink.url}/hook` })
  // Everything that an operator can say of a node is said by its id.
  const combo = await post<{ id: string }>("/api/combos", {
    name: "house", strategy: "priority", allowedProviders: [nodeId],
    models: [`${prefix}/broken`, { kind: "model", provider: nodeId, model: "echo" }], config: { maxRetries: 0, concurrencyPerModel: 5 }
  })
  const held = await post<{ id: string }>("/api/combos", { name: "held", strategy: "priority", models: [`${prefix}/endless`], config: { concurrencyPerModel: 5 } })
  expect(held.id).not.toBe("")
  const { mapping } = await post<{ mapping: { id: string } }>("/api/model-combo-mappings", { pattern: "house-*", comboId: combo.id })
  await operator.price(nodeId, "echo", { input: 1, output: 2 })
  await post("/api/provider-models", { provider: nodeId, modelId: "own-model", modelName: "Own" })
  await operator.call("PUT", "/api/models/alias", { alias: "handy", model: `${prefix}/echo` })
  await operator.call("PATCH", "/api/resilience", {
    providerQuotaOverrides: { [nodeId]: { concurrency: 50 } }, quotaPreflight: { providerWindowDefaults: { [nodeId]: { requests: 1 } } }
  })
  await operator.call("PATCH", "/api/settings/combo-defaults", { providerOverrides: { [nodeId]: { maxRetries: 0 } } })
  await post("/api/admin/concurrency", { perProvider: { [nodeId]: 40 } })
  await post("/api/usage/token-limits", { apiKeyId: key.id, scopeType: "provider", scopeValue: nodeId, tokenLimit: 5, enabled: false })
  await post("/api/usage/token-limits", { apiKeyId: key.id, scopeType: "model", scopeValue: `${nodeId}/echo`, tokenLimit: 1_000_000 })
  const limited = await operator.createKey("limited")
  await post("/api/usage/token-limits", { apiKeyId: limited.id, scopeType: "provider", scopeValue: nodeId, tokenLimit: 1 })
  const registered = await post<{ keyId: string }>("/api/v1/registered-keys", { name: "issued", provider: nodeId })
  await operator.call("PUT", `/v1/providers/${nodeId}/limits`, { maxActiveKeys: 10 })
  const { suite } = await post<{ suite: { id: string } }>("/api/evals/suites", {
    name: "sums", cases: [{ name: "one", model: `${prefix}/echo`, input: { messages: [{ role: "user", content: "1+1" }] }, expected: { strategy: "contains", value: "2" } }]
  })
  await post("/api/evals", { suiteId: suite.id, target: { type: "model", id: `${prefix}/echo` } })
  await operator.raw("POST", "/api/provider-models/validate-and-add", { provider: nodeId, modelId: "echo" })

  await operator.call("PATCH", "/api/settings", { callLogBodies: true })
  expect((await chat(`${prefix}/echo`)).status).toBe(200)
  expect((await chat("combo/house")).status).toBe(200)
  const limitedCall = () => Http.send(gateway.url, {
    path: "/v1/chat/completions", headers: { authorization: `Bearer ${limited.key}` }, body: { model: `${prefix}/echo`, messages }
  })
  expect((await limitedCall()).status).toBe(200)
  refused = (await limitedCall()).text
  streaming = await Http.stream(gateway.url, {
    path: "/v1/chat/completions", headers: { authorization: `Bearer ${admin}` }, body: { model: "combo/held", messages, stream: true }
  })
  await streaming.until((text) => text.includes("data:"))
  expect((await chat(`${prefix}/missing`)).status).toBe(404)
  expect((await chat(`${prefix}/limited`)).status).toBe(429)
  await operator.call("DELETE", "/api/resilience/model-cooldowns", { provider: prefix, model: "nothing" })
  for (const model of ["broken", "broken", "broken", "broken", "broken", "broken", "broken", "broken", "echo"]) await chat(`${prefix}/${model}`)
  await eventually(
    () => operator.callLogs(), (rows) => rows.filter(({ error }) => error !== null).length > 2 && rows.some(({ comboName }) => comboName === "house"), "the rows of the calls"
  )

  await eventually(() => operator.raw("GET", `/api/usage/call-logs/${requestIds[2] ?? ""}/bodies`), ({ status }) => status === 200, "the bodies of a call")

  await operator.call("PUT", "/api/settings/compression", { enabled: true, defaultMode: "rtk", rtkConfig: { rawOutputRetention: "always" } })
  expect((await chat(`${prefix}/echo`, { messages: longOutput })).status).toBe(200)
  await operator.call("PUT", "/api/settings/compression", { enabled: false })
  const output = nameOf((longOutput[1] as { readonly content: string }).content)
  await eventually(() => operator.raw("GET", `/api/context/rtk/raw-output/${output}`), ({ status }) => status === 200, "a whole output")

  await operator.call("PATCH", "/api/settings", { a2aEnabled: true })
  const { result: { task } } = await operator.call<{ result: { task: { id: string } } }>("POST", "/a2a", {
    jsonrpc: "2.0", id: 1, method: "message/send",
    params: { skill: "smart-routing", messages: [{ role: "user", content: "Hello" }], metadata: { model: `${prefix}/own-model` } }
  })
  Object.assign(filled, {
    "/api/tunnels/{kind}": "ngrok",
    "/api/a2a/tasks/{id}": task.id, "/api/context/rtk/raw-output/{id}": output, "/api/context/combos/{id}": "default-caveman", "/api/context/combos/{id}/assignments": "default-caveman", "/api/combos/{id}": combo.id, "/api/evals/suites/{id}": suite.id, "/api/model-combo-mappings/{id}": mapping.id,
    "/api/keys/{id}": key.id, "/api/keys/{id}/devices": key.id, "/api/keys/{id}/reveal": key.id, "/api/keys/{id}/usage-limits": key.id,
    "/api/provider-nodes/{id}": nodeId, "/api/providers/{id}": connection, "/api/providers/{id}/interception-rules": connection,
    "/api/providers/{id}/models": connection, "/api/providers/{id}/param-filters": connection, "/api/usage/{connectionId}": connection,
    "/api/routing/decisions/{requestId}": requestIds[2] ?? "", "/api/usage/call-logs/{id}": requestIds[2] ?? "", "/api/usage/call-logs/{id}/bodies": requestIds[2] ?? "",
    "/api/v1/editor/{token}/": admin, "/api/v1/editor/{token}/api/tags": admin, "/api/v1/editor/{token}/api/version": admin, "/api/v1/editor/{token}/models": admin,
    "/api/v1/registered-keys/{id}": registered.keyId, "/api/memory/{id}": memory.id, "/api/mcp/servers/{id}": server.id, "/api/mcp/servers/{id}/tools": server.id,
    "/api/agent-skills/{id}": "api-skills", "/api/agent-skills/{id}/raw": "api-skills", "/api/skills/{id}": skill.id, "/api/plugins/{name}": "reader", "/api/plugins/{name}/config": "reader",
    "/api/webhooks/{id}": webhook.id, "/api/webhooks/{id}/deliveries": webhook.id,
    "/v1/accounts/{id}/limits": connection, "/v1/auto-combo/{channel}/candidates": "auto", "/v1/models/{id}": `${prefix}/own-model`,
    "/v1/providers/{id}/limits": nodeId, "/v1/providers/{provider}/models": prefix, "/v1beta/models/{id}": `${prefix}/own-model`
  })
}, 300_000)
afterAll(async () => {
  streaming?.leave()
  await gateway.close()
  await sim.stop()
  await sink.close()
  await market.close()
})

const ownCredential = (at: string): string => at === "/api/sync/bundle" ? syncToken : admin
const read = (at: string): Promise<Http.Reply> => at.startsWith("/api/") && !at.includes("self-usage") && at !== "/api/sync/bundle"
  ? gateway.operator.raw("GET", at)
  : Http.send(gateway.url, { method: "GET", path: at, headers: { authorization: `Bearer ${ownCredential(at)}` } })

/** Without the members that are allowed to hold the id. */
const without = (text: string, member: string): string =>
  JSON.stringify(JSON.parse(text, (name, value: unknown) => name === member && value === nodeId ? undefined : value))

/** In any case: some lines show a provider in capitals. */
const holds = (text: string): boolean => text.toLowerCase().includes(nodeId)
/** The id with what stands around it, for a reader of a failed test. */
const around = (text: string): string => text.slice(Math.max(0, text.toLowerCase().indexOf(nodeId) - 60), text.toLowerCase().indexOf(nodeId) + nodeId.length + 20)

describe("the id of a provider node", () => {
  it("stands in no read of an operator but where the contract has it", async () => {
    const shown: Array<string> = []
    const failed: Array<string> = []
    const idle: Array<string> = []
    for (const route of reads) {
      if (unread[route] !== undefined) continue
      const value = filled[route]
      if (route.includes("{") && value === undefined) {
        failed.push(`${route} is not filled`)
        continue
      }
      const { status, text } = await read(route.replace(/\{\w+\}/, value ?? "") + (route === "/api/logs/detail" ? `?id=${filled["/api/usage/call-logs/{id}"] ?? ""}` : pages[route] ?? ""))
      if (status !== 200) failed.push(`${route} answered ${status}: ${text.slice(0, 200)}`)
      const member = identities[route]
      if (member !== undefined && !holds(text)) idle.push(route)
      const rest = member === undefined ? text : without(text, member)
      if (holds(rest)) shown.push(`${route}: ${around(rest)}`)
    }
    expect({ failed, shown, idle }).toEqual({ failed: [], shown: [], idle: [] })
  })

  it("stands in no reply to a change or a question", async () => {
    const { operator } = gateway
    const key = (await operator.call<{ keys: ReadonlyArray<{ id: string }> }>("GET", "/api/keys")).keys[0]?.id ?? ""
    const [connection = ""] = (await operator.call<{ connections: ReadonlyArray<{ id: string }> }>("GET", "/api/providers")).connections.map(({ id }) => id)
    const combo = filled["/api/combos/{id}"] ?? ""
    for (const [method, at, body] of [
      ["POST", "/api/routing/explain", { model: `${prefix}/echo` }],
      ["POST", "/api/routing/explain", { model: "combo/house" }],
      ["POST", "/api/combos/test", { comboName: "house" }],
      ["PUT", `/api/combos/${combo}`, { description: "changed" }],
      ["POST", "/api/combos/reorder", { comboIds: [combo] }],
      ["PATCH", "/api/resilience", { providerQuotaOverrides: { [nodeId]: { rpm: 1_000 } } }],
      ["POST", "/api/admin/concurrency", { limits: [{ scope: "provider", id: nodeId, max: 30 }] }],
      ["PATCH", "/api/settings/combo-defaults", { providerOverrides: { [nodeId]: { maxRetries: 1 } } }],
      ["PATCH", "/api/settings", { stickyRoundRobinLimit: 3 }],
      ["PATCH", "/api/pricing", { [nodeId]: { echo: { input: 2 } } }],
      ["POST", "/api/usage/token-limits", { apiKeyId: key, scopeType: "provider", scopeValue: nodeId, tokenLimit: 1_000_000 }],
      ["PUT", "/api/provider-models", { provider: nodeId, modelId: "own-model", modelName: "Mine" }],
      ["PATCH", `/api/provider-models?provider=${nodeId}`, { isHidden: false, modelIds: ["own-model"] }],
      ["POST", `/api/providers/${connection}/test`, {}],
      ["POST", `/api/providers/${connection}/sync-models`, {}],
      ["POST", "/api/v1/registered-keys", { name: "another", provider: nodeId }],
      ["POST", "/api/providers/test-batch", { mode: "provider", providerId: nodeId }],
      ["GET", `/api/models/alias?alias=handy`, undefined],
      ["GET", `/v1/quotas/check?provider=${nodeId}`, undefined],
      ["GET", `/api/v1/registered-keys?provider=${nodeId}`, undefined]
    ] as const) {
      const { status, text } = await operator.raw(method, at, body)
      expect([method, at, status < 300 ? "well" : text]).toEqual([method, at, "well"])
      expect([method, at, holds(text) ? around(text) : "none"]).toEqual([method, at, "none"])
    }
    const added = await post<{ results: ReadonlyArray<{ provider: string; id: string }> }>("/api/providers/bulk", { provider: nodeId, entries: [{ name: "spare", apiKey: "sk-spare" }] })
    expect(added.results.map(({ provider }) => provider)).toEqual([prefix])
    await operator.removeConnection(added.results[0]?.id ?? "")
  })

  it("is the prefix in what runs now", async () => {
    const concurrency = await gateway.operator.call<{ inFlight: unknown; semaphores: object }>("GET", "/api/admin/concurrency")
    expect(concurrency.inFlight).toEqual({ total: 1, perProvider: { [prefix]: 1 } })
    expect(Object.keys(concurrency.semaphores)).toContainEqual(expect.stringMatching(new RegExp(` ${prefix}/endless$`)))
    const { activeRequests, pending } = await gateway.operator.call<{ activeRequests: unknown; pending: { byModel: unknown } }>("GET", "/api/usage/history")
    expect(activeRequests).toEqual([{ model: "endless", provider: prefix, account: "The cellar", count: 1 }])
    expect(pending.byModel).toEqual({ [`endless (${prefix})`]: 1 })
  })

  it("stands in no event for webhooks and in no line of the log", async () => {
    await eventually(async () => sink.received, (received) => ["request.completed", "request.failed", "quota.exceeded"].every((type) => received.some(({ json }) => json.event === type)), "an event of each type")
    const bodies = sink.received.map(({ body }) => body)
    expect(bodies.filter(holds)).toEqual([])
    expect(bodies.filter((body) => body.includes(`"provider":"${prefix}"`)).length).toBeGreaterThan(1)
    expect(gateway.output().split("\n").filter(holds)).toEqual([])
  })

  it("stands in no error of a client", () => {
    expect(JSON.parse(refused)).toMatchObject({ error: { code: "token_limit_exceeded", message: expect.stringContaining(`provider:${prefix}`) as string } })
    expect(holds(refused)).toBe(false)
  })

  it("is the prefix in metrics", async () => {
    const lines = (await read("/metrics")).text.split("\n").filter((line) => line.startsWith("gateway_attempts_total"))
    expect(lines).toContainEqual(expect.stringContaining(`provider="${prefix}"`))
  })
})

describe("reads and changes that name a provider take a node's prefix and its id", () => {
  const same = async (query: (provider: string) => string, rowsOf: (body: never) => ReadonlyArray<unknown>) => {
    const rows = await Promise.all([prefix, nodeId].map(async (name) => rowsOf((await gateway.operator.call("GET", query(name))) as never)))
    expect(rows[0]?.length).toBeGreaterThan(0)
    expect(rows[1]).toEqual(rows[0])
    return rows[0]
  }

  it("as a filter", async () => {
    const logs = await same((name) => `/api/usage/call-logs?provider=${name}`, (body: ReadonlyArray<{ provider: string }>) => body)
    expect(new Set(logs?.map((row) => (row as { provider: string }).provider))).toEqual(new Set([prefix]))
    await same((name) => `/api/usage/model-latency-stats?provider=${name}`, (body: { entries: ReadonlyArray<unknown> }) => body.entries)
    await same((name) => `/api/usage/quota?provider=${name}`, (body: { providers: ReadonlyArray<unknown> }) => body.providers)
    await same((name) => `/api/provider-models?provider=${name}`, (body: { models: ReadonlyArray<unknown> }) => body.models)
    await same((name) => `/api/v1/registered-keys?provider=${name}`, (body: { keys: ReadonlyArray<unknown> }) => body.keys)
    const tested = await Promise.all([prefix, nodeId].map((providerId) =>
      post<{ results: ReadonlyArray<{ provider: string }> }>("/api/providers/test-batch", { mode: "provider", providerId })))
    expect(tested.map(({ results }) => results.map(({ provider }) => provider))).toEqual([[prefix], [prefix]])
  })

  it("to close a breaker and to end a lockout", async () => {
    const breakers = async () => (await gateway.operator.call<{ breakers: ReadonlyArray<{ provider: string; failures: number }> }>("GET", "/api/resilience")).breakers
    for (const provider of [prefix, nodeId]) {
      await post("/api/resilience/reset", {})
      await gateway.operator.call("DELETE", "/api/resilience/model-cooldowns", { all: true })
      await chat(`${prefix}/broken`)
      expect(await breakers()).toContainEqual(expect.objectContaining({ provider: prefix, failures: 1 }))
      expect(await post("/api/resilience/reset", { provider })).toMatchObject({ resetCount: 1 })
    }
    for (const provider of [prefix, nodeId]) {
      await gateway.operator.call("DELETE", "/api/resilience/model-cooldowns", { all: true })
      expect((await chat(`${prefix}/missing`)).status).toBe(404)
      const { items } = await gateway.operator.call<{ items: ReadonlyArray<unknown> }>("GET", "/api/resilience/model-cooldowns")
      expect(items).toContainEqual(expect.objectContaining({ provider: prefix, model: "missing" }))
      expect(await gateway.operator.call("DELETE", "/api/resilience/model-cooldowns", { provider, model: "missing" })).toMatchObject({ cleared: 1 })
    }
  })

  it("as a cap: what is set under the prefix is the cap that was set under the id", async () => {
    const caps = async () => (await gateway.operator.call<{ perProvider: Record<string, number> }>("GET", "/api/rate-limit")).perProvider
    await post("/api/admin/concurrency", { perProvider: { [nodeId]: 40 } })
    expect(await caps()).toEqual({ [prefix]: 40 })
    await post("/api/admin/concurrency", { perProvider: { [prefix]: 20 } })
    expect(await caps()).toEqual({ [prefix]: 20 })
    const { patch } = { patch: (body: unknown) => gateway.operator.call<{ providerQuotaOverrides: unknown }>("PATCH", "/api/resilience", body) }
    expect((await patch({ providerQuotaOverrides: { [nodeId]: { concurrency: 7, rpm: 100 } } })).providerQuotaOverrides).toMatchObject({ [prefix]: { concurrency: 7, rpm: 100 } })
    expect((await patch({ providerQuotaOverrides: { [prefix]: { concurrency: 1 } } })).providerQuotaOverrides).toEqual({ [prefix]: { concurrency: 1, rpm: 100 } })
    const { connections } = await gateway.operator.call<{ connections: ReadonlyArray<{ maxConcurrent: number }> }>("GET", "/api/rate-limits")
    expect(connections.map(({ maxConcurrent }) => maxConcurrent)).toEqual([1])
    expect((await patch({ providerQuotaOverrides: { [prefix]: null } })).providerQuotaOverrides).toEqual({})
  })
})

describe("a node that is deleted or renamed", () => {
  it("stands in older rows by its new prefix, and by its id when it is gone", async () => {
    const providers = async () => new Set((await gateway.operator.callLogs()).map(({ provider }) => provider))
    const [node] = (await gateway.operator.call<{ nodes: ReadonlyArray<Record<string, unknown>> }>("GET", "/api/provider-nodes")).nodes
    await gateway.operator.call("PUT", `/api/provider-nodes/${nodeId}`, { name: node?.["name"], prefix: "vault", baseUrl: node?.["baseUrl"] })
    expect(await providers()).toEqual(new Set(["vault"]))
    await gateway.operator.call("DELETE", `/api/provider-nodes/${nodeId}`)
    expect(await providers()).toEqual(new Set([nodeId]))
  })
})
