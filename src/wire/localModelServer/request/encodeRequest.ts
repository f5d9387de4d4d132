/** A conversation as the body of `POST /api/chat`. */
import type { PublicError } from "#schemas/errors.ts"
import type { Conversation, MediaPart, ContentPart, Reasoning, GenerationSettings, TextPart, Tool, Turn } from "#schemas/wire/conversation.ts"
import { objectText } from "./arguments.ts"
import { dataOf } from "./images.ts"
import { JsonWriter } from "#src/wire/json/JsonWriter.ts"
import { foreign, soleText } from "#src/wire/neutral/foreign.ts"
import { effortOf, nameOf, Omitted, reading, unsayable } from "#src/wire/neutral/settings.ts"
import { paired } from "#src/wire/neutral/toolPairs.ts"
import type * as Splice from "#src/wire/json/splice.ts"
import type { EncodedRequest, Json as Body, TargetTraits } from "#src/wire/WireFormat.ts"

const noField = "a local model server has no such field."

export const encodeRequest = (given: Conversation, traits: TargetTraits): EncodedRequest | PublicError =>
  reading(() => {
    const omitted = new Omitted()
    const conversation = foreign(given, { family: "local-model-server", freeform: false }, omitted)
    const members: Array<string> = [`"model":${JSON.stringify(traits.model)}`]
    const add = (key: string, value: unknown): void => {
      if (value !== null && value !== undefined) members.push(`${JSON.stringify(key)}:${JSON.stringify(value)}`)
    }
    const turns = paired(conversation, (field) => omitted.add(field))
    const json = new JsonWriter()
    members.push(`"messages":${json.write(messagesOf(turns, json, omitted))}`)
    const tools = toolsOf(conversation, omitted)
    if (tools.length > 0) add("tools", tools)
    refuse(conversation)
    const { settings } = conversation
    if (settings.output !== null) add("format", settings.output.kind === "json" ? "json" : settings.output.schema)
    add("think", thinkOf(conversation, traits, omitted))
    add("logprobs", settings.logprobs)
    add("top_logprobs", settings.topLogprobs)
    const options = optionsOf(conversation)
    if (Object.keys(options).length > 0) add("options", options)
    if (conversation.format === "local-model-server") {
      for (const extra of conversation.extras) if (!extra.field.startsWith("options.")) add(extra.field, extra.value)
    } else omitted.extras(conversation.extras, noField)
    leaveOut(conversation, omitted)
    // Said always: this format streams when nothing is said.
    add("stream", traits.stream)
    return { body: `{${members.join(",")}}`, omitted: omitted.fields }
  })

/** Model and stream flag of a body that is forwarded as it came. */
export const passThroughEdits = (body: Body, traits: TargetTraits): ReadonlyArray<Splice.Edit> => {
  const edits: Array<Splice.Edit> = []
  if (body["model"] !== traits.model) edits.push({ key: "model", value: JSON.stringify(traits.model) })
  if ((body["stream"] !== false) !== traits.stream) edits.push({ key: "stream", value: String(traits.stream) })
  return edits
}

// ---- messages ------------------------------------------------------------------------------------------------------------------------

/** What one message says; a tool turn gives one for each of its results. */
interface Message {
  readonly texts: Array<string>
  readonly images: Array<string>
  readonly calls: Array<object>
  thinking: string
}

const messagesOf = (turns: ReadonlyArray<Turn>, json: JsonWriter, omitted: Omitted): ReadonlyArray<object> => {
  const messages: Array<object> = []
  for (const turn of turns) putTurn(turn, messages, json, omitted)
  return messages
}

const putTurn = (turn: Turn, messages: Array<object>, json: JsonWriter, omitted: Omitted): void => {
  if (turn.name !== null) omitted.add("name")
  if (turn.role === "tool") {
    for (const part of turn.parts) if (part.kind === "toolResult") messages.push(resultOf(part, turn, json, omitted))
    return
  }
  const role = turn.role === "developer" ? "system" : turn.role
  const content = soleText(turn.parts)
  if (content !== null) {
    messages.push({ role, content })
    return
  }
  const message = read(turn.parts, turn, json, omitted)
  const isEmpty = message.texts.length === 0 && message.images.length === 0 && message.calls.length === 0 && message.thinking === ""
  // An assistant turn that held hidden reasoning alone; an empty turn of the client itself is passed on.
  if (isEmpty && turn.role === "assistant" && turn.parts.length > 0) return
  messages.push(written(role, message, null, null))
}

