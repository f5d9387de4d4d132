/**
 * One text of an answer that comes in pieces, as the guardrails leave it: the same whatever the pieces are. A piece is held back only while
 * what it ends with may belong to a finding, and never more than 256 characters of it. Pure.
 */
import { isDigit, isSpace } from "#src/features/guardrails/detection/characters.ts"
import * as Credentials from "#src/features/guardrails/detection/credentials.ts"
import { behind, type Finding, type Open, ordered } from "#src/features/guardrails/detection/findings.ts"
import type { Report } from "#src/features/guardrails/Reading.ts"
import type { finders } from "#src/features/guardrails/rules.ts"

/** Longest text that is held back, characters; no finding that has to be seen whole is longer. */
export const HELD_MOST = 256
/** Characters before the undecided text that a finder may look at. */
const CONTEXT = 2

/** What a guardrail of answers found. */
interface Found extends Finding {
  readonly report: Report
}

export class StreamedText {
  readonly #reports: ReadonlyArray<Report>
  readonly #finders: typeof finders
  /** What went before, as it came. */
  #context = ""
  #held = ""
  /** The last finding goes on. */
  #open: Open | null = null
  /** The end of the block that goes on. */
  #block = ""

  /** `reports` are those of all texts of the answer. */
  constructor(reports: ReadonlyArray<Report>, by: typeof finders) {
    this.#reports = reports
    this.#finders = by
  }

  /** Characters that are held back. */
  get held(): number {
    return this.#held.length
  }

  /** What may pass now. `isLast`: nothing follows, and nothing is held back. */
  push(piece: string, isLast = false): string {
    const text = this.#open === null ? piece : this.#behindOpen(piece, this.#open)
    const all = this.#context + this.#held + text
    const base = this.#context.length
    const found = ordered(this.#find(all).flatMap((finding) => behind(finding, base, all) ?? []), all)
    let end = isLast ? all.length : Math.max(base, heldFrom(all, base))
    let out = ""
    let at = base
    for (const finding of found) {
      if (finding.start >= end) break
      out += all.slice(at, finding.start) + this.#instead(finding, all)
      at = finding.end
      if (finding.open !== undefined && finding.end === all.length) this.#goesOn(finding.open, all)
    }
    end = Math.max(end, at)
    out += all.slice(at, end)
    this.#held = all.slice(end)
    this.#context = all.slice(Math.max(0, end - CONTEXT), end)
    return out
  }

  #find(text: string): Array<Found> {
    return this.#reports.flatMap((report) =>
      report.mode === "off" || report.error !== null ? [] : this.#finders[report.name](text).map((finding) => ({ ...finding, report })))
  }

  #instead({ end, placeholder, report, start, type }: Found, text: string): string {
    report.found[type] = (report.found[type] ?? 0) + 1
    if (report.mode === "block") report.detections++
    if (report.mode !== "redact") return text.slice(start, end)
    report.modified = true
    return placeholder
  }

  #goesOn(open: Open, text: string): void {
    this.#open = open
    this.#block = open.kind === "block" ? text.slice(-Credentials.BLOCK_LINE_MOST) : ""
  }

  /** What of the piece is behind the finding that goes on. */
  #behindOpen(piece: string, open: Open): string {
    if (open.kind === "run") {
      let at = 0
      while (at < piece.length && open.of.test(piece[at] as string)) at++
      if (at < piece.length) this.#open = null
      if (at > 0) this.#context = (this.#context + piece.slice(0, at)).slice(-CONTEXT)
      return piece.slice(at)
    }
    const all = this.#block + piece
    const { end, left } = Credentials.blockEnd(all, 0, open.left + this.#block.length)
    if (left === 0) {
      this.#open = null
      this.#context = all.slice(Math.max(0, end - CONTEXT), end)
      return all.slice(end)
    }
    this.#open = { kind: "block", left }
    this.#block = all.slice(-Credentials.BLOCK_LINE_MOST)
    return ""
  }
}

/** Characters that numbers are written with, and what may go on with one. */
const isNumeric = (code: number): boolean =>
  isDigit(code) || code === 0x20 || code === 0x2e || code === 0x2c || code === 0x28 || code === 0x29 || code === 0x2b || code === 0x2d || code === 0x2f

const bearerEnd = /bearer[ \t]{0,4}$/i
const BEARER_MOST = 10

/** Where the text begins that may belong to a finding whose end is not seen: the last word, the last number, the first line of a key. */
const heldFrom = (text: string, base: number): number => {
  const least = Math.max(base, text.length - HELD_MOST)
  let word = text.length
  while (word > least && !isSpace(text.charCodeAt(word - 1))) word--
  let number = text.length
  while (number > least && isNumeric(text.charCodeAt(number - 1))) number--
  let from = Math.min(word, number)
  const before = text.slice(Math.max(base, from - BEARER_MOST), from)
  const bearer = bearerEnd.exec(before)
  if (bearer !== null) from -= before.length - bearer.index
  const line = text.lastIndexOf(Credentials.BLOCK_BEGINS)
  if (line >= base && line < from && line >= text.length - Credentials.BLOCK_LINE_MOST && !text.includes("-----", line + Credentials.BLOCK_BEGINS.length)) from = line
  from = Math.max(from, least)
  // Two halves of one character stay together.
  const code = text.charCodeAt(from - 1)
  return from > base && from < text.length && code >= 0xd800 && code < 0xdc00 ? from - 1 : from
}
