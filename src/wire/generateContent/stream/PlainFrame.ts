/**
 * The common frame of a stream, known by its shape: one candidate with one part that holds text and nothing else. A parsed frame of
 * that shape is taken as a pattern: what stands before its text, and what stands behind it with the numbers (token counts, index) left
 * open. A later frame that fits differs in its text and its numbers only, so it needs no parsing; any other frame does.
 */
import type { TokenUsage } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import { usageFrom } from "#src/wire/generateContent/facts.ts"
import * as ServiceTier from "#src/wire/neutral/serviceTier.ts"
import { unescape } from "#src/wire/stream/literal.ts"

const QUOTE = 34
const BACKSLASH = 92

/** Members that a plain frame may have; anything else is looked at. */
const chunkMembers = new Set(["candidates", "usageMetadata", "modelVersion", "responseId", "createTime"])
const candidateMembers = new Set(["content", "index"])
const contentMembers = new Set(["parts", "role"])
const partMembers = new Set(["text", "thought"])

/** What a number of the pattern says. */
type Slot = "promptTokenCount" | "toolUsePromptTokenCount" | "candidatesTokenCount" | "thoughtsTokenCount" | "cachedContentTokenCount" | "index" | "other"
const slots: ReadonlyArray<Slot> = [
  "promptTokenCount", "toolUsePromptTokenCount", "candidatesTokenCount", "thoughtsTokenCount", "cachedContentTokenCount", "index"
]

export class PlainFrame {
  /** Of the newest frame that fitted. */
  choice = 0
  thought = false
  /** Offsets of its text in the data. */
  start = 0
  end = 0
  private prefix: string | null = null
  /** `texts[i]` stands before number i; the last one ends the frame. */
  private texts: ReadonlyArray<string> = []
  private kinds: ReadonlyArray<Slot> = []
  private hasUsage = false
  /** What the pattern says of it. */
  private tier: unknown = undefined
  private readonly counts: Record<Slot, number> = {
    promptTokenCount: 0, toolUsePromptTokenCount: 0, candidatesTokenCount: 0, thoughtsTokenCount: 0, cachedContentTokenCount: 0, index: 0, other: 0
  }
  private known: TokenUsage | null = null

  /** Usage of the newest frame that fitted; the same object while the counts stay the same. */
  get usage(): TokenUsage | null {
    if (!this.hasUsage) return null
    const { cachedContentTokenCount: cached, candidatesTokenCount: candidates, promptTokenCount: prompt, thoughtsTokenCount: thoughts, toolUsePromptTokenCount: toolUse } = this.counts
    const known = this.known
    if (known === null || known.input !== prompt + toolUse || known.output !== candidates + thoughts || known.reasoning !== thoughts || known.cacheRead !== cached) {
      this.known = ServiceTier.served(usageFrom(prompt, toolUse, candidates, thoughts, cached), this.tier)
    }
    return this.known
  }

  /** Does a frame's data fit the pattern? If so, `choice`, `start`, `end` and `usage` tell of it. */
  fits(data: string): boolean {
    const { kinds, prefix, texts } = this
    // Comparing a slice is a memory comparison; `startsWith` goes character by character.
    if (prefix === null || data.slice(0, prefix.length) !== prefix) return false
    const end = endOfValid(data, prefix.length)
    if (end === -1) return false
    let at = end
    for (let i = 0; i < kinds.length; i++) {
      const text = texts[i] as string
      if (data.slice(at, at + text.length) !== text) return false
      at += text.length
      const first = at
      let number = 0
      for (let digit = data.charCodeAt(at) - 48; digit >= 0 && digit <= 9; digit = data.charCodeAt(at) - 48) {
        number = number * 10 + digit
        at++
      }
      if (at === first || at - first > 15) return false
      this.counts[kinds[i] as Slot] = number
    }
    const last = texts[kinds.length] as string
    if (data.slice(at) !== last) return false
    // A wild index is for the parser to judge.
    if (this.counts.index > 7) return false
    this.choice = this.counts.index
    this.start = prefix.length
    this.end = end
    return true
  }

