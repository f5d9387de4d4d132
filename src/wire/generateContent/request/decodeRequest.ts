/** From a client's request to the neutral conversation. */
import type { PublicError } from "#schemas/errors.ts"
import type {
  Conversation, Extra, MediaPart, OpaquePart, OutputFormat, ContentPart, Reasoning, GenerationSettings, TextPart, Tool, ToolCallPart, ToolChoice, ToolResultPart, Turn
} from "#schemas/wire/conversation.ts"
import * as WireGenerateContent from "#schemas/wire/generateContent.ts"
import { isRecord } from "#src/wire/json/json.ts"
import { decoder, sparing } from "#src/wire/neutral/decoding.ts"
import { hostedText } from "#src/wire/neutral/hostedText.ts"
import { OpenCalls } from "#src/wire/neutral/toolPairs.ts"
import { invalid, none, reading } from "#src/wire/neutral/settings.ts"
import { open } from "#src/wire/signatures.ts"
import type { Json } from "#src/wire/WireFormat.ts"
import { ofFile, ofInline, standardBase64 } from "./media.ts"
import { jsonSchemaOf } from "./openApiSchema.ts"
import { reasoningOf } from "#src/wire/generateContent/thinking.ts"
import * as Spelling from "#src/wire/generateContent/spelling.ts"

const decode = sparing(decoder(WireGenerateContent.Request), "contents", Spelling.isPlainContent)

/** Members that say which kind a part is; the union of the wire schema. */
const dataMembers = new Set(["text", "inlineData", "fileData", "functionCall", "functionResponse"])
/** Members that stand beside the data. */
const partHints = ["mediaResolution", "partMetadata"]
const partAttributes = new Set(["thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"])

export const decodeRequest = (body: Json): Conversation | PublicError => {
  const result = reading(() => read(body))
  return "_tag" in result ? Spelling.respelt(result, body) : result
}

const read = (body: Json): Conversation => {
  // The HTTP layer put these two there, out of the URL.
  const { model: _model, stream: _stream, ...sent } = body
  const raw = Spelling.normal(sent, Spelling.request, "") as Json
  const system = raw["systemInstruction"]
  // Some clients send a bare string.
  const wire = decode(typeof system === "string" ? { ...raw, systemInstruction: { parts: [{ text: system }] } } : raw)
  if ("_tag" in wire) throw wire
  const extras: Array<Extra> = []
  const turns = [...systemTurn(wire), ...readContents(wire.contents, raw["contents"], extras)]
  const { strictly, toolChoice } = readToolChoice(wire)
  return {
    format: "generateContent",
    turns,
    tools: readTools(wire, raw["tools"], strictly),
    toolChoice,
    settings: readSettings(wire, extras),
    extras: [...extras, ...otherFields(raw)]
  }
}

// ---- contents --------------------------------------------------------------------------------------------------------------------

const noAnnotations: TextPart["annotations"] = []

const textPart = (text: string, signature: TextPart["signature"] = null): TextPart => ({ kind: "text", text, cache: null, annotations: noAnnotations, signature })

const systemTurn = (wire: WireGenerateContent.Request): ReadonlyArray<Turn> =>
  wire.systemInstruction === undefined
    ? []
    : [{ role: "system", parts: wire.systemInstruction.parts.map((part) => textPart(part.text)), name: null, path: "systemInstruction" }]

interface OpenTurn extends Turn {
  readonly parts: Array<ContentPart>
}

const readContents = (contents: WireGenerateContent.Request["contents"], raw: unknown, extras: Array<Extra>): ReadonlyArray<Turn> => {
  const turns: Array<OpenTurn> = []
  /** Of the newest contents of the model. */
  let calls = new OpenCalls()
  contents.forEach((content, i) => {
    const path = `contents[${i}]`
    const rawContent: unknown = Array.isArray(raw) ? raw[i] : undefined
    const isModel = content.role === "model"
    const last = turns[turns.length - 1]
    // SDKs keep the chunks of a streamed answer as contents of their own.
    const before = isModel && last?.role === "assistant" ? last : null
    if (isModel && before === null) calls = new OpenCalls()
    if (before === null && Spelling.isPlainContent(rawContent)) {
      turns.push({ role: isModel ? "assistant" : "user", parts: rawContent.parts.map(({ text }) => textPart(text)), name: null, path })
      return
    }
    const results: Array<ToolResultPart> = []
    const parts: Array<ContentPart> = []
    const rawParts: unknown = isRecord(rawContent) ? rawContent["parts"] : undefined
    content.parts.forEach((part, j) => {
      const rawPart: unknown = Array.isArray(rawParts) ? rawParts[j] : undefined
      const read = readPart(part, isRecord(rawPart) ? rawPart : {}, { isModel, content: i, part: j, calls }, extras)
      if (read.kind === "toolResult") results.push(read)
      else parts.push(read)
    })
    if (before !== null) {
      for (const part of parts) before.parts.push(part)
    } else {
      if (results.length > 0) turns.push({ role: "tool", parts: results, name: null, path })
      if (parts.length > 0) turns.push({ role: isModel ? "assistant" : "user", parts, name: null, path })
    }
  })
  return turns.map((turn) => turn.role === "assistant" && turn.parts.length > 1 ? { ...turn, parts: joined(turn.parts) } : turn)
}