const resultOf = (part: Extract<ContentPart, { kind: "toolResult" }>, turn: Turn, json: JsonWriter, omitted: Omitted): object => {
  if (part.cache !== null) omitted.add("cache_control")
  if (part.isError) omitted.add("is_error")
  return written("tool", read(part.content, turn, json, omitted), part.name, part.id)
}

/** One message. Members that are undefined are not written. */
const written = (role: string, { calls, images, texts, thinking }: Message, tool: string | null, callId: string | null): object => ({
  role, content: texts.length === 1 ? texts[0] : texts.join("\n"), thinking: thinking === "" ? undefined : thinking,
  images: images.length === 0 ? undefined : images, tool_calls: calls.length === 0 ? undefined : calls,
  tool_name: tool ?? undefined, tool_call_id: callId ?? undefined
})

const read = (parts: ReadonlyArray<ContentPart>, turn: Turn, json: JsonWriter, omitted: Omitted): Message => {
  const message: Message = { texts: [], images: [], calls: [], thinking: "" }
  for (const part of parts) {
    switch (part.kind) {
      case "text":
        textOf(part, turn, message, omitted)
        break
      case "refusal":
        message.texts.push(part.text)
        break
      case "reasoning":
        // `thinking` asks for no signature, so thoughts of another family may stand there; hidden ones have no text.
        if (part.text !== "") message.thinking += message.thinking === "" ? part.text : `\n${part.text}`
        break
      case "toolCall":
        if (part.cache !== null) omitted.add("cache_control")
        message.calls.push({
          id: part.id, function: { name: part.name, arguments: part.custom ? { input: part.arguments } : part.object ?? json.text(objectText(part.arguments)) }
        })
        break
      case "image":
      case "audio":
      case "video":
      case "document":
        message.images.push(imageOf(part, turn, omitted))
        break
      case "opaque":
      case "toolResult":
        break
    }
  }
  return message
}

const textOf = (part: TextPart, turn: Turn, message: Message, omitted: Omitted): void => {
  if (part.cache !== null) omitted.add("cache_control")
  if (part.annotations.length > 0 && turn.role === "assistant") omitted.add("annotations")
  if (part.text !== "") message.texts.push(part.text)
}

const imageOf = (part: MediaPart, turn: Turn, omitted: Omitted): string => {
  if (part.kind !== "image") throw unsayable(turn.path, `a local model server takes text and images, not ${part.kind === "audio" ? "audio" : `a ${part.kind}`}.`)
  const data = dataOf(part)
  if (data === null) throw unsayable(turn.path, "a local model server takes images as base64, not by URL or file id.")
  if (part.cache !== null) omitted.add("cache_control")
  if (part.detail !== null && part.detail !== "auto") omitted.add("detail")
  return data
}

// ---- tools ---------------------------------------------------------------------------------------------------------------------------

const toolsOf = (conversation: Conversation, omitted: Omitted): ReadonlyArray<object> => {
  const { toolChoice } = conversation
  // The format has no tool_choice: `none` is said by sending no tools, and a forced call cannot be said.
  if (toolChoice?.kind === "none") return []
  const forced = toolChoice !== null && (toolChoice.kind === "required" || toolChoice.kind === "tool" || (toolChoice.kind === "allowed" && toolChoice.required))
  if (forced) throw unsayable(choiceName(conversation), "a local model server decides by itself whether it calls a tool.")
  const allowed = toolChoice?.kind === "allowed" ? new Set(toolChoice.names) : null
  return conversation.tools.flatMap((tool, i) => {
    const written = toolOf(tool, i, omitted)
    return allowed === null || tool.kind !== "function" || allowed.has(tool.name) ? [written] : []
  })
}