  /** Takes the shape of a parsed frame, if it is a plain one. */
  learn(data: string, frame: Readonly<Record<string, unknown>>): void {
    const plain = plainText(frame)
    if (plain === null) return
    const key = data.indexOf('"text"')
    const start = key === -1 ? -1 : afterColonQuote(data, key + 6)
    const end = start === -1 ? -1 : endOfValid(data, start)
    if (end === -1 || unescape(data.slice(start, end)) !== plain.text) return
    const { kinds, texts } = patternOf(data, end)
    // The index may stand before the text: then it is fixed, and the pattern must say it.
    if (!kinds.includes("index")) this.counts.index = plain.index
    for (const slot of slots) if (slot !== "index" && !kinds.includes(slot)) this.counts[slot] = 0
    this.prefix = data.slice(0, start)
    this.texts = texts
    this.kinds = kinds
    this.thought = plain.thought
    const usage = frame["usageMetadata"]
    this.hasUsage = Json.isRecord(usage)
    this.tier = Json.isRecord(usage) ? usage["serviceTier"] : undefined
    this.known = null
  }
}

const only = (record: Readonly<Record<string, unknown>>, members: ReadonlySet<string>): boolean => {
  for (const name in record) if (!members.has(name)) return false
  return true
}

const plainText = (frame: Readonly<Record<string, unknown>>): { readonly text: string; readonly thought: boolean; readonly index: number } | null => {
  const candidates = frame["candidates"]
  if (!only(frame, chunkMembers) || !Array.isArray(candidates) || candidates.length !== 1) return null
  const candidate: unknown = candidates[0]
  if (!Json.isRecord(candidate) || !only(candidate, candidateMembers)) return null
  const content = candidate["content"]
  if (!Json.isRecord(content) || !only(content, contentMembers)) return null
  const parts = content["parts"]
  if (!Array.isArray(parts) || parts.length !== 1) return null
  const part: unknown = parts[0]
  if (!Json.isRecord(part) || !only(part, partMembers) || typeof part["text"] !== "string") return null
  const { index = 0 } = candidate
  return typeof index === "number" && Number.isSafeInteger(index) && index >= 0 ? { text: part["text"], thought: part["thought"] === true, index } : null
}

const afterColonQuote = (data: string, from: number): number => {
  const match = /\s*:\s*"/y
  match.lastIndex = from
  return match.test(data) ? match.lastIndex : -1
}

/** The rest of a frame as fixed texts and the numbers between them; numbers inside strings are text. */
const patternOf = (data: string, from: number): { readonly texts: ReadonlyArray<string>; readonly kinds: ReadonlyArray<Slot> } => {
  const texts: Array<string> = []
  const kinds: Array<Slot> = []
  // Every string of the rest, and every whole number outside of one; `from` is the closing quote of the text.
  const token = /"((?:[^"\\]|\\.)*)"|(?<![\d.+\-eE])\d+(?![\d.eE])/g
  token.lastIndex = from + 1
  let fixed = from
  let key = ""
  for (let found = token.exec(data); found !== null; found = token.exec(data)) {
    if (found[1] !== undefined) {
      key = found[1]
      continue
    }
    texts.push(data.slice(fixed, found.index))
    kinds.push(slots.find((slot) => slot === key) ?? "other")
    fixed = token.lastIndex
  }
  texts.push(data.slice(fixed))
  return { texts, kinds }
}

/**
 * The closing quote of a literal that is valid JSON, or -1: a literal that is forwarded unparsed must not break the client's
 * parser.
 */
const endOfValid = (data: string, start: number): number => {
  for (let i = start; i < data.length; i++) {
    const code = data.charCodeAt(i)
    if (code === QUOTE) return i
    if (code < 32) return -1
    if (code !== BACKSLASH) continue
    const escaped = data.charCodeAt(++i)
    if (escaped === 117) {
      for (let k = 1; k <= 4; k++) if (!isHex(data.charCodeAt(i + k))) return -1
      i += 4
    } else if (!isSimpleEscape(escaped)) return -1
  }
  return -1
}

const isHex = (code: number): boolean => (code >= 48 && code <= 57) || (code >= 97 && code <= 102) || (code >= 65 && code <= 70)

/** `"`, `\`, `/`, b, f, n, r, t. */
const isSimpleEscape = (code: number): boolean =>
  code === QUOTE || code === BACKSLASH || code === 47 || code === 98 || code === 102 || code === 110 || code === 114 || code === 116
