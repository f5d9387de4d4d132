/**
 * Adds tokens to the usage that a client is told: to its prompt tokens and its total, in the bytes of an answer or of whole events. All
 * other bytes stay. Members are found by their names, and what they carry is not parsed. Pure.
 */
import type { FormatName } from "#schemas/wire/conversation.ts"
import { asBuffer } from "#src/wire/json/asBuffer.ts"
import * as Members from "#src/wire/json/members.ts"

/** Where a format tells how many tokens a prompt had. */
interface Counts {
  /** Bytes without which nothing is told. */
  readonly sign: Buffer
  /** Members around the counts, from the outermost one on. */
  readonly holders: ReadonlyArray<ReadonlyArray<string>>
  readonly names: ReadonlyArray<string>
}

const chat: Counts = { sign: Buffer.from("\"usage\""), holders: [["usage"]], names: ["prompt_tokens", "total_tokens"] }

const counts: Readonly<Record<FormatName, Counts>> = {
  "chat-completions": chat,
  completions: chat,
  messages: { sign: Buffer.from("\"usage\""), holders: [["usage"], ["message", "usage"]], names: ["input_tokens"] },
  responses: { sign: Buffer.from("\"usage\""), holders: [["usage"], ["response", "usage"]], names: ["input_tokens", "total_tokens"] },
  generateContent: { sign: Buffer.from("\"usageMetadata\""), holders: [["usageMetadata"]], names: ["promptTokenCount", "totalTokenCount"] },
  "local-model-server": { sign: Buffer.from("\"prompt_eval_count\""), holders: [[]], names: ["prompt_eval_count"] }
}

/** A whole answer with `tokens` more; the same bytes where it tells of none. */
export const inAnswer = (format: FormatName, tokens: number, answer: Uint8Array): Uint8Array => {
  const bytes = asBuffer(answer)
  const told = counts[format]
  if (bytes.indexOf(told.sign) === -1) return answer
  const sums = new Sums(bytes, tokens)
  sums.of(told, bytes)
  return sums.written()
}

const LF = 0x0a
const CR = 0x0d
const dataName = Buffer.from("data:")

/** Whole events, or whole lines of JSON, with `tokens` more; the same bytes where they tell of none. */
export const inEvents = (format: FormatName, tokens: number, events: Uint8Array): Uint8Array => {
  const bytes = asBuffer(events)
  const told = counts[format]
  let sign = bytes.indexOf(told.sign)
  if (sign === -1) return events
  const sums = new Sums(bytes, tokens)
  for (let at = 0; sign !== -1; sign = bytes.indexOf(told.sign, at)) {
    const start = startOfLine(bytes, at, sign)
    at = endOfLine(bytes, sign)
    const isData = bytes.compare(dataName, 0, dataName.length, start, start + dataName.length) === 0
    sums.of(told, bytes.subarray(isData ? start + dataName.length : start, at))
  }
  return sums.written()
}

const startOfLine = (bytes: Buffer, from: number, within: number): number => {
  let at = within
  while (at > from && bytes[at - 1] !== LF && bytes[at - 1] !== CR) at--
  return at
}

const endOfLine = (bytes: Buffer, within: number): number => {
  let at = within
  while (at < bytes.length && bytes[at] !== LF && bytes[at] !== CR) at++
  return at
}

const wholeNumber = /^\d{1,15}$/

/** Bytes, and the numbers in them that are larger by so many tokens. */
class Sums {
  readonly #bytes: Buffer
  readonly #tokens: number
  /** The numbers as views, in the order in which they were found. */
  readonly #numbers: Array<Buffer> = []

  constructor(bytes: Buffer, tokens: number) {
    this.#bytes = bytes
    this.#tokens = tokens
  }

  /** The counts of one document. */
  of({ holders, names }: Counts, document: Buffer): void {
    const outermost = Members.of(document)
    for (const holder of holders) {
      let members = outermost
      for (const name of holder) members = memberOf(members, name)
      for (const name of names) {
        const number = members?.get(name)
        if (number !== undefined && wholeNumber.test(number.toString("latin1"))) this.#numbers.push(number)
      }
    }
  }

  written(): Buffer {
    const bytes = this.#bytes
    const pieces: Array<Buffer> = []
    let at = 0
    for (const number of this.#numbers.sort((a, b) => a.byteOffset - b.byteOffset)) {
      const start = number.byteOffset - bytes.byteOffset
      pieces.push(bytes.subarray(at, start), Buffer.from(String(Number(number.toString("latin1")) + this.#tokens)))
      at = start + number.length
    }
    return at === 0 ? bytes : Buffer.concat([...pieces, bytes.subarray(at)])
  }
}

const memberOf = (members: Members.Members | null, name: string): Members.Members | null => {
  const member = members?.get(name)
  return member === undefined ? null : Members.of(member)
}
