/**
 * The format of local model servers: `POST /api/chat`, newline-delimited JSON, streamed unless `stream: false`.
 *
 * Stream: one line per token, tool calls in one line, the last line `done: true` with reason and counts.
 */
import * as Predicate from "effect/Predicate"
import { localStreamError, renderLocalError } from "#src/simulator/formats/errors.ts"
import type { SimulatedAnswer, SimulatedCall, Choice, Format, SimulatedUsage, WireEvent } from "#src/simulator/formats/Format.ts"
import { readLocalRequest } from "./localModelServerRequest.ts"

/** A made-up speed for the durations that are reported. */
const NANOS_PER_TOKEN = 1_000_000

const argsOf = (pieces: ReadonlyArray<string>): unknown => {
  try {
    return JSON.parse(pieces.join(""))
  } catch {
    return pieces.join("")
  }
}

/** Calls as an older server writes them; with an id of its own, a script has them written as a newer one does. */
const toolCalls = (answer: SimulatedAnswer, choice: Choice) =>
  choice.toolCalls.map((call, index) => {
    const fn = { name: call.name, arguments: argsOf(call.pieces) }
    return call.id === `call_${answer.id}_${index}` ? { function: fn } : { id: call.id, function: { index, ...fn } }
  })

const endOf = (choice: Choice | undefined, usage: SimulatedUsage | null) => ({
  done: true,
  done_reason: choice?.finish === "length" ? "length" : choice === undefined || choice.finish === "tool_calls" ? "stop" : choice.finish,
  ...(usage === null ? {} : {
    total_duration: (usage.promptTokens + usage.completionTokens) * NANOS_PER_TOKEN,
    load_duration: NANOS_PER_TOKEN,
    prompt_eval_count: usage.promptTokens,
    prompt_eval_duration: usage.promptTokens * NANOS_PER_TOKEN,
    eval_count: usage.completionTokens,
    eval_duration: usage.completionTokens * NANOS_PER_TOKEN
  })
})

const headOf = (call: SimulatedCall, answer: SimulatedAnswer) => ({ model: call.model, created_at: new Date(answer.created * 1000).toISOString() })

function* events(call: SimulatedCall, answer: SimulatedAnswer): Generator<WireEvent> {
  const choice = answer.choices[0]
  const head = headOf(call, answer)
  const line = (message: object, tokens: number, end: object = { done: false }) =>
    ({ data: `${JSON.stringify({ ...head, message: { role: "assistant", ...message }, ...end })}\n`, tokens })
  for (const token of choice?.reasoning ?? []) yield line({ content: "", thinking: token }, 1)
  for (const token of choice?.text ?? []) yield line({ content: token }, 1)
  if (choice !== undefined && choice.toolCalls.length > 0) {
    yield line({ content: "", tool_calls: toolCalls(answer, choice) }, choice.toolCalls.reduce((sum, one) => sum + one.pieces.length, 0))
  }
  yield { ...line({ content: "" }, 0, endOf(choice, answer.usage)), usage: answer.usage !== null, terminal: true }
}

const body = (call: SimulatedCall, answer: SimulatedAnswer): string => {
  const choice = answer.choices[0]
  return JSON.stringify({
    ...headOf(call, answer),
    message: {
      role: "assistant",
      content: choice?.text.join("") ?? "",
      ...(choice !== undefined && choice.reasoning.length > 0 ? { thinking: choice.reasoning.join("") } : {}),
      ...(choice !== undefined && choice.toolCalls.length > 0 ? { tool_calls: toolCalls(answer, choice) } : {})
    },
    ...endOf(choice, answer.usage)
  })
}

export const localModelServer: Format = {
  name: "local-model-server",
  matches: (path) => path === "/api/chat",
  identify: (_, request) => ({ model: Predicate.isString(request["model"]) ? request["model"] : null, stream: request["stream"] !== false }),
  read: readLocalRequest,
  events,
  body,
  renderError: renderLocalError,
  streamError: localStreamError
}
