/** The log of calls by proxies. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"
import * as Proxies from "#test/upstream/support/proxies.ts"
import * as ScriptedServer from "#test/upstream/support/scriptedServer.ts"

const PATH = "/api/v1/management/proxies"

interface View {
  readonly id: string
  readonly [field: string]: unknown
}

let lab: Lab
let to: { readonly host: string; readonly port: number }
beforeAll(async () => {
  lab = await startLab()
  to = { host: "127.0.0.1", port: Number(new URL(lab.sim.url).port) }
})
afterAll(() => lab.close())
afterEach(async () => {
  for (const { id } of (await call<{ items: ReadonlyArray<View> }>("GET", PATH)).items) await call("DELETE", `${PATH}?id=${id}&force=1`)
})

const call = <A>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
const create = (name: string, port: number, over: Record<string, unknown> = {}) => call<View>("POST", PATH, { name, host: "127.0.0.1", port, ...over })
const dead = async (name: string) => create(name, await ScriptedServer.unusedPort())
const assign = (scope: string, scopeId: string | null, proxyId: string | null) => call("PUT", `${PATH}/assignments`, { scope, ...(scopeId === null ? {} : { scopeId }), proxyId })
const say = (model = "echo") => lab.chat({ model })
const attempts = async (reply: Awaited<ReturnType<typeof say>>) => (await lab.rows(reply)).map(({ connectionId, outcome, proxyId }) => [connectionId, outcome, proxyId])

describe("the log of calls by proxies", () => {
  it("has each call that left, or was to leave, by a proxy, and no other", async () => {
    await using well = await Proxies.http({ to })
    const [good, bad] = [await create("log-good", well.port), await dead("log-bad")]
    const direct = await say()
    await assign("provider", "lab", good.id)
    const served = await say()
    await assign("provider", "lab", bad.id)
    const failed = await say()
    expect([direct.status, served.status, failed.status]).toEqual([200, 200, 502])
    const [row] = await lab.rows(served)
    expect(await attempts(direct)).toEqual([[lab.connection, "completed", null]])
    expect(await attempts(failed)).toEqual([[lab.connection, "policy", bad.id]])
    const log = (query = "") => call<ReadonlyArray<View>>("GET", `/api/usage/proxy-logs${query}`)
    const [newest, older, ...others] = await log()
    expect(newest).toMatchObject({ proxyId: bad.id, proxyName: "log-bad", status: 502, error: "PROXY_001", outcome: "policy" })
    expect(older).toEqual({
      id: row?.attemptId, requestId: row?.requestId, timestamp: new Date(row?.startedAt ?? 0).toISOString(), proxyId: good.id, proxyName: "log-good", provider: "lab", model: "echo",
      account: older?.["account"], connectionId: lab.connection, apiKeyName: older?.["apiKeyName"], comboName: null, status: 200, outcome: "completed", latencyMs: row?.latencyMs, error: null
    })
    expect(others).toEqual([])
    const found = async (query: string) => (await log(query)).map(({ proxyId }) => proxyId)
    expect(await found("?proxy=LOG-g")).toEqual([good.id])
    expect(await found(`?proxy=${bad.id}`)).toEqual([bad.id])
    expect(await found("?status=error")).toEqual([bad.id])
    expect(await found("?provider=other")).toEqual([])
    expect(await found(`?limit=1&before=${row?.startedAt}.~`)).toEqual([good.id])
    const calls = await call<ReadonlyArray<View>>("GET", `/api/usage/call-logs?requestId=${row?.requestId}`)
    expect(calls.map(({ proxyId }) => proxyId)).toEqual([good.id])
    await call("DELETE", `${PATH}?id=${good.id}&force=1`)
    expect((await log(`?proxy=${good.id}`)).map(({ proxyName }) => proxyName)).toEqual([null])
  })
})
