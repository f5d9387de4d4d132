/** Sets of addresses, written as addresses, CIDR ranges and patterns; each entry carries a value. Pure. */
import * as IpRange from "./ipRange.ts"

const full = (1n << 128n) - 1n
const v4Base = 0xffff00000000n
const v4Mask = full ^ 0xffffffffn

/** The parts of a pattern, each a number or `*`; a last `*` stands for all that follow. Null when there are too many or too few. */
const partsOf = (text: string, separator: string, count: number): ReadonlyArray<string> | null => {
  const parts = text.split(separator)
  if (parts.length > count || (parts.length < count && parts.at(-1) !== "*")) return null
  return [...parts, ...Array.from({ length: count - parts.length }, () => "*")]
}

const patternOf = (parts: ReadonlyArray<string>, bits: bigint, valueOf: (part: string) => number | null): IpRange.Range | null => {
  const whole = (1n << bits) - 1n
  let base = 0n
  let mask = 0n
  for (const part of parts) {
    const value = part === "*" ? 0 : valueOf(part)
    if (value === null) return null
    base = (base << bits) | BigInt(value)
    mask = (mask << bits) | (part === "*" ? 0n : whole)
  }
  return { base, mask }
}

const octet = (part: string): number | null => /^\d{1,3}$/.test(part) && Number(part) <= 255 ? Number(part) : null
const group = (part: string): number | null => /^[0-9a-f]{1,4}$/i.test(part) ? Number.parseInt(part, 16) : null

/** `10.1.*`, `10.*.*.7`, `2001:db8:*`; `*` alone is every address. */
const parsePattern = (text: string): IpRange.Range | null => {
  if (text === "*") return { base: 0n, mask: 0n }
  if (text.includes(":")) {
    const parts = partsOf(text, ":", 8)
    return parts === null ? null : patternOf(parts, 16n, group)
  }
  const parts = partsOf(text, ".", 4)
  const range = parts === null ? null : patternOf(parts, 8n, octet)
  return range === null ? null : { base: v4Base | range.base, mask: v4Mask | range.mask }
}

/** The addresses that an entry means; null when it is no address, no range and no pattern. */
export const parseEntry = (text: string): IpRange.Range | null => text.includes("*") ? parsePattern(text) : IpRange.parseRange(text)

/** Equal for two spellings of the same addresses; of what cannot be read, the text. */
export const keyOf = (text: string): string => {
  const range = parseEntry(text)
  return range === null ? text : `${range.base}/${range.mask}`
}

/** A look-up takes one step per length of prefix that occurs, however many entries there are. */
export class AddressSet<A> {
  private readonly byMask = new Map<bigint, Map<bigint, A>>()

  /** Of two entries that mean the same the later one counts. */
  constructor(entries: Iterable<readonly [string, A]>) {
    for (const [text, value] of entries) {
      const range = parseEntry(text)
      if (range === null) continue
      const bases = this.byMask.get(range.mask)
      if (bases === undefined) this.byMask.set(range.mask, new Map([[range.base, value]]))
      else bases.set(range.base, value)
    }
  }

  /** The value of an entry that holds the address and whose value fits. */
  find(address: bigint, fits: (value: A) => boolean): A | undefined {
    for (const [mask, bases] of this.byMask) {
      const value = bases.get(address & mask)
      if (value !== undefined && fits(value)) return value
    }
    return undefined
  }
}
