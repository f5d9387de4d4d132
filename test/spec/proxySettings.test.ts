/** GET, PUT /api/settings/proxy and POST /api/settings/proxy/test: the assignments of proxies by their addresses, and a test of a proxy. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import * as Proxies from "#test/upstream/support/proxies.ts"
import * as ScriptedServer from "#test/upstream/support/scriptedServer.ts"

const PATH = "/api/settings/proxy"
const REGISTRY = "/api/v1/management/proxies"
const CANARY = "canary-pr0xy-passw0rd"

let lab: Lab
let echo: Awaited<ReturnType<typeof ScriptedServer.start>>
/** What the service of public addresses answers next. */
let answer = Buffer.alloc(0)
let to: { readonly host: string; readonly port: number }
beforeAll(async () => {
  echo = await ScriptedServer.start(({ peer }) => peer.write(answer))
  lab = await startLab({ environment: { GATEWAY_PUBLIC_IP_URL: `${echo.origin}/ip?format=json` } })
  to = { host: "127.0.0.1", port: Number(new URL(lab.sim.url).port) }
})
afterAll(async () => {
  await lab.close()
  await echo[Symbol.asyncDispose]()
})
afterEach(async () => {
  await put({ global: null, providers: {}, combos: {}, keys: {} })
  for (const { id } of await records()) await call("DELETE", `${REGISTRY}?id=${id}&force=1`)
  await call("PATCH", "/api/settings", { enableSocks5Proxy: false })
})

const call = <A>(method: string, path: string, body?: unknown) => lab.gateway.operator.call<A>(method, path, body)
const put = (change: unknown) => call("PUT", PATH, change)
const refusal = async (method: string, path: string, body: unknown) => {
  const reply = await lab.gateway.operator.raw(method, path, body)
  return [reply.status, errorIn(reply)["details"]]
}
const records = async () => (await call<{ items: ReadonlyArray<Record<string, unknown>> }>("GET", REGISTRY)).items
const nothing = { global: null, providers: {}, combos: {}, keys: {} }
const at = (port: number, over: Record<string, unknown> = {}) => ({ host: "127.0.0.1", port, ...over })
const shown = (port: number, over: Record<string, unknown> = {}) => ({ type: "http", host: "127.0.0.1", port, username: null, password: null, ...over })

describe("the map", () => {
  it("assigns proxies by their addresses, and requests leave by them", async () => {
    await using proxy = await Proxies.http({ to, expect: `user:${CANARY}` })
    expect(await call("GET", PATH)).toEqual(nothing)
    const place = at(proxy.port, { username: "user", password: CANARY })
    const masked = shown(proxy.port, { username: "[redacted]", password: "[redacted]" })
    expect(await put({ level: "provider", id: "lab", proxy: place })).toEqual({ ...nothing, providers: { lab: masked } })
    expect((await lab.chat({ model: "echo" })).status).toBe(200)
    expect(proxy.tunnels).toEqual([`127.0.0.1:${to.port}`])
    expect(await records()).toMatchObject([{ name: `127.0.0.1:${proxy.port}`, source: "settings", password: "[redacted]" }])
    // What it showed may come back: the credentials stay.
    expect(await put({ providers: { lab: masked } })).toEqual({ ...nothing, providers: { lab: masked } })
    expect(await records()).toHaveLength(1)
    expect((await lab.chat({ model: "echo" })).status).toBe(200)
    expect(await put({ level: "provider", id: "lab", proxy: null })).toEqual(nothing)
    expect(await records()).toEqual([])
  })

  it("replaces the members that are given, and leaves the others", async () => {
    const { id: key } = await lab.gateway.operator.createKey("mapped")
    await put({ global: at(1), providers: { lab: at(2), openai: at(1) }, keys: { [key]: at(3, { type: "https" }) } })
    expect(await call("GET", PATH)).toEqual({ global: shown(1), providers: { lab: shown(2), openai: shown(1) }, combos: {}, keys: { [key]: shown(3, { type: "https" }) } })
    expect((await records()).map(({ port }) => port).toSorted()).toEqual([1, 2, 3])
    expect(await put({ providers: { openai: at(1) } })).toMatchObject({ global: shown(1), providers: { openai: shown(1) }, keys: { [key]: shown(3, { type: "https" }) } })
    expect((await records()).map(({ port }) => port).toSorted()).toEqual([1, 3])
    expect(await put({ global: null, keys: {} })).toEqual({ ...nothing, providers: { openai: shown(1) } })
  })

  it("removes what a member leaves out, whatever its provider is called", async () => {
    await lab.gateway.operator.createNode({ prefix: "constructor", baseUrl: `${lab.sim.url}/v1` })
    expect(await put({ level: "provider", id: "constructor", proxy: at(9) })).toEqual({ ...nothing, providers: { constructor: shown(9) } })
    expect(await put({ providers: {} })).toEqual(nothing)
  })

  it("uses a record of the registry that is the same proxy, and never removes it", async () => {
    const { id } = await call<{ id: string }>("POST", REGISTRY, { name: "office", ...at(4, { password: CANARY }) })
    await put({ level: "global", proxy: at(4, { password: CANARY }) })
    expect(await call("GET", `${REGISTRY}?id=${id}&where_used=1`)).toMatchObject({ count: 1 })
    await put({ level: "global", proxy: at(4, { password: "another" }) })
    expect((await records()).map(({ source }) => source).toSorted()).toEqual(["manual", "settings"])
    await put({ global: null })
    expect((await records()).map(({ name }) => name)).toEqual(["office"])
  })

  it("refuses what is wrong by its path, and then changes nothing", async () => {
    expect(await refusal("PUT", PATH, { global: at(5), providers: { lab: at(1, { host: "http://x" }) } })).toEqual([400, [
      { field: "providers.lab.host", message: "Expected a host name or an IP address, without scheme, port and path" }
    ]])
    expect(await refusal("PUT", PATH, { keys: { nobody: at(1) } })).toEqual([400, [{ field: "keys.nobody", message: "No API key has this id: see GET /api/keys" }]])
    expect(await refusal("PUT", PATH, { level: "combo", proxy: at(1) })).toEqual([400, [{ field: "id", message: "Required for scope combo" }]])
    expect(await refusal("PUT", PATH, { level: "global" })).toEqual([400, [{ field: "proxy", message: "Required beside level: a proxy, or null to remove it" }]])
    expect(await refusal("PUT", PATH, { id: "lab", proxy: null })).toEqual([400, [{ field: "level", message: "Required beside id and proxy" }]])
    expect((await refusal("PUT", PATH, {}))[0]).toBe(400)
    expect(await refusal("PUT", PATH, { level: "global", proxy: at(1, { type: "socks5" }) })).toEqual([400, [
      { field: "proxy.type", message: "SOCKS5 proxies are switched off: set enableSocks5Proxy with PATCH /api/settings" }
    ]])
    expect(await call("GET", PATH)).toEqual(nothing)
    expect(await records()).toEqual([])
  })
})

