/** The gateway's own dialect of the agent-to-agent server, its REST helpers, its cards, and what is refused. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { type A2aLab, type Frame, frame, jsonOf, post, startA2a } from "./lab.ts"

const SERVER_KEY = "the-servers-own-key-0123456789"

let lab: A2aLab
let key: { readonly id: string; readonly key: string }

beforeAll(async () => {
  lab = await startA2a({ environment: { GATEWAY_API_KEY: SERVER_KEY, SSE_HEARTBEAT_INTERVAL_MS: "300" } })
  key = await lab.gateway.operator.createKey("agent")
})
afterAll(() => lab.close())

const url = () => lab.gateway.url
const ask = async (method: string, params?: unknown, token: string | null = key.key): Promise<Frame> => jsonOf<Frame>(await post(url(), token, frame(method, params)))
const say = (content: string) => [{ role: "user", content }]
const send = (skill: string, metadata: Record<string, unknown> = {}, token?: string) => ask("message/send", { skill, messages: say("Hello"), metadata }, token)
const get = (path: string, token: string | null = key.key) => Http.send(url(), { path, headers: token === null ? {} : { authorization: `Bearer ${token}` } })
const own = (path: string, body: unknown, token = key.key) => Http.send(url(), { path, method: "POST", body, headers: { authorization: `Bearer ${token}` } })

/** A task that does not end by itself, and whose upstream call has begun. */
const endless = async (model: string): Promise<string> => {
  await lab.sim.rule({ match: { model }, script: { text: "word ".repeat(2_000), paceMs: 50 } })
  const opened = await Http.stream(url(), { path: "/a2a", headers: { authorization: `Bearer ${key.key}` }, body: frame("message/stream", { skill: "smart-routing", messages: say("Go on"), metadata: { model: `lab/${model}` } }) })
  const text = await opened.until((seen) => seen.includes("chunk"))
  opened.leave()
  return /"task":\{"id":"([^"]+)"/.exec(text)?.[1] ?? ""
}

interface Row { readonly id: string; readonly state: string; readonly skill: string; readonly output: string | null; readonly events: ReadonlyArray<{ readonly state: string; readonly timestamp: string }>; readonly completedAt: string | null }

