/** The gate's pure parts: client addresses behind proxies, Host headers, origins. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Origins from "#schemas/api/origins.ts"
import * as ClientAddress from "#src/platform/gate/clientAddress.ts"
import * as Hosts from "#src/platform/gate/hosts.ts"
import * as Loopback from "#src/platform/gate/loopback.ts"
import * as PublicNames from "#src/platform/gate/publicNames.ts"
import * as Pages from "#src/platform/gate/pages.ts"
import type { Exchange } from "#src/platform/server/Exchange.ts"

type Headers = Readonly<Record<string, string>>
const client = (trusted: ReadonlyArray<string>, peer: string, headers: Headers = {}) => ClientAddress.make(trusted)(peer, (name) => headers[name])

const address = Schema.Tuple([1, 2, 3, 4].map(() => Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 })))).pipe(Schema.toType)
const dotted = (parts: ReadonlyArray<number>): string => parts.join(".")

describe("the client's address", () => {
  const proxies = ["10.0.0.0/8", "127.0.0.1", "2001:db8::/32"]

  it("is the peer's own while it is not trusted, whatever it claims", () => {
    for (const headers of [{}, { "x-forwarded-for": "127.0.0.1" }, { forwarded: "for=127.0.0.1" }, { "x-real-ip": "127.0.0.1" }] as ReadonlyArray<Headers>) {
      assert.strictEqual(client([], "203.0.113.9", headers), "203.0.113.9")
      assert.strictEqual(client(proxies, "203.0.113.9", headers), "203.0.113.9")
    }
    assert.strictEqual(client([], "127.0.0.1"), "127.0.0.1")
  })

  it("is not known when somebody on this machine who is not trusted speaks for another", () => {
    for (const name of ["x-forwarded-for", "forwarded", "x-real-ip", "x-forwarded-host", "via", "cf-connecting-ip"]) {
      assert.strictEqual(client([], "127.0.0.1", { [name]: "127.0.0.1" }), "", name)
      assert.strictEqual(client(["10.0.0.0/8"], "::1", { [name]: "127.0.0.1" }), "", name)
    }
  })

  it("is not known behind more than 16 hops, or when a header is longer than 2,048 characters", () => {
    const hops = (count: number) => Array.from({ length: count }, () => "10.1.2.3")
    assert.deepStrictEqual([16, 17].map((count) => client(proxies, "127.0.0.1", { "x-forwarded-for": hops(count).join(",") })), ["10.1.2.3", ""])
    assert.strictEqual(client(proxies, "127.0.0.1", { "x-forwarded-for": ["127.0.0.1", ...hops(16)].join(",") }), "")
    for (const [name, value] of [["x-forwarded-for", "203.0.113.9"], ["forwarded", "for=203.0.113.9"]] as const) {
      assert.deepStrictEqual([2_048, 2_049].map((length) => client(proxies, "127.0.0.1", { [name]: value.padEnd(length) })), ["203.0.113.9", ""], name)
    }
  })

  it("is the rightmost hop that no trusted proxy is", () => {
    const by = (list: string) => client(proxies, "127.0.0.1", { "x-forwarded-for": list })
    assert.strictEqual(by("203.0.113.9"), "203.0.113.9")
    assert.strictEqual(by("127.0.0.1, 203.0.113.9"), "203.0.113.9")
    assert.strictEqual(by("198.51.100.7, 203.0.113.9, 10.1.2.3"), "203.0.113.9")
    assert.strictEqual(by("203.0.113.9:4711, 10.1.2.3"), "203.0.113.9")
    assert.strictEqual(by("[2001:db9::1]:443"), "2001:db9::1")
    assert.strictEqual(by("2001:db9::1,2001:db8::7"), "2001:db9::1")
    assert.strictEqual(by("::ffff:203.0.113.9"), "203.0.113.9")
    assert.strictEqual(by("10.1.2.3, 10.1.2.4"), "10.1.2.3")
    for (const broken of ["", "unknown", "203.0.113.9, ", "localhost", "1.2.3", Array.from({ length: 17 }, () => "10.0.0.1").join(","), "1".repeat(3_000)]) {
      assert.strictEqual(by(broken), "", broken.slice(0, 40))
    }
  })

  it("is read from Forwarded, too, and not known where the two headers differ", () => {
    const by = (forwarded: string, list?: string) => client(proxies, "10.0.0.1", { forwarded, ...(list === undefined ? {} : { "x-forwarded-for": list }) })
    assert.strictEqual(by("for=203.0.113.9"), "203.0.113.9")
    assert.strictEqual(by('for="[2001:db9::1]:4711";proto=https, For=10.2.3.4;by=10.0.0.1'), "2001:db9::1")
    assert.strictEqual(by('for="127.0.0.1, 10.0.0.9";x=";,", for=203.0.113.9'), "203.0.113.9")
    for (const hidden of ["for=unknown", "for=_secret", "proto=https", "", 'for="203.0.113.9']) assert.strictEqual(by(hidden), "", hidden)
    assert.strictEqual(by("for=203.0.113.9", "203.0.113.9"), "203.0.113.9")
    assert.strictEqual(by("for=203.0.113.9", "198.51.100.7"), "")
    assert.strictEqual(client(proxies, "10.0.0.1", { "x-real-ip": "127.0.0.1" }), "")
  })

  it.prop("never depends on what stands left of an address that is not trusted", [Arbitrary.schema(Schema.Array(Schema.String)), Arbitrary.schema(address)], ([claims, parts]) => {
    const real = dotted(parts)
    if (real.startsWith("10.") || real === "127.0.0.1") return
    assert.strictEqual(client(proxies, "127.0.0.1", { "x-forwarded-for": [...claims, real].join(",").slice(-2_000) }), real)
  }, { arbitrary: { runs: 300 } })
})

/** The status a Host header gets; null = the request goes on. */
const verdicts = (rules: Partial<Hosts.HostRules>) => {
  const guard = Hosts.guard({ host: "127.0.0.1", publicUrl: null, allowedHosts: [], ...rules })
  return (host: string | undefined, peerAddress = "127.0.0.1"): number | null => {
    let answered: number | null = null
    const exchange: Pick<Exchange, "header" | "path" | "peerAddress" | "respond"> = {
      peerAddress, path: "/v1/models", header: (name) => name === "host" ? host : undefined, respond: (status) => { answered = status }
    }
    assert.strictEqual(guard(exchange as Exchange), answered !== null)
    return answered
  }
}

