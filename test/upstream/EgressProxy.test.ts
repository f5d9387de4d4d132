import { describe, expect, it } from "vitest"
import type { OutboundProxy } from "#actors/request/ports/OutboundProxy.ts"
import * as EgressProxy from "#src/platform/upstream/EgressProxy.ts"
import { TunnelCounts } from "#src/platform/upstream/egress/TunnelCounts.ts"
import * as Client from "./support/client.ts"
import * as Proxies from "./support/proxies.ts"
import * as ScriptedServer from "./support/scriptedServer.ts"
import { cert, key } from "./support/selfSigned.ts"

/** A resolver that must not be asked: names are the proxy's to resolve. */
const noResolver = (): never => {
  throw new Error("a proxied call must not resolve names here")
}

const kinds: ReadonlyArray<readonly [string, (options: Proxies.ProxyOptions) => Promise<Proxies.LocalProxy>, string]> = [
  ["http", Proxies.http, "http"],
  ["https", (options) => Proxies.http({ ...options, tls: true }), "https"],
  ["socks5", Proxies.socks5, "socks5"]
]

describe.each(kinds)("an egress proxy (%s)", (_name, start, scheme) => {
  const open = () => Client.open({ ca: [cert], resolve: noResolver })

  it("carries a plain and a TLS call to a name that only the proxy can resolve, byte by byte if need be", async () => {
    await using plain = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("plain")))
    await using secure = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("secure")), { tls: { key, cert } })
    await using client = await open()
    for (const [target, origin, text] of [[plain, "http://upstream.test:8080", "plain"], [secure, "https://upstream.test", "secure"]] as const) {
      await using proxy = await start({ to: { host: "127.0.0.1", port: target.port }, slow: true })
      const run = Client.run(client.upstream, Client.requestTo(origin, { proxy: Client.proxyAt(`${scheme}://127.0.0.1:${proxy.port}`) }))
      expect((await run.over).failure).toBeNull()
      expect(run.text()).toBe(text)
      expect(proxy.tunnels).toEqual([`upstream.test:${text === "plain" ? 8080 : 443}`])
    }
  })

  it("gets the credentials of its URL, decoded, and the upstream never sees them", async () => {
    const requests: Array<ScriptedServer.RequestSeen> = []
    await using server = await ScriptedServer.start((request) => {
      requests.push(request)
      request.peer.write(ScriptedServer.answer("ok"))
    })
    await using proxy = await start({ to: server, expect: "us er:p@ss:ü" })
    await using client = await open()
    const url = `${scheme}://us%20er:p%40ss%3A%C3%BC@127.0.0.1:${proxy.port}`
    const run = Client.run(client.upstream, Client.requestTo(server.origin, { proxy: Client.proxyAt(url) }))
    expect((await run.over).failure).toBeNull()
    expect(proxy.credentials).toEqual(["us er:p@ss:ü"])
    expect(requests[0]?.head).not.toMatch(/proxy|us er/i)
  })

  it("that refuses the credentials is a proxy failure; nothing goes direct and no message holds them", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("direct!")))
    await using proxy = await start({ to: server, expect: "user:right" })
    await using client = await open()
    for (const credentials of ["user:canary@", "canary@", ""]) {
      const seen = await Client.run(client.upstream, Client.requestTo(server.origin, { proxy: Client.proxyAt(`${scheme}://${credentials}127.0.0.1:${proxy.port}`) })).over
      expect(seen.failure).toMatchObject({ reason: "proxy", phase: "connect", retry: "safe", source: "gateway" })
      expect(seen.failure?.message).not.toContain("canary")
    }
    expect(server.peers.length).toBe(0)
  })

  it("that is not there, closes, or talks nonsense is a proxy failure and nothing goes direct", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("direct!")))
    await using nonsense = await start({ to: server, instead: "HTTP/1.1 502 Bad Gateway\r\n\r\n" })
    await using garbage = await start({ to: server, instead: "\u0007 what?\r\n\r\n" })
    await using endless = await start({ to: server, instead: `HTTP/1.1 200 OK\r\nx: ${"a".repeat(40_000)}` })
    await using closing = await ScriptedServer.start(() => {}, { onConnect: (peer) => peer.socket.once("data", () => peer.socket.end()) })
    await using client = await open()
    for (const port of [nonsense.port, garbage.port, endless.port, closing.port, await ScriptedServer.unusedPort()]) {
      const seen = await Client.run(client.upstream, Client.requestTo(server.origin, { proxy: Client.proxyAt(`${scheme}://127.0.0.1:${port}`) })).over
      expect(seen.failure).toMatchObject({ reason: "proxy", phase: "connect", retry: "safe", source: "gateway" })
    }
    expect(server.peers.length).toBe(0)
  })

  it("that never answers is ended by the connect deadline, and by abort at once", async () => {
    await using server = await ScriptedServer.start(() => {})
    await using client = await Client.open({ ca: [cert], resolve: noResolver, tickMs: 20 })
    await using first = await start({ to: server, silent: true })
    const timeouts = { ...Client.noTimeouts, connect: 150 }
    const run = Client.run(client.upstream, Client.requestTo(server.origin, { proxy: Client.proxyAt(`${scheme}://127.0.0.1:${first.port}`), timeouts }))
    expect((await run.over).failure).toMatchObject({ reason: "proxy", source: "gateway", phase: "connect", retry: "safe" })
    await first.firstClosed
    await using second = await start({ to: server, silent: true })
    const aborted = Client.run(client.upstream, Client.requestTo(server.origin, { proxy: Client.proxyAt(`${scheme}://127.0.0.1:${second.port}`) }))
    while (second.sockets.length === 0) await new Promise(setImmediate)
    aborted.call.abort()
    await second.firstClosed
    expect(aborted.seen).toMatchObject({ ended: false, failure: null, late: 0 })
  })

  it("keeps backpressure, abort and keep-alive", async () => {
    const body = Buffer.alloc(20 * 1024 * 1024, "abcd")
    await using server = await ScriptedServer.start(({ head, peer }) => peer.write(ScriptedServer.answer(head.startsWith("GET /small") ? "small" : body)))
    await using proxy = await start({ to: server })
    await using client = await open()
    const ask = (path: string) => Client.requestTo(server.origin, { method: "GET", body: null, path, proxy: Client.proxyAt(`${scheme}://127.0.0.1:${proxy.port}`) })
    expect((await Client.run(client.upstream, ask("/small")).over).ended).toBe(true)
    for (let i = 0; i < 3; i++) await new Promise(setImmediate)
    const paused = Client.run(client.upstream, ask("/big"), { onHead: (call) => call().pause() })
    await paused.head
    for (let i = 0; i < 200; i++) await new Promise(setImmediate)
    expect(paused.seen.bytes).toBeLessThanOrEqual(128 * 1024)
    paused.call.resume()
    const seen = await paused.over
    expect(seen).toMatchObject({ ended: true, bytes: body.length, late: 0 })
    expect(proxy.tunnels.length).toBe(1)
    const cut = Client.run(client.upstream, ask("/big"))
    await cut.nextData()
    cut.call.abort()
    await proxy.firstClosed
    expect(cut.seen).toMatchObject({ ended: false, failure: null, late: 0 })
  })

  it("keeps a TLS tunnel for the next call, its proxy's address checked again", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("ok")), { tls: { key, cert } })
    await using proxy = await start({ to: server })
    await using client = await Client.open({ ca: [cert], resolve: noResolver, recheckMs: 0 })
    for (let i = 0; i < 3; i++) {
      const run = Client.run(client.upstream, Client.requestTo("https://upstream.test", { proxy: Client.proxyAt(`${scheme}://127.0.0.1:${proxy.port}`) }))
      expect((await run.over).failure).toBeNull()
      for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    }
    expect(proxy.tunnels.length).toBe(1)
  })

  it("is not asked for metadata services, and is itself subject to the guard", async () => {
    await using server = await ScriptedServer.start(() => {})
    await using proxy = await start({ to: server })
    await using client = await open()
    for (const origin of ["http://169.254.169.254", "http://metadata.google.internal", "http://0xa9fea9fe", "http://[::ffff:a9fe:a9fe]"]) {
      const seen = await Client.run(client.upstream, Client.requestTo(origin, { proxy: Client.proxyAt(`${scheme}://127.0.0.1:${proxy.port}`) })).over
      expect(seen.failure).toMatchObject({ reason: "blocked-url", source: "gateway", retry: "never" })
    }
    expect(proxy.tunnels).toEqual([])
    await using strict = await Client.open({ policy: () => ({ local: false, private: false, guard: true }) })
    const seen = await Client.run(strict.upstream, Client.requestTo("https://upstream.test", { proxy: Client.proxyAt(`${scheme}://127.0.0.1:${proxy.port}`) })).over
    expect(seen.failure).toMatchObject({ reason: "blocked-url", source: "gateway" })
    const own = await Client.run(strict.upstream, Client.requestTo("https://localhost", { proxy: Client.proxyAt(`${scheme}://127.0.0.1:${proxy.port}`) })).over
    expect(own.failure).toMatchObject({ reason: "blocked-url" })
    const metadata = await Client.run(client.upstream, Client.requestTo("https://upstream.test", { proxy: Client.proxyAt(`${scheme}://2852039166:80`) })).over
    expect(metadata.failure).toMatchObject({ reason: "blocked-url" })
  })

  it("is named by its id, without its address, and its tunnels and failures are counted", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("ok")))
    await using proxy = await start({ to: server })
    const tunnels = new TunnelCounts(() => 0)
    await using client = await Client.open({ ca: [cert], resolve: noResolver, tunnels })
    const ask = (port: number, id: string, over: Partial<OutboundProxy> = {}) =>
      Client.run(client.upstream, Client.requestTo(server.origin, { proxy: Client.proxyAt(`${scheme}://127.0.0.1:${port}`, { id, ...over }) })).over
    tunnels.asides.failed({ id: "well", revision: "" }, 0)
    for (let i = 0; i < 2; i++) expect((await ask(proxy.port, "well")).failure).toBeNull()
    const nobody = await ScriptedServer.unusedPort()
    const gone = await ask(nobody, "gone")
    expect(gone.failure?.message).toBe("the proxy gone cannot be reached (ECONNREFUSED)")
    const off = await ask(proxy.port, "off", { refusal: "is inactive" })
    expect(off.failure).toMatchObject({ reason: "proxy", phase: "queue", source: "gateway", message: "the proxy off is inactive" })
    const counts = tunnels.take()
    expect([...counts.keys()]).toEqual(["well", "gone"])
    expect(counts.get("well")).toMatchObject({ made: proxy.tunnels.length, failed: 0, lastError: null })
    expect(counts.get("gone")).toEqual({ made: 0, failed: 1, latencyMs: 0, lastError: "the proxy gone cannot be reached (ECONNREFUSED)" })
    expect(tunnels.take().size).toBe(0)
    expect([tunnels.asides.of("well", 0), tunnels.asides.of("gone", 0)?.failures, tunnels.asides.of("off", 0)]).toEqual([null, 1, null])
  })

  it("that is used no more loses its idle sockets at once, and a running call ends as it would", async () => {
    await using server = await ScriptedServer.start(({ head, peer }) => peer.write(ScriptedServer.answer(head.startsWith("GET /big") ? Buffer.alloc(8 * 1024 * 1024, "abcd") : "small")))
    await using proxy = await start({ to: server })
    let tell: (revisions: ReadonlySet<string>) => void = () => {}
    await using client = await Client.open({ ca: [cert], resolve: noResolver, keepAliveMs: 600_000, onProxies: (listener) => {
      tell = listener
      return () => {}
    } })
    const url = `${scheme}://127.0.0.1:${proxy.port}`
    const ask = (path: string) => Client.requestTo(server.origin, { method: "GET", body: null, path, proxy: Client.proxyAt(url) })
    const big = Client.run(client.upstream, ask("/big"), { onHead: (call) => call().pause() })
    await big.head
    expect((await Client.run(client.upstream, ask("/small")).over).ended).toBe(true)
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    expect(proxy.tunnels.length).toBe(2)
    tell(new Set([url]))
    expect((await Client.run(client.upstream, ask("/small")).over).ended).toBe(true)
    expect(proxy.tunnels.length).toBe(2)
    for (let turn = 0; turn < 3; turn++) await new Promise(setImmediate)
    tell(new Set())
    await proxy.firstClosed
    big.call.resume()
    expect(await big.over).toMatchObject({ ended: true, bytes: 8 * 1024 * 1024, failure: null })
    expect((await Client.run(client.upstream, ask("/small")).over).ended).toBe(true)
    expect(proxy.tunnels.length).toBe(3)
  })

  it("blames TLS of the target on the target", async () => {
    await using secure = await ScriptedServer.start(() => {}, { tls: { key, cert } })
    await using proxy = await start({ to: secure })
    await using client = await open()
    const seen = await Client.run(client.upstream, Client.requestTo("https://other.test", { proxy: Client.proxyAt(`${scheme}://127.0.0.1:${proxy.port}`) })).over
    expect(seen.failure).toMatchObject({ reason: "tls", phase: "connect", retry: "safe" })
  })
})

