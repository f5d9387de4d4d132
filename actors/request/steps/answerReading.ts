/** How a whole answer is read and held against rules, on the loop or in a thread. Pure. */
import { headerOf } from "#actors/request/ports/Upstream.ts"
import type { AnswerCheck, AnswerView } from "#actors/request/ports/AnswerCheck.ts"
import type { AnswerFacts, Dialect } from "#actors/request/ports/Face.ts"

/** `asStream`: the client asked for a stream, and the upstream did not stream. */
export const factsOf = (dialect: Pick<Dialect, "readAnswer" | "replayAnswer">, body: Uint8Array, asStream: boolean, forwardUsage: boolean): AnswerFacts | null =>
  asStream ? dialect.replayAnswer(body, { forwardUsage }) : dialect.readAnswer(body)

/** The rule that an answer breaks; null when it breaks none. An answer that cannot be read breaks the rule `readable`. */
export const brokenRule = (check: AnswerCheck | null, view: AnswerView | null): string | null => {
  if (check === null) return null
  return view !== null ? check.broken(view) : check.holds ? "readable" : null
}

/** The same of an answer whose facts are known; null, too, for an error. */
export const brokenRuleOf = (dialect: Pick<Dialect, "viewAnswer">, body: Uint8Array, facts: AnswerFacts | null, check: AnswerCheck | null): string | null => {
  if (facts === null || facts.error !== null || check === null) return null
  // A view costs another reading, so it is made for rules, and for an answer of which the tokenizer would see nothing.
  return check.holds || facts.outputText().trim() === "" ? brokenRule(check, dialect.viewAnswer(body)) : null
}

/** JSON or HTML instead of an event stream or JSON lines: read whole, then judged. */
export const isPlainDocument = (headers: ReadonlyArray<string>): boolean => {
  const type = headerOf(headers, "content-type")
  return type !== undefined && ((type.includes("json") && !type.includes("ndjson") && !type.includes("jsonl")) || type.includes("html"))
}
