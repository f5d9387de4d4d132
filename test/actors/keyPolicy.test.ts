import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { defaultPolicy, type ApiKey, type ApiKeyPolicy } from "#schemas/records/ApiKey.ts"
import * as IpRange from "#actors/keys/ipRange.ts"
import * as KeyPolicy from "#actors/keys/keyPolicy.ts"

const keyWith = (policy: Partial<ApiKeyPolicy>, revokedAt: string | null = null): ApiKey => ({
  id: "k", name: "k", keyHash: "", keyPrefix: "", keySuffix: "", sealedKey: null, machineId: "", issuerId: null, createdAt: "", updatedAt: "",
  lastUsedAt: null, revokedAt, policy: { ...defaultPolicy, ...policy }
})

const judge = (key: ApiKey) => KeyPolicy.admit(key, "chat", { remoteAddress: "127.0.0.1" }, Date.parse("2026-11-21T12:00:00Z"))?.status ?? 200
const admit = (policy: Partial<ApiKeyPolicy>) => judge(keyWith(policy))

describe("policy checks of an inference call", () => {
  it("a disabled, banned or expired key is refused with 403, a revoked one with 401", () => {
    expect(admit({})).toBe(200)
    expect(admit({ isActive: false })).toBe(403)
    expect(admit({ isBanned: true })).toBe(403)
    expect(admit({ expiresAt: "2026-11-21T12:00:00Z" })).toBe(403)
    expect(admit({ expiresAt: "2026-11-21T12:00:01Z" })).toBe(200)
    expect(judge(keyWith({}, "2026-01-01T00:00:00Z"))).toBe(401)
  })

  it("outside its schedule a key is refused, in the schedule's own time zone", () => {
    const schedule = { enabled: true, from: "09:00", until: "13:00", days: [6], tz: "Europe/Berlin" }
    expect(admit({ accessSchedule: schedule })).toBe(403)
    expect(admit({ accessSchedule: { ...schedule, until: "13:01" } })).toBe(200)
    expect(admit({ accessSchedule: { ...schedule, until: "13:01", days: [5] } })).toBe(403)
    expect(admit({ accessSchedule: { ...schedule, enabled: false } })).toBe(200)
  })

  it("a window begins with its first minute and ends before its last", () => {
    const office = { enabled: true, from: "08:00", until: "17:00", days: [], tz: "UTC" }
    expect(["07:59:59", "08:00:00", "16:59:59", "17:00:00"].map((time) => KeyPolicy.withinSchedule(office, Date.parse(`2026-11-21T${time}Z`)))).toEqual([false, true, true, false])
  })

  it("a window past midnight belongs to the day it began", () => {
    const night = { enabled: true, from: "22:00", until: "06:00", days: [5], tz: "UTC" }
    expect(KeyPolicy.withinSchedule(night, Date.parse("2026-11-20T23:00:00Z"))).toBe(true)
    expect(KeyPolicy.withinSchedule(night, Date.parse("2026-11-21T05:59:00Z"))).toBe(true)
    expect(KeyPolicy.withinSchedule(night, Date.parse("2026-11-21T06:00:00Z"))).toBe(false)
    expect(KeyPolicy.withinSchedule(night, Date.parse("2026-11-21T23:00:00Z"))).toBe(false)
  })

  it("addresses and endpoints outside the lists are refused", () => {
    expect(admit({ ipAllowlist: ["10.0.0.0/8"] })).toBe(403)
    expect(admit({ ipAllowlist: ["127.0.0.0/8"] })).toBe(200)
    expect(admit({ allowedEndpoints: ["embeddings"] })).toBe(403)
    expect(admit({ allowedEndpoints: ["chat"] })).toBe(200)
  })
})

describe("address ranges", () => {
  it("match v4, v6, mapped v4 and single addresses", () => {
    expect(IpRange.contains(["192.168.1.7"], "192.168.1.7")).toBe(true)
    expect(IpRange.contains(["192.168.0.0/16"], "::ffff:192.168.3.4")).toBe(true)
    expect(IpRange.contains(["2001:db8::/32"], "2001:db8:1::5")).toBe(true)
    expect(IpRange.contains(["2001:db8::/32"], "2001:db9::5")).toBe(false)
    expect(IpRange.contains(["0.0.0.0/0"], "2001:db9::5")).toBe(false)
  })

  it("refuse what is no address", () => {
    for (const text of ["", "1.2.3", "1.2.3.256", "1.2.3.4.5", ":::", "1::2::3", "g::1", "01.2.3.4567"]) expect(IpRange.parse(text)).toBeNull()
    for (const text of ["1.2.3.4/33", "1.2.3.4/", "1.2.3.4/x", "1.2.3.4/0x8", "1.2.3.4/1e1", "1.2.3.4/ 8", "1.2.3.4/-1", "1.2.3.4/8.0", "::1/129"]) expect(IpRange.parseRange(text)).toBeNull()
  })

  const octet = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
  it.prop("agree with arithmetic for any v4 address and prefix", {
    a: Arbitrary.schema(octet), b: Arbitrary.schema(octet), x: Arbitrary.schema(octet), y: Arbitrary.schema(octet),
    bits: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 32 })))
  }, ({ a, b, bits, x, y }) => {
    const left = ((a * 256 + b) * 65536 + x * 256 + y) >>> 0
    const right = ((a * 256 + b) * 65536 + y * 256 + x) >>> 0
    const same = bits === 0 || (left >>> (32 - bits)) === (right >>> (32 - bits))
    expect(IpRange.contains([`${a}.${b}.${x}.${y}/${bits}`], `${a}.${b}.${y}.${x}`)).toBe(same)
  })
})
