import { describe, expect, it } from "vitest"
import type { UrlPurpose } from "#actors/ports/UrlGuard.ts"
import * as AddressRules from "#src/platform/upstream/addressRules.ts"
import type { AddressCategory } from "#src/platform/upstream/addressRules.ts"

/** A second reading of the rules: addresses as whole numbers, ranges as first and last address. Shares no code with the table. */
const v4 = (text: string): bigint => text.split(".").reduce((sum, part) => sum * 256n + BigInt(part), 0n)
const span = (first: string, last: string, category: AddressCategory) => ({ first: v4(first), last: v4(last), category })

const special = [
  span("169.254.169.0", "169.254.169.255", "metadata"),
  span("169.254.170.0", "169.254.170.255", "metadata"),
  span("169.254.0.23", "169.254.0.23", "metadata"),
  span("169.254.42.42", "169.254.42.42", "metadata"),
  span("100.100.100.200", "100.100.100.200", "metadata"),
  span("168.63.129.16", "168.63.129.16", "metadata"),
  span("192.0.0.192", "192.0.0.192", "metadata"),
  span("0.0.0.0", "0.255.255.255", "unspecified"),
  span("10.0.0.0", "10.255.255.255", "lan"),
  span("100.64.0.0", "100.127.255.255", "private"),
  span("127.0.0.0", "127.255.255.255", "loopback"),
  span("169.254.0.0", "169.254.255.255", "link-local"),
  span("172.16.0.0", "172.31.255.255", "lan"),
  span("192.0.0.0", "192.0.0.255", "private"),
  span("192.0.2.0", "192.0.2.255", "private"),
  span("192.88.99.0", "192.88.99.255", "private"),
  span("192.168.0.0", "192.168.255.255", "lan"),
  span("198.18.0.0", "198.19.255.255", "private"),
  span("198.51.100.0", "198.51.100.255", "private"),
  span("203.0.113.0", "203.0.113.255", "private"),
  span("224.0.0.0", "239.255.255.255", "multicast"),
  span("240.0.0.0", "255.255.255.255", "private")
]

const referenceV4 = (value: bigint): AddressCategory => special.find(({ first, last }) => value >= first && value <= last)?.category ?? "public"
const showV4 = (value: bigint): string => [24n, 16n, 8n, 0n].map((shift) => String((value >> shift) & 255n)).join(".")

const one = 1n
const v6Range = (text: string): readonly [first: bigint, last: bigint] => {
  const [address = "", bits = "0"] = text.split("/")
  const [head = "", tail] = address.split("::")
  const groups = (part: string | undefined) => part === undefined || part === "" ? [] : part.split(":").map((group) => BigInt(`0x${group}`))
  const left = groups(head)
  const right = groups(tail)
  const all = [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0n), ...right]
  const first = all.reduce((sum, group) => (sum << 16n) + group, 0n)
  return [first, first + (one << (128n - BigInt(bits))) - one]
}
const showV6 = (value: bigint): string =>
  Array.from({ length: 8 }, (_, i) => ((value >> BigInt(112 - 16 * i)) & 0xffffn).toString(16)).join(":")

const special6: ReadonlyArray<readonly [string, AddressCategory]> = [
  ["fd00:ec2::/32", "metadata"], ["fd20:ce::254/128", "metadata"], ["fd00:42::42/128", "metadata"], ["fe80::a9fe:a9fe/128", "metadata"],
  ["::/128", "unspecified"], ["::1/128", "loopback"], ["fc00::/7", "lan"], ["fe80::/10", "link-local"], ["fec0::/10", "private"],
  ["ff00::/8", "multicast"], ["64:ff9b:1::/48", "private"], ["2001::/23", "private"], ["2001:db8::/32", "private"], ["3fff::/20", "private"]
]

const referenceV6 = (value: bigint): AddressCategory => {
  const low = value & 0xffffffffn
  const high = value >> 32n
  const mixed = (inner: AddressCategory): AddressCategory => inner === "public" ? "private" : inner
  if (high === 0xffffn || high === 0xffff0000n) return mixed(referenceV4(low))
  if (high === v6Range("64:ff9b::/96")[0] >> 32n) return referenceV4(low)
  if (value >> 112n === 0x2002n) return referenceV4((value >> 80n) & 0xffffffffn)
  for (const [text, category] of special6) {
    const [first, last] = v6Range(text)
    if (value >= first && value <= last) {
      const embedded = ((value >> 32n) & 0xfdffffffn) === 0x5efen ? referenceV4(low) : "public"
      return category === "lan" || category === "private" || category === "link-local" || category === "multicast"
        ? embedded === "public" ? category : embedded
        : category
    }
  }
  if (high === 0n) return referenceV4(low) === "unspecified" ? "private" : mixed(referenceV4(low))
  const own: AddressCategory = value >> 125n === 1n ? "public" : "private"
  const isatap = ((value >> 32n) & 0xfdffffffn) === 0x5efen ? referenceV4(low) : "public"
  return isatap === "public" ? own : isatap
}

