/** The most tokens that a client lets its answer have, in any format. Pure. */
import * as Json from "#src/wire/json/json.ts"

/** Null where its body says none. */
export const answerCapOf = (parsed: Readonly<Record<string, unknown>>): number | null => {
  const within = (name: string): Readonly<Record<string, unknown>> => Json.isRecord(parsed[name]) ? parsed[name] : {}
  for (const cap of [
    parsed["max_tokens"], parsed["max_completion_tokens"], parsed["max_output_tokens"], within("generationConfig")["maxOutputTokens"], within("options")["num_predict"]
  ]) if (typeof cap === "number" && cap > 0) return Math.ceil(cap)
  return null
}
