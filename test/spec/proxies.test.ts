/** What leaves by outbound proxies: requests and the control plane, by what is assigned. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { contentOf, errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { fresh, proxiesOf, simulatorOf } from "#test/support/proxyRecords.ts"
import * as Proxies from "#test/upstream/support/proxies.ts"
import * as ScriptedServer from "#test/upstream/support/scriptedServer.ts"

const PATH = "/api/v1/management/proxies"
const CANARY = "canary-pr0xy-passw0rd"

let lab: Lab
let to: { readonly host: string; readonly port: number }
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
  to = simulatorOf(lab)
})
afterAll(() => lab.close())
afterEach(() => clear())

const { assign, call, clear, create, raw, say, start } = proxiesOf(() => lab)

describe("a call", () => {
  it("leaves by the nearest proxy: key, connection, provider, combo, everything", async () => {
    await using all = await start()
    await using combo = await start()
    await using provider = await start()
    await using account = await start()
    await using own = await start()
    const places = { all, combo, provider, account, own }
    const name = `c-${fresh()}`
    const { id } = await call<{ id: string }>("POST", "/api/combos", { name, models: ["lab/echo"], strategy: "priority" })
    const key = await lab.gateway.operator.createKey("own")
    const other = await lab.gateway.operator.createKey("other")
    await call("PATCH", "/api/settings", { perKeyProxyEnabled: true })
    /** Which proxy got a tunnel for the call. */
    const way = async (model: string, secret: string) => {
      for (const { record } of Object.values(places)) await call("PATCH", PATH, { id: record.id, notes: fresh() })
      const before = Object.values(places).map(({ proxy }) => proxy.tunnels.length)
      expect((await say(model, secret)).status).toBe(200)
      return Object.keys(places).filter((_, index) => Object.values(places)[index]?.proxy.tunnels.length !== before[index])
    }
    expect(await way("echo", key.key)).toEqual([])
    await assign("global", null, all.record.id)
    expect([await way("echo", key.key), await way(`combo/${name}`, key.key)]).toEqual([["all"], ["all"]])
    expect(all.proxy.tunnels[0]).toBe(`127.0.0.1:${to.port}`)
    await assign("combo", id, combo.record.id)
    expect([await way("echo", key.key), await way(`combo/${name}`, key.key)]).toEqual([["all"], ["combo"]])
    await assign("provider", "lab", provider.record.id)
    expect([await way("echo", key.key), await way(`combo/${name}`, key.key)]).toEqual([["provider"], ["provider"]])
    await assign("account", lab.connection, account.record.id)
    expect([await way("echo", key.key), await way(`combo/${name}`, key.key)]).toEqual([["account"], ["account"]])
    await assign("key", key.id, own.record.id)
    expect([await way("echo", key.key), await way(`combo/${name}`, key.key)]).toEqual([["own"], ["own"]])
    expect([await way("echo", other.key), await way(`combo/${name}`, other.key)]).toEqual([["account"], ["account"]])
    await lab.gateway.operator.changeConnection(lab.connection, { perKeyProxyEnabled: false })
    expect(await way("echo", key.key)).toEqual(["account"])
    await lab.gateway.operator.changeConnection(lab.connection, { perKeyProxyEnabled: true, proxyEnabled: false })
    expect(await way("echo", key.key)).toEqual([])
    await lab.gateway.operator.changeConnection(lab.connection, { proxyEnabled: true })
    await call("PATCH", "/api/settings", { perKeyProxyEnabled: false })
    expect(await way("echo", key.key)).toEqual(["account"])
    await call("PATCH", "/api/settings", { proxyEnabled: false })
    expect(await way("echo", key.key)).toEqual([])
  })

  it("leaves by HTTP and SOCKS5 proxies with credentials, streamed too, and no reply or line of the log holds them", async () => {
    await call("PATCH", "/api/settings", { enableSocks5Proxy: true })
    for (const [type, open] of [["http", Proxies.http], ["socks5", Proxies.socks5]] as const) {
      await using proxy = await open({ to, expect: `user:${CANARY}` })
      const record = await create(proxy.port, { type, username: "user", password: CANARY })
      await assign("provider", "lab", record.id)
      await lab.sim.rule({ match: { model: `st-${type}` }, script: { text: "one two three four", paceMs: 1 } })
      const stream = await lab.chat({ model: `st-${type}`, stream: true })
      expect([stream.status, contentOf(stream.text)]).toEqual([200, "one two three four"])
      expect((await say("echo")).status).toBe(200)
      expect([proxy.tunnels[0], proxy.credentials[0]]).toEqual([`127.0.0.1:${to.port}`, `user:${CANARY}`])
      await call("PATCH", PATH, { id: record.id, password: `${CANARY}-wrong` })
      const refused = await say("echo")
      expect([refused.status, errorIn(refused)["code"], errorIn(refused)["proxy"]]).toEqual([502, "PROXY_001", record.id])
      expect(refused.text).not.toContain(CANARY)
    }
    const audit = await raw("GET", "/api/compliance/audit-log?resourceType=proxy")
    expect(audit.text).toContain("proxy.created")
    expect(audit.text).not.toContain(CANARY)
    expect(lab.gateway.output()).not.toContain(CANARY)
  })

  it("whose proxy is away fails, goes no other way, names the proxy, and counts against no breaker and no connection", async () => {
    const nobody = await create(await ScriptedServer.unusedPort())
    await assign("provider", "lab", nobody.id)
    const model = fresh()
    for (let i = 0; i < 12; i++) {
      const reply = await say(model)
      expect([reply.status, errorIn(reply)]).toMatchObject([502, {
        code: "PROXY_001", type: "server_error", proxy: nobody.id,
        message: `Provider lab cannot be reached: the proxy ${nobody.id} cannot be reached (ECONNREFUSED). See GET /api/v1/management/proxies.`
      }])
    }
    expect(await lab.sim.entries({ model })).toEqual([])
    await assign("provider", "lab", null)
    expect((await say(model)).status).toBe(200)
    const [first] = await lab.rows(await say(model))
    expect(first).toMatchObject({ outcome: "completed" })
  })

  it("falls back to a connection with another proxy", async () => {
    const nobody = await create(await ScriptedServer.unusedPort())
    await using well = await start()
    const prefix = `p${fresh().slice(2)}`
    const [one = "", two = ""] = await lab.pool(prefix, ["first-credential-0", "second-credential-1"])
    await assign("account", one, nobody.id)
    await assign("account", two, well.record.id)
    const reply = await say(`${prefix}/echo`)
    expect(reply.status).toBe(200)
    expect((await lab.rows(reply)).map(({ connectionId, errorCode, outcome }) => [connectionId, outcome, errorCode])).toEqual([[one, "policy", "PROXY_001"], [two, "completed", null]])
  })

  it("is refused by an inactive proxy and by a SOCKS5 proxy that is not allowed, without a call", async () => {
    await using off = await start({ status: "inactive" })
    await assign("provider", "lab", off.record.id)
    const reply = await say("echo")
    expect([reply.status, errorIn(reply)["message"]]).toEqual([502,
      `Provider lab cannot be reached: the proxy ${off.record.id} is inactive: activate it, or remove its assignments. See GET /api/v1/management/proxies.`])
    expect(off.proxy.sockets).toEqual([])
    await call("PATCH", "/api/settings", { enableSocks5Proxy: true })
    await using socks = await Proxies.socks5({ to })
    const record = await create(socks.port, { type: "socks5" })
    await assign("provider", "lab", record.id)
    expect((await say("echo")).status).toBe(200)
    await call("PATCH", "/api/settings", { enableSocks5Proxy: false })
    const refused = await say("echo")
    expect([refused.status, errorIn(refused)["code"]]).toEqual([502, "PROXY_001"])
  })

  it("in the middle of its stream ends with an error when its proxy is killed, and the next one says so", async () => {
    const killed = await start()
    await assign("provider", "lab", killed.record.id)
    const model = fresh()
    await lab.sim.rule({ match: { model }, script: { text: "word ".repeat(500), paceMs: 20 } })
    const opened = await lab.stream({ model })
    await opened.until((text) => text.includes("word"))
    await killed.proxy[Symbol.asyncDispose]()
    const { text, whole } = await opened.ended
    expect([whole, text.includes("\"code\":\"upstream_reset\""), text.trimEnd().endsWith("data: [DONE]")]).toEqual([true, true, true])
    const next = await say("echo")
    expect([next.status, errorIn(next)["code"]]).toEqual([502, "PROXY_001"])
  })

  it("uses no socket of a proxy that was changed or removed", async () => {
    await using first = await start()
    await using second = await Proxies.http({ to })
    await assign("provider", "lab", first.record.id)
    expect((await say("echo")).status).toBe(200)
    expect((await say("echo")).status).toBe(200)
    expect(first.proxy.tunnels.length).toBe(1)
    await call("PATCH", PATH, { id: first.record.id, port: second.port })
    await first.proxy.firstClosed
    expect((await say("echo")).status).toBe(200)
    expect([first.proxy.tunnels.length, second.tunnels.length]).toEqual([1, 1])
    await call("DELETE", `${PATH}?id=${first.record.id}&force=1`)
    await second.firstClosed
    expect((await say("echo")).status).toBe(200)
    expect(second.tunnels.length).toBe(1)
  })

  it("cannot reach a forbidden target by its proxy", async () => {
    await using proxy = await start()
    await assign("global", null, proxy.record.id)
    const made = await raw("POST", "/api/provider-nodes", { type: "openai-compatible", apiType: "chat", name: "meta", prefix: "meta", baseUrl: "http://169.254.169.254/v1" })
    expect(made.status).toBe(400)
    expect(proxy.proxy.tunnels).toEqual([])
  })
})