describe("a test of a proxy", () => {
  const test = (body: Record<string, unknown>) => call<Record<string, unknown>>("POST", `${PATH}/test`, body)

  it("makes a tunnel and tells the public address behind it", async () => {
    for (const [said, publicIp] of [["203.0.113.7\n", "203.0.113.7"], [JSON.stringify({ ip: "2001:db8::7" }), "2001:db8::7"], ["no address", null], ["x".repeat(5_000), null]] as const) {
      await using proxy = await Proxies.http({ to: echo, expect: `user:${CANARY}` })
      answer = Buffer.from(ScriptedServer.answer(said))
      const { latencyMs, ...told } = await test({ proxy: at(proxy.port, { username: "user", password: CANARY }) })
      expect(told).toEqual({ success: true, publicIp, proxyUrl: `http://127.0.0.1:${proxy.port}` })
      expect(Number(latencyMs)).toBeLessThan(10_000)
      expect(proxy.tunnels).toEqual([new URL(echo.origin).host])
    }
    expect(lab.gateway.output()).not.toContain(CANARY)
  })

  it("of a stored proxy uses its credentials, and a tunnel of its own each time", async () => {
    await using proxy = await Proxies.http({ to: echo, expect: `user:${CANARY}` })
    answer = Buffer.from(ScriptedServer.answer("203.0.113.7"))
    const { id: proxyId } = await call<{ id: string }>("POST", REGISTRY, { name: "office", ...at(proxy.port, { username: "user", password: CANARY }) })
    for (let i = 0; i < 2; i++) expect(await test({ proxyId })).toMatchObject({ success: true, publicIp: "203.0.113.7" })
    expect(proxy.tunnels.length).toBe(2)
    expect((await lab.gateway.operator.raw("POST", `${PATH}/test`, { proxyId: "nobody" })).status).toBe(404)
  })

  it("is a success without an address where the service breaks in the tunnel, and a failure where there is no tunnel", async () => {
    await using closing = await ScriptedServer.start(({ peer }) => peer.socket.destroy())
    await using broken = await Proxies.http({ to: closing })
    expect(await test({ proxy: at(broken.port) })).toMatchObject({ success: true, publicIp: null })
    await using refusing = await Proxies.http({ to: echo, expect: "user:right" })
    expect(await test({ proxy: at(refusing.port, { username: "user", password: CANARY }) })).toEqual({ success: false, error: "the proxy under test asks for other credentials (407)" })
    expect(await test({ proxy: at(await ScriptedServer.unusedPort()) })).toEqual({ success: false, error: "the proxy under test cannot be reached (ECONNREFUSED)" })
    expect(await refusal("POST", `${PATH}/test`, { proxy: at(1, { host: "169.254.169.254" }) })).toEqual([400, [
      { field: "proxy.host", message: "169.254.169.254 is refused as a proxy URL (metadata): no flag opens the metadata services of a cloud" }
    ]])
    expect(await refusal("POST", `${PATH}/test`, {})).toEqual([400, [{ field: "proxy", message: "Give either proxy or proxyId" }]])
  })
})
