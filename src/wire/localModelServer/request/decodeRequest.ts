/** A client's `POST /api/chat` as a conversation. */
import { PublicError } from "#schemas/errors.ts"
import type {
  Conversation, Extra, FunctionTool, MediaPart, OutputFormat, ContentPart, Reasoning, GenerationSettings, TextPart, ToolCallPart, Turn
} from "#schemas/wire/conversation.ts"
import { type Message, Request } from "#schemas/wire/localModelServer.ts"
import { imageOf } from "./images.ts"
import * as Json from "#src/wire/json/json.ts"
import { decoder, hasOnly, sparing } from "#src/wire/neutral/decoding.ts"
import { OpenCalls } from "#src/wire/neutral/toolPairs.ts"
import { effortIn, invalid, none, reading } from "#src/wire/neutral/settings.ts"
import type { Json as Body, RequestHead } from "#src/wire/WireFormat.ts"
import * as Heads from "#src/wire/neutral/heads.ts"

const isPlain = (item: unknown): item is Request["messages"][number] =>
  hasOnly(item, "role", "content") && typeof item["content"] === "string" && typeof item["role"] === "string"

const decode = sparing(decoder(Request), "messages", isPlain)
const roles = ["system", "user", "assistant", "tool"] as const

/** Model and stream flag, which is true unless it says otherwise. Called for every request: reads three fields by hand. */
export const head = (body: Body): RequestHead | PublicError => {
  const said = Heads.ofMessages(body, "llama3.2")
  return said instanceof PublicError ? said : { model: said.model, stream: said.stream !== false, wantsUsage: true }
}

export const decodeRequest = (body: Body): Conversation | PublicError => {
  const request = decode(body)
  if (request instanceof PublicError) return request
  return reading(() => ({
    format: "local-model-server",
    turns: turnsOf(request.messages),
    tools: (request.tools ?? []).map(({ function: fn }): FunctionTool => ({
      kind: "function", name: fn.name, description: fn.description ?? null, parameters: fn.parameters ?? null, strict: null, cache: null
    })),
    toolChoice: null,
    settings: settingsOf(request),
    extras: [...extrasOf(body), ...(reasoningOf(request.think) === null && typeof request.think === "string" && request.think !== "" ? [thinkOf(request.think)] : [])]
  }))
}

// ---- messages ------------------------------------------------------------------------------------------------------------------------

const turnsOf = (messages: Request["messages"]): ReadonlyArray<Turn> => {
  let open = new OpenCalls()
  return messages.map((message, i): Turn => {
    const path = `messages[${i}]`
    const role = roles.find((known) => known === message.role.toLowerCase())
    if (role === undefined) {
      throw invalid(`${path}.role`, `Field '${path}.role': '${message.role.slice(0, 64)}' is no role; it must be one of ${roles.join(", ")}.`)
    }
    const { content } = message
    // Nearly all of a long conversation.
    if (role !== "tool" && typeof content === "string" && content !== "" && isPlain(message)) return { role, parts: [textPart(content)], name: null, path }
    const images = (message.images ?? []).map((text, n) => imageAt(text, `${path}.images[${n}]`))
    const texts = message.content === undefined || message.content === null || message.content === "" ? [] : [textPart(message.content)]
    if (role === "tool") return { role, parts: [resultOf(message, [...images, ...texts], open, path)], name: null, path }
    // The server puts a message's images in front of its text.
    const parts: Array<ContentPart> = [...images, ...texts]
    if (role !== "assistant") return { role, parts, name: null, path }
    if (message.thinking !== undefined && message.thinking !== null && message.thinking !== "") {
      parts.unshift({ kind: "reasoning", text: message.thinking, summary: false, signature: null, id: null, redacted: false })
    }
    const calls = (message.tool_calls ?? []).map((call, n): ToolCallPart => {
      const object = call.function.arguments ?? {}
      return {
        kind: "toolCall", id: call.id === undefined || call.id === null || call.id === "" ? `call_${i}_${n}` : call.id, name: call.function.name,
        arguments: JSON.stringify(object), object, custom: false, cache: null, signature: null
      }
    })
    open = new OpenCalls()
    for (const call of calls) {
      open.add(call.id, call.name)
      parts.push(call)
    }
    return { role, parts, name: null, path }
  })
}