let seed = 99n
const random = (bits: number): bigint => {
  let out = 0n
  for (let i = 0; i < bits; i += 16) {
    seed = (seed * 6364136223846793005n + 1442695040888963407n) & ((one << 64n) - one)
    out = (out << 16n) | (seed >> 48n)
  }
  return out & ((one << BigInt(bits)) - one)
}

describe("the address table", () => {
  it("agrees with a whole-number reading at every boundary and on 50,000 random v4 addresses", () => {
    const edges = special.flatMap(({ first, last }) => [first - one, first, first + one, last - one, last, last + one])
    const values = [...edges.filter((value) => value >= 0n && value < one << 32n), ...Array.from({ length: 50_000 }, () => random(32))]
    for (const value of values) {
      const text = showV4(value)
      if (AddressRules.categoryOf(text) !== referenceV4(value)) expect(`${text} ${AddressRules.categoryOf(text)}`).toBe(`${text} ${referenceV4(value)}`)
    }
    expect(values.length).toBeGreaterThan(50_000)
  })

  it("agrees with it on v6: boundaries, embedded v4 of every kind, random addresses", () => {
    const edges = special6.flatMap(([text]) => {
      const [first, last] = v6Range(text)
      return [first - one, first, first + one, last - one, last, last + one]
    })
    const prefixes = ["::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96", "::/96"].map((text) => v6Range(text)[0])
    const v4s = [...special.flatMap(({ first, last }) => [first, last]), ...Array.from({ length: 500 }, () => random(32))]
    const embedded = v4s.flatMap((inner) => [
      ...prefixes.map((prefix) => prefix + inner),
      (0x2002n << 112n) + (inner << 80n) + random(64),
      (random(64) << 64n) + (0x5efen << 32n) + inner,
      (0x26060000n << 96n) + (0x02005efen << 32n) + inner
    ])
    const prefixed = special6.flatMap(([text]) => Array.from({ length: 300 }, () => v6Range(text)[0] + (random(128) >> BigInt(text.split("/")[1] ?? "0"))))
    const values = [...edges.filter((value) => value >= 0n && value < one << 128n), ...embedded, ...prefixed, ...Array.from({ length: 20_000 }, () => random(128))]
    for (const value of values) {
      const text = showV6(value)
      const got = AddressRules.categoryOf(text)
      if (got !== referenceV6(value)) expect(`${text} ${got}`).toBe(`${text} ${referenceV6(value)}`)
    }
  })

  it("reads every spelling that a resolver prints, and nothing else", () => {
    for (const text of ["::ffff:127.0.0.1", "::FFFF:7F00:1", "0:0:0:0:0:ffff:7f00:0001", "::1%lo", "::127.0.0.1", "64:ff9b::127.0.0.1"]) {
      expect(AddressRules.categoryOf(text)).toBe("loopback")
    }
    expect(AddressRules.categoryOf("fe80::1%eth0")).toBe("link-local")
    for (const text of ["", "1", "127.1", "0177.0.0.1", "0x7f.0.0.1", "256.0.0.1", "1.2.3.4.5", "::g", ":::", "1::2::3", "1:2:3:4:5:6:7:8:9", "1:2:3:4:5:6:7::8:9", "host", "::1.2.3", "01.2.3.4", "[::1]"]) {
      expect(AddressRules.categoryOf(text)).toBeNull()
    }
  })
})

describe("the flags", () => {
  const purposes: ReadonlyArray<UrlPurpose> = ["provider", "webhook", "media", "web-fetch", "proxy", "polling", "oidc"]
  const categories: ReadonlyArray<AddressCategory> = ["public", "loopback", "lan", "private", "link-local", "metadata", "multicast", "unspecified"]
  const flags = [false, true]

  it("never open metadata, always open public, and open the rest as the table says", () => {
    for (const purpose of purposes) {
      for (const local of flags) {
        for (const priv of flags) {
          for (const guard of flags) {
            for (const category of categories) {
              const operator = purpose === "provider" || purpose === "proxy" || purpose === "oidc"
              const expected = category === "metadata"
                ? false
                : category === "public" || !guard ||
                  (operator && ((local && (category === "loopback" || category === "lan")) ||
                    (priv && (category === "lan" || category === "private" || category === "link-local"))))
              expect([purpose, local, priv, guard, category, AddressRules.allows(category, purpose, { local, private: priv, guard })])
                .toEqual([purpose, local, priv, guard, category, expected])
            }
          }
        }
      }
    }
  })
})
