/** A client's Messages request as a neutral conversation. */
import { PublicError } from "#schemas/errors.ts"
import type { Conversation, Extra, ContentPart, Reasoning, GenerationSettings, Tool, ToolChoice, Turn } from "#schemas/wire/conversation.ts"
import * as WireMessages from "#schemas/wire/messages.ts"
import * as Json from "#src/wire/json/json.ts"
import { cacheOf, type Note, partsOf, textParts } from "./decodeParts.ts"
import { decoder, hasOnly, sparing } from "#src/wire/neutral/decoding.ts"
import { effortIn, none, noteUnknown, reading } from "#src/wire/neutral/settings.ts"
import type { Json as Body, RequestHead } from "#src/wire/WireFormat.ts"
import * as Heads from "#src/wire/neutral/heads.ts"

const isPlain = (item: unknown): item is WireMessages.Message =>
  hasOnly(item, "role", "content") && typeof item["content"] === "string" && (item["role"] === "user" || item["role"] === "assistant")

const decode = sparing(decoder(WireMessages.Request), "messages", isPlain)

/** Model, stream flag and the presence of messages; called for every request, so it reads by hand. */
export const head = (body: Body): RequestHead | PublicError => {
  const said = Heads.ofMessages(body, "anthropic/claude-sonnet-4-5")
  return said instanceof PublicError ? said : { model: said.model, stream: said.stream === true, wantsUsage: true }
}

export const decodeRequest = (body: Body): Conversation | PublicError => {
  const request = decode(body)
  if ("_tag" in request) return request
  return reading(() => {
    const extras: Array<Extra> = []
    const note: Note = (extra) => extras.push(extra)
    const turns = turnsOf(request, body, note)
    const tools = toolsOf(request.tools, body["tools"], note)
    noteThinking(request, extras)
    noteOthers(body, note)
    return { format: "messages", turns, tools, toolChoice: choiceOf(request.tool_choice), settings: settingsOf(request), extras }
  })
}

/** The prompt alone: what count_tokens has, which knows no limits and no sampling. */
export const turnsOf = (request: Pick<WireMessages.Request, "system" | "messages">, body: Body, note: Note): ReadonlyArray<Turn> => {
  const turns: Array<Turn> = []
  const { system } = request
  if (system !== undefined && system !== null && system.length > 0) {
    turns.push({ role: "system", parts: textParts(system), name: null, path: "system" })
  }
  const rawMessages = body["messages"] as ReadonlyArray<Body>
  request.messages.forEach((message, i) => {
    const path = `messages[${i}]`
    const parts = partsOf(message, rawMessages[i]!["content"], path, note)
    const results = parts.filter((part) => part.kind === "toolResult")
    const rest: ReadonlyArray<ContentPart> = results.length === 0 ? parts : parts.filter((part) => part.kind !== "toolResult")
    if (results.length > 0) turns.push({ role: "tool", parts: results, name: null, path })
    if (results.length === 0 || rest.length > 0) turns.push({ role: message.role, parts: rest, name: null, path })
  })
  return turns
}

const functionFields = new Set(["type", "name", "description", "input_schema", "strict", "cache_control"])

const isFunction = (tool: WireMessages.FunctionTool | WireMessages.VendorTool): tool is WireMessages.FunctionTool =>
  tool.type === undefined || tool.type === null || tool.type === "custom"

export const toolsOf = (tools: WireMessages.Request["tools"], raw: unknown, note: Note): ReadonlyArray<Tool> =>
  (tools ?? []).flatMap((tool, i): Tool | ReadonlyArray<Tool> => {
    const value = (raw as ReadonlyArray<Body>)[i]!
    if (!isFunction(tool)) return { kind: "hosted", format: "messages", type: tool.type, value }
    if (tool.name === "") {
      note({ field: `tools[${i}]`, weight: "hint", value })
      return []
    }
    for (const key of Object.keys(value)) {
      if (!functionFields.has(key)) note({ field: `tools[${i}].${key}`, weight: "hint", value: value[key] })
    }
    return {
      kind: "function", name: tool.name, description: tool.description ?? null, parameters: tool.input_schema, strict: tool.strict ?? null,
      cache: cacheOf(tool.cache_control)
    }
  })