/** Pieces of one text or thought are one part again; the signature may have come with an empty last piece. */
const joined = (parts: ReadonlyArray<ContentPart>): ReadonlyArray<ContentPart> => {
  if (parts.length < 2) return parts
  const out: Array<ContentPart> = []
  for (const part of parts) {
    const last = out[out.length - 1]
    if (part.kind === "text" && last?.kind === "text" && last.signature === null) {
      out[out.length - 1] = { ...last, text: last.text + part.text, signature: part.signature }
    } else if (part.kind === "reasoning" && last?.kind === "reasoning" && last.signature === null) {
      out[out.length - 1] = { ...part, text: last.text + part.text, redacted: part.redacted && last.text === "" }
    } else out.push(part)
  }
  return out
}

interface PartContext {
  readonly isModel: boolean
  /** Where the part stands among the contents, and among the parts of its content. */
  readonly content: number
  readonly part: number
  readonly calls: OpenCalls
}

/** The one member that says what a part is; null when there is none, or more than one. */
const dataMember = (raw: Json): string | null => {
  let found: string | null = null
  for (const member in raw) {
    if (partAttributes.has(member)) continue
    if (found !== null) return null
    found = member
  }
  return found
}

const readPart = (part: WireGenerateContent.Part, raw: Json, context: PartContext, extras: Array<Extra>): ContentPart => {
  const { calls, isModel } = context
  const at = () => `contents[${context.content}].parts[${context.part}]`
  const member = dataMember(raw)
  if (member === null) throw invalid(at(), `${at()} must hold exactly one of text, inlineData, fileData, functionCall, functionResponse.`)
  // The vendor clips and samples a video by it: without it the model sees another one.
  if (raw["videoMetadata"] !== undefined) extras.push({ field: `${at()}.videoMetadata`, weight: "essential", value: raw["videoMetadata"] })
  for (const hint of partHints) {
    if (raw[hint] !== undefined) extras.push({ field: `${at()}.${hint}`, weight: "hint", value: raw[hint] })
  }
  if (!dataMembers.has(member)) return opaquePart(raw, member, at(), isModel)
  const signature = part.thoughtSignature === undefined ? null : open(part.thoughtSignature, "generateContent")
  if (part.text !== undefined) {
    if (part.thought !== true) return textPart(part.text, signature)
    if (!isModel) throw invalid(`${at()}.thought`, `Field '${at()}.thought': only the model thinks.`)
    return { kind: "reasoning", text: part.text, summary: true, signature, id: null, redacted: part.text === "" && signature?.family === "messages" }
  }
  if (part.functionCall !== undefined) {
    if (!isModel) throw invalid(`${at()}.functionCall`, `Field '${at()}.functionCall': only content of role 'model' calls functions.`)
    // The same id for the same place, so that a later request pairs up again.
    const { args = {}, id = `call_${context.content}_${context.part}`, name } = part.functionCall
    calls.add(id, name)
    return { kind: "toolCall", id, name, arguments: JSON.stringify(args), object: args, custom: false, cache: null, signature } satisfies ToolCallPart
  }
  if (part.functionResponse !== undefined) {
    if (isModel) throw invalid(`${at()}.functionResponse`, `Field '${at()}.functionResponse': content of role 'model' answers no functions.`)
    return readResult(part.functionResponse, calls, at)
  }
  return mediumOf(part, signature, at)
}

