/** Does a list of addresses and CIDR ranges contain an address? Mapped IPv4 (`::ffff:a.b.c.d`) counts as IPv4. */

/** 128-bit value of a textual address, IPv4 mapped; null when it is none. */
export const parse = (text: string): bigint | null => {
  if (!text.includes(":")) {
    const v4 = parseV4(text)
    return v4 === null ? null : 0xffff00000000n + v4
  }
  const zone = text.indexOf("%")
  let body = zone === -1 ? text : text.slice(0, zone)
  const lastColon = body.lastIndexOf(":")
  if (body.includes(".", lastColon)) {
    const v4 = parseV4(body.slice(lastColon + 1))
    if (v4 === null) return null
    body = `${body.slice(0, lastColon + 1)}${(v4 >> 16n).toString(16)}:${(v4 & 0xffffn).toString(16)}`
  }
  const halves = body.split("::")
  if (halves.length > 2) return null
  const head = halves[0] === "" ? [] : (halves[0] as string).split(":")
  const tail = halves.length === 1 || halves[1] === "" ? [] : (halves[1] as string).split(":")
  const missing = 8 - head.length - tail.length
  if (halves.length === 2 ? missing < 1 : missing !== 0) return null
  let value = 0n
  for (const group of [...head, ...Array.from({ length: Math.max(0, missing) }, () => "0"), ...tail]) {
    if (!/^[0-9a-fA-F]{1,4}$/.test(group)) return null
    value = (value << 16n) | BigInt(Number.parseInt(group, 16))
  }
  return value
}

const parseV4 = (text: string): bigint | null => {
  const parts = text.split(".")
  if (parts.length !== 4) return null
  let value = 0n
  for (const part of parts) {
    if (!/^\d{1,3}$/.test(part) || Number(part) > 255) return null
    value = (value << 8n) | BigInt(Number(part))
  }
  return value
}

export interface Range {
  readonly base: bigint
  readonly mask: bigint
}

/** `a.b.c.d`, `a.b.c.d/n`, or the IPv6 forms; null when it is neither. */
export const parseRange = (text: string): Range | null => {
  const slash = text.indexOf("/")
  const address = parse(slash === -1 ? text : text.slice(0, slash))
  if (address === null) return null
  const isV4 = !text.includes(":")
  const width = isV4 ? 32 : 128
  const length = slash === -1 ? `${width}` : text.slice(slash + 1)
  const bits = /^\d{1,3}$/.test(length) ? Number(length) : width + 1
  if (bits > width) return null
  const free = BigInt(width - bits)
  const mask = ((1n << 128n) - 1n) ^ ((1n << free) - 1n)
  return { base: address & mask, mask }
}

const parsed = new WeakMap<ReadonlyArray<string>, ReadonlyArray<Range>>()

/** Whether an address is in one of the ranges; an address or a range that cannot be read is in none. */
export const contains = (list: ReadonlyArray<string>, address: string): boolean => {
  const value = parse(address)
  if (value === null) return false
  let ranges = parsed.get(list)
  if (ranges === undefined) {
    ranges = list.map(parseRange).filter((range) => range !== null)
    parsed.set(list, ranges)
  }
  return ranges.some((range) => (value & range.mask) === range.base)
}
