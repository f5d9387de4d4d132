/** All texts of one request or answer, as the guardrails read them one by one. Pure. */
import { messageOf } from "#actors/thrown.ts"
import { finders, guardrails, type Mode, type Name, type Rules, verdictOf } from "./rules.ts"

/** What one guardrail did with all texts. Plain data. */
export interface Report {
  readonly name: Name
  readonly mode: Mode
  /** How often each type was found. */
  found: Record<string, number>
  /** Findings for which the whole is refused. */
  detections: number
  modified: boolean
  /** It failed with this error, and read no further. */
  error: string | null
}

/** Messages of errors that are kept, characters. */
const ERROR_MOST = 200

export class Reading {
  readonly reports: ReadonlyArray<Report>
  readonly #threshold: Rules["threshold"]
  readonly #finders: typeof finders

  /** `by`: the finders; another table makes tests of failures. */
  constructor(modes: Readonly<Record<Name, Mode>>, threshold: Rules["threshold"], by: typeof finders = finders) {
    this.reports = guardrails.map(({ name }) => ({ name, mode: modes[name], found: {}, detections: 0, modified: false, error: null }))
    this.#threshold = threshold
    this.#finders = by
  }

  /** The text as it may pass; a text of which nothing is to change is the same one. */
  read(text: string): string {
    let left = text
    for (const report of this.reports) {
      if (report.mode === "off" || report.error !== null) continue
      try {
        left = this.#readBy(report, left)
      } catch (cause) {
        report.error = messageOf(cause).slice(0, ERROR_MOST)
      }
    }
    return left
  }

  #readBy(report: Report, text: string): string {
    const verdict = verdictOf(report.mode, this.#threshold, text, this.#finders[report.name])
    for (const [type, count] of Object.entries(verdict.found)) report.found[type] = (report.found[type] ?? 0) + count
    if (verdict.outcome === "block") report.detections += verdict.detections
    if (verdict.outcome !== "modify") return text
    report.modified = true
    return verdict.text
  }
}

/** The first guardrail that refuses: it has found what it blocks, or it failed and must not let pass what it has not read. */
export const refusing = (reports: ReadonlyArray<Report>): Report | null =>
  reports.find(({ detections, error, mode }) => detections > 0 || (error !== null && mode !== "warn")) ?? null

export const modifies = (reports: ReadonlyArray<Report>): boolean => reports.some(({ modified }) => modified)
