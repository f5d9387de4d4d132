/**
 * Compares a body, piece by piece as it arrives, with what was sent: any lost, doubled or changed byte is found where it
 * happens. Stamps inside paced events are read; SSE comments between events are skipped and counted.
 */
import { type Expected, STAMP_DIGITS } from "./payload.ts"

const LF = 10
const COLON = 58
const ZERO = 48

export class ContentCheck {
  readonly #expected: Expected
  readonly #onStamp: (micros: number) => void
  /** Bytes of the expected content seen so far. */
  position = 0
  /** SSE comment blocks that were inserted on the way. */
  comments = 0
  #comment: "none" | "line" | "after" = "none"
  #stampIndex = 0
  #stampValue = 0

  constructor(expected: Expected, onStamp: (micros: number) => void = () => undefined) {
    this.#expected = expected
    this.#onStamp = onStamp
  }

  /** Null while the content is right, else what is wrong. */
  feed(bytes: Buffer, start: number, end: number): string | null {
    let at = start
    while (at < end) {
      if (this.#comment !== "none") {
        at = this.#skipComment(bytes, at, end)
        continue
      }
      const { stamps, stampAt, period, bytes: expected } = this.#expected
      const stamp = this.#stampIndex < stamps ? stampAt + this.#stampIndex * period : expected.length
      if (this.position >= expected.length) {
        if (this.#startsComment(bytes[at])) continue
        return `${end - at} bytes too many after ${this.position}`
      }
      if (this.position >= stamp) {
        const problem = this.#readStamp(bytes[at] ?? 0, stamp)
        if (problem !== null) return problem
        at++
        continue
      }
      const length = Math.min(end - at, stamp - this.position)
      if (bytes.compare(expected, this.position, this.position + length, at, at + length) === 0) {
        at += length
        this.position += length
        continue
      }
      while (bytes[at] === expected[this.position]) {
        at++
        this.position++
      }
      if (!this.#startsComment(bytes[at])) return this.#mismatch(bytes, at, end)
    }
    return null
  }

  /** Null when everything has arrived. */
  finish(): string | null {
    const missing = this.#expected.bytes.length - this.position
    return missing === 0 ? null : `${missing} of ${this.#expected.bytes.length} bytes are missing at the end`
  }

  #startsComment(byte: number | undefined): boolean {
    const { bytes, events } = this.#expected
    const boundary = this.position === 0 || (bytes[this.position - 1] === LF && bytes[this.position - 2] === LF)
    if (!events || !boundary || byte !== COLON) return false
    this.#comment = "line"
    this.comments++
    return true
  }

  #skipComment(bytes: Buffer, start: number, end: number): number {
    if (this.#comment === "line") {
      const lineEnd = bytes.indexOf(LF, start)
      if (lineEnd === -1 || lineEnd >= end) return end
      this.#comment = "after"
      return lineEnd + 1
    }
    this.#comment = "none"
    return bytes[start] === LF ? start + 1 : start
  }

  #readStamp(byte: number, stamp: number): string | null {
    const digit = byte - ZERO
    if (digit < 0 || digit > 9) return `byte ${this.position}: a digit of the clock expected, got 0x${byte.toString(16)}`
    this.#stampValue = this.#stampValue * 10 + digit
    this.position++
    if (this.position === stamp + STAMP_DIGITS) {
      this.#onStamp(this.#stampValue)
      this.#stampValue = 0
      this.#stampIndex++
    }
    return null
  }

  #mismatch(bytes: Buffer, at: number, end: number): string {
    const got = bytes.toString("latin1", at, Math.min(at + 24, end))
    const wanted = this.#expected.bytes.toString("latin1", this.position, this.position + 24)
    return `byte ${this.position}: expected ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`
  }
}
