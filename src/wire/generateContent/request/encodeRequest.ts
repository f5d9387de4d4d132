/** From the neutral conversation to a request of this family. */
import type { PublicError } from "#schemas/errors.ts"
import type { Conversation, MediaPart, ContentPart, GenerationSettings, TextPart, Tool, ToolCallPart, ToolResultPart, Turn } from "#schemas/wire/conversation.ts"
import { parseRecord } from "#src/wire/json/json.ts"
import { JsonWriter } from "#src/wire/json/JsonWriter.ts"
import { wrappedTool } from "#src/wire/neutral/freeform.ts"
import { foreign } from "#src/wire/neutral/foreign.ts"
import { invalid, missingMessages, nameOf, Omitted, reading, unsayable } from "#src/wire/neutral/settings.ts"
import { merged, paired } from "#src/wire/neutral/toolPairs.ts"
import type { EncodedRequest, TargetTraits } from "#src/wire/WireFormat.ts"
import { wireMedium } from "./media.ts"
import { generationOf, thinkingConfigOf } from "#src/wire/generateContent/thinking.ts"

/** Documented for calls that the model did not make itself, which Gemini 3 refuses without a signature. */
export const unsignedCall = "skip_thought_signature_validator"

const mostStops = 5
const mostChoices = 8
const mostLogprobs = 20
/** The vendor's seeds have 32 bits. */
const seedRange = 2 ** 31
/** What may stand in a tool result itself; other media stand beside it. */
const resultMedia = /^(?:image\/(?:png|jpe?g|webp)|application\/pdf|text\/plain)$/i
const functionName = /^[A-Za-z_][\w.:-]{0,127}$/

interface Context {
  readonly conversation: Conversation
  readonly model: string
  readonly omitted: Omitted
  readonly json: JsonWriter
  /** Gemini 3 and later, which know ids, media in results and demand signatures; null for a model of another name. */
  readonly generation: number | null
}

export const encodeRequest = (given: Conversation, traits: TargetTraits): EncodedRequest | PublicError =>
  reading(() => {
    const omitted = new Omitted()
    const conversation = foreign(given, { family: "generateContent", freeform: false }, omitted)
    const context: Context = { conversation, model: traits.model, omitted, json: new JsonWriter(), generation: generationOf(traits.model) }
    const turns = merged(paired(conversation, (field) => omitted.add(field)))
    const members: Array<string> = [...contentsOf(turns, context), ...toolMembers(context)]
    const config = generationConfig(context, traits)
    const returned = ownExtras(context)
    const all = [...config, ...returned.config]
    if (all.length > 0) members.push(`"generationConfig":{${all.join(",")}}`)
    return { body: `{${[...members, ...returned.top].join(",")}}`, omitted: omitted.fields }
  })

// ---- contents --------------------------------------------------------------------------------------------------------------------

const contentsOf = (turns: ReadonlyArray<Turn>, context: Context): ReadonlyArray<string> => {
  const system: Array<object> = []
  const contents: Array<object> = []
  let userSpoke = false
  for (const turn of turns) {
    if (turn.name !== null) context.omitted.add(`${turn.path}.name`)
    if (turn.role === "system" || turn.role === "developer") {
      for (const part of turn.parts) systemText(part, turn, system, context)
      continue
    }
    const parts = turn.role === "assistant" ? assistantParts(turn, context) : partsOf(turn, context)
    if (!userSpoke && turn.role === "assistant" && turn.parts.some(({ kind }) => kind === "toolCall")) {
      // The vendor refuses a call that nothing of the user stands before.
      context.omitted.add(`${turn.path} (user turn added)`)
      contents.push({ role: "user", parts: [{ text: "." }] })
    }
    if (parts.length === 0) continue
    contents.push({ role: turn.role === "assistant" ? "model" : "user", parts })
    userSpoke = turn.role !== "assistant"
  }
  // The vendor wants contents: an instruction alone is what the user says.
  if (contents.length === 0 && system.length > 0) contents.push({ role: "user", parts: system.splice(0) })
  if (contents.length === 0) {
    const at = context.conversation.turns[0]?.path ?? "contents"
    throw missingMessages(context.conversation) ?? invalid(at, `${at} holds nothing that could be sent.`)
  }
  return [`"contents":${context.json.write(contents)}`, ...(system.length > 0 ? [`"systemInstruction":${JSON.stringify({ parts: system })}`] : [])]
}

