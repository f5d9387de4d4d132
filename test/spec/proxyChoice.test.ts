/** Which proxy a call leaves by where there is a choice, what is set aside, and the log of calls by proxies. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { fresh, proxiesOf, type ProxyView, simulatorOf } from "#test/support/proxyRecords.ts"
import * as Proxies from "#test/upstream/support/proxies.ts"
import * as ScriptedServer from "#test/upstream/support/scriptedServer.ts"

const PATH = "/api/v1/management/proxies"

let lab: Lab
let to: { readonly host: string; readonly port: number }
beforeAll(async () => {
  lab = await startLab()
  to = simulatorOf(lab)
})
afterAll(() => lab.close())
afterEach(() => clear())

const { assign, call, clear } = proxiesOf(() => lab)

const create = (name: string, port: number, over: Record<string, unknown> = {}) => call<ProxyView>("POST", PATH, { name, host: "127.0.0.1", port, ...over })
const dead = async (name: string) => create(name, await ScriptedServer.unusedPort())
const flag = (key: string) => lab.gateway.operator.setFlag(key, "true")
const say = (model = "echo") => lab.chat({ model })
const healthOf = async (id: string) => (await call<{ items: ReadonlyArray<ProxyView> }>("GET", `${PATH}/health`)).items.find(({ proxyId }) => proxyId === id)
const attempts = async (reply: Awaited<ReturnType<typeof say>>) => (await lab.rows(reply)).map(({ connectionId, outcome, proxyId }) => [connectionId, outcome, proxyId])
/** Two accounts of one node, each with its proxy. */
const pair = async (one: ProxyView, two: ProxyView) => {
  const prefix = `p${fresh().slice(2)}`
  const [a = "", b = ""] = await lab.pool(prefix, ["first-credential-0", "second-credential-1"])
  await assign("account", a, one.id)
  await assign("account", b, two.id)
  return { model: `${prefix}/echo`, a, b }
}

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
    const log = (query = "") => call<ReadonlyArray<ProxyView>>("GET", `/api/usage/proxy-logs${query}`)
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
    const calls = await call<ReadonlyArray<ProxyView>>("GET", `/api/usage/call-logs?requestId=${row?.requestId}`)
    expect(calls.map(({ proxyId }) => proxyId)).toEqual([good.id])
    await call("DELETE", `${PATH}?id=${good.id}&force=1`)
    expect((await log(`?proxy=${good.id}`)).map(({ proxyName }) => proxyName)).toEqual([null])
  })
})