describe("messages", () => {
  it("message/send answers with the task, its artifacts and how it was routed", async () => {
    await lab.sim.rule({ match: { model: "sent" }, script: { text: "Sent and answered." } })
    const { error, id, result } = await send("smart-routing", { model: "lab/sent" })
    expect([error, id, result?.task.state, result?.artifacts]).toEqual([undefined, 1, "completed", [{ type: "text", content: "Sent and answered." }]])
    expect(result?.metadata).toMatchObject({
      routing_explanation: expect.stringContaining("lab/sent"), cost_envelope: { estimated: 0, actual: 0, currency: "USD" },
      resilience_trace: [{ event: "answered", provider: "lab", timestamp: expect.any(String) }], policy_verdict: { allowed: true, reason: expect.any(String) }
    })
  })

  it("a price makes an estimate, and what the ledger says is the cost", async () => {
    await lab.gateway.operator.call("PATCH", "/api/pricing", { lab: { priced: { input: 1_000, output: 2_000 } } })
    await lab.sim.rule({ match: { model: "priced" }, script: { text: "Dear.", usage: { promptTokens: 10, completionTokens: 5 } } })
    const { result } = await send("smart-routing", { model: "lab/priced", max_tokens: 5 })
    const cost = result?.metadata["cost_envelope"] as { readonly estimated: number; readonly actual: number }
    const rows = await lab.gateway.rows(result?.task.id)
    expect(cost.actual).toBe(rows[0]?.costUsd)
    expect(cost.actual).toBeGreaterThan(0)
    expect(cost.estimated).toBeGreaterThan(0)
  })

  it("message/stream brings pieces of the text, then the final state with metadata", async () => {
    await lab.sim.rule({ match: { model: "pieces" }, script: { text: "One two three four five six.", paceMs: 10 } })
    const reply = await post(url(), key.key, frame("message/stream", { skill: "smart-routing", messages: say("Count"), metadata: { model: "lab/pieces" } }, "s"))
    expect(reply.headers["content-type"]).toContain("text/event-stream")
    const frames = Http.payloads(reply.text).map((data) => JSON.parse(data) as { readonly method: string; readonly params: { readonly task: { readonly state: string }; readonly chunk?: { readonly type: string; readonly content: string }; readonly metadata?: unknown } })
    expect(frames.every(({ method }) => method === "message/stream")).toBe(true)
    expect(frames.flatMap(({ params }) => params.chunk?.content ?? []).join("")).toBe("One two three four five six.")
    expect(frames.at(-1)?.params).toMatchObject({ task: { state: "completed" }, metadata: { policy_verdict: { allowed: true } } })
  })

  it("a silent stream gets comments", async () => {
    await lab.sim.rule({ match: { model: "slow" }, script: { text: "At last.", latencyMs: 1_200 } })
    const reply = await post(url(), key.key, frame("message/stream", { skill: "smart-routing", messages: say("Wait"), metadata: { model: "lab/slow" } }))
    expect(reply.text).toContain(": heartbeat\n\n")
    expect(reply.text).toContain("At last.")
  })

  it("a failure of the provider is -32005, a refusal of the key -32003, a budget -32004, an unknown model -32602; each names its task", async () => {
    await lab.sim.rule({ match: { model: "broken" }, script: { status: 500, error: { message: "broken" } } })
    const limited = await lab.gateway.operator.createKey("limited", { allowedModels: ["lab/other"] })
    const poor = await lab.gateway.operator.createKey("poor", { usageLimitEnabled: true, dailyUsageLimitUsd: 0.000001 })
    await lab.sim.rule({ match: { model: "priced" }, script: { text: "Dear.", usage: { promptTokens: 10, completionTokens: 5 } } })
    await send("smart-routing", { model: "lab/priced" }, poor.key)
    const answers = [
      await send("smart-routing", { model: "lab/broken" }), await send("smart-routing", { model: "lab/one" }, limited.key),
      await eventually(() => send("smart-routing", { model: "lab/priced" }, poor.key), ({ error }) => error !== undefined, "the limit"), await send("smart-routing", { model: "nowhere/none" })
    ]
    expect(answers.map(({ error }) => error?.code)).toEqual([-32005, -32003, -32004, -32602])
    for (const { error } of answers) expect(error?.data).toMatchObject({ task: { state: "failed" }, artifacts: [{ type: "error", content: error?.message }] })
    expect(answers.map(({ error }) => error?.data)).toMatchObject([true, false, false, true].map((allowed) => ({ metadata: { policy_verdict: { allowed } } })))
  })
})