const toolOf = (tool: Tool, i: number, omitted: Omitted): object => {
  if (tool.kind !== "function") throw unsayable(`tools[${i}]`, "a local model server takes function tools only.")
  if (tool.cache !== null) omitted.add("cache_control")
  if (tool.strict === true) omitted.add("strict")
  const given = tool.parameters ?? { type: "object" }
  // Templates walk the properties, so an object without any says so.
  const parameters = given["type"] === "object" && given["properties"] === undefined ? { ...given, properties: {} } : given
  return { type: "function", function: { name: tool.name, ...(tool.description === null ? {} : { description: tool.description }), parameters } }
}

const choiceName = (conversation: Conversation): string =>
  conversation.format === "generateContent" ? "toolConfig.functionCallingConfig" : "tool_choice"

// ---- settings ------------------------------------------------------------------------------------------------------------------------

const refuse = (conversation: Conversation): void => {
  const { choices, logitBias, modalities } = conversation.settings
  const check = (setting: keyof GenerationSettings, wrong: boolean, why: string): void => {
    if (wrong) throw unsayable(nameOf(conversation, setting), why)
  }
  check("choices", choices !== null && choices > 1, "a local model server gives one answer.")
  check("logitBias", logitBias !== null && Object.keys(logitBias).length > 0, noField)
  check("modalities", modalities !== null && modalities.length > 0, "a local model server answers with text.")
}

/** What may be left out, unless it says what happens anyway. */
const leaveOut = (conversation: Conversation, omitted: Omitted): void => {
  const { settings } = conversation
  const check = (setting: keyof GenerationSettings, is: boolean): void => {
    if (is) omitted.add(nameOf(conversation, setting))
  }
  check("verbosity", settings.verbosity !== null)
  check("serviceTier", settings.serviceTier !== null)
  check("user", settings.user !== null)
  check("safetyIdentifier", settings.safetyIdentifier !== null)
  check("promptCacheKey", settings.promptCacheKey !== null)
  check("metadata", settings.metadata !== null)
  check("store", settings.store === true)
  check("parallelToolCalls", settings.parallelToolCalls === false)
}

const optionsOf = (conversation: Conversation): Record<string, unknown> => {
  const { settings } = conversation
  const options: Record<string, unknown> = {}
  const add = (key: string, value: unknown): void => {
    if (value !== null) options[key] = value
  }
  add("num_predict", settings.maxTokens)
  add("temperature", settings.temperature)
  add("top_p", settings.topP)
  add("top_k", settings.topK)
  add("min_p", settings.minP)
  if (settings.stop !== null && settings.stop.length > 0) add("stop", settings.stop)
  add("seed", settings.seed)
  add("frequency_penalty", settings.frequencyPenalty)
  add("presence_penalty", settings.presencePenalty)
  if (conversation.format === "local-model-server") {
    for (const extra of conversation.extras) if (extra.field.startsWith("options.")) add(extra.field.slice("options.".length), extra.value)
  }
  return options
}

/** `think`: false, a level, or true where no level was meant. A model that cannot think refuses it, so it is left out there. */
const thinkOf = (conversation: Conversation, traits: TargetTraits, omitted: Omitted): boolean | string | null => {
  const { reasoning } = conversation.settings
  if (reasoning === null) return null
  const { budget, effort, enabled } = reasoning
  const isOff = enabled === false || effort === "none" || (enabled === null && effort === null && budget === 0)
  if (isOff) return traits.reasoning === false ? null : false
  if (enabled === null && effort === null && budget === null) return null
  if (traits.reasoning === false) {
    omitted.add(nameOf(conversation, "reasoning"))
    return null
  }
  return levelOf(reasoning, conversation) ?? true
}

const levelOf = ({ budget, effort }: Reasoning, conversation: Conversation): string | null => {
  switch (effort ?? (budget === null || budget < 0 ? null : effortOf(budget))) {
    case "minimal":
    case "low": return "low"
    case "medium": return "medium"
    case "max":
      // Only newer servers know it; a client of this format knows its server.
      return conversation.format === "local-model-server" ? "max" : "high"
    case "high":
    case "xhigh": return "high"
    default: return null
  }
}