describe("a proxy that takes connections and says nothing", () => {
  it("is given up after its own, shorter time while TLS to it is made", async () => {
    await using silent = await ScriptedServer.start(() => {})
    await using client = await Client.open({ proxyConnectMs: 50 })
    const seen = await Client.run(client.upstream, Client.requestTo(silent.origin, { proxy: Client.proxyAt(silent.origin.replace("http:", "https:")) })).over
    expect(seen.failure).toMatchObject({
      reason: "proxy", phase: "connect", retry: "safe", source: "gateway",
      message: "the proxy p1 cannot be reached: no connection was made within 50 ms (PROXY_FAST_FAIL_TIMEOUT_MS)"
    })
  })
})

describe("a proxy URL", () => {
  it("is read with its defaults, and a wrong one is refused without a call", async () => {
    expect(EgressProxy.parse("http://p.test")).toMatchObject({ type: "http", host: "p.test", port: 80, username: "", password: "" })
    expect(EgressProxy.parse("https://p.test")).toMatchObject({ type: "https", port: 443 })
    expect(EgressProxy.parse("socks5://[::1]")).toMatchObject({ type: "socks5", host: "::1", port: 1080 })
    expect(EgressProxy.parse("socks5://p.test:80")).toMatchObject({ port: 80 })
    for (const url of ["ftp://p.test", "p.test:8080", "http://", "socks4://p.test"]) expect(typeof EgressProxy.parse(url)).toBe("string")
  })
})