describe("tasks", () => {
  it("are read and cancelled by their id, over JSON-RPC and REST; an ended one is -32002 and 409", async () => {
    const id = await endless("rest-endless")
    const read = jsonOf<{ task: Row }>(await get(`/api/a2a/tasks/${id}`)).task
    expect([read.state, read.skill, read.events.map(({ state }) => state)]).toEqual(["working", "smart-routing", ["submitted", "working"]])
    const cancelled = await own(`/api/a2a/tasks/${id}/cancel`, undefined)
    expect([cancelled.status, jsonOf<{ task: Row }>(cancelled).task.state]).toEqual([200, "cancelled"])
    expect([(await own(`/api/a2a/tasks/${id}/cancel`, undefined)).status, (await ask("tasks/cancel", { taskId: id })).error?.code]).toEqual([409, -32002])
    const second = await endless("rpc-endless")
    expect((await ask("tasks/get", { taskId: second })).result?.task.state).toBe("working")
    expect((await ask("tasks/cancel", { taskId: second })).result?.task.state).toBe("cancelled")
    await eventually(() => lab.gateway.operator.reconciliation(), ({ live }) => live === 0, "the end of all calls")
  })

  it("are listed for their own caller, by state and skill, a page at a time", async () => {
    const lister = (await lab.gateway.operator.createKey("lister")).key
    for (const skill of ["health-report", "provider-discovery", "health-report"]) expect((await send(skill, {}, lister)).result?.task.state).toBe("completed")
    const list = async (query: string) => jsonOf<{ tasks: ReadonlyArray<Row>; total: number; limit: number; offset: number }>(await get(`/api/a2a/tasks${query}`, lister))
    expect((({ limit, offset, tasks, total }) => [total, limit, offset, tasks.map(({ skill }) => skill)])(await list(""))).toEqual([3, 50, 0, ["health-report", "provider-discovery", "health-report"]])
    expect((await list("?skill=provider-discovery")).total).toBe(1)
    expect((await list("?state=failed")).total).toBe(0)
    expect((({ tasks, total }) => [total, tasks.length])(await list("?limit=1&offset=2"))).toEqual([3, 1])
    expect([(await get("/api/a2a/tasks?limit=201", lister)).status, (await get("/api/a2a/tasks?state=asleep", lister)).status]).toEqual([400, 400])
  })

  it("of another caller are unknown: to a key, and to the operator", async () => {
    const { result } = await send("health-report")
    const id = result?.task.id ?? ""
    const stranger = (await lab.gateway.operator.createKey("stranger")).key
    expect([(await ask("tasks/get", { taskId: id }, stranger)).error?.code, (await ask("tasks/cancel", { taskId: id }, stranger)).error?.code]).toEqual([-32001, -32001])
    expect([(await get(`/api/a2a/tasks/${id}`, stranger)).status, (await own(`/api/a2a/tasks/${id}/cancel`, undefined, stranger)).status]).toEqual([404, 404])
    expect((await lab.gateway.operator.raw("GET", `/api/a2a/tasks/${id}`)).status).toBe(404)
    expect([(await get("/api/a2a/tasks", null)).status, (await get(`/api/a2a/tasks/${id}`, null)).status]).toEqual([401, 401])
  })

  it("of a key that allows no logging leave no words in the store", async () => {
    const silent = (await lab.gateway.operator.createKey("silent", { noLog: true })).key
    await lab.sim.rule({ match: { model: "silent" }, script: { text: "canary-silent-answer" } })
    const { result } = await ask("message/send", { skill: "smart-routing", messages: say("canary-silent-question"), metadata: { model: "lab/silent" } }, silent)
    expect(result?.artifacts).toEqual([{ type: "text", content: "canary-silent-answer" }])
    await lab.gateway.restart()
    const { task } = jsonOf<{ task: Row }>(await get(`/api/a2a/tasks/${result?.task.id}`, silent))
    expect([task.state, JSON.stringify(task).includes("canary")]).toEqual(["completed", false])
  })
})

describe("callers", () => {
  it("the server's own key, an operator and an access token have tasks of their own, and the operator's routes as a caller without a key", async () => {
    await lab.sim.rule({ match: { model: "callers" }, script: { text: "For you." } })
    expect((await send("smart-routing", { model: "lab/callers" }, SERVER_KEY)).result?.task.state).toBe("completed")
    const { operator } = lab.gateway
    const call = frame("message/send", { skill: "smart-routing", messages: say("Hello"), metadata: { model: "lab/callers" } })
    const bySession = jsonOf<Frame>(await operator.raw("POST", "/a2a", call))
    expect(bySession.result?.artifacts).toEqual([{ type: "text", content: "For you." }])
    expect((await lab.gateway.rows(bySession.result?.task.id)).map(({ apiKeyId }) => apiKeyId)).toEqual([null])
    const { token } = await operator.call<{ token: string }>("POST", "/api/cli/tokens", { name: "agent", scope: "write" })
    const byToken = jsonOf<Frame>(await post(url(), token, call))
    expect(byToken.result?.task.state).toBe("completed")
    const reads = async (id: string | undefined, as: string) => (await get(`/api/a2a/tasks/${id}`, as)).status
    expect([await reads(byToken.result?.task.id, token), await reads(bySession.result?.task.id, token), await reads(byToken.result?.task.id, SERVER_KEY)]).toEqual([200, 404, 404])
  })
})