/** What the vendor's own tools left in the model's turn is text elsewhere. */
const opaquePart = (raw: Json, member: string, at: string, isModel: boolean): OpaquePart => ({
  kind: "opaque", format: "generateContent", field: `${at}.${member}`, value: raw, listed: `contents[].parts[].${member.slice(0, 64)}`,
  fallback: isModel || /^(?:executableCode|codeExecutionResult|toolCall|toolResponse)$/.test(member) ? hostedText(member, raw[member]) : null
})

const mediumOf = (part: Pick<WireGenerateContent.Part, "inlineData" | "fileData">, signature: TextPart["signature"], at: () => string): MediaPart => {
  if (part.inlineData !== undefined) {
    const data = standardBase64(part.inlineData.data)
    if (data === null) throw invalid(`${at()}.inlineData.data`, `Field '${at()}.inlineData.data' must be base64.`)
    return ofInline({ ...part.inlineData, data, checked: true }, signature)
  }
  if (part.fileData !== undefined) return ofFile(part.fileData, signature)
  throw invalid(at(), `${at()} must hold inlineData or fileData.`)
}

/** A response without an id answers the oldest open call of its name; one that answers none keeps what it said and is refused later. */
const readResult = (wire: NonNullable<WireGenerateContent.Part["functionResponse"]>, calls: OpenCalls, at: () => string): ToolResultPart => {
  const call = (wire.id === undefined ? undefined : calls.waitingOfId(wire.id)) ?? calls.waitingOfName(wire.name)
  if (call !== undefined) call.answered = true
  const { isError, text } = resultText(wire.response ?? {})
  const media = (wire.parts ?? []).map((part, k) => mediumOf(part, null, () => `${at()}.functionResponse.parts[${k}]`))
  return {
    kind: "toolResult", id: call?.id ?? wire.id ?? wire.name, name: wire.name, isError, cache: null,
    content: [...(text === "" && media.length > 0 ? [] : [textPart(text)]), ...media]
  }
}

/** The text of a result: what stands alone under the vendor's own keys, else the whole object as JSON. */
const resultText = (response: Json): { readonly text: string; readonly isError: boolean } => {
  const keys = Object.keys(response)
  const key = keys.length === 1 ? keys[0] ?? "" : ""
  if (key !== "result" && key !== "output" && key !== "error") return { text: keys.length === 0 ? "" : JSON.stringify(response), isError: false }
  const value = response[key]
  return { text: typeof value === "string" ? value : JSON.stringify(value), isError: key === "error" }
}

// ---- tools -----------------------------------------------------------------------------------------------------------------------

const readTools = (wire: WireGenerateContent.Request, raw: unknown, strictly: boolean): ReadonlyArray<Tool> =>
  (wire.tools ?? []).flatMap((tool, i) => {
    const rawTool: unknown = Array.isArray(raw) ? raw[i] : undefined
    const hosted: ReadonlyArray<Tool> = Object.entries(isRecord(rawTool) ? rawTool : {}).filter(([name]) => name !== "functionDeclarations")
      .map(([type, value]) => ({ kind: "hosted", format: "generateContent", type, value: { [type]: value } }))
    const functions: ReadonlyArray<Tool> = (tool.functionDeclarations ?? []).map((one, j) => {
      if (one.parameters !== undefined && one.parametersJsonSchema !== undefined) {
        const at = `tools[${i}].functionDeclarations[${j}].parametersJsonSchema`
        throw invalid(at, `Field '${at}' excludes parameters.`)
      }
      return {
        kind: "function", name: one.name, description: one.description ?? null, strict: strictly ? true : null, cache: null,
        parameters: one.parametersJsonSchema ?? (one.parameters === undefined ? null : jsonSchemaOf(one.parameters))
      }
    })
    return [...functions, ...hosted]
  })

/** Mode VALIDATED keeps calls to their schemas: what others call strict. */
const readToolChoice = (wire: WireGenerateContent.Request): { readonly toolChoice: ToolChoice | null; readonly strictly: boolean } => {
  const config = wire.toolConfig?.functionCallingConfig
  const names = config?.allowedFunctionNames ?? []
  const [only] = names
  const strictly = config?.mode === "VALIDATED"
  switch (config?.mode) {
    case undefined:
    case "MODE_UNSPECIFIED":
    case "AUTO":
    case "NONE": {
      const at = "toolConfig.functionCallingConfig.allowedFunctionNames"
      if (names.length > 0) throw invalid(at, `Field '${at}' is only for the modes ANY and VALIDATED.`)
      return { toolChoice: config?.mode === "NONE" ? { kind: "none" } : config?.mode === "AUTO" ? { kind: "auto" } : null, strictly }
    }
    case "ANY":
      return { toolChoice: only === undefined ? { kind: "required" } : names.length === 1 ? { kind: "tool", name: only } : { kind: "allowed", names, required: true }, strictly }
    case "VALIDATED":
      return { toolChoice: only === undefined ? { kind: "auto" } : { kind: "allowed", names, required: false }, strictly }
  }
}

