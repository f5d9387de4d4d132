import { describe, expect, it } from "vitest"
import * as Redacted from "effect/Redacted"
import * as Egress from "#actors/egress/Egress.ts"
import type { Proxy, ProxyAssignment, ProxyScope } from "#schemas/egress/Proxy.ts"

const proxy = (id: string, over: Partial<Proxy> = {}): Proxy => ({
  id, name: id, type: "http", host: "p.test", port: 8080, username: null, password: null, region: null, notes: null, status: "active", source: "manual", subscriptionId: null, leftAt: null,
  family: "auto", createdAt: "", updatedAt: "2026-01-01T00:00:00.000Z", ...over
})
const assigned = (scope: ProxyScope, scopeId: string, proxyId: string): ProxyAssignment => ({ scope, scopeId, proxyId, assignedAt: "" })

interface World {
  readonly proxyEnabled: boolean
  readonly perKey: boolean
  readonly own: boolean
  readonly ownPerKey: boolean
  readonly hasConnection: boolean
  readonly hasKey: boolean
  readonly provider: "openai" | "sim"
  readonly combos: ReadonlyArray<"c1" | "c2">
  readonly scopes: ReadonlyArray<keyof typeof ids>
}

const ids = { "global": ["global", ""], "provider": ["provider", "openai"], "account": ["account", "a"], "combo 1": ["combo", "c1"], "combo 2": ["combo", "c2"], "key": ["key", "k"] } as const

describe("what a call leaves by", () => {
  const check = (world: World): void => {
    const scopes = new Set(world.scopes)
    const assignments = [...scopes].map((name) => assigned(ids[name][0], ids[name][1], `at ${name}`))
    const egress = Egress.make({
      proxies: Object.keys(ids).map((name) => proxy(`at ${name}`)), assignments, chooses: false,
      settings: new Map([["proxyEnabled", world.proxyEnabled], ["perKeyProxyEnabled", world.perKey]])
    })
    const order = [
      ...(world.perKey && world.hasKey && (!world.hasConnection || world.ownPerKey) ? ["key" as const] : []),
      ...(world.hasConnection ? ["account" as const] : []), "provider" as const,
      ...world.combos.map((combo) => combo === "c1" ? "combo 1" as const : "combo 2" as const), "global" as const
    ]
    const isDirect = !world.proxyEnabled || world.provider === "sim" || (world.hasConnection && !world.own)
    const expected = isDirect ? undefined : order.find((name) => scopes.has(name))
    const way = egress?.of({
      provider: world.provider, connection: world.hasConnection ? { id: "a", proxyEnabled: world.own, perKeyProxyEnabled: world.ownPerKey } : null,
      combos: world.combos, key: world.hasKey ? "k" : null
    })
    expect(way?.proxy?.id, JSON.stringify(world)).toBe(expected === undefined ? undefined : `at ${expected}`)
    expect(way?.level ?? "direct").toBe(expected === undefined ? "direct" : ids[expected][0])
  }

  it("is the nearest assignment, and nothing where a switch says so, in every world", () => {
    const names = Object.keys(ids) as ReadonlyArray<keyof typeof ids>
    const bit = (bits: number, at: number): boolean => (bits >> at & 1) === 1
    for (let switches = 0; switches < 64; switches++) {
      for (let assignments = 0; assignments < 64; assignments++) {
        for (const provider of ["openai", "sim"] as const) {
          for (const combos of [[], ["c1"], ["c2", "c1"]] as const) {
            check({
              proxyEnabled: bit(switches, 0), perKey: bit(switches, 1), own: bit(switches, 2), ownPerKey: bit(switches, 3), hasConnection: bit(switches, 4), hasKey: bit(switches, 5),
              provider, combos, scopes: names.filter((_, at) => bit(assignments, at))
            })
          }
        }
      }
    }
  })

  it("is null where nothing is assigned, so that nothing is asked", () => {
    expect(Egress.make({ proxies: [proxy("p")], assignments: [], settings: new Map(), chooses: false })).toBeNull()
  })

  it("is a choice among all proxies that may be used, where nothing is assigned and the flag says so", () => {
    const make = (proxies: ReadonlyArray<Proxy>, assignments: ReadonlyArray<ProxyAssignment>, chooses = true) => Egress.make({ proxies, assignments, chooses, settings: new Map() })
    const own = { id: "a", proxyEnabled: true, perKeyProxyEnabled: true }
    const all = make([proxy("off", { status: "inactive" }), proxy("p"), proxy("socks", { type: "socks5" }), proxy("q")], [assigned("provider", "openai", "q")])
    const way = all?.of({ provider: "gemini", connection: own })
    expect([way?.level, way?.proxy?.id, way?.proxy?.among?.map(({ id }) => id)]).toEqual(["auto", "p", ["p", "q"]])
    expect(all?.of({ provider: "openai", connection: own })).toMatchObject({ level: "provider", proxy: { id: "q" } })
    expect(all?.of({ provider: "openai", connection: own }).proxy?.among).toBeUndefined()
    for (const direct of [{ provider: "sim", connection: own }, { provider: "gemini", connection: { ...own, proxyEnabled: false } }]) expect(all?.of(direct).level).toBe("direct")
    expect(make([proxy("p")], [assigned("global", "", "p")])?.of({ provider: "gemini", connection: own }).level).toBe("global")
    expect(make([proxy("off", { status: "inactive" })], [])?.of({ provider: "gemini", connection: own }).level).toBe("direct")
    expect([make([], []), make([proxy("p")], [], false)]).toEqual([null, null])
  })

  it("is a proxy that may not be used rather than another way", () => {
    const make = (over: Partial<Proxy>, settings: ReadonlyMap<string, unknown> = new Map()) =>
      Egress.make({ proxies: [proxy("p", over), proxy("q")], assignments: [assigned("account", "a", "p"), assigned("global", "", "q")], settings, chooses: false })
        ?.of({ provider: "openai", connection: { id: "a", proxyEnabled: true, perKeyProxyEnabled: true } }).proxy
    expect(make({})).toMatchObject({ id: "p", kind: "http", secure: false, family: 0, refusal: null })
    expect(make({ status: "inactive" })).toMatchObject({ id: "p", refusal: "is inactive: activate it, or remove its assignments" })
    expect(make({ type: "socks5" })).toMatchObject({ id: "p", kind: "socks5", refusal: "is a SOCKS5 proxy, which the setting enableSocks5Proxy does not allow" })
    expect(make({ type: "socks5", family: "ipv6" }, new Map([["enableSocks5Proxy", true]]))).toMatchObject({ kind: "socks5", family: 6, refusal: null })
    expect(make({ type: "https", family: "ipv4", username: Redacted.make("u") })).toMatchObject({ kind: "http", secure: true, family: 4, username: Redacted.make("u") })
  })

  it("has another revision after a change of its record, and holds no secret in it", () => {
    const of = (over: Partial<Proxy>) => Egress.outbound(proxy("p", over), true).revision
    expect(of({})).toBe(of({}))
    expect(of({ updatedAt: "2026-01-01T00:00:00.001Z", password: Redacted.make("canary") })).not.toBe(of({}))
    expect(of({ password: Redacted.make("canary") })).not.toContain("canary")
  })
})
