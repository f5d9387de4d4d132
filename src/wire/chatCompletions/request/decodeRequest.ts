/** A chat-completions request as a neutral conversation. */
import * as WireChatCompletions from "#schemas/wire/chatCompletions.ts"
import type { Conversation, Extra, OutputFormat, Reasoning, GenerationSettings, Tool, ToolChoice } from "#schemas/wire/conversation.ts"
import { PublicError } from "#schemas/errors.ts"
import { turnsOf, unknownMembers } from "./decodeMessages.ts"
import { decoder, hasOnly, sparing } from "#src/wire/neutral/decoding.ts"
import { effortIn, noteUnknown, reading } from "#src/wire/neutral/settings.ts"
import type { Json } from "#src/wire/WireFormat.ts"

/** A message of a role with a text, as nearly all of a long conversation are. */
const isPlain = (item: unknown): item is WireChatCompletions.Message =>
  hasOnly(item, "role", "content") && typeof item["content"] === "string" && plainRoles.has(item["role"])
const plainRoles: ReadonlySet<unknown> = new Set(["system", "developer", "user", "assistant"])

const decode = sparing(decoder(WireChatCompletions.Request), "messages", isPlain)

export const decodeRequest = (body: Json): Conversation | PublicError => {
  const request = decode(body)
  if (request instanceof PublicError) return request
  return reading(() => ({
    format: "chat-completions" as const,
    turns: turnsOf(request.messages),
    tools: toolsOf(request),
    toolChoice: toolChoiceOf(request),
    settings: settingsOf(request),
    ...(typeof request.max_completion_tokens !== "number" && typeof request.max_tokens === "number" ? { limitName: "max_tokens" } : {}),
    extras: extrasOf(request, body)
  }))
}

/** A function that no model could call. */
const isNameless = (tool: WireChatCompletions.Tool): boolean => WireChatCompletions.isKnownTool(tool) && tool.type === "function" && tool.function.name === ""

const toolsOf = (request: WireChatCompletions.Request): ReadonlyArray<Tool> => {
  const tools = (request.tools ?? []).filter((tool) => !isNameless(tool)).map((tool): Tool => {
    if (!WireChatCompletions.isKnownTool(tool)) return { kind: "hosted", format: "chat-completions", type: tool.type, value: tool }
    switch (tool.type) {
      case "function":
        return {
          kind: "function", name: tool.function.name, description: tool.function.description ?? null, parameters: tool.function.parameters ?? null,
          strict: tool.function.strict ?? null, cache: tool.cache_control ? { ttl: tool.cache_control.ttl ?? null } : null
        }
      case "custom":
        return { kind: "custom", name: tool.custom.name, description: tool.custom.description ?? null, format: readGrammar(tool.custom.format ?? null) }
    }
  })
  const legacy = (request.functions ?? []).map((tool): Tool => ({
    kind: "function", name: tool.name, description: tool.description ?? null, parameters: tool.parameters ?? null, strict: tool.strict ?? null, cache: null
  }))
  return [...tools, ...legacy]
}

/** The format of a custom tool: the flat form of the responses format is the neutral one, chat nests `grammar`. */
const readGrammar = (format: Readonly<Record<string, unknown>> | null): unknown => {
  const grammar = format?.["grammar"]
  return format !== null && format["type"] === "grammar" && typeof grammar === "object" && grammar !== null ? { type: "grammar", ...grammar } : format
}

const toolChoiceOf = (request: WireChatCompletions.Request): ToolChoice | null => {
  const choice = request.tool_choice
  if (choice === undefined || choice === null) {
    const legacy = request.function_call
    if (legacy === undefined || legacy === null) return null
    return typeof legacy === "string" ? { kind: legacy } : { kind: "tool", name: legacy.name }
  }
  if (typeof choice === "string") return { kind: choice === "any" ? "required" : choice }
  switch (choice.type) {
    case "function":
      return { kind: "tool", name: choice.function.name }
    case "custom":
      return { kind: "tool", name: choice.custom.name }
    case "allowed_tools":
      return {
        kind: "allowed",
        names: choice.allowed_tools.tools.map((tool) => tool.function?.name ?? tool.custom?.name ?? tool.type),
        required: choice.allowed_tools.mode === "required"
      }
  }
}