// ---- settings --------------------------------------------------------------------------------------------------------------------

const readSettings = (wire: WireGenerateContent.Request, extras: Array<Extra>): GenerationSettings => {
  const config = wire.generationConfig ?? {}
  const modalities = (config.responseModalities ?? []).map((one) => one.toLowerCase()).filter((one) => one !== "text" && one !== "modality_unspecified")
  return {
    ...none,
    maxTokens: config.maxOutputTokens ?? null,
    temperature: config.temperature ?? null,
    topP: config.topP ?? null,
    topK: config.topK ?? null,
    stop: config.stopSequences === undefined || config.stopSequences.length === 0 ? null : config.stopSequences,
    seed: config.seed ?? null,
    choices: config.candidateCount ?? null,
    frequencyPenalty: config.frequencyPenalty ?? null,
    presencePenalty: config.presencePenalty ?? null,
    logprobs: config.responseLogprobs ?? null,
    topLogprobs: config.logprobs ?? null,
    output: readOutput(config, extras),
    reasoning: config.thinkingConfig === undefined ? null : readReasoning(config.thinkingConfig, extras),
    serviceTier: wire.serviceTier?.toLowerCase() ?? null,
    store: wire.store ?? null,
    modalities: modalities.length === 0 ? null : modalities
  }
}

const readReasoning = (config: NonNullable<NonNullable<WireGenerateContent.Request["generationConfig"]>["thinkingConfig"]>, extras: Array<Extra>): Reasoning | null => {
  const reasoning = reasoningOf(config)
  // A level that only the vendor knows.
  if (reasoning === null) extras.push({ field: "generationConfig.thinkingConfig", weight: "hint", value: config })
  return reasoning
}

const readOutput = (config: NonNullable<WireGenerateContent.Request["generationConfig"]>, extras: Array<Extra>): OutputFormat | null => {
  const mime = config.responseMimeType
  const schema = config.responseJsonSchema ?? (config.responseSchema === undefined ? undefined : jsonSchemaOf(config.responseSchema))
  if (mime !== undefined && mime !== "text/plain" && mime !== "application/json") {
    extras.push({ field: "generationConfig.responseMimeType", weight: "essential", value: mime })
    if (schema !== undefined) extras.push({ field: "generationConfig.responseSchema", weight: "essential", value: config.responseSchema ?? config.responseJsonSchema })
    return null
  }
  if (schema !== undefined && mime !== "application/json") {
    const at = "generationConfig.responseMimeType"
    throw invalid(at, `Field '${at}' must be application/json for a schema.`)
  }
  if (mime !== "application/json") return null
  return schema === undefined ? { kind: "json" } : { kind: "schema", name: null, description: null, schema, strict: null }
}

/** Fields of this format alone. The prompt's cached beginning and what shapes a voice or a picture are part of the answer. */
const essential = new Set(["cachedContent", "generationConfig.speechConfig", "generationConfig.imageConfig"])
const known = new Set(Object.keys(WireGenerateContent.Request.fields))
const knownConfig = new Set(Object.keys(WireGenerateContent.GenerationConfig.fields))

const otherFields = (raw: Json): ReadonlyArray<Extra> => {
  const extras: Array<Extra> = []
  const add = (prefix: string, value: unknown, isKnown: (name: string) => boolean): void => {
    for (const [name, inner] of Object.entries(isRecord(value) ? value : {})) {
      const field = prefix + name
      if (!isKnown(name)) extras.push({ field, weight: essential.has(field) ? "essential" : "hint", value: inner })
    }
  }
  add("", raw, (name) => known.has(name))
  add("generationConfig.", raw["generationConfig"], (name) => knownConfig.has(name))
  const toolConfig = raw["toolConfig"]
  add("toolConfig.", toolConfig, (name) => name === "functionCallingConfig")
  add("toolConfig.functionCallingConfig.", isRecord(toolConfig) ? toolConfig["functionCallingConfig"] : null,
    (name) => name === "mode" || name === "allowedFunctionNames")
  return extras
}
