/**
 * Deterministic text: what the simulator counts as a token, its vocabulary, seeded randomness, and sample values for a JSON schema.
 */
import * as Predicate from "effect/Predicate"

const WORDS = ("the model reads each word as one small piece and writes its answer in the same way so a stream is a line of pieces that " +
  "arrive one after another while the reader may stop at any time without harm to those who share the same gateway").split(" ")

/** Longest run of letters that counts as one token when no size is given. */
const WORD_PIECE = /\s*\S{1,8}|\s+/gu

/** Cuts text into tokens: words with their leading space (8 characters at most), or exactly `size` characters each. */
export const tokenize = (text: string, size?: number): ReadonlyArray<string> => {
  if (text === "") return []
  if (size === undefined) return text.match(WORD_PIECE) ?? []
  const characters = Array.from(text)
  const tokens: Array<string> = []
  for (let i = 0; i < characters.length; i += size) tokens.push(characters.slice(i, i + size).join(""))
  return tokens
}

export const countTokens = (text: string): number => tokenize(text).length

/** `count` words of the vocabulary; with a size, each token is exactly that many characters. */
export const words = (count: number, size?: number): ReadonlyArray<string> => {
  const tokens: Array<string> = []
  for (let i = 0; i < count; i++) {
    const word = WORDS[i % WORDS.length]!
    const token = i === 0 ? word : ` ${word}`
    tokens.push(size === undefined ? token : token.padEnd(size, ".").slice(0, size))
  }
  return tokens
}

/** A small seeded generator (mulberry32): the same seed gives the same cuts on every machine. */
export const random = (seed: number): () => number => {
  let state = seed | 0
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4294967296
  }
}

/** Deepest nesting of a sample, so that a recursive schema ends. */
const SAMPLE_DEPTH = 8

/** A value that satisfies the common parts of a JSON schema: type, enum, const, properties, required, items. */
export const sampleOf = (schema: unknown, depth = 0): unknown => {
  if (!Predicate.isObject(schema) || depth > SAMPLE_DEPTH) return "sim"
  if (schema["const"] !== undefined) return schema["const"]
  const choices = schema["enum"]
  if (Array.isArray(choices) && choices.length > 0) return choices[0]
  const type: unknown = Array.isArray(schema["type"]) ? schema["type"][0] : schema["type"]
  if (type === "number" || type === "integer") return 1
  if (type === "boolean") return true
  if (type === "null") return null
  if (type === "array") return [sampleOf(schema["items"], depth + 1)]
  if (type === "object" || Predicate.isObject(schema["properties"])) {
    const properties = Predicate.isObject(schema["properties"]) ? schema["properties"] : {}
    return Object.fromEntries(Object.entries(properties).map(([name, inner]) => [name, sampleOf(inner, depth + 1)]))
  }
  return "sim"
}