describe("a caller on this machine", () => {
  const isLocal = (peer: string, remote: string, headers: Headers) => Loopback.isLocal(peer, remote, (name) => headers[name])

  it("has a loopback address at both ends of its proxies, and calls a loopback name", () => {
    for (const headers of [{}, { host: "localhost:20128" }, { host: "127.0.0.1" }] as ReadonlyArray<Headers>) assert.isTrue(isLocal("127.0.0.1", "::1", headers))
    assert.isFalse(isLocal("203.0.113.9", "127.0.0.1", {}))
    assert.isFalse(isLocal("127.0.0.1", "203.0.113.9", {}))
    assert.isFalse(isLocal("127.0.0.1", "", {}))
  })

  it("is none when a page's own name leads here, or when somebody else is spoken for", () => {
    assert.isFalse(isLocal("127.0.0.1", "127.0.0.1", { host: "evil.example:20128" }))
    assert.isFalse(isLocal("127.0.0.1", "127.0.0.1", { host: "localhost", "x-real-ip": "127.0.0.1" }))
  })
})

describe("the Host header", () => {
  it("on this machine is a loopback name with any port", () => {
    const verdict = verdicts({})
    for (const host of ["localhost", "LOCALHOST:20128", "localhost.", "gateway.localhost:1", "127.0.0.1:20128", "127.8.9.10", "[::1]:20128", "[::1]", undefined]) {
      assert.isNull(verdict(host), host)
    }
    for (const host of [
      "evil.example", "evil.example:20128", "localhost.evil.example", "127.0.0.1.evil.example", "evil-localhost", "notlocalhost", "127.0.0.1, evil.example", "127.0.0.1@evil.example",
      "evil.example#.localhost", "0.0.0.0", "127.1", "127.0.0.256", "[::2]", "192.168.1.5", "2130706433", "[::ffff:7f00:1]"
    ]) assert.strictEqual(verdict(host), 421, host)
  })

  it("may be a name that comes and goes, as long as it is there", () => {
    const names = PublicNames.make()
    const verdict = verdicts({ publicNames: names })
    const words = ["four-words.example", "FOUR-WORDS.example:443"]
    for (const step of [[], ["four-words.example"], []] as const) {
      names.set("a tunnel", step)
      names.set("another", ["other.example"])
      for (const host of words) assert.strictEqual(verdict(host), step.length === 0 ? 421 : null, host)
      for (const host of ["x.four-words.example", "words.example"]) assert.strictEqual(verdict(host), 421, host)
      assert.isNull(verdict("other.example"))
    }
  })

  it("may be a name that the operator listed, the public URL's or the one that is listened on", () => {
    const verdict = verdicts({ host: "box.lan", publicUrl: "https://gateway.example.com/base", allowedHosts: ["ai.internal", "*.corp.example", "fd00::1"] })
    for (const host of ["box.lan:1", "gateway.example.com", "AI.internal:8", "a.b.corp.example", "[fd00::1]:20128"]) assert.isNull(verdict(host), host)
    for (const host of ["corp.example", "evilcorp.example", ".corp.example", "x.ai.internal"]) assert.strictEqual(verdict(host), 421, host)
  })

  it("of callers on other machines is free until the operator lists names", () => {
    const free = verdicts({ host: "0.0.0.0" })
    assert.isNull(free("gateway.example.com", "203.0.113.9"))
    assert.strictEqual(free("gateway.example.com", "127.0.0.1"), 421)
    assert.strictEqual(free("gateway.example.com", "::1"), 421)
    assert.isNull(free("0.0.0.0:20128", "127.0.0.1"))
    const listed = verdicts({ host: "0.0.0.0", allowedHosts: ["gateway.example.com"] })
    assert.isNull(listed("gateway.example.com", "203.0.113.9"))
    assert.strictEqual(listed("other.example.com", "203.0.113.9"), 421)
  })

  it.prop("is a loopback name only when no name server is asked for it", [Arbitrary.schema(Schema.String)], ([text]) => {
    assert.isFalse(Loopback.isLoopbackName(`${text}.evil.example`))
    assert.isFalse(Loopback.isLoopbackName(`127.0.0.1${text}x`))
  }, { arbitrary: { runs: 300 } })

  it("patterns have no port, path or scheme", () => {
    for (const good of ["gateway", "gateway.example.com", "*.example.com", "10.0.0.1", "::1", "[fd00::1]", "my_host"]) assert.isTrue(Hosts.isPattern(good), good)
    for (const bad of ["gateway:20128", "https://gateway", "a/b", "*", "*.", "a*b.example", "", "a b", "-"]) assert.isFalse(Hosts.isPattern(bad), bad)
  })
})

