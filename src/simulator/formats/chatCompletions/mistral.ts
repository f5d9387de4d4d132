/** What one vendor of this format refuses beyond the others: members that it does not know, and other ids of calls than its own. */
import * as Predicate from "effect/Predicate"
import type { Body } from "#src/simulator/formats/Format.ts"
import { Bad } from "#src/simulator/formats/chatRequest.ts"

/** Without a host's prefix: other hosts of these models take more. */
export const MISTRAL = /^(?:open-|labs-)?(?:mistral|magistral|ministral|codestral|devstral|pixtral|mixtral|voxtral)-/

const KNOWN: ReadonlySet<string> = new Set([
  "model", "messages", "temperature", "top_p", "max_tokens", "stream", "stop", "random_seed", "metadata", "response_format", "tools", "tool_choice", "presence_penalty",
  "frequency_penalty", "n", "prediction", "parallel_tool_calls", "prompt_mode", "reasoning_effort", "guardrails", "safe_prompt", "stream_options"
])
const CALL_ID = /^[a-zA-Z0-9]{9}$/

export const checkMistral = (body: Body): void => {
  for (const member of Object.keys(body)) if (!KNOWN.has(member)) throw new Bad(`Extra inputs are not permitted: ${member}`, member, "extra_forbidden")
  const messages = body["messages"]
  for (const message of Array.isArray(messages) ? messages.filter(Predicate.isObject) : []) {
    const calls: unknown = message["tool_calls"]
    for (const call of Array.isArray(calls) ? calls.filter(Predicate.isObject) : []) checkId(call["id"])
    if (message["role"] === "tool") checkId(message["tool_call_id"])
  }
}

const checkId = (id: unknown): void => {
  if (!Predicate.isString(id) || CALL_ID.test(id)) return
  throw new Bad(`Tool call id was ${id} but must be a-z, A-Z, 0-9, with a length of 9.`, "messages", "3280")
}