describe("the control plane", () => {
  const test = () => call<{ valid: boolean; error: string | null }>("POST", `/api/providers/${lab.connection}/test`)

  it("tests connections and reads lists of models by their proxy, and offered credentials by the provider's", async () => {
    await using account = await start()
    await using provider = await start()
    await assign("account", lab.connection, account.record.id)
    await assign("provider", "lab", provider.record.id)
    expect(await test()).toMatchObject({ valid: true })
    expect([account.proxy.tunnels.length, provider.proxy.tunnels.length]).toEqual([1, 0])
    await call("POST", `/api/providers/${lab.connection}/sync-models`)
    expect(account.proxy.tunnels.length + provider.proxy.tunnels.length).toBeGreaterThan(0)
    expect(await call("POST", "/api/providers/validate", { provider: "lab", apiKey: "sk-offered-credential" })).toMatchObject({ valid: true })
    expect(provider.proxy.tunnels.length).toBe(1)
  })

  it("goes direct where the proxy is away while its flag is on, and at no other time", async () => {
    const nobody = await create(await ScriptedServer.unusedPort())
    await assign("account", lab.connection, nobody.id)
    expect(await test()).toMatchObject({ valid: false, error: `the proxy ${nobody.id} cannot be reached (ECONNREFUSED)` })
    await lab.gateway.operator.setFlag("GATEWAY_CONTROL_PLANE_PROXY_DIRECT_FALLBACK", "true")
    expect(await test()).toMatchObject({ valid: true, error: null })
    expect(lab.gateway.output()).toContain("goes direct (GATEWAY_CONTROL_PLANE_PROXY_DIRECT_FALLBACK)")
    expect((await say("echo")).status).toBe(502)
    await call("PATCH", PATH, { id: nobody.id, status: "inactive" })
    expect(await test()).toMatchObject({ valid: false })
  })
})
