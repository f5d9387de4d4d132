/** Which addresses an outgoing call may reach: a table of address ranges, pure and without IO. */
import type { UrlPurpose } from "#actors/ports/UrlGuard.ts"

/** `private` is everything special that is neither on this machine nor on an ordinary LAN (carrier NAT, documentation, reserved). */
export type AddressCategory = "public" | "loopback" | "lan" | "private" | "link-local" | "metadata" | "multicast" | "unspecified"

/** The flags that open ranges, already read. */
export interface Policy {
  /** GATEWAY_ALLOW_LOCAL_PROVIDER_URLS */
  readonly local: boolean
  /** GATEWAY_ALLOW_PRIVATE_PROVIDER_URLS */
  readonly private: boolean
  /** OUTBOUND_SSRF_GUARD_ENABLED */
  readonly guard: boolean
}

type Row = readonly [cidr: string, category: AddressCategory]

/** First match wins; more specific rows stand above the range that holds them. Sources: the IANA special-purpose registries. */
const v4Rows: ReadonlyArray<Row> = [
  // Credentials of the machine: AWS, GCP, Azure, DigitalOcean, Oracle (.169.254), AWS time and DNS beside it.
  ["169.254.169.0/24", "metadata"],
  // AWS container and pod credentials.
  ["169.254.170.0/24", "metadata"],
  // Tencent, Scaleway.
  ["169.254.0.23/32", "metadata"],
  ["169.254.42.42/32", "metadata"],
  // Alibaba, Azure's wire server, Oracle classic.
  ["100.100.100.200/32", "metadata"],
  ["168.63.129.16/32", "metadata"],
  ["192.0.0.192/32", "metadata"],
  ["0.0.0.0/8", "unspecified"],
  ["127.0.0.0/8", "loopback"],
  ["10.0.0.0/8", "lan"],
  ["172.16.0.0/12", "lan"],
  ["192.168.0.0/16", "lan"],
  ["169.254.0.0/16", "link-local"],
  ["100.64.0.0/10", "private"],
  ["192.0.0.0/24", "private"],
  ["192.0.2.0/24", "private"],
  ["192.88.99.0/24", "private"],
  ["198.18.0.0/15", "private"],
  ["198.51.100.0/24", "private"],
  ["203.0.113.0/24", "private"],
  ["224.0.0.0/4", "multicast"],
  ["240.0.0.0/4", "private"]
]

const v6Rows: ReadonlyArray<Row> = [
  // AWS instance and pod credentials, GCP, Scaleway; OpenStack's link-local spelling of 169.254.169.254.
  ["fd00:ec2::/32", "metadata"],
  ["fd20:ce::254/128", "metadata"],
  ["fd00:42::42/128", "metadata"],
  ["fe80::a9fe:a9fe/128", "metadata"],
  ["::/128", "unspecified"],
  ["::1/128", "loopback"],
  ["fc00::/7", "lan"],
  ["fe80::/10", "link-local"],
  ["fec0::/10", "private"],
  ["ff00::/8", "multicast"],
  ["64:ff9b:1::/48", "private"],
  ["2001::/23", "private"],
  ["2001:db8::/32", "private"],
  ["3fff::/20", "private"],
  ["2000::/3", "public"],
  // Whatever is not global unicast and has no row of its own is reserved.
  ["::/0", "private"]
]

/**
 * IPv6 ranges that carry an IPv4 address, and at which byte. The address counts as what it carries, except that an IPv4-mapped or
 * IPv4-compatible spelling of a public address counts as private: no honest resolver answers with it.
 */
const embeddings: ReadonlyArray<{ readonly cidr: string; readonly at: number; readonly asIs: boolean }> = [
  { cidr: "::ffff:0:0/96", at: 12, asIs: false },
  { cidr: "::ffff:0:0:0/96", at: 12, asIs: false },
  { cidr: "64:ff9b::/96", at: 12, asIs: true },
  { cidr: "2002::/16", at: 2, asIs: true }
]

/** Host names of metadata services: refused before anything is resolved. */
const metadataNames: ReadonlySet<string> = new Set([
  "metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal",
  "metadata.azure.internal", "metadata.tencentyun.com", "metadata.packet.net",
  "metadata.platformequinix.com", "rancher-metadata"
])

const v4Pattern = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/

const parseV4 = (text: string): Uint8Array | null => {
  const parts = v4Pattern.exec(text)
  if (parts === null) return null
  const bytes = new Uint8Array(4)
  for (let i = 0; i < 4; i++) {
    const part = parts[i + 1] ?? ""
    // A leading zero is octal to some readers and decimal to others: not an address here.
    if (part.length > 1 && part[0] === "0") return null
    const value = Number(part)
    if (value > 255) return null
    bytes[i] = value
  }
  return bytes
}

const groupsOf = (text: string): ReadonlyArray<number> | null => {
  if (text === "") return []
  const out: Array<number> = []
  const parts = text.split(":")
  for (const [index, part] of parts.entries()) {
    if (part.includes(".")) {
      const v4 = index === parts.length - 1 ? parseV4(part) : null
      if (v4 === null) return null
      out.push(((v4[0] ?? 0) << 8) | (v4[1] ?? 0), ((v4[2] ?? 0) << 8) | (v4[3] ?? 0))
    } else {
      if (!/^[0-9a-f]{1,4}$/i.test(part)) return null
      out.push(Number.parseInt(part, 16))
    }
  }
  return out
}