const choiceOf = (choice: WireMessages.ToolChoice | null | undefined): ToolChoice | null => {
  if (choice === null || choice === undefined) return null
  switch (choice.type) {
    case "auto":
    case "none": return { kind: choice.type }
    case "any": return { kind: "required" }
    case "tool": return { kind: "tool", name: choice.name }
  }
}

const settingsOf = (request: WireMessages.Request): GenerationSettings => {
  const choice = request.tool_choice
  const parallel = choice === null || choice === undefined || choice.type === "none" ? null : choice.disable_parallel_tool_use ?? null
  const format = request.output_config?.format ?? request.output_format ?? null
  return {
    ...none,
    maxTokens: request.max_tokens ?? null,
    temperature: request.temperature ?? null,
    topP: request.top_p ?? null,
    topK: request.top_k ?? null,
    stop: request.stop_sequences ?? null,
    user: request.metadata?.user_id ?? null,
    serviceTier: request.service_tier ?? null,
    parallelToolCalls: parallel === null ? null : !parallel,
    output: format === null ? null : { kind: "schema", name: null, description: null, schema: format.schema, strict: null },
    reasoning: reasoningOf(request.thinking ?? null, effortIn(request.output_config?.effort))
  }
}

const isKnown = (thinking: WireMessages.Thinking): thinking is WireMessages.KnownThinking => thinking.type === "enabled" || thinking.type === "adaptive" || thinking.type === "disabled"
const displays: Readonly<Record<string, string>> = { omitted: "omitted", summarized: "auto" }
const summaryOf = (display: string | null | undefined): string | null => Json.ownValue(displays, display ?? "") ?? null

/** Words about thinking that only the vendor knows. */
const noteThinking = ({ output_config: config, thinking }: WireMessages.Request, extras: Array<Extra>): void => {
  noteUnknown(extras, "output_config.effort", config?.effort, effortIn(config?.effort))
  if (thinking === null || thinking === undefined) return
  if (!isKnown(thinking)) extras.push({ field: "thinking", weight: "hint", value: thinking })
  else if (thinking.type !== "disabled") noteUnknown(extras, "thinking.display", thinking.display, summaryOf(thinking.display))
}

const reasoningOf = (given: WireMessages.Thinking | null, effort: Reasoning["effort"]): Reasoning | null => {
  const thinking = given === null || !isKnown(given) ? null : given
  if (thinking === null) return effort === null ? null : { enabled: null, effort, budget: null, summary: null }
  if (thinking.type === "disabled") return { enabled: false, effort, budget: null, summary: null }
  return {
    enabled: true,
    effort,
    budget: thinking.type === "adaptive" ? -1 : thinking.budget_tokens,
    summary: summaryOf(thinking.display)
  }
}

const readFields = new Set([
  "model", "messages", "system", "max_tokens", "metadata", "stop_sequences", "stream", "temperature", "top_p", "top_k", "tools", "tool_choice",
  "thinking", "output_config", "output_format", "service_tier"
])

/** Without it the answer would come from another part of the world. */
const essentialFields = new Set(["inference_geo"])

const noteOthers = (body: Body, note: Note): void => {
  for (const field of Object.keys(body)) {
    const value = body[field]
    if (value === undefined || value === null) continue
    if (continues(field, value)) note({ field, weight: "essential", value, holdsMessages: true, refusal: unthreaded })
    else if (!readFields.has(field)) note({ field, weight: essentialFields.has(field) ? "essential" : "hint", value })
    else if (field === "metadata" || field === "output_config") noteMembers(field, value, note)
  }
}

const beginnings: ReadonlySet<unknown> = new Set(["start", "new", "create"])

/** A continued thread: its earlier messages are stored at the vendor, and without them the question is another one. */
const continues = (field: string, value: unknown): boolean => field === "thread" && !(Json.isRecord(value) && beginnings.has(value["type"]))

/** What its SDK reads: it then sends the whole conversation by itself. */
const unthreaded = { details: { error_code: "thread_unsupported_request" } }

const readMembers = new Set(["user_id", "effort", "format"])

const noteMembers = (field: string, value: unknown, note: Note): void => {
  if (!Json.isRecord(value)) return
  for (const key of Object.keys(value)) {
    if (!readMembers.has(key) && value[key] !== null) note({ field: `${field}.${key}`, weight: "hint", value: value[key] })
  }
}