const systemText = (part: ContentPart, turn: Turn, system: Array<object>, { omitted }: Context): void => {
  if (part.kind !== "text") throw unsayable(turn.path, "its system instruction takes text only.")
  if (part.cache !== null) omitted.add("cache_control")
  if (part.text !== "") system.push({ text: part.text })
}

const partsOf = (turn: Turn, context: Context): ReadonlyArray<object> => {
  const parts: Array<object> = []
  for (const part of turn.parts) putPart(part, turn, parts, context)
  return parts
}

/** Part of a user's or a tool's turn. */
const putPart = (part: ContentPart, turn: Turn, parts: Array<object>, context: Context): void => {
  switch (part.kind) {
    case "text": return putText(part, null, parts, context)
    case "image":
    case "audio":
    case "video":
    case "document": return putMedium(part, turn, parts, context)
    case "toolResult": return putResult(part, turn, parts, context)
    case "refusal":
      if (part.text !== "") parts.push({ text: part.text })
      return
    case "opaque":
      parts.push(part.value as object)
      return
    case "reasoning":
    case "toolCall":
  }
}

/** The model's own turn: signatures go back where they came from; thoughts of another family stay at home. */
const assistantParts = (turn: Turn, context: Context): ReadonlyArray<object> => {
  const parts: Array<object> = []
  /**
   * Other formats sign thoughts, this vendor signs the call or the text behind them: what a client of theirs gave back on a thought
   * moves to the first call, which must have it, or else to the next text.
   */
  let carried: string | null = null
  const isOwnFormat = context.conversation.format === "generateContent"
  const callNeedsIt = turn.parts.some((part) => part.kind === "toolCall" && own(part) === null)
  let calls = 0
  for (const part of turn.parts) {
    if (part.kind === "reasoning") {
      const signature = own(part)
      const stays = isOwnFormat && part.text !== ""
      if (!stays) carried = signature ?? carried
      if (part.text !== "" && (signature !== null || (isOwnFormat && part.signature === null))) {
        parts.push({ text: part.text, thought: true, thoughtSignature: (stays ? signature : null) ?? undefined })
      }
    } else if (part.kind === "toolCall") {
      parts.push(callPart(part, own(part) ?? carried, calls === 0, context))
      carried = null
      calls++
    } else if (part.kind === "text") {
      const takesIt = !callNeedsIt || calls > 0
      putText(part, own(part) ?? (takesIt ? carried : null), parts, context)
      if (takesIt) carried = null
    } else putPart(part, turn, parts, context)
  }
  if (carried !== null) parts.push({ text: "", thoughtSignature: carried })
  return parts
}

const own = (part: { readonly signature: ToolCallPart["signature"] }): string | null =>
  part.signature?.family === "generateContent" ? part.signature.value : null

/** Members that are undefined are not written. */
const putText = (part: TextPart, signature: string | null, parts: Array<object>, { conversation, omitted }: Context): void => {
  if (part.cache !== null) omitted.add("cache_control")
  if (part.annotations.length > 0) omitted.add(conversation.format === "messages" ? "citations" : "annotations")
  if (part.text !== "" || signature !== null) parts.push({ text: part.text, thoughtSignature: signature ?? undefined })
}

const putMedium = (part: MediaPart, turn: Turn, parts: Array<object>, context: Context): void => {
  const medium = wireMedium(part)
  if (medium === null) throw unsayable(turn.path, `it refers to ${part.kind} data in another vendor's file store.`)
  noteMedia(part, context)
  if (part.context !== null && part.context !== "") parts.push({ text: part.context })
  const signature = own(part)
  parts.push(signature === null ? medium : { ...medium, thoughtSignature: signature })
}

/** What the vendor has no member for. Text beside a document is said as text. */
const noteMedia = (part: MediaPart, { conversation, omitted }: Context): void => {
  if (part.cache !== null) omitted.add("cache_control")
  if (part.name !== null) omitted.add(conversation.format === "messages" ? "title" : conversation.format === "generateContent" ? "displayName" : "filename")
  if (part.citations === true) omitted.add("citations")
  if (part.detail !== null && part.detail !== "auto") omitted.add("detail")
}

/** Vertex AI knew no ids before Gemini 3; there, calls and results pair up by their order. */
const idOf = (id: string, { generation }: Context): string | undefined => generation !== null && generation < 3 ? undefined : id

const callPart = (part: ToolCallPart, signature: string | null, isFirst: boolean, context: Context): object => {
  if (part.cache !== null) context.omitted.add("cache_control")
  const needed = isFirst && context.generation !== null && context.generation >= 3 ? unsignedCall : null
  return { functionCall: { id: idOf(part.id, context), name: part.name, args: part.object ?? context.json.text(argsOf(part)) }, thoughtSignature: signature ?? needed ?? undefined }
}

