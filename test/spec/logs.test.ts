/** /api/logs: requests that run, downloads of calls, and the process log. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ environment: { LOG_LEVEL: "info", GATEWAY_ACCESS_LOG: "all" } })
})
afterAll(() => lab.close())

const operator = () => lab.gateway.operator
const raw = (path: string) => operator().raw("GET", path)

describe("GET /api/logs/active", () => {
  interface Active { readonly node: string; readonly total: number; readonly requests: ReadonlyArray<Readonly<Record<string, unknown>>> }
  const active = () => operator().call<Active>("GET", "/api/logs/active")

  it("lists what runs, and nothing that has ended", async () => {
    expect(await active()).toMatchObject({ total: 0, requests: [] })
    const { id, key } = await operator().createKey("runner")
    await lab.sim.rule({ match: { model: "runs" }, script: { tokens: 400, paceMs: 10 } })
    const running = await lab.stream({ model: "runs" }, { authorization: `Bearer ${key}` })
    await lab.sim.ended({ model: "runs", outcome: "open" })
    const { node, requests, total } = await active()
    expect(total).toBe(1)
    expect(node).not.toBe("")
    expect(requests).toEqual([{
      id: running.headers["x-gateway-request-id"], requestedModel: "lab/runs", provider: "lab", model: "runs", connectionId: expect.any(String), comboName: null,
      path: "/v1/chat/completions", stream: true, attempts: 1, apiKeyId: id, apiKeyName: "runner", startedAt: expect.stringMatching(/^\d{4}-/)
    }])
    running.leave()
    await operator().settled()
    expect((await active()).total).toBe(0)
  })
})

describe("GET /api/logs/export", () => {
  const lines = (text: string) => text.trimEnd().split(/\r?\n/)

  it("gives all calls that fit, newest first, over several reads of the ledger", async () => {
    await lab.chat({ model: "exported" })
    await operator().settled()
    const row = (await lab.gateway.rows()).find(({ model }) => model === "exported")
    if (row === undefined) throw new Error("no row")
    const store = Context.get(lab.gateway.services(), UsageStore)
    await Effect.runPromise(store.insert(Array.from({ length: 1_200 }, (_, at) => ({ ...row, attemptId: `${row.attemptId}-${at}`, startedAt: row.startedAt - at - 1 }))))
    const reply = await raw("/api/logs/export?model=exported")
    expect([reply.status, reply.headers["content-type"], reply.headers["content-disposition"]]).toEqual([200, "application/x-ndjson", "attachment; filename=\"calls.jsonl\""])
    const calls = lines(reply.text).map((line) => JSON.parse(line) as { id: string; timestamp: string })
    expect(new Set(calls.map(({ id }) => id)).size).toBe(1_201)
    expect(calls.map(({ timestamp }) => timestamp)).toEqual(calls.map(({ timestamp }) => timestamp).toSorted().reverse())
    const [first] = await operator().call<ReadonlyArray<unknown>>("GET", "/api/usage/call-logs?model=exported&limit=1")
    expect(calls[0]).toEqual(first)
    expect(lines((await raw("/api/logs/export?model=exported&limit=501")).text)).toHaveLength(501)
    expect((await raw("/api/logs/export?model=no-such-model")).text).toBe("")
  })

  it("gives CSV, and refuses what it does not know", async () => {
    const reply = await raw("/api/logs/export?format=csv&limit=2&model=exported")
    expect(reply.headers["content-type"]).toBe("text/csv; charset=utf-8")
    const [head, ...rows] = lines(reply.text)
    expect(head).toMatch(/^id,requestId,timestamp,path,status,/)
    expect(rows).toHaveLength(2)
    expect((await raw("/api/logs/export?format=csv&model=no-such-model")).text).toBe(`${head}\r\n`)
    for (const query of ["format=xml", "limit=0", "limit=1000001", "from=yesterday", "colour=red"]) expect((await raw(`/api/logs/export?${query}`)).status, query).toBe(400)
    expect((await Http.send(lab.gateway.url, { method: "GET", path: "/api/logs/export" })).status).toBe(401)
  })
})

describe("GET /api/logs/detail", () => {
  it("is the call with its attempts", async () => {
    const [call] = await operator().call<ReadonlyArray<{ requestId: string }>>("GET", "/api/usage/call-logs?limit=1")
    expect(await operator().call("GET", `/api/logs/detail?id=${call?.requestId}`)).toEqual(await operator().call("GET", `/api/usage/call-logs/${call?.requestId}`))
    expect((await raw("/api/logs/detail?id=no-such-call")).status).toBe(404)
    expect((await raw("/api/logs/detail")).status).toBe(400)
  })
})

describe("GET /api/logs/console", () => {
  const shown = async (query = "") => (await operator().call<{ lines: ReadonlyArray<string> }>("GET", `/api/logs/console${query}`)).lines

  it("shows the last lines, oldest first, without credentials, as many as are held", async () => {
    for (const model of ["told-one", "told-two", "sk-secret-that-nobody-may-see-1234"]) await lab.chat({ model })
    await operator().settled()
    const told = await shown("?search=TOLD-")
    expect(told.map((line) => (JSON.parse(line) as { requestedModel: string }).requestedModel)).toEqual(["lab/told-one", "lab/told-two"])
    expect((await shown("?search=told-&limit=1"))[0]).toContain("told-two")
    expect((await shown("?limit=10000")).join("\n")).not.toContain("sk-secret-that-nobody")
    await operator().call("PATCH", "/api/settings/database", { logs: { ring: 2 } })
    expect((await shown()).length).toBe(2)
    await operator().call("PATCH", "/api/settings/database", { logs: { ring: 0 } })
    await lab.chat({ model: "untold" })
    expect(await shown()).toEqual([])
    await operator().call("PATCH", "/api/settings/database", { logs: { ring: 1_000 } })
    await lab.chat({ model: "told-again" })
    await operator().settled()
    expect(await shown("?search=told-again")).toHaveLength(1)
  })

  it("needs all rights, also while no login is required", async () => {
    await operator().call("PATCH", "/api/settings", { requireLogin: false })
    expect((await Http.send(lab.gateway.url, { method: "GET", path: "/api/logs/console" })).status).toBe(401)
    expect((await Http.send(lab.gateway.url, { method: "GET", path: "/api/logs/active" })).status).toBe(200)
    await operator().call("PATCH", "/api/settings", { requireLogin: true })
    expect((await raw("/api/logs/console?limit=0")).status).toBe(400)
  })
})
