/** A request as the guardrails leave it. Pure. */
import { messageOf } from "#actors/thrown.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Edits from "#src/wire/json/edits.ts"
import { modifies, Reading, refusing, type Report } from "#src/features/guardrails/Reading.ts"
import { type finders, guardrails, type Rules } from "#src/features/guardrails/rules.ts"
import * as Texts from "./texts.ts"

type Body = Record<string, unknown>

export interface Scanned {
  readonly reports: ReadonlyArray<Report>
  /** What the request became; null when it stays, or is refused. */
  readonly changed: { readonly bytes: Buffer; readonly body: Body } | null
}

/** Every guardrail that is on has failed. */
export const failed = ({ requests: modes }: Rules, message: string): Scanned => ({
  reports: guardrails.map(({ name }) => ({ name, mode: modes[name], found: {}, detections: 0, modified: false, error: modes[name] === "off" ? null : message })),
  changed: null
})

/** `bytes` are the body that `body` was parsed of. What cannot be read at all, such as texts that are nested too deeply, has failed. */
export const scan = (rules: Rules, format: FormatName, bytes: Buffer, body: Body, by?: typeof finders): Scanned => {
  try {
    return read(rules, format, bytes, body, by)
  } catch (cause) {
    return failed(rules, messageOf(cause))
  }
}

const read = (rules: Rules, format: FormatName, bytes: Buffer, body: Body, by?: typeof finders): Scanned => {
  const reading = new Reading(rules.requests, rules.threshold, by)
  const { reports } = reading
  const edits = Texts.read(format, body, (text) => reading.read(text))
  if (edits === null || !modifies(reports) || refusing(reports) !== null) return { reports, changed: null }
  const next = Edits.applied(body, edits) as Body
  return { reports, changed: { body: next, bytes: Edits.inBytes(bytes, edits) ?? Buffer.from(JSON.stringify(next)) } }
}