const parseV6 = (text: string): Uint8Array | null => {
  const halves = text.split("::")
  if (halves.length > 2) return null
  const head = groupsOf(halves[0] ?? "")
  const tail = halves.length === 2 ? groupsOf(halves[1] ?? "") : []
  if (head === null || tail === null) return null
  const missing = 8 - head.length - tail.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null
  const bytes = new Uint8Array(16)
  const groups = [...head, ...Array.from<number>({ length: missing }).fill(0), ...tail]
  for (const [index, group] of groups.entries()) {
    bytes[index * 2] = group >> 8
    bytes[index * 2 + 1] = group & 255
  }
  return bytes
}

/** Reads a plain address as resolvers print it (a zone after `%` is dropped): 4 or 16 bytes, or null. */
export const parseAddress = (text: string): Uint8Array | null => {
  const zone = text.indexOf("%")
  const plain = zone < 0 ? text : text.slice(0, zone)
  return plain.includes(":") ? parseV6(plain) : parseV4(plain)
}

interface Range<T> {
  readonly bytes: Uint8Array
  readonly bits: number
  readonly value: T
}

const range = <T>(cidr: string, value: T): Range<T> => {
  const [address, bits] = cidr.split("/")
  const bytes = parseAddress(address ?? "")
  if (bytes === null) throw new Error(`the address table has a row that cannot be read: ${cidr}`)
  return { bytes, bits: Number(bits), value }
}

const v4Ranges = v4Rows.map(([cidr, category]) => range(cidr, category))
const v6Ranges = v6Rows.map(([cidr, category]) => range(cidr, category))
const embeddedRanges = embeddings.map((row) => range(row.cidr, row))

const within = (address: Uint8Array, { bits, bytes }: Range<unknown>): boolean => {
  const whole = bits >> 3
  for (let i = 0; i < whole; i++) if (address[i] !== bytes[i]) return false
  const rest = bits & 7
  if (rest === 0) return true
  const mask = 0xff << (8 - rest) & 0xff
  return ((address[whole] ?? 0) & mask) === ((bytes[whole] ?? 0) & mask)
}

const categoryOfV4 = (bytes: Uint8Array): AddressCategory => v4Ranges.find((row) => within(bytes, row))?.value ?? "public"

/** ISATAP: an IPv4 address behind 0:5efe (or 200:5efe) in the last half of any IPv6 address. */
const isatap = (bytes: Uint8Array): boolean =>
  ((bytes[8] ?? 0) & 0xfd) === 0 && bytes[9] === 0 && bytes[10] === 0x5e && bytes[11] === 0xfe

const categoryOfV6 = (bytes: Uint8Array): AddressCategory => {
  const own = v6Ranges.find((row) => within(bytes, row))?.value ?? "private"
  const embedded = own === "unspecified" || own === "loopback" ? undefined : embeddedRanges.find((row) => within(bytes, row))
  if (embedded !== undefined) {
    const inner = categoryOfV4(bytes.subarray(embedded.value.at, embedded.value.at + 4))
    return inner === "public" && !embedded.value.asIs ? "private" : inner
  }
  if (own === "private" && bytes.subarray(0, 12).every((byte) => byte === 0)) {
    const inner = categoryOfV4(bytes.subarray(12))
    return inner === "public" || inner === "unspecified" ? "private" : inner
  }
  if (isatap(bytes)) {
    const inner = categoryOfV4(bytes.subarray(12))
    if (inner !== "public") return inner
  }
  return own
}

/** What kind of address this is; null when the text is not an address. */
export const categoryOf = (address: string): AddressCategory | null => {
  const bytes = parseAddress(address)
  if (bytes === null) return null
  return bytes.length === 4 ? categoryOfV4(bytes) : categoryOfV6(bytes)
}

/** Purposes whose URL an operator enters; the flags for provider URLs open ranges for these alone. */
export const operatorPurposes: ReadonlySet<UrlPurpose> = new Set<UrlPurpose>(["provider", "proxy", "oidc"])

/** Whether a call for `purpose` may reach an address of `category`. */
export const allows = (category: AddressCategory, purpose: UrlPurpose, policy: Policy): boolean => {
  if (category === "metadata") return false
  if (category === "public" || !policy.guard) return true
  if (!operatorPurposes.has(purpose)) return false
  switch (category) {
    case "loopback":
      return policy.local
    case "lan":
      return policy.local || policy.private
    case "private":
    case "link-local":
      return policy.private
    case "multicast":
    case "unspecified":
      return false
  }
}

const bare = (host: string): string => {
  let end = host.length
  while (host[end - 1] === ".") end--
  return host.slice(0, end).toLowerCase()
}

export const isMetadataName = (host: string): boolean => metadataNames.has(bare(host))

/** `localhost` and names under it (RFC 6761): this machine, whatever a resolver says. */
export const isLocalName = (host: string): boolean => /(?:^|\.)localhost$/.test(bare(host))