describe("pages of other origins, without a key", () => {
  const pages = Pages.make(() => "https://chat.example.com, http://localhost:3000")
  const code = (headers: Headers) => pages.refusal((name) => ({ host: "localhost:20128", ...headers } as Headers)[name])?.code ?? null

  it("are refused, and so is what they embed", () => {
    for (const headers of [
      { origin: "https://evil.example" }, { origin: "null" }, { origin: "" }, { origin: "http://localhost:3001" }, { origin: "http://localhost:20128.evil.example" },
      { origin: "https://chat.example.com.evil.example" }, { "sec-fetch-site": "cross-site" }, { "sec-fetch-site": "same-site" }
    ] as ReadonlyArray<Headers>) assert.strictEqual(code(headers), "origin_not_allowed", JSON.stringify(headers))
  })

  it("are served from our own origin, from a listed one, and when there is no page", () => {
    for (const headers of [
      {}, { origin: "http://localhost:20128" }, { origin: "https://chat.example.com" }, { origin: "http://localhost:3000", "sec-fetch-site": "same-site" },
      { "sec-fetch-site": "none" }, { "sec-fetch-site": "same-origin" }
    ] as ReadonlyArray<Headers>) assert.isNull(code(headers), JSON.stringify(headers))
  })

  it("send JSON only as JSON", () => {
    for (const type of [undefined, "application/json", "Application/JSON; charset=utf-8", "application/vnd.api+json"]) assert.isNull(Pages.bodyRefusal(type), type)
    for (const type of ["text/plain", "text/plain; application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "application/jsonx"]) {
      assert.strictEqual(Pages.bodyRefusal(type)?.status, 415, type)
    }
  })

  it("origins are listed as browsers write them", () => {
    assert.deepStrictEqual(Origins.parse(" https://A.example:443/, http://b.example:80 http://c.example:8080,chrome-extension://abc "), [
      "https://a.example", "http://b.example", "http://c.example:8080", "chrome-extension://abc"
    ])
    for (const bad of ["*", "https://a.example/path", "a.example", "https://*.example", "null"]) assert.isNull(Origins.parse(bad), bad)
  })
})
