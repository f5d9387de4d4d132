/** All texts of one answer: pieces by the text that they belong to, whole texts at once. Pure. */
import { messageOf } from "#actors/thrown.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Edits from "#src/wire/json/edits.ts"
import type { Report } from "#src/features/guardrails/Reading.ts"
import { enforces, finders, guardrails, isOn, type Rules } from "#src/features/guardrails/rules.ts"
import * as Frames from "./frames.ts"
import { StreamedText } from "./StreamedText.ts"

type Body = Readonly<Record<string, unknown>>

export class AnswerReading {
  readonly reports: ReadonlyArray<Report>
  /** Nothing is changed or refused: the bytes may pass before they are read. */
  readonly observes: boolean
  readonly #texts = new Map<string, StreamedText>()
  readonly #finders: typeof finders

  constructor(modes: Rules["answers"], by: typeof finders = finders) {
    this.reports = guardrails.map(({ name }) => ({ name, mode: modes[name], found: {}, detections: 0, modified: false, error: null }))
    this.observes = isOn(modes) && !enforces(modes)
    this.#finders = by
  }

  /** Slots of which something is held back. */
  held(ends: ReadonlyArray<string> | null): ReadonlyArray<string> {
    return [...this.#texts].flatMap(([slot, text]) => text.held > 0 && (ends === null || ends.includes(slot)) ? [slot] : [])
  }

  piece(slot: string, piece: string, isLast: boolean): string {
    const text = this.#texts.get(slot) ?? new StreamedText(this.reports, this.#finders)
    this.#texts.set(slot, text)
    return text.push(piece, isLast)
  }

  whole(text: string): string {
    return new StreamedText(this.reports, this.#finders).push(text, true)
  }

  /** Every guardrail that is on has failed. */
  fail(cause: unknown): void {
    for (const report of this.reports) if (report.mode !== "off") report.error = messageOf(cause).slice(0, 200)
  }
}

/** A whole answer as its guardrails leave it. Tokens say the text again, so they go where it is changed. */
export const answerOf = (reading: AnswerReading, format: FormatName, bytes: Buffer, answer: Body): Buffer => {
  const { tokens, wholes } = Frames.ofAnswer(format, answer)
  const changes = wholes.flatMap(({ path, text }) => {
    const left = reading.whole(text)
    return left === text ? [] : [{ path, to: left }]
  })
  return changes.length === 0 ? bytes : Edits.bytesWith(bytes, answer, [...changes, ...tokens])
}
