/** What the codecs of JSON requests without a conversation share. Pure. */
import type { AnswerFacts, UpstreamErrorBody, Usage } from "#actors/request/ports/Face.ts"
import type { PublicError } from "#schemas/errors.ts"
import { upstream as chatCompletions } from "#src/wire/chatCompletions/index.ts"
import * as Dialects from "#src/wire/dialects.ts"
import * as Json from "#src/wire/json/json.ts"
import * as Splice from "#src/wire/json/splice.ts"
import { invalid } from "#src/wire/neutral/settings.ts"

export const nothing: ReadonlyArray<string> = []

/** Why the body's model is none; null for one that may be. */
export const modelRefusal = (model: unknown, example: string): PublicError | null =>
  typeof model === "string" && model !== "" ? null : invalid("model", `Field 'model' must be a non-empty string such as '${example}'.`)

/** Why a field is no text with at least one character; null for one that is. */
export const textRefusal = (body: Readonly<Record<string, unknown>>, name: string): PublicError | null =>
  typeof body[name] === "string" && body[name] !== "" ? null : invalid(name, `Field '${name}' must be a non-empty string.`)

/** Why a field is no whole number from 1; null for one that is, and for one that is not said. */
export const countRefusal = (body: Readonly<Record<string, unknown>>, name: string): PublicError | null => {
  const value = body[name]
  return value === undefined || value === null || (Number.isSafeInteger(value) && (value as number) >= 1) ? null : invalid(name, `Field '${name}' must be a whole number from 1.`)
}

/** Why a field is neither true nor false; null for one that is, and for one that is not said. */
export const flagRefusal = (body: Readonly<Record<string, unknown>>, name: string): PublicError | null => {
  const value = body[name]
  return value === undefined || value === null || typeof value === "boolean" ? null : invalid(name, `Field '${name}' must be true or false.`)
}

/** The client's own bytes with another model. */
export const named = (bytes: Buffer, parsed: Readonly<Record<string, unknown>>, model: string): Uint8Array =>
  (typeof parsed["model"] === "string" ? Splice.edit(bytes, parsed, [{ key: "model", value: JSON.stringify(model) }]) : null) ?? Buffer.from(JSON.stringify({ ...parsed, model }))

export const recordOf = (bytes: Uint8Array): Record<string, unknown> | null =>
  Json.parseRecord(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("utf8"))

/** The error object that most vendors share. */
export const readError = (body: Uint8Array): UpstreamErrorBody | null => Dialects.readError(chatCompletions, body)

const outputText = (): string => ""

export const answered = (body: Uint8Array, facts: Pick<AnswerFacts, "usage" | "units">): AnswerFacts => ({ ...facts, error: null, body, outputText })

/** What is no answer may still be an error with status 200. */
export const errorOr = (bytes: Uint8Array, parsed: Record<string, unknown> | null): AnswerFacts | null => {
  const error = parsed === null ? null : chatCompletions.readError(parsed)
  return error === null ? null : { usage: null, error, body: bytes, outputText }
}

/** Tokens as `usage` of an answer names them; null when it counts none. */
export const usageIn = (parsed: Readonly<Record<string, unknown>>): Usage | null => {
  const usage = parsed["usage"]
  if (!Json.isRecord(usage)) return null
  const amount = (...names: ReadonlyArray<string>): number | null => {
    for (const name of names) if (typeof usage[name] === "number" && usage[name] >= 0) return usage[name]
    return null
  }
  const input = amount("input_tokens", "prompt_tokens", "total_tokens")
  return input === null ? null : { input, output: amount("output_tokens", "completion_tokens") ?? 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }
}
