import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { describe, expect, it } from "vitest"
import { Flags } from "#actors/ports/Flags.ts"
import { UrlBlocked, UrlGuard } from "#actors/ports/UrlGuard.ts"
import type { UrlPurpose } from "#actors/ports/UrlGuard.ts"
import type { Policy } from "#src/platform/upstream/addressRules.ts"
import type { Resolve } from "#src/platform/upstream/Resolver.ts"
import * as AddressGuard from "#src/platform/upstream/AddressGuard.ts"
import * as Client from "./support/client.ts"
import * as ScriptedServer from "./support/scriptedServer.ts"

/** Answers from a table; a name that is an address in any spelling that getaddrinfo knows must never get here. */
const table = (names: Readonly<Record<string, ReadonlyArray<string>>>): Resolve => (host, done) => done(null, names[host] ?? [])

const names = {
  "public.test": ["93.184.216.34"],
  "localhost": ["127.0.0.1"],
  "lan.test": ["192.168.1.9"],
  "mixed.test": ["93.184.216.34", "127.0.0.1"],
  "metadata.test": ["169.254.169.254"],
  "nat64.test": ["64:ff9b::5db8:d822"],
  "nat64-metadata.test": ["64:ff9b::a9fe:a9fe"]
}

const policies = {
  default: { local: true, private: false, guard: true },
  strict: { local: false, private: false, guard: true },
  private: { local: true, private: true, guard: true },
  off: { local: true, private: true, guard: false }
} satisfies Record<string, Policy>

const verdict = async (url: string, purpose: UrlPurpose, policy: Policy): Promise<string> => {
  const guard = AddressGuard.make({ policy: () => policy, resolve: table(names) })
  return Effect.runPromise(Effect.match(guard.check(url, purpose), {
    onSuccess: (addresses) => `ok ${addresses.join(",")}`,
    onFailure: (error) => error.reason
  }))
}

const disguises: ReadonlyArray<string> = [
  "http://169.254.169.254/latest/meta-data", "http://2852039166/", "http://0xa9fea9fe/", "http://0xA9.0xFE.0xA9.0xFE/",
  "http://0251.0376.0251.0376/", "http://0251.254.43518/", "http://169.254.43518/", "http://169.16689662/", "http://169.254.169.254./",
  "http://[::ffff:169.254.169.254]/", "http://[::ffff:a9fe:a9fe]/", "http://[0:0:0:0:0:FFFF:A9FE:A9FE]/", "http://[::169.254.169.254]/",
  "http://[64:ff9b::169.254.169.254]/", "http://[64:ff9b::a9fe:a9fe]/", "http://[2002:a9fe:a9fe::]/", "http://[2002:a9fe:a9fe::1]/",
  "http://[2606::5efe:a9fe:a9fe]/", "http://[fe80::a9fe:a9fe]/", "http://[fd00:ec2::254]/", "http://[FD00:EC2::254]/", "http://[fd20:ce::254]/",
  "http://%31%36%39.254.169.254/", "http://169%2E254%2E169%2E254/", "http://１６９.２５４.１６９.２５４/", "http://169。254。169。254/", "http://①⑥⑨.254.169.254/",
  "http://metadata.google.internal/computeMetadata/v1", "http://METADATA.google.INTERNAL/", "http://metadata.google.internal./", "http://metadata/",
  "http://ｍｅｔａｄａｔａ.google.internal/", "http://m%65tadata.google.internal/", "http://metadata.goog/", "http://instance-data/",
  "http://100.100.100.200/", "http://1684301000/", "http://168.63.129.16/", "http://169.254.170.2/v2/credentials", "http://192.0.0.192/",
  "http://metadata.test/", "http://nat64-metadata.test/", "HTTP://169.254.169.254/", "  http://169.254.169.254/", "http:169.254.169.254", "http:\\\\169.254.169.254\\"
]