/** Arguments as a JSON object: the model's own text when it is one. */
export const argsOf = (part: Pick<ToolCallPart, "arguments" | "custom">): string => {
  if (part.custom) return JSON.stringify({ input: part.arguments })
  if (part.arguments.trim() === "") return "{}"
  // A line break would end the line of a stream; inside valid JSON it is only spacing.
  return parseRecord(part.arguments) === null ? JSON.stringify({ arguments: part.arguments }) : part.arguments.replace(/[\r\n]+\s*/g, "").trim()
}

const putResult = (part: ToolResultPart, turn: Turn, parts: Array<object>, context: Context): void => {
  if (part.cache !== null) context.omitted.add("cache_control")
  const texts: Array<string> = []
  const inside: Array<object> = []
  const beside: Array<object> = []
  const takesMedia = context.generation === null || context.generation >= 3
  for (const one of part.content) {
    if (one.kind === "text") {
      if (one.cache !== null) context.omitted.add("cache_control")
      texts.push(one.text)
      continue
    }
    const mediaType = one.source.kind === "text" ? one.source.mediaType ?? "text/plain" : one.source.mediaType ?? ""
    if (one.context !== null && one.context !== "") texts.push(one.context)
    putMedium({ ...one, context: null }, turn, takesMedia && resultMedia.test(mediaType) ? inside : beside, context)
  }
  const text = texts.join("\n")
  parts.push({
    functionResponse: {
      id: idOf(part.id, context), name: part.name ?? part.id, response: part.isError ? { error: text } : { result: text },
      parts: inside.length > 0 ? inside : undefined
    }
  })
  for (const medium of beside) parts.push(medium)
}

// ---- tools -----------------------------------------------------------------------------------------------------------------------

const toolMembers = (context: Context): ReadonlyArray<string> => {
  const { conversation } = context
  const functions: Array<string> = []
  const hosted: Array<string> = []
  for (const tool of conversation.tools) {
    const written = toolOf(tool, context)
    ;(tool.kind === "function" ? functions : hosted).push(written)
  }
  const tools = [...(functions.length > 0 ? [`{"functionDeclarations":[${functions.join(",")}]}`] : []), ...hosted]
  if (tools.length === 0) return []
  if (conversation.settings.parallelToolCalls === false) context.omitted.add(nameOf(conversation, "parallelToolCalls"))
  const config = callingConfig(conversation)
  return [`"tools":[${tools.join(",")}]`, ...(config === null ? [] : [`"toolConfig":{"functionCallingConfig":${config}}`])]
}

const toolOf = (tool: Tool, context: Context): string => {
  const { omitted } = context
  switch (tool.kind) {
    case "function": {
      if (!functionName.test(tool.name)) {
        throw unsayable("tools", `function names begin with a letter or underscore and hold letters, digits, underscores, colons, dots and dashes, unlike '${tool.name.slice(0, 64)}'.`)
      }
      if (tool.cache !== null) omitted.add("cache_control")
      const description = tool.description === null || tool.description === "" ? "" : `,"description":${JSON.stringify(tool.description)}`
      const parameters = tool.parameters === null ? "" : `,"parametersJsonSchema":${JSON.stringify(tool.parameters)}`
      return `{"name":${JSON.stringify(tool.name)}${description}${parameters}}`
    }
    case "custom": return toolOf(wrappedTool(tool), context)
    case "hosted":
      return JSON.stringify(tool.value)
  }
}

/** Mode VALIDATED keeps calls to their schemas, as ANY always does; it also takes a choice among some functions. */
const callingConfig = ({ toolChoice, tools }: Conversation): string | null => {
  const strict = tools.some((tool) => tool.kind === "function" && tool.strict === true)
  const mode = (name: string, names: ReadonlyArray<string> = []): string =>
    `{"mode":"${name}"${names.length === 0 ? "" : `,"allowedFunctionNames":${JSON.stringify(names)}`}}`
  switch (toolChoice?.kind) {
    case undefined: return strict ? mode("VALIDATED") : null
    case "auto": return mode(strict ? "VALIDATED" : "AUTO")
    case "hosted": return null
    case "none": return mode("NONE")
    case "required": return mode("ANY")
    case "tool": return mode("ANY", [toolChoice.name])
    case "allowed": return mode(toolChoice.required ? "ANY" : "VALIDATED", toolChoice.names)
  }
}

