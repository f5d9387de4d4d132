import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as AddressRules from "#actors/keys/addressRules.ts"
import { keyOf, parseEntry } from "#actors/keys/addressSet.ts"
import { type AddressFilter, none } from "#schemas/AddressFilter.ts"

const now = 1_000_000
const reasonOf = (filter: Partial<AddressFilter>, address: string, at = now): string | null =>
  AddressRules.compile({ ...none, enabled: true, ...filter })?.(address, at)?.reason ?? null
const matches = (entry: string, address: string): boolean => reasonOf({ blacklist: [entry] }, address) === "blacklist"

describe("an entry", () => {
  it.each([
    ["203.0.113.9", ["203.0.113.9", "::ffff:203.0.113.9", "::FFFF:cb00:7109"], ["203.0.113.10", "::203.0.113.9"]],
    ["::ffff:203.0.113.9", ["203.0.113.9"], ["203.0.113.10"]],
    ["203.0.113.0/24", ["203.0.113.0", "203.0.113.255", "::ffff:203.0.113.7"], ["203.0.112.255", "203.0.114.0"]],
    ["::ffff:10.0.0.0/104", ["10.255.0.1"], ["11.0.0.1"]],
    ["0.0.0.0/0", ["1.2.3.4"], ["2001:db8::1"]],
    ["2001:db8::/32", ["2001:db8:ffff::1", "2001:0DB8::"], ["2001:db9::1", "203.0.113.9"]],
    ["fe80::1", ["fe80::1%eth0", "FE80:0:0:0:0:0:0:1"], ["fe80::2"]],
    ["203.0.*", ["203.0.0.0", "203.0.255.1"], ["203.1.0.1", "2001:db8::1"]],
    ["203.0.113.*", ["203.0.113.1"], ["203.0.114.1"]],
    ["10.*.*.7", ["10.1.2.7", "::ffff:10.9.9.7"], ["10.1.2.8"]],
    ["2001:db8:*", ["2001:db8:1::2"], ["2001:db9::", "10.0.0.1"]],
    ["2001:db8:*:*:*:*:*:1", ["2001:db8:9:9::1"], ["2001:db8::2"]],
    ["*", ["1.2.3.4", "2001:db8::1"], []]
  ] as const)("%s holds its addresses and no other", (entry, inside, outside) => {
    for (const address of inside) expect([entry, address, matches(entry, address)]).toEqual([entry, address, true])
    for (const address of outside) expect([entry, address, matches(entry, address)]).toEqual([entry, address, false])
  })

  it.each(["", "localhost", "203.0.113", "203.0.113.256", "203.0.113.0/33", "203.0.113.0/", "10.*.1", "10.*.1.2.3", "10.1*", "10.*/8", "2001:db8::*", "2001:*:1", "1.2.3.4.*", "**", "gggg:*"])("%j is none", (text) => {
    expect(parseEntry(text)).toBeNull()
  })

  it("is the same in every spelling", () => {
    for (const [one, other] of [["203.0.113.77/24", "203.0.113.*"], ["::ffff:1.2.3.4", "1.2.3.4"], ["2001:DB8::", "2001:db8:0:0:0:0:0:0"], ["10.*", "10.0.0.0/8"]] as const) {
      expect(keyOf(one)).toBe(keyOf(other))
    }
    expect(keyOf("10.0.0.0/8")).not.toBe(keyOf("10.0.0.0/9"))
  })

  const octet = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
  const cut = { address: Arbitrary.schema(Schema.Tuple([octet, octet, octet, octet])), kept: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 3 }))) }
  it.prop("with `*` for its last octets is the CIDR range of that length", cut, ({ address, kept }) => {
    expect(keyOf([...address.slice(0, kept), "*"].join("."))).toBe(keyOf(`${address.join(".")}/${8 * kept}`))
  })
})

describe("the filter", () => {
  const ban = { ip: "198.51.100.0/24", until: now + 1, reason: "" }

  it("refuses nobody while it is off", () => {
    expect(AddressRules.compile({ ...none, blacklist: ["*"], tempBans: [{ ...ban, ip: "*" }] })).toBeNull()
  })

  it("asks the list of its mode only", () => {
    const lists = { blacklist: ["203.0.113.0/24"], whitelist: ["192.0.2.0/24"] }
    const of = (mode: "blacklist" | "whitelist") => ["203.0.113.9", "192.0.2.9", "1.1.1.1"].map((address) => reasonOf({ ...lists, mode }, address))
    expect(of("blacklist")).toEqual(["blacklist", null, null])
    expect(of("whitelist")).toEqual(["whitelist", null, "whitelist"])
  })

  it("puts a ban above both lists, until its end", () => {
    for (const mode of ["blacklist", "whitelist"] as const) {
      const filter = { mode, whitelist: ["198.51.100.7"], tempBans: [ban] }
      expect([mode, reasonOf(filter, "198.51.100.7"), reasonOf(filter, "198.51.100.7", now + 1)]).toEqual([mode, "banned", null])
    }
  })

  it("lets a longer ban of the address stand beside one of its range that is over", () => {
    expect(reasonOf({ tempBans: [{ ...ban, until: now }, { ...ban, ip: "198.51.100.7" }] }, "198.51.100.7")).toBe("banned")
  })

  it("refuses what is no address, because no list can be asked", () => {
    for (const address of ["", "unknown", "_hidden"]) expect(reasonOf({}, address)).toBe("unknown")
  })
})
