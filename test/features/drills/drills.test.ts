/** Fire drills over HTTP: what clients of the simulator see, what reacts, that no other provider is touched, and how a drill ends. */
import * as Context from "effect/Context"
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { DrillView } from "#src/features/drills/api.ts"
import { SimulatorAddress } from "#src/platform/configuration/SimulatorAddress.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

interface List {
  readonly node: string
  readonly available: boolean
  readonly drills: ReadonlyArray<DrillView>
}

let gateway: InProcess
const api = <A>(method: string, path: string, body?: unknown) => gateway.operator.call<A>(method, path, body)
const list = () => api<List>("GET", "/api/drills")
const start = async (fault: DrillView["fault"], seconds = 120) => (await api<{ drill: DrillView }>("POST", "/api/drills", { fault, seconds })).drill
const stop = async (id: string) => (await api<{ drill: DrillView }>("DELETE", `/api/drills/${id}`)).drill
const call = (model: string, more: object = {}): Http.Call => ({ path: "/v1/chat/completions", body: { model, messages: [{ role: "user", content: "one two three four five six seven eight" }], ...more } })
const ask = (model: string) => Http.send(gateway.url, call(model))
const well = () => eventually(() => ask("sim/echo"), ({ status }) => status === 200, "an answer of the simulator")
const failuresOf = async (name: string) => (await api<{ breakers: ReadonlyArray<{ provider: string; failures: number }> }>("GET", "/api/resilience"))
  .breakers.find(({ provider }) => provider === name)?.failures ?? 0

