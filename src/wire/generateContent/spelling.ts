/**
 * The vendor reads every member in camelCase and in snake_case and takes null for absent. Here a request is brought to camelCase
 * without nulls, as deep as the format's own messages reach: tool arguments, results and schemas are the user's data and stay as
 * they are. `asWritten` leads back, so that a message names a member as the client spelt it.
 */
import { PublicError } from "#schemas/errors.ts"
import { isRecord } from "#src/wire/json/json.ts"
import { invalid } from "#src/wire/neutral/settings.ts"
import { hasOnly, pathText } from "#src/wire/neutral/decoding.ts"

/** A message type: what each member holds. `null`: a scalar or data of the user's. */
interface Message {
  readonly [member: string]: Message | readonly [Message] | null
}

const blob: Message = { mimeType: null, data: null, displayName: null }
const fileData: Message = { mimeType: null, fileUri: null, displayName: null }
const part: Message = {
  text: null, thought: null, thoughtSignature: null, inlineData: blob, fileData, videoMetadata: null, mediaResolution: null, partMetadata: null,
  functionCall: { id: null, name: null, args: null },
  functionResponse: { id: null, name: null, response: null, parts: [{ inlineData: blob, fileData }], scheduling: null, willContinue: null },
  executableCode: null, codeExecutionResult: null, toolCall: null, toolResponse: null
}
const content: Message = { role: null, parts: [part] }
export const request: Message = {
  contents: [content],
  systemInstruction: content,
  tools: [{
    functionDeclarations: [{
      name: null, description: null, parameters: null, parametersJsonSchema: null, response: null, responseJsonSchema: null, behavior: null
    }],
    googleSearch: null, googleSearchRetrieval: null, codeExecution: null, urlContext: null, computerUse: null, fileSearch: null, googleMaps: null,
    enterpriseWebSearch: null, retrieval: null, mcpServers: null
  }],
  toolConfig: {
    functionCallingConfig: { mode: null, allowedFunctionNames: null, streamFunctionCallArguments: null },
    retrievalConfig: null, includeServerSideToolInvocations: null
  },
  generationConfig: {
    maxOutputTokens: null, temperature: null, topP: null, topK: null, stopSequences: null, seed: null, candidateCount: null, presencePenalty: null,
    frequencyPenalty: null, responseMimeType: null, responseSchema: null, responseJsonSchema: null, responseLogprobs: null, logprobs: null,
    responseModalities: null, thinkingConfig: { includeThoughts: null, thinkingBudget: null, thinkingLevel: null }, speechConfig: null,
    mediaResolution: null, imageConfig: null, audioTimestamp: null, routingConfig: null, enableEnhancedCivicAnswers: null, enableAffectiveDialog: null
  },
  safetySettings: null, cachedContent: null, labels: null, serviceTier: null, store: null
}

/** `max_output_tokens` -> `maxOutputTokens`. The look-behind keeps it linear: a run of underscores is tried from its beginning only. */
const camel = (name: string): string => name.includes("_") ? name.replace(/(?<!_)_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) : name

/** A content of texts alone, as nearly all of a long conversation are: the same in both spellings. */
export const isPlainContent = (item: unknown): item is { readonly role: "user" | "model"; readonly parts: ReadonlyArray<{ readonly text: string }> } => {
  if (!hasOnly(item, "role", "parts") || (item["role"] !== "user" && item["role"] !== "model") || !Array.isArray(item["parts"])) return false
  return item["parts"].length > 0 && item["parts"].every((part: unknown) => hasOnly(part, "text") && typeof part["text"] === "string")
}

/**
 * A message in camelCase without nulls: itself where it is that already, as the vendor's own libraries write it. Throws (inside
 * `reading`) for a member that stands there in both spellings.
 */
export const normal = (value: unknown, message: Message, path: string): unknown => isNormal(value, message) ? value : respelled(value, message, path)

const isNormal = (value: unknown, message: Message): boolean => {
  if (!isRecord(value)) return true
  for (const name in value) {
    const inner = value[name]
    if (inner === null) return false
    const type = Object.hasOwn(message, name) ? message[name] : undefined
    if (type === undefined) {
      if (name.includes("_")) return false
    } else if (type !== null && !(isList(type) ? isNormalList(inner, type[0]) : isNormal(inner, type))) return false
  }
  return true
}

const isNormalList = (value: unknown, message: Message): boolean => !Array.isArray(value) || value.every((item) => isNormal(item, message))

const respelled = (value: unknown, message: Message, path: string): unknown => {
  if (!isRecord(value)) return value
  const out: Record<string, unknown> = {}
  for (const [written, inner] of Object.entries(value)) {
    if (inner === null) continue
    const known = Object.hasOwn(message, written) ? written : camel(written)
    const type = Object.hasOwn(message, known) ? message[known] : undefined
    if (type === undefined) {
      put(out, written, inner)
      continue
    }
    const at = path === "" ? written : `${path}.${written}`
    if (Object.hasOwn(out, known)) throw invalid(at, `Field '${at}' is given twice, in both spellings.`)
    put(out, known, type === null ? inner : isList(type) ? list(inner, type[0], at) : normal(inner, type, at))
  }
  return out
}

/** As JSON.parse does: `__proto__` is a member like any other. */
const put = (out: Record<string, unknown>, name: string, value: unknown): void => {
  if (name === "__proto__") Object.defineProperty(out, name, { value, enumerable: true, configurable: true, writable: true })
  else out[name] = value
}

const isList = (type: Message | readonly [Message]): type is readonly [Message] => Array.isArray(type)

const list = (value: unknown, message: Message, path: string): unknown =>
  Array.isArray(value) ? value.map((item: unknown, i) => normal(item, message, `${path}[${i}]`)) : value

export const generationConfig = request["generationConfig"] as Message
export const toolConfig = request["toolConfig"] as Message
export const functionCallingConfig = toolConfig["functionCallingConfig"] as Message

/** A path in camelCase as the client spelt it in `body`. */
const asWritten = (path: string, body: unknown): string => {
  const keys: Array<PropertyKey> = []
  let at: unknown = body
  for (const step of path.split(/[.[\]]+/).filter((key) => key !== "")) {
    if (Array.isArray(at) && /^\d+$/.test(step)) {
      keys.push(Number(step))
      at = at[Number(step)]
      continue
    }
    const names = isRecord(at) ? Object.keys(at) : []
    const name = names.includes(step) ? step : names.find((one) => camel(one) === step) ?? step
    keys.push(name)
    at = isRecord(at) ? at[name] : undefined
  }
  return pathText(keys)
}

/** The same error with the client's spelling of its field. */
export const respelt = (error: PublicError, body: unknown): PublicError => {
  const param = error.extra?.["param"]
  if (typeof param !== "string") return error
  const written = asWritten(param, body)
  if (written === param) return error
  return new PublicError(
    error.code, error.status, error.type, error.message.replaceAll(`'${param}'`, `'${written}'`), error.retryAfterSeconds,
    { ...error.extra, param: written }
  )
}
