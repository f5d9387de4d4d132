/** A record that comes back whole: the members that only answers have are passed over when they read as shown, and refused when not. */
import * as Equal from "effect/Equal"
import * as Predicate from "effect/Predicate"
import type * as Schema from "effect/Schema"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import type { SentBackRule } from "#schemas/api/SentBack.ts"

export type Document = Readonly<Record<string, Schema.Json>>

/** Whether the call takes a value of a member; a member that it does not know is absent. */
export type Taken = ReadonlyMap<string, (value: unknown) => boolean>

export const isDocument = (value: unknown): value is Document => Predicate.isReadonlyObject(value) && !Array.isArray(value)

const membersOf = (value: Schema.Json): ReadonlyArray<Schema.Json> => Array.isArray(value) ? value : isDocument(value) ? Object.values(value) : []

/** The record that the body is a change of, in what GET answered; null when it is not there. */
export const recordIn = (answer: Schema.Json, body: Document, { by }: Pick<SentBackRule, "by">): Document | null => {
  if (!isDocument(answer)) return null
  if (by.length === 0) {
    const members = Object.values(answer)
    return members.length === 1 && isDocument(members[0]) ? members[0] : answer
  }
  const isIt = (value: unknown): value is Document =>
    isDocument(value) && by.every((name) => Object.hasOwn(value, name) && Object.hasOwn(body, name) && Equal.equals(value[name], body[name]))
  return [answer, ...Object.values(answer).flatMap((member) => [member, ...membersOf(member)])].find(isIt) ?? null
}

/** Does a body have members that the call does not know? */
export const isWider = (body: Document, taken: Taken): boolean => Object.keys(body).some((name) => !taken.has(name))

/**
 * What is left for the call: all that it takes, and all that the record does not show, which the schema then refuses by name. A member
 * that the call takes with another value only, such as a mask, is passed over, too, while it reads as shown.
 */
export const withoutShown = (body: Document, shown: Document, taken: Taken, moves: ReadonlySet<string>): { readonly body: Document; readonly changed: ReadonlyArray<FieldIssue> } => {
  const left: Array<readonly [string, Schema.Json]> = []
  const changed: Array<FieldIssue> = []
  for (const [name, value] of Object.entries(body)) {
    const takes = taken.get(name)
    if (takes?.(value) === true || !Object.hasOwn(shown, name)) left.push([name, value])
    else if (Equal.equals(value, shown[name]) || (takes === undefined && moves.has(name))) continue
    else if (takes === undefined) changed.push({ field: name, message: "Read-only: send it as it is shown now, or leave it out" })
    else left.push([name, value])
  }
  return { body: Object.fromEntries(left), changed }
}
