import { describe, expect, it } from "@effect/vitest"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import * as Egress from "#actors/egress/Egress.ts"
import { type Proxy, type ProxyAssignment, ProxyScope } from "#schemas/egress/Proxy.ts"

const proxy = (id: string, over: Partial<Proxy> = {}): Proxy => ({
  id, name: id, type: "http", host: "p.test", port: 8080, username: null, password: null, region: null, notes: null, status: "active", source: "manual",
  family: "auto", createdAt: "", updatedAt: "2026-01-01T00:00:00.000Z", ...over
})
const assigned = (scope: ProxyScope, scopeId: string, proxyId: string): ProxyAssignment => ({ scope, scopeId, proxyId, assignedAt: "" })

const World = Schema.Struct({
  proxyEnabled: Schema.Boolean, perKey: Schema.Boolean, own: Schema.Boolean, ownPerKey: Schema.Boolean, hasConnection: Schema.Boolean, hasKey: Schema.Boolean,
  provider: Schema.Literals(["openai", "sim"]), combos: Schema.Array(Schema.Literals(["c1", "c2"])).check(Schema.isMaxLength(2)),
  scopes: Schema.Array(Schema.Literals(["global", "provider", "account", "combo 1", "combo 2", "key"])).check(Schema.isMaxLength(8))
})

const ids = { "global": ["global", ""], "provider": ["provider", "openai"], "account": ["account", "a"], "combo 1": ["combo", "c1"], "combo 2": ["combo", "c2"], "key": ["key", "k"] } as const

describe("what a call leaves by", () => {
  it.prop("is the nearest assignment, and nothing where a switch says so", [World], ([world]) => {
    const scopes = new Set(world.scopes)
    const assignments = [...scopes].map((name) => assigned(ids[name][0], ids[name][1], `at ${name}`))
    const egress = Egress.make({
      proxies: Object.keys(ids).map((name) => proxy(`at ${name}`)), assignments,
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
    expect(way?.proxy?.id).toBe(expected === undefined ? undefined : `at ${expected}`)
    expect(way?.level ?? "direct").toBe(expected === undefined ? "direct" : ids[expected][0])
  })

  it("is null where nothing is assigned, so that nothing is asked", () => {
    expect(Egress.make({ proxies: [proxy("p")], assignments: [], settings: new Map() })).toBeNull()
  })

  it("is a proxy that may not be used rather than another way", () => {
    const make = (over: Partial<Proxy>, settings: ReadonlyMap<string, unknown> = new Map()) =>
      Egress.make({ proxies: [proxy("p", over), proxy("q")], assignments: [assigned("account", "a", "p"), assigned("global", "", "q")], settings })
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