beforeAll(async () => {
  gateway = await inProcess({ environment: { GATEWAY_SIM_PROVIDER: "auto", FETCH_HEADERS_TIMEOUT_MS: "8000", STREAM_READINESS_TIMEOUT_MS: "8000" } })
  await api("PATCH", "/api/resilience", { waitForCooldown: { enabled: false } })
  // Beside it: another provider that is served by the same simulator, so that nothing but the connection tells the two apart.
  const node = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${Context.get(gateway.services(), SimulatorAddress).url}/v1` })
  await gateway.operator.createConnection({ provider: node, apiKey: "sk-of-another-provider" })
}, 180_000)
afterAll(() => gateway?.close())
afterEach(async () => {
  for (const { endedAt, id } of (await list()).drills) if (endedAt === null) await stop(id)
  await api("POST", "/api/resilience/reset", {})
  await api("DELETE", "/api/resilience/model-cooldowns", { all: true })
})

describe("a fire drill", () => {
  it("rate-limit-storm: clients read a 429 with a Retry-After, the model rests, and all is well afterwards", async () => {
    const { id, node, ...drill } = await start("rate-limit-storm")
    expect(drill).toMatchObject({ fault: "rate-limit-storm", share: 1, endedAt: null, endedBy: null, struck: 0 })
    const refused = await ask("sim/echo")
    expect(refused.status).toBe(429)
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(0)
    // It rests for two seconds, which a busy machine may spend before the look.
    const resting = async () => {
      await ask("sim/echo")
      return (await api<{ items: ReadonlyArray<object> }>("GET", "/api/resilience/model-cooldowns")).items
    }
    expect(await eventually(resting, ({ length }) => length > 0, "the model's rest")).toMatchObject([{ provider: "sim", model: "echo" }])
    expect((await ask("lab/echo")).status).toBe(200)
    const { drills, ...facts } = await list()
    expect([facts, drills[0]]).toMatchObject([{ node, available: true }, { id, endedAt: null }])
    expect(drills[0]?.struck).toBeGreaterThan(0)
    expect(await stop(id)).toMatchObject({ id, endedBy: "operator" })
    await well()
  })

  it("stall: a call waits for its deadline, the breaker counts it, and a stop cuts what waits", async () => {
    const { id } = await start("stall")
    expect((await ask("sim/echo")).status).toBe(504)
    expect(await failuresOf("sim")).toBeGreaterThan(0)
    await api("POST", "/api/resilience/reset", {})
    const [{ struck = 0 } = {}] = (await list()).drills
    const waiting = ask("sim/echo")
    await eventually(list, ({ drills: [one] }) => (one?.struck ?? 0) > struck, "another struck call")
    expect((await ask("lab/echo")).status).toBe(200)
    expect(await failuresOf("lab")).toBe(0)
    await stop(id)
    // Cut before its deadline: it failed, or was answered by a second attempt.
    expect((await waiting).status).not.toBe(504)
    await api("POST", "/api/resilience/reset", {})
    await well()
  }, 180_000)

  it("half-stream: an answer breaks off behind its first words, whole or streamed, and the breaker counts it", async () => {
    await start("half-stream")
    const streamed = await Http.stream(gateway.url, call("sim/echo", { stream: true }))
    expect(streamed.status).toBe(200)
    const { text } = await streamed.ended
    expect(text).toContain("one")
    expect(text).not.toContain("eight")
    expect(text).not.toContain("\"finish_reason\":\"stop\"")
    expect(await failuresOf("sim")).toBeGreaterThan(0)
    await api("POST", "/api/resilience/reset", {})
    expect((await ask("sim/echo")).status).toBeGreaterThanOrEqual(500)
    const beside = await Http.stream(gateway.url, call("lab/echo", { stream: true }))
    expect((await beside.ended).text).toContain("eight")
    expect(await failuresOf("lab")).toBe(0)
  })

  it("is refused while another runs, outside of its bounds, and for callers without management rights", async () => {
    const { endsAt, id, startedAt } = await start("stall", 5)
    expect(Date.parse(endsAt) - Date.parse(startedAt)).toBe(5_000)
    const second = await gateway.operator.raw("POST", "/api/drills", { fault: "half-stream", seconds: 5 })
    expect([second.status, JSON.parse(second.text)]).toMatchObject([409, { error: { code: "drill_running" } }])
    await stop(id)
    expect((await gateway.operator.raw("DELETE", `/api/drills/${id}`)).status).toBe(404)
    for (const wrong of [{ fault: "stall", seconds: 4 }, { fault: "stall", seconds: 121 }, { fault: "flood", seconds: 5 }, { fault: "stall", seconds: 5, share: 0 }]) {
      expect((await gateway.operator.raw("POST", "/api/drills", wrong)).status).toBe(400)
    }
    const { key } = await gateway.operator.createKey("client")
    const { key: manager } = await gateway.operator.createKey("manager", { scopes: ["manage"] })
    const by = (bearer: string) => Http.send(gateway.url, { path: "/api/drills", headers: { authorization: `Bearer ${bearer}` }, body: { fault: "stall", seconds: 5 } })
    expect((await by(key)).status).toBe(403)
    expect((await by(manager)).status).toBe(201)
  })

  it("makes a combo answer by its next target", async () => {
    await gateway.operator.raw("POST", "/api/combos", { name: "drilled", models: ["sim/echo", "lab/echo"] })
    await start("half-stream")
    const answered = await ask("drilled")
    expect(answered.status).toBe(200)
    const rows = await gateway.operator.attempts(answered.headers["x-gateway-request-id"] ?? "", 2)
    expect(rows.map(({ outcome, provider }) => [provider, outcome === "completed"])).toEqual([["sim", false], ["lab", true]])
  })

  it("leaves entries in the audit log", async () => {
    const { id } = await start("half-stream")
    await stop(id)
    const entries = await eventually(
      () => api<ReadonlyArray<{ action: string; details: object }>>("GET", `/api/compliance/audit-log?target=${id}`), ({ length }) => length === 2, "two entries"
    )
    expect(entries).toMatchObject([
      { action: "drill.stopped", details: { fault: "half-stream", endedBy: "operator" } }, { action: "drill.started", details: { fault: "half-stream" } }
    ])
  })

  it("ends with its process", async () => {
    await start("rate-limit-storm")
    await gateway.restart()
    expect((await list()).drills).toEqual([])
    expect((await ask("sim/echo")).status).toBe(200)
  }, 180_000)
})
