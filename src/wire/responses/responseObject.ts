/** The response object: what the request asked for, repeated with the vendor's defaults, around the status and the output. */
import type { FinishReason, TokenUsage } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import type { StreamHead } from "#src/wire/stream/StreamSink.ts"

type Request = Readonly<Record<string, unknown>>

/** How a response stands. `error` and `incomplete` are null while nothing is wrong. */
export interface Standing {
  readonly status: "in_progress" | "completed" | "incomplete" | "failed"
  readonly error: { readonly code: string; readonly message: string } | null
  readonly incomplete: string | null
  readonly completedAt: number | null
  /** JSON texts of the finished items. */
  readonly output: ReadonlyArray<string>
  readonly usage: TokenUsage | null
}

/** What does not change while the stream runs, as two pieces of JSON text: head `{"id"...` and tail `...}`. */
export interface ResponseFrame {
  readonly head: string
  readonly tail: string
}

export const frameOf = (id: string, head: StreamHead, model: string, createdAt: number, request: Request): ResponseFrame => ({
  head: JSON.stringify({ id, object: "response", created_at: createdAt, background: false }).slice(0, -1),
  tail: JSON.stringify(repeated(request, model, head.serviceTier)).slice(1)
})

/** What a response repeats of its request, in the vendor's order. `model`: as the response names it. */
export const repeated = (request: Request, model: string, serviceTier: string | null): Readonly<Record<string, unknown>> => {
  const or = (field: string, otherwise: unknown): unknown => request[field] ?? otherwise
  const reasoning = Json.recordAt({ ...request }, "reasoning") ?? {}
  const text = Json.recordAt({ ...request }, "text") ?? {}
  const conversation = conversationOf(request)
  return {
    ...(conversation === null ? {} : { conversation }),
    frequency_penalty: or("frequency_penalty", 0),
    instructions: or("instructions", null),
    max_output_tokens: or("max_output_tokens", null),
    max_tool_calls: or("max_tool_calls", null),
    model,
    parallel_tool_calls: or("parallel_tool_calls", true),
    presence_penalty: or("presence_penalty", 0),
    previous_response_id: or("previous_response_id", null),
    prompt_cache_key: or("prompt_cache_key", null),
    reasoning: { ...reasoning, effort: reasoning["effort"] ?? null, summary: reasoning["summary"] ?? reasoning["generate_summary"] ?? null },
    safety_identifier: or("safety_identifier", null),
    service_tier: serviceTier ?? (typeof request["service_tier"] === "string" && request["service_tier"] !== "auto" ? request["service_tier"] : "default"),
    // The gateway keeps what it is asked to keep, and nothing else.
    store: or("store", false),
    temperature: or("temperature", 1),
    text: { ...text, format: text["format"] ?? { type: "text" } },
    tool_choice: or("tool_choice", "auto"),
    tools: toolsOf(request["tools"]),
    top_logprobs: or("top_logprobs", 0),
    top_p: or("top_p", 1),
    truncation: or("truncation", "disabled"),
    user: or("user", null),
    metadata: or("metadata", {})
  }
}

/** A request names its conversation by a text or an object, a response by an object; null where it names none. */
const conversationOf = ({ conversation }: Request): { readonly id: string } | null => {
  const id = Json.isRecord(conversation) ? conversation["id"] : conversation
  return typeof id === "string" ? { id } : null
}

/** A function tool is repeated with the defaults the vendor fills in. */
export const toolsOf = (tools: unknown): ReadonlyArray<unknown> =>
  Array.isArray(tools)
    ? tools.map((tool: unknown) => Json.isRecord(tool) && tool["type"] === "function" ? { parameters: null, strict: true, description: null, ...tool } : tool)
    : []

export const responseJson = (frame: ResponseFrame, at: Standing): string => {
  const state = JSON.stringify({
    status: at.status, completed_at: at.completedAt, error: at.error, incomplete_details: at.incomplete === null ? null : { reason: at.incomplete }
  }).slice(1, -1)
  return `${frame.head},${state},"output":[${at.output.join(",")}],"usage":${at.usage === null ? "null" : JSON.stringify(usageJson(at.usage))},${frame.tail}`
}

/** Usage in the vendor's shape. */
export const usageJson = (usage: TokenUsage) => ({
  input_tokens: usage.input,
  input_tokens_details: { ...(usage.cacheCreation > 0 ? { cache_write_tokens: usage.cacheCreation } : {}), cached_tokens: usage.cacheRead },
  output_tokens: usage.output,
  output_tokens_details: { reasoning_tokens: usage.reasoning },
  total_tokens: usage.input + usage.output
})

/** `incomplete_details.reason` of a finish, null when the response is complete. */
export const incompleteOf = (finish: FinishReason | null, hasRefusal: boolean): string | null => {
  switch (finish) {
    case "length":
    case "context": return "max_output_tokens"
    case "content-filter": return "content_filter"
    // The vendor refuses with words in a completed response; without words it filtered.
    case "refusal": return hasRefusal ? null : "content_filter"
    default: return null
  }
}