describe("cloud metadata", () => {
  it.each(disguises)("%s is refused for every purpose under every flag", async (url) => {
    for (const policy of Object.values(policies)) {
      for (const purpose of ["provider", "webhook", "media", "web-fetch", "proxy", "polling", "oidc"] as const) {
        expect(await verdict(url, purpose, policy)).toBe("metadata")
      }
    }
  })

  it("is refused as a proxy in the socks5 spelling too", async () => {
    for (const url of ["socks5://2852039166:1080", "socks5://u:p@0xa9fea9fe", "SOCKS5://[::ffff:a9fe:a9fe]:1080", "socks5://metadata.google.internal"]) {
      expect(await verdict(url, "proxy", policies.off)).toBe("metadata")
    }
  })
})

describe("a URL", () => {
  const rows: ReadonlyArray<readonly [string, UrlPurpose, Policy, string]> = [
    ["https://public.test/v1", "provider", policies.strict, "ok 93.184.216.34"],
    ["https://public.test/v1", "webhook", policies.default, "ok 93.184.216.34"],
    ["https://8.8.8.8/", "media", policies.default, "ok 8.8.8.8"],
    ["http://[2606:4700::1]/", "media", policies.default, "ok 2606:4700::1"],
    ["http://nat64.test/", "webhook", policies.default, "ok 64:ff9b::5db8:d822"],
    ["http://localhost:11434/v1", "provider", policies.default, "ok 127.0.0.1"],
    ["http://localhost:11434/v1", "provider", policies.strict, "loopback"],
    ["http://localhost:11434/v1", "provider", policies.off, "ok 127.0.0.1"],
    ["http://localhost/", "webhook", policies.private, "loopback"],
    ["http://127.1/", "web-fetch", policies.default, "loopback"],
    ["http://0177.0.0.1/", "web-fetch", policies.default, "loopback"],
    ["http://[::1]:9/", "media", policies.private, "loopback"],
    ["http://[::ffff:127.0.0.1]/", "media", policies.private, "loopback"],
    ["http://[::ffff:8.8.8.8]/", "webhook", policies.default, "private"],
    ["http://lan.test/", "provider", policies.default, "ok 192.168.1.9"],
    ["http://lan.test/", "provider", policies.strict, "private"],
    ["http://lan.test/", "media", policies.private, "private"],
    ["http://100.64.0.1/", "provider", policies.default, "private"],
    ["http://100.64.0.1/", "provider", policies.private, "ok 100.64.0.1"],
    ["http://169.254.1.1/", "provider", policies.default, "link-local"],
    ["http://169.254.1.1/", "provider", policies.private, "ok 169.254.1.1"],
    ["http://0.0.0.0:11434/", "provider", policies.private, "unspecified"],
    ["http://224.0.0.1/", "provider", policies.private, "multicast"],
    ["http://mixed.test/", "webhook", policies.default, "loopback"],
    ["http://none.test/", "webhook", policies.default, "unresolvable"],
    ["ftp://public.test/", "webhook", policies.off, "scheme"],
    ["file:///etc/passwd", "media", policies.off, "scheme"],
    ["gopher://127.0.0.1:6379/_x", "media", policies.off, "scheme"],
    ["javascript:alert(1)", "media", policies.off, "scheme"],
    ["socks5://public.test", "provider", policies.off, "scheme"],
    ["/relative", "media", policies.off, "malformed"],
    ["http://", "media", policies.off, "malformed"],
    ["http://a b/", "media", policies.off, "malformed"],
    ["http://999.1.1.1/", "media", policies.off, "malformed"],
    [`http://public.test/${"a".repeat(9_000)}`, "media", policies.off, "malformed"],
    ["https://user:pass@public.test/", "webhook", policies.off, "credentials"],
    ["https://public.test@127.0.0.1/", "webhook", policies.default, "credentials"],
    ["http://user:pass@lan.test:8080", "proxy", policies.default, "ok 192.168.1.9"],
    ["socks5://lan.test:1080", "proxy", policies.default, "ok 192.168.1.9"],
    ["socks5://lan.test:1080", "proxy", policies.strict, "private"]
  ]
  it.each(rows)("%s for %s under %o is %s", async (url, purpose, policy, expected) => {
    expect(await verdict(url, purpose, policy)).toBe(expected)
  })

  it("that is refused is shown without credentials and query, with the knob that opens it", async () => {
    const guard = AddressGuard.make({ policy: () => policies.strict, resolve: table(names) })
    const error = await Effect.runPromise(Effect.flip(guard.check("http://localhost:1/v1?key=canary", "provider")))
    expect(error).toBeInstanceOf(UrlBlocked)
    expect(error.url).toBe("http://localhost:1/v1")
    expect(error.message).toContain("GATEWAY_ALLOW_LOCAL_PROVIDER_URLS")
    const second = await Effect.runPromise(Effect.flip(guard.check("http://me:canary@localhost/", "webhook")))
    expect(JSON.stringify(second) + second.message).not.toContain("canary")
  })

  it("names only a knob that opens it: other purposes than providers, proxies and single sign-on have the guard itself", async () => {
    const guard = AddressGuard.make({ policy: () => policies.strict, resolve: table(names) })
    const messageOf = async (url: string, purpose: UrlPurpose) => (await Effect.runPromise(Effect.flip(guard.check(url, purpose)))).message
    for (const host of ["127.0.0.1", "192.168.1.9", "10.0.0.1", "169.254.1.1", "0.0.0.0"]) {
      for (const purpose of ["webhook", "media", "web-fetch", "polling"] as const) {
        const message = await messageOf(`http://${host}/`, purpose)
        // What clients name is fetched under a policy that no flag changes.
        expect(message).toContain(purpose === "media" ? "no flag" : "OUTBOUND_SSRF_GUARD_ENABLED")
        expect(message).not.toContain("PROVIDER_URLS")
        expect(await verdict(`http://${host}/`, purpose, policies.off)).toMatch(/^ok/)
      }
    }
    for (const purpose of ["proxy", "oidc"] as const) expect(await messageOf("http://100.64.0.1/", purpose)).toContain("GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS")
    expect(await messageOf("http://169.254.169.254/", "webhook")).toContain("no flag")
  })

  it("whose name never resolves is refused in time", async () => {
    const guard = AddressGuard.make({ policy: () => policies.default, resolve: () => {}, resolveTimeoutMs: 30 })
    expect((await Effect.runPromise(Effect.flip(guard.check("http://slow.test/", "webhook")))).reason).toBe("unresolvable")
  })

  it("may be required to be https per purpose", async () => {
    const guard = AddressGuard.make({ policy: () => policies.default, resolve: table(names), httpsOnly: ["webhook"] })
    expect((await Effect.runPromise(Effect.flip(guard.check("http://public.test/", "webhook")))).reason).toBe("scheme")
    expect(await Effect.runPromise(guard.check("http://public.test/", "media"))).toEqual(["93.184.216.34"])
  })

  it("is judged by the flags of this moment", async () => {
    const on = new Set(["GATEWAY_ALLOW_LOCAL_PROVIDER_URLS", "OUTBOUND_SSRF_GUARD_ENABLED"])
    const flags = Layer.succeed(Flags, Flags.of({ isOn: (flag) => on.has(flag), value: () => "", source: () => "default" }))
    const guard = await Effect.runPromise(Effect.provide(UrlGuard, AddressGuard.layer().pipe(Layer.provide(flags))))
    expect(guard.checkAddress("a", "127.0.0.1", "provider")).toBeNull()
    on.delete("GATEWAY_ALLOW_LOCAL_PROVIDER_URLS")
    expect(guard.checkAddress("a", "127.0.0.1", "provider")).toMatchObject({ reason: "loopback" })
    on.delete("OUTBOUND_SSRF_GUARD_ENABLED")
    expect(guard.checkAddress("a", "127.0.0.1", "webhook")).toBeNull()
    expect(guard.checkAddress("a", "169.254.169.254", "provider")).toMatchObject({ reason: "metadata" })
    expect(guard.checkAddress("metadata.google.internal", "8.8.8.8", "provider")).toMatchObject({ reason: "metadata" })
    expect(guard.checkAddress("a", "not an address", "provider")).toMatchObject({ reason: "malformed" })
  })
})

