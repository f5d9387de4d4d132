/**
 * Refuses JSON text that would harm a parser, before it is parsed: one pass over the bytes that jumps over strings.
 *
 * A parser takes any depth, but recursion over its result overflows the stack, objects with very many members are slow to copy, and
 * an empty object of three bytes takes sixty in memory.
 * Up to the first byte that is no JSON the pass sees what a parser sees, so that nothing passes here and is deeper there.
 */
const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** Levels of objects and lists. */
export const MAX_DEPTH = 256
/** Members of one object. */
export const MAX_MEMBERS = 20_000
/** Objects and lists in all. A history of a million tokens has some 50,000. */
export const MAX_CONTAINERS = 200_000
/** Values in all: members, items, and what holds them. The token numbers of a large batch of embeddings are this many. */
export const MAX_VALUES = 2_000_000
/** Valid JSON below this many bytes has fewer members, and half of them in levels, which every recursion here bears. */
export const HARMLESS_BYTES = 4_096

/** Bytes looked at one by one behind an escaped quote: a text full of them must not cost a native search for each. */
const NEAR_BYTES = 16

export interface Excess {
  readonly what: "depth" | "members" | "containers" | "values"
  /** Byte offset of the bracket, colon or comma that is one too many. */
  readonly at: number
}

/** How much a text holds. */
export interface Size {
  /** Objects and lists. */
  readonly containers: number
  /** Values: as many as there are commas and opened brackets, so that an empty list counts twice. */
  readonly values: number
}

/** Members of the objects that are open; filled from the outermost on, in one turn of the loop. */
const members = new Uint32Array(MAX_DEPTH + 1)

/** The first place at which the text passes a bound; null when it keeps them all. */
export const excessOf = (json: Buffer): Excess | null => json.length < HARMLESS_BYTES ? null : scan(json)

/** As `excessOf`, whatever the length. */
export const scan = (json: Buffer): Excess | null => {
  const found = measure(json)
  return "what" in found ? found : null
}

/** The size of a text, or the first place at which it passes a bound. */
export const measure = (json: Buffer): Size | Excess => {
  const end = json.length
  members[0] = 0
  let depth = 0
  let containers = 0
  let commas = 0
  let i = 0
  while (i < end) {
    const byte = json[i++]
    if (byte === QUOTE) {
      i = afterString(json, i)
    } else if (byte === COLON) {
      if (++members[depth]! > MAX_MEMBERS) return { what: "members", at: i - 1 }
    } else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
      if (++depth > MAX_DEPTH) return { what: "depth", at: i - 1 }
      members[depth] = 0
      if (++containers > MAX_CONTAINERS) return { what: "containers", at: i - 1 }
    } else if (byte === COMMA) {
      if (++commas + containers > MAX_VALUES) return { what: "values", at: i - 1 }
    } else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) {
      // More brackets closed than opened: no parser gets further.
      if (--depth < 0) break
    }
  }
  return { containers, values: commas + containers }
}

/** In words, for the client that sent the text. */
export const describe = ({ at, what }: Excess): string => `${words[what]} (byte ${at})`

const words: Readonly<Record<Excess["what"], string>> = {
  depth: `it is nested deeper than ${MAX_DEPTH} levels`,
  members: `one of its objects has more than ${MAX_MEMBERS} members`,
  containers: `it holds more than ${MAX_CONTAINERS} objects and lists`,
  values: `it holds more than ${MAX_VALUES} values`
}

/** Offset behind the string whose text begins at `from`; the length of the text when the string never ends. */
const afterString = (json: Buffer, from: number): number => {
  let i = from
  for (;;) {
    const quote = json.indexOf(QUOTE, i)
    if (quote === -1) return json.length
    // Whatever stands at `i` is not escaped, so that only the backslashes from there on count.
    let slash = quote
    while (slash > i && json[slash - 1] === BACKSLASH) slash--
    if (((quote - slash) & 1) === 0) return quote + 1
    i = quote + 1
    const near = Math.min(i + NEAR_BYTES, json.length)
    while (i < near) {
      const byte = json[i]
      if (byte === QUOTE) return i + 1
      i += byte === BACKSLASH ? 2 : 1
    }
  }
}