// ---- settings --------------------------------------------------------------------------------------------------------------------

/** Settings that the vendor has no word for and that leave the answer what it is. */
const unsaid: ReadonlyArray<keyof GenerationSettings> = [
  "minP", "verbosity", "serviceTier", "user", "safetyIdentifier", "promptCacheKey", "metadata"
]

const generationConfig = (context: Context, traits: TargetTraits): ReadonlyArray<string> => {
  const { conversation, omitted } = context
  const { settings } = conversation
  const refuse = (setting: keyof GenerationSettings, why: string): never => {
    throw unsayable(nameOf(conversation, setting), why)
  }
  const members: Array<string> = []
  const put = (name: string, value: unknown): void => {
    if (value !== null) members.push(`"${name}":${JSON.stringify(value)}`)
  }
  for (const setting of unsaid) if (settings[setting] !== null) omitted.add(nameOf(conversation, setting))
  if (settings.store === true) omitted.add(nameOf(conversation, "store"))
  if (settings.logitBias !== null && Object.keys(settings.logitBias).length > 0) refuse("logitBias", "it has no logit bias.")
  if (settings.stop !== null && settings.stop.length > mostStops) refuse("stop", `it takes ${mostStops} stop sequences at most.`)
  if (settings.choices !== null && settings.choices > mostChoices) refuse("choices", `it gives ${mostChoices} answers at most.`)
  if (settings.topLogprobs !== null && settings.topLogprobs > mostLogprobs) refuse("topLogprobs", `it names ${mostLogprobs} alternatives at most.`)
  put("maxOutputTokens", settings.maxTokens)
  put("temperature", settings.temperature)
  put("topP", settings.topP)
  put("topK", settings.topK)
  put("stopSequences", settings.stop === null || settings.stop.length === 0 ? null : settings.stop)
  // Another seed, but for the same seed always the same.
  put("seed", settings.seed === null ? null : settings.seed % seedRange)
  put("candidateCount", settings.choices === 1 ? null : settings.choices)
  put("presencePenalty", penalty(settings.presencePenalty))
  put("frequencyPenalty", penalty(settings.frequencyPenalty))
  if (settings.logprobs === true) {
    put("responseLogprobs", true)
    put("logprobs", settings.topLogprobs === 0 ? null : settings.topLogprobs)
  }
  if (settings.output !== null) {
    if (conversation.tools.some((tool) => tool.kind === "function") && context.generation !== null && context.generation < 3) {
      refuse("output", "this model gives JSON or calls functions, not both.")
    }
    put("responseMimeType", "application/json")
    if (settings.output.kind === "schema") {
      const { description, schema } = settings.output
      put("responseJsonSchema", description === null || schema["description"] !== undefined ? schema : { description, ...schema })
    }
  }
  if (settings.modalities !== null && settings.modalities.length > 0) {
    const words = settings.modalities.map((one) => one.toUpperCase())
    // Models with audio output return nothing but audio.
    put("responseModalities", words.includes("AUDIO") ? words : ["TEXT", ...words])
  }
  if (settings.reasoning !== null) {
    const written = traits.reasoning === false ? null : thinkingConfigOf(settings.reasoning, context.model)
    const wanted = settings.reasoning.enabled !== false && settings.reasoning.effort !== "none"
    if (written === null ? wanted : !written.exact) omitted.add(nameOf(conversation, "reasoning"))
    if (written !== null) members.push(`"thinkingConfig":${written.config}`)
  }
  return members
}

/** Penalties are below 2 here and up to 2 elsewhere. */
const penalty = (value: number | null): number | null => value === null ? null : Math.min(value, 1.9999)

/** Fields of this format go back to where they stood; those of others are left out or refused by their weight. */
const ownExtras = ({ conversation, omitted }: Context): { readonly top: ReadonlyArray<string>; readonly config: ReadonlyArray<string> } => {
  if (conversation.format !== "generateContent") {
    omitted.extras(conversation.extras, "it has no such field.")
    return { top: [], config: [] }
  }
  const top: Array<string> = []
  const config: Array<string> = []
  const others = conversation.extras.filter((extra) => {
    const [first = "", second, ...rest] = extra.field.split(".")
    if (rest.length > 0 || /[[\]]/.test(extra.field) || (second !== undefined && first !== "generationConfig")) return true
    ;(second === undefined ? top : config).push(`${JSON.stringify(second ?? first)}:${JSON.stringify(extra.value)}`)
    return false
  })
  omitted.extras(others, "it cannot be repeated in a rewritten request.")
  return { top, config }
}