const imageAt = (text: string, path: string): MediaPart => {
  const image = imageOf(text)
  if (image === null) throw invalid(path, `Field '${path}' must be a base64 string; URLs are not fetched.`)
  return image
}

/** A result and the call it answers: by id where one is given, else by name, else the first call that still waits. */
const resultOf = (message: Message, content: ReadonlyArray<TextPart | MediaPart>, open: OpenCalls, path: string): ContentPart => {
  const id = message.tool_call_id ?? ""
  const name = message.tool_name ?? message.name ?? ""
  const call = id !== "" ? open.ofId(id) : name === "" ? open.waiting() : open.waitingOfName(name)
  if (call === undefined) {
    const param = id !== "" ? `${path}.tool_call_id` : name !== "" ? `${path}.tool_name` : path
    throw invalid(param, `${path} holds a tool result, but no tool call that waits for one precedes it.`)
  }
  call.answered = true
  return { kind: "toolResult", id: call.id, name: call.name, content, isError: false, cache: null }
}

const textPart = (text: string): TextPart => ({ kind: "text", text, cache: null, annotations: [], signature: null })

// ---- settings ------------------------------------------------------------------------------------------------------------------------

const settingsOf = (request: Request): GenerationSettings => {
  const options = request.options ?? {}
  const { num_predict: predict, seed, stop } = options
  return {
    ...none,
    // -1 and -2 are the server's words for "no limit".
    maxTokens: predict !== undefined && predict !== null && predict > 0 ? predict : null,
    temperature: options.temperature ?? null,
    topP: options.top_p ?? null,
    topK: options.top_k ?? null,
    minP: options.min_p ?? null,
    stop: stop === undefined || stop === null || stop.length === 0 ? null : typeof stop === "string" ? [stop] : stop,
    // A negative seed asks for a random one, as its absence does.
    seed: seed !== undefined && seed !== null && seed >= 0 ? seed : null,
    frequencyPenalty: options.frequency_penalty ?? null,
    presencePenalty: options.presence_penalty ?? null,
    logprobs: request.logprobs ?? null,
    topLogprobs: request.top_logprobs ?? null,
    output: outputOf(request.format),
    reasoning: reasoningOf(request.think)
  }
}

const outputOf = (format: Request["format"]): OutputFormat | null => {
  if (format === undefined || format === null || format === "") return null
  return format === "json" ? { kind: "json" } : { kind: "schema", name: null, description: null, schema: format, strict: null }
}

const reasoningOf = (think: Request["think"]): Reasoning | null => {
  if (think === undefined || think === null || think === "") return null
  const effort = typeof think === "boolean" ? null : effortIn(think)
  if (effort === null && typeof think === "string") return null
  return { enabled: think !== false && effort !== "none", effort, budget: null, summary: null }
}

/** A level that only some servers know. */
const thinkOf = (think: string): Extra => ({ field: "think", weight: "hint", value: think })

const known = ["model", "messages", "tools", "format", "options", "stream", "think", "logprobs", "top_logprobs"]
const knownOptions = ["num_predict", "temperature", "top_p", "top_k", "min_p", "stop", "seed", "frequency_penalty", "presence_penalty"]

/** What tunes this server alone: hints all, because clients send their defaults (num_ctx, keep_alive) with every request. */
const extrasOf = (body: Body): ReadonlyArray<Extra> => {
  const options = Json.recordAt(body, "options") ?? {}
  const of = (record: Body, known: ReadonlyArray<string>, prefix: string): ReadonlyArray<Extra> =>
    Object.entries(record)
      .filter(([key, value]) => !known.includes(key) && value !== null)
      .map(([key, value]) => ({ field: prefix + key, weight: "hint", value }))
  return [...of(body, known, ""), ...of(options, knownOptions, "options.")]
}