describe("what is refused", () => {
  it("frames: no JSON, no request, no method, an unknown one, wrong parameters, an unknown version", async () => {
    const raw = async (body: string, headers: Readonly<Record<string, string>> = {}) => {
      const response = await fetch(`${url()}/a2a`, { method: "POST", body, headers: { authorization: `Bearer ${key.key}`, "content-type": "application/json", ...headers } })
      return [response.status, (await response.json() as Frame).error?.code]
    }
    expect(await raw("{")).toEqual([200, -32700])
    expect(await raw("[]")).toEqual([200, -32600])
    expect(await raw("\"text\"")).toEqual([200, -32600])
    expect(await raw(JSON.stringify({ id: 1, method: "tasks/get" }))).toEqual([200, -32600])
    expect(await raw(JSON.stringify(frame("tasks/unknown", {})))).toEqual([200, -32601])
    expect(await raw(JSON.stringify(frame("Unknown", {})), { "a2a-version": "1.0" })).toEqual([200, -32601])
    // What has no members of its own may be left out.
    expect(await raw(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tasks/unknown" }))).toEqual([200, -32601])
    expect(await raw(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "Unknown" }), { "a2a-version": "1.0" })).toEqual([200, -32601])
    expect(await raw(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks" }), { "a2a-version": "1.0" })).toEqual([200, undefined])
    expect(await raw(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ListTasks", params: [] }), { "a2a-version": "1.0" })).toEqual([200, -32602])
    expect(await raw(JSON.stringify(frame("message/send", { skill: "smart-routing" })))).toEqual([200, -32602])
    expect(await raw(JSON.stringify(frame("message/send", { skill: "no-such-skill", messages: say("x") })))).toEqual([200, -32602])
    expect(await raw(JSON.stringify(frame("message/send", { skill: "smart-routing", messages: say("x"), metadata: { max_tokens: "many" } })))).toEqual([200, -32602])
    expect(await raw(JSON.stringify(frame("tasks/get", {})))).toEqual([200, -32602])
    expect(await raw(JSON.stringify(frame("tasks/get", { taskId: "no-such-task" })))).toEqual([200, -32001])
    expect(await raw(JSON.stringify(frame("GetTask", { id: "x" })), { "a2a-version": "9.9" })).toEqual([200, -32009])
    expect(await raw(JSON.stringify(frame("SendMessage", { message: 1 })), { "a2a-version": "1.0" })).toEqual([200, -32602])
    expect(await raw(JSON.stringify(frame("message/send", { message: { parts: "none" } })))).toEqual([200, -32602])
    expect(await raw("{}", { "content-type": "text/plain" })).toEqual([415, -32600])
    expect(await raw(JSON.stringify(frame("message/send", { filler: "x".repeat(1_100_000) })))).toEqual([413, -32600])
    expect(await raw("[".repeat(100))).toEqual([400, -32600])
  })

  it("callers without a key, with a wrong one, with one that may not, and another site's page", async () => {
    const barred = (await lab.gateway.operator.createKey("barred", { allowedEndpoints: ["chat"] })).key
    const refused = async (reply: Http.Reply) => [reply.status, jsonOf<Frame>(reply).error?.code]
    const call = frame("tasks/get", { taskId: "x" })
    expect(await refused(await post(url(), null, call))).toEqual([401, -32003])
    const wrong = await post(url(), "sk-nobody-knows-this-key", call)
    expect([...await refused(wrong), wrong.headers["www-authenticate"]]).toEqual([401, -32003, "Bearer"])
    expect(await refused(await post(url(), barred, call))).toEqual([403, -32003])
    expect(await refused(await lab.gateway.operator.raw("POST", "/a2a", call, { origin: "https://evil.example" }))).toEqual([403, -32003])
    expect(jsonOf<Frame>(await lab.gateway.operator.raw("POST", "/a2a", call)).error?.code).toBe(-32001)
  })

  it("more tasks of one caller than run at once", async () => {
    const busy = (await lab.gateway.operator.createKey("busy")).key
    await lab.sim.rule({ match: { model: "busy" }, script: { text: "word ".repeat(2_000), paceMs: 50 } })
    const begin = () => post(url(), busy, frame("message/send", { message: { messageId: "m", role: "user", kind: "message", parts: [{ kind: "text", text: "x" }] }, configuration: { blocking: false }, metadata: { model: "lab/busy" } }))
    const begun = await Promise.all(Array.from({ length: 33 }, begin))
    const refused = begun.filter(({ status }) => status !== 200)
    expect([begun.length - refused.length, refused.map((reply) => [reply.status, jsonOf<Frame>(reply).error?.code, reply.headers["retry-after"]])]).toEqual([32, [[429, -32004, "1"]]])
    const { tasks } = jsonOf<{ tasks: ReadonlyArray<Row> }>(await get("/api/a2a/tasks?limit=200", busy))
    for (const { id } of tasks) await own(`/api/a2a/tasks/${id}/cancel`, undefined, busy)
    await eventually(() => lab.gateway.operator.reconciliation(), ({ live }) => live === 0, "the end of all calls")
    const next = await begin()
    expect(next.status).toBe(200)
    await own(`/api/a2a/tasks/${jsonOf<{ result: { id: string } }>(next).result.id}/cancel`, undefined, busy)
  })

  it("everything while the setting is off: 503 with -32000; the cards stay and the status says so", async () => {
    await lab.gateway.operator.call("PATCH", "/api/settings", { a2aEnabled: false })
    const off = await post(url(), key.key, frame("tasks/get", { taskId: "x" }))
    expect([off.status, jsonOf<Frame>(off).error?.code]).toEqual([503, -32000])
    expect(jsonOf(await get("/api/a2a/status", null))).toMatchObject({ status: "disabled", online: false, enabled: false, agent: null })
    expect((await get("/.well-known/agent.json", null)).status).toBe(200)
    await lab.gateway.operator.call("PATCH", "/api/settings", { a2aEnabled: true })
    expect(jsonOf(await get("/api/a2a/status", null))).toMatchObject({
      status: "ok", enabled: true, agent: { name: "gateway", url: `${url()}/a2a` }, capabilities: { streaming: true, pushNotifications: true },
      skills: ["smart-routing", "quota-management", "provider-discovery", "cost-analysis", "health-report"].map((id) => ({ id }))
    })
  })
})

describe("cards", () => {
  it("are public, cached for an hour, and have the form that the client's version reads", async () => {
    const older = await get("/.well-known/agent.json", null)
    expect([older.status, older.headers["cache-control"]]).toEqual([200, "public, max-age=3600"])
    expect(jsonOf(older)).toMatchObject({
      name: "gateway", url: `${url()}/a2a`, protocolVersion: "0.3.0", capabilities: { streaming: true }, authentication: { schemes: ["bearer"], apiKeyHeader: "Authorization" },
      skills: expect.arrayContaining([expect.objectContaining({ id: "smart-routing", tags: expect.any(Array), examples: expect.any(Array) })])
    })
    const byVersion = async (header?: string) => jsonOf<Record<string, unknown>>(await Http.send(url(), { path: "/.well-known/agent-card.json", headers: header === undefined ? {} : { "a2a-version": header } }))
    expect(await byVersion()).toMatchObject({ url: `${url()}/a2a`, securitySchemes: { bearer: { type: "http" } } })
    const newest = await byVersion("1.0")
    expect([newest["url"], newest["supportedInterfaces"]]).toEqual([undefined, [
      { url: `${url()}/a2a`, protocolBinding: "JSONRPC", tenant: "", protocolVersion: "1.0" }, { url: `${url()}/a2a`, protocolBinding: "JSONRPC", tenant: "", protocolVersion: "0.3" }
    ]])
  })
})

describe("skills", () => {
  interface Report { readonly summary: { readonly requests: number }; readonly byModel?: unknown; readonly breakers?: unknown; readonly providers?: ReadonlyArray<{ readonly provider: string; readonly models: ReadonlyArray<string> }>; readonly spent?: unknown; readonly quota?: unknown; readonly rateLimits?: unknown; readonly status?: string }
  const report = async (skill: string, token: string, metadata: Record<string, unknown> = {}): Promise<readonly [string, Report]> => {
    const { error, result } = await send(skill, metadata, token)
    expect(error).toBeUndefined()
    return [result?.artifacts[0]?.content ?? "", JSON.parse(result?.artifacts[1]?.content ?? "null") as Report]
  }

  it("tell a plain key about itself alone", async () => {
    const plain = (await lab.gateway.operator.createKey("plain", { allowUsageCommand: true, allowedModels: ["lab/*"] })).key
    await lab.sim.rule({ match: { model: "counted" }, script: { text: "One." } })
    await send("smart-routing", { model: "lab/counted" }, plain)
    await lab.gateway.operator.settled()
    const [text, costs] = await report("cost-analysis", plain, { range: "24h" })
    expect([costs.summary.requests, costs.byModel, text]).toEqual([1, undefined, expect.stringContaining("this key made 1 calls")])
    expect(await report("quota-management", plain)).toEqual([expect.stringContaining("This key spent"), expect.objectContaining({ spent: expect.any(Object) })])
    const [, health] = await report("health-report", plain)
    expect([health.status, health.breakers, health.rateLimits]).toEqual([expect.any(String), undefined, undefined])
    const [, discovered] = await report("provider-discovery", plain)
    expect(discovered.breakers).toBeUndefined()
    expect(discovered.providers?.flatMap(({ models }) => models).every((model) => model.startsWith("lab/"))).toBe(true)
  })

  it("tell a key with the scope, and one that manages, about the whole gateway", async () => {
    const wide = (await lab.gateway.operator.createKey("wide", { scopes: ["read:usage", "read:quota", "read:health", "read:models"] })).key
    expect((await report("cost-analysis", wide))[1].byModel).toEqual(expect.any(Array))
    const { id: limited } = await lab.gateway.operator.createKey("limited")
    await lab.gateway.operator.call("POST", "/api/usage/budget", { apiKeyId: limited, weeklyLimitUsd: 5 })
    const [quotas, { quota }] = await report("quota-management", wide)
    // No connection told a quota here, and of many keys one has a budget.
    expect(quotas).toBe("0 connections reported a quota; 0 of them have nothing left. 1 keys have budgets.")
    expect(quota).toEqual(expect.any(Object))
    expect((await report("health-report", wide))[1].rateLimits).toEqual(expect.any(Array))
    expect((await report("provider-discovery", wide))[1].breakers).toEqual(expect.any(Array))
    const manager = (await lab.gateway.operator.createKey("manager", { scopes: ["manage"] })).key
    expect((await report("cost-analysis", manager))[1].byModel).toEqual(expect.any(Array))
  })

  it("refuse what the key may not read of itself", async () => {
    const closed = (await lab.gateway.operator.createKey("closed", { allowUsageCommand: false })).key
    expect((await send("quota-management", {}, closed)).error).toMatchObject({ code: -32003, message: expect.stringContaining("allowUsageCommand") })
  })
})