describe("a call without an assignment, while proxies are chosen", () => {
  const resolved = () => call<{ readonly level: string; readonly levelId: null; readonly proxy: ProxyView | null }>("GET", `${PATH}/assignments?resolve_connection_id=${lab.connection}`)

  it("leaves by the first working proxy, asks the next where one makes no tunnel, and never goes direct", async () => {
    await using well = await Proxies.http({ to })
    const [bad, good] = [await dead("a-bad"), await create("b-good", well.port)]
    expect([(await say()).status, well.tunnels.length]).toEqual([200, 0])
    expect(await resolved()).toEqual({ connectionId: lab.connection, level: "direct", levelId: null, proxy: null })
    await flag("PROXY_AUTO_SELECT_ENABLED")
    expect((await resolved()).proxy?.id).toBe(bad.id)
    const first = await say()
    expect([first.status, await attempts(first)]).toEqual([200, [[lab.connection, "completed", good.id]]])
    expect(await healthOf(bad.id)).toMatchObject({ failureCount: 1, failuresInARow: 1, setAsideUntil: expect.stringMatching(/^2\d{3}-/) })
    expect(await healthOf(good.id)).toMatchObject({ failuresInARow: 0, setAsideUntil: null })
    expect(await resolved()).toMatchObject({ level: "auto", levelId: null, proxy: { id: good.id } })
    // Its socket is closed with the change, so that the next call makes a tunnel again.
    await call("PATCH", PATH, { id: good.id, notes: fresh() })
    expect((await say()).status).toBe(200)
    expect([well.tunnels.length, (await healthOf(bad.id))?.["failureCount"]]).toEqual([2, 1])
    await call("PATCH", PATH, { id: good.id, port: await ScriptedServer.unusedPort() })
    const model = fresh()
    const none = await say(model)
    expect([none.status, errorIn(none)["code"], errorIn(none)["proxy"], await attempts(none)]).toEqual([502, "PROXY_001", bad.id, [[lab.connection, "policy", bad.id]]])
    expect(await lab.sim.entries({ model })).toEqual([])
  })

  it("keeps to its assignment, and to going direct where its connection says so or no proxy may be used", async () => {
    await using well = await Proxies.http({ to })
    await using socks = await Proxies.socks5({ to })
    const off = await create("a-off", await ScriptedServer.unusedPort(), { status: "inactive" })
    await flag("PROXY_AUTO_SELECT_ENABLED")
    expect(await attempts(await say())).toEqual([[lab.connection, "completed", null]])
    await call("PATCH", "/api/settings", { enableSocks5Proxy: true })
    const other = await create("b-socks", socks.port, { type: "socks5" })
    expect(await attempts(await say())).toEqual([[lab.connection, "completed", other.id]])
    await assign("provider", "lab", off.id)
    expect((await say()).status).toBe(502)
    const own = await create("c-own", well.port)
    await assign("provider", "lab", own.id)
    expect(await attempts(await say())).toEqual([[lab.connection, "completed", own.id]])
    await assign("provider", "lab", null)
    await lab.gateway.operator.changeConnection(lab.connection, { proxyEnabled: false })
    expect(await attempts(await say())).toEqual([[lab.connection, "completed", null]])
    await lab.gateway.operator.changeConnection(lab.connection, { proxyEnabled: true })
  })

  it("is the control plane's way, too", async () => {
    await using well = await Proxies.http({ to })
    await dead("a-bad")
    await create("b-good", well.port)
    await flag("PROXY_AUTO_SELECT_ENABLED")
    expect(await call("POST", `/api/providers/${lab.connection}/test`)).toMatchObject({ valid: true })
    expect(well.tunnels.length).toBe(1)
  })
})

describe("a proxy that failed a short while ago", () => {
  it("is passed over by plans while the flag is on and another target is left, and until its record is changed", async () => {
    await using well = await Proxies.http({ to })
    const [bad, good] = [await dead("a-bad"), await create("b-good", well.port)]
    const { a, b, model } = await pair(bad, good)
    const both = [[a, "policy", bad.id], [b, "completed", good.id]]
    expect([await attempts(await say(model)), await attempts(await say(model))]).toEqual([both, both])
    await flag("PROXY_SKIP_RECENTLY_FAILED")
    expect(await attempts(await say(model))).toEqual([[b, "completed", good.id]])
    await call("PATCH", PATH, { id: bad.id, notes: "changed" })
    expect((await healthOf(bad.id))?.["setAsideUntil"]).toBeNull()
    expect(await attempts(await say(model))).toEqual(both)
    expect(await attempts(await say(model))).toEqual([[b, "completed", good.id]])
  })

  it("is asked as ever where every target's proxy is set aside", async () => {
    const [one, two] = [await dead("a-bad"), await dead("b-bad")]
    const { a, b, model } = await pair(one, two)
    await flag("PROXY_SKIP_RECENTLY_FAILED")
    for (let i = 0; i < 3; i++) {
      const reply = await say(model)
      expect([reply.status, errorIn(reply)["code"], reply.headers["retry-after"]]).toEqual([502, "PROXY_001", undefined])
      expect(await attempts(reply)).toEqual([[a, "policy", one.id], [b, "policy", two.id]])
    }
  })

  it("is not one that says that it cannot reach the target", async () => {
    await using refusing = await Proxies.http({ to, instead: "HTTP/1.1 502 Bad Gateway\r\n\r\n" })
    await using asking = await Proxies.http({ to, expect: "user:pw" })
    const [one, two] = [await create("a", refusing.port), await create("b", asking.port)]
    for (const { id } of [one, two]) {
      await assign("provider", "lab", id)
      expect((await say()).status).toBe(502)
    }
    expect([(await healthOf(one.id))?.["failuresInARow"], (await healthOf(two.id))?.["failuresInARow"]]).toEqual([0, 1])
    expect(await call("POST", "/api/settings/proxy/test", { proxyId: two.id })).toMatchObject({ success: false })
    expect((await healthOf(two.id))?.["failuresInARow"]).toBe(1)
  })
})