describe("the guard on connect", () => {
  it("refuses a name that was public when it was checked and is not when it is dialled: the sentinel hears nothing", async () => {
    await using sentinel = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("stolen")), { host: "127.0.0.7" })
    let answers = 0
    const resolve: Resolve = (_host, done) => done(null, [answers++ === 0 ? "93.184.216.34" : "127.0.0.7"])
    const guard = AddressGuard.make({ policy: () => policies.strict, resolve })
    const url = `http://rebind.test:${sentinel.port}`
    expect(await Effect.runPromise(guard.check(url, "provider"))).toEqual(["93.184.216.34"])
    await using client = await Client.open({ policy: () => policies.strict, resolve })
    const seen = await Client.run(client.upstream, Client.requestTo(url)).over
    expect(seen.failure).toMatchObject({ reason: "blocked-url", phase: "connect", source: "gateway", retry: "never" })
    expect(sentinel.peers.length).toBe(0)
  })

  it("refuses a list with one bad address, and an address in the origin itself", async () => {
    await using client = await Client.open({ resolve: table({ "a.test": ["127.0.0.1", "169.254.169.254"] }) })
    for (const origin of ["http://a.test:1", "http://169.254.169.254", "http://2852039166", "https://[::ffff:a9fe:a9fe]"]) {
      const seen = await Client.run(client.upstream, Client.requestTo(origin)).over
      expect(seen.failure).toMatchObject({ reason: "blocked-url", source: "gateway", retry: "never" })
    }
  })

  it("dials the address that was checked, and asks again for a new socket", async () => {
    await using first = await ScriptedServer.start(({ peer }) => peer.socket.end(ScriptedServer.answer("first", "connection: close\r\n")), { host: "127.0.0.3" })
    let address = "127.0.0.3"
    let asked = 0
    const resolve: Resolve = (_host, done) => {
      asked++
      done(null, [address])
    }
    await using client = await Client.open({ resolve, dnsTtlMs: 0 })
    const origin = `http://moving.test:${first.port}`
    const run = Client.run(client.upstream, Client.requestTo(origin))
    expect((await run.over).failure).toBeNull()
    await (await first.accepted(0)).closed
    address = "169.254.169.254"
    expect((await Client.run(client.upstream, Client.requestTo(origin)).over).failure).toMatchObject({ reason: "blocked-url" })
    expect(asked).toBe(2)
  })

  it("gives up an idle keep-alive socket whose address a flag has closed", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("ok")))
    let policy: Policy = policies.default
    await using client = await Client.open({ policy: () => policy, recheckMs: 0 })
    await Client.run(client.upstream, Client.requestTo(server.origin)).over
    await new Promise(setImmediate)
    await new Promise(setImmediate)
    policy = policies.strict
    const seen = await Client.run(client.upstream, Client.requestTo(server.origin)).over
    expect(seen.failure).toMatchObject({ reason: "blocked-url" })
    await (await server.accepted(0)).closed
    expect(server.peers.length).toBe(1)
  })

  it("lets the gateway reach its own simulator under every flag", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("sim")))
    await using client = await Client.open({ policy: () => policies.strict, isTrusted: (origin) => origin === server.origin })
    expect((await Client.run(client.upstream, Client.requestTo(server.origin)).over).failure).toBeNull()
  })
})