const settingsOf = (request: WireChatCompletions.Request): GenerationSettings => {
  const maxTokens = request.max_completion_tokens ?? request.max_tokens ?? null
  const stop = typeof request.stop === "string" ? [request.stop] : request.stop ?? []
  const modalities = request.modalities?.filter((modality) => modality !== "text") ?? []
  return {
    // Some servers take -1 for "no limit", which is what saying nothing means.
    maxTokens: maxTokens === -1 ? null : maxTokens,
    temperature: request.temperature ?? null,
    topP: request.top_p ?? null,
    topK: request.top_k ?? null,
    minP: request.min_p ?? null,
    stop: stop.some((text) => text !== "") ? stop.filter((text) => text !== "") : null,
    seed: request.seed ?? null,
    choices: request.n ?? null,
    frequencyPenalty: request.frequency_penalty ?? null,
    presencePenalty: request.presence_penalty ?? null,
    logitBias: request.logit_bias && Object.keys(request.logit_bias).length > 0 ? request.logit_bias : null,
    logprobs: request.logprobs ?? null,
    topLogprobs: request.top_logprobs ?? null,
    output: outputOf(request),
    reasoning: reasoningOf(request),
    verbosity: request.verbosity ?? null,
    serviceTier: request.service_tier ?? null,
    user: request.user ?? null,
    safetyIdentifier: request.safety_identifier ?? null,
    promptCacheKey: request.prompt_cache_key ?? null,
    metadata: request.metadata ?? null,
    store: request.store ?? null,
    parallelToolCalls: request.parallel_tool_calls ?? null,
    modalities: modalities.length > 0 ? modalities : null
  }
}

const outputOf = ({ response_format: format }: WireChatCompletions.Request): OutputFormat | null => {
  if (!format || !WireChatCompletions.isKnownFormat(format)) return null
  switch (format.type) {
    case "json_object":
      return { kind: "json" }
    case "json_schema":
      return {
        kind: "schema", name: format.json_schema.name, description: format.json_schema.description ?? null,
        schema: format.json_schema.schema ?? { type: "object" }, strict: format.json_schema.strict ?? null
      }
    case "text":
      return null
  }
}

const thinkingTypes: ReadonlySet<string> = new Set(["enabled", "disabled", "auto", "adaptive"])

/** What was said about thinking in any of the dialects; null when nothing was. */
const reasoningOf = (request: WireChatCompletions.Request): Reasoning | null => {
  const { reasoning, thinking } = request
  const effort = effortIn(request.reasoning_effort ?? reasoning?.effort)
  const adaptive = thinking?.type === "auto" || thinking?.type === "adaptive"
  const budget = reasoning?.max_tokens ?? thinking?.budget_tokens ?? request.thinking_budget ?? (adaptive ? -1 : null)
  const enabled = reasoning?.enabled ?? (thinking && thinkingTypes.has(thinking.type) ? thinking.type !== "disabled" : request.enable_thinking ?? (effort === "none" ? false : null))
  const summary = reasoning?.summary ?? (reasoning?.exclude === true ? "omitted" : null)
  return effort === null && budget === null && enabled === null && summary === null ? null : { enabled, effort, budget, summary }
}

/** Fields of this format's dialects that shape the answer and have no counterpart elsewhere. */
const essential: ReadonlySet<string> = new Set([
  "guided_json", "guided_regex", "guided_choice", "guided_grammar", "structured_outputs",
  "grammar", "stop_token_ids", "bad_words", "best_of"
])

const understood: ReadonlySet<string> = new Set(Object.keys(WireChatCompletions.Request.fields).filter((field) => field !== "audio"))

const extrasOf = (request: WireChatCompletions.Request, body: Json): ReadonlyArray<Extra> => {
  const extras: Array<Extra> = []
  const format = request.response_format
  if (format && !WireChatCompletions.isKnownFormat(format)) extras.push({ field: "response_format", weight: "essential", value: format })
  noteUnknown(extras, "reasoning_effort", request.reasoning_effort, effortIn(request.reasoning_effort))
  if (effortIn(request.reasoning?.effort) === null && typeof request.reasoning?.effort === "string") extras.push({ field: "reasoning", weight: "hint", value: body["reasoning"] })
  if (request.thinking && !thinkingTypes.has(request.thinking.type)) extras.push({ field: "thinking", weight: "hint", value: body["thinking"] })
  const speaks = request.modalities?.includes("audio") === true
  for (const [field, value] of Object.entries(body)) {
    if (understood.has(field) || value === null || value === undefined) continue
    extras.push({ field, weight: essential.has(field) || (field === "audio" && speaks) ? "essential" : "hint", value })
  }
  request.tools?.forEach((tool, i) => {
    if (isNameless(tool)) extras.push({ field: `tools[${i}]`, weight: "hint", value: tool })
  })
  for (const field of unknownMembers(body["messages"])) extras.push({ field, weight: "hint", value: null })
  return extras
}
