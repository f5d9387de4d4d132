/** Replies of vendors whose thoughts come with a proof that the simulator does not make: encrypted items, and signed details of an aggregator. */
import type { Script } from "#src/simulator/Simulator.ts"

export const thought = "Thinking it over, 深く."
export const proof = "gAAAAABsealed-by-the-vendor=="

const args = "{\"city\":\"Bern\",\"days\":1}"

const reasoning = (text: boolean, sealed: boolean) => ({
  id: "rs_signed", type: "reasoning", summary: text ? [{ type: "summary_text", text: thought }] : [], ...(sealed ? { encrypted_content: proof } : {})
})
const functionCall = (status: string, text: string) => ({ id: "fc_signed", type: "function_call", status, call_id: "call_signed", name: "get_weather", arguments: text })

export const conclusion = "So it is."

/** What follows the thought. */
export type Ending = "call" | "text"

const message = (text: boolean) => ({
  id: "msg_signed", type: "message", status: text ? "completed" : "in_progress", role: "assistant",
  content: text ? [{ type: "output_text", annotations: [], logprobs: [], text: conclusion }] : []
})

const response = (model: string, ended: boolean, ending: Ending) => ({
  id: "resp_signed", object: "response", created_at: 1_700_000_000, status: ended ? "completed" : "in_progress", error: null, incomplete_details: null,
  instructions: null, model, output: ended ? [reasoning(true, true), ending === "call" ? functionCall("completed", args) : message(true)] : [], parallel_tool_calls: true, tool_choice: "auto",
  tools: [], temperature: 1, top_p: 1, metadata: {},
  usage: ended
    ? { input_tokens: 20, input_tokens_details: { cached_tokens: 0 }, output_tokens: 12, output_tokens_details: { reasoning_tokens: 6 }, total_tokens: 32 }
    : null
})

type Events = ReadonlyArray<readonly [type: string, fields: object]>

const callEvents = (): Events => {
  const call = { item_id: "fc_signed", output_index: 1 }
  return [
    ["response.output_item.added", { output_index: 1, item: functionCall("in_progress", "") }],
    ["response.function_call_arguments.delta", { ...call, delta: args }],
    ["response.function_call_arguments.done", { ...call, name: "get_weather", arguments: args }],
    ["response.output_item.done", { output_index: 1, item: functionCall("completed", args) }]
  ]
}

const textEvents = (): Events => {
  const at = { item_id: "msg_signed", output_index: 1, content_index: 0 }
  const part = (text: string) => ({ type: "output_text", annotations: [], logprobs: [], text })
  return [
    ["response.output_item.added", { output_index: 1, item: message(false) }],
    ["response.content_part.added", { ...at, part: part("") }],
    ["response.output_text.delta", { ...at, logprobs: [], delta: conclusion }],
    ["response.output_text.done", { ...at, logprobs: [], text: conclusion }],
    ["response.content_part.done", { ...at, part: part(conclusion) }],
    ["response.output_item.done", { output_index: 1, item: message(true) }]
  ]
}

const responsesStream = (model: string, ending: Ending): string => {
  const item = { item_id: "rs_signed", output_index: 0, summary_index: 0 }
  const events: Events = [
    ["response.created", { response: response(model, false, ending) }],
    ["response.in_progress", { response: response(model, false, ending) }],
    ["response.output_item.added", { output_index: 0, item: reasoning(false, false) }],
    ["response.reasoning_summary_part.added", { ...item, part: { type: "summary_text", text: "" } }],
    ["response.reasoning_summary_text.delta", { ...item, delta: thought.slice(0, 8) }],
    ["response.reasoning_summary_text.delta", { ...item, delta: thought.slice(8) }],
    ["response.reasoning_summary_text.done", { ...item, text: thought }],
    ["response.reasoning_summary_part.done", { ...item, part: { type: "summary_text", text: thought } }],
    ["response.output_item.done", { output_index: 0, item: reasoning(true, true) }],
    ...(ending === "call" ? callEvents() : textEvents()),
    ["response.completed", { response: response(model, true, ending) }]
  ]
  return events.map(([type, fields], i) => `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: i, ...fields })}\n\n`).join("")
}

const chatCall = { id: "call_signed", type: "function", function: { name: "get_weather", arguments: args } }
const detail = (text: string) => ({ type: "reasoning.text", text, format: "anthropic-claude-v1", index: 0 })

const completion = (model: string, ending: Ending) => ({
  id: "chatcmpl-signed", object: "chat.completion", created: 1_700_000_000, model,
  choices: [{
    index: 0, finish_reason: ending === "call" ? "tool_calls" : "stop", logprobs: null,
    message: {
      role: "assistant", reasoning_content: thought, reasoning_details: [{ ...detail(thought), signature: proof }],
      ...(ending === "call" ? { content: null, tool_calls: [chatCall] } : { content: conclusion })
    }
  }],
  usage: { prompt_tokens: 20, completion_tokens: 12, total_tokens: 32 }
})

const chatStream = (model: string, ending: Ending): string => {
  const head = { id: "chatcmpl-signed", object: "chat.completion.chunk", created: 1_700_000_000, model }
  const chunk = (delta: object, finish: string | null = null) => ({ ...head, choices: [{ index: 0, delta, logprobs: null, finish_reason: finish }] })
  const chunks = [
    chunk({ role: "assistant", content: ending === "call" ? null : "" }),
    chunk({ reasoning_content: thought.slice(0, 8), reasoning_details: [detail(thought.slice(0, 8))] }),
    chunk({ reasoning_content: thought.slice(8), reasoning_details: [detail(thought.slice(8))] }),
    chunk({ reasoning_details: [{ type: "reasoning.text", signature: proof, format: "anthropic-claude-v1", index: 0 }] }),
    chunk(ending === "call" ? { tool_calls: [{ index: 0, ...chatCall }] } : { content: conclusion }),
    chunk({}, ending === "call" ? "tool_calls" : "stop"),
    { ...head, choices: [], usage: { prompt_tokens: 20, completion_tokens: 12, total_tokens: 32 } }
  ]
  return `${chunks.map((one) => `data: ${JSON.stringify(one)}\n\n`).join("")}data: [DONE]\n\n`
}

/** The script of a reply with a signed thought and then one call of get_weather, or a text. */
export const signedReply = (family: "chat-completions" | "responses", model: string, stream: boolean, ending: Ending): Script =>
  stream
    ? { body: family === "responses" ? responsesStream(model, ending) : chatStream(model, ending), contentType: "text/event-stream; charset=utf-8" }
    : { body: family === "responses" ? response(model, true, ending) : completion(model, ending) }
