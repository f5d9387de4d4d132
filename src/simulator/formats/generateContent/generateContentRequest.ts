/**
 * Reads a generateContent request as strictly as the vendor does: names it does not know, at any depth, are refused, and so are parts
 * of no or two kinds, unpaired calls, settings out of range, and thinking that the model cannot do. Members are taken in camelCase and
 * in snake_case. The public API (`/v1beta/models/…`) and Vertex AI (`/v1/projects/…/models/…`) differ in a few points.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "#src/simulator/text.ts"
import { Bad, strictly } from "#src/simulator/formats/chatRequest.ts"
import type { Body, SimulatedCall, RequestHead, Tool } from "#src/simulator/formats/Format.ts"
import { readGenerationConfig } from "./generateContentConfig.ts"
import { bad, listAt, members, messageAt, oneOf, textAt } from "./generateContentFields.ts"
import { checkSchema, lowerTypes } from "./generateContentSchema.ts"

const PATH = /^\/(?:v1beta|v1(?:beta1)?\/projects\/[^/]+\/locations\/[^/]+\/publishers\/google)\/models\/([^/:]+):(generateContent|streamGenerateContent|countTokens)$/
const TOKENS_PER_TURN = 4
const TOKENS_PER_MEDIUM = 85
const NAME = /^[a-zA-Z_][\w.:-]{0,127}$/
const DUMMY_SIGNATURES = ["skip_thought_signature_validator", "context_engineering_is_the_way_to_go"]

const REQUEST = ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig", "safetySettings", "cachedContent", "model", "labels", "serviceTier", "store"]
const DATA = ["text", "inlineData", "fileData", "functionCall", "functionResponse", "executableCode", "codeExecutionResult", "toolCall", "toolResponse"]
const PART = [...DATA, "thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"]
const HOSTED = ["googleSearch", "googleSearchRetrieval", "codeExecution", "urlContext", "computerUse", "fileSearch", "googleMaps", "enterpriseWebSearch", "retrieval"]
const THRESHOLDS = ["HARM_BLOCK_THRESHOLD_UNSPECIFIED", "BLOCK_LOW_AND_ABOVE", "BLOCK_MEDIUM_AND_ABOVE", "BLOCK_ONLY_HIGH", "BLOCK_NONE", "OFF"]

export interface Address {
  readonly model: string
  readonly method: string
  readonly vertex: boolean
  /** 2.5 of `gemini-2.5-pro`; null for a model of another name. */
  readonly generation: number | null
}

/** Model and method of a path; null when it is none of this format. A pace in a model id may come percent-encoded. */
export const addressOf = (path: string): Address | null => {
  const [, segment, method] = PATH.exec(path) ?? []
  if (segment === undefined || method === undefined) return null
  const model = segment.replaceAll("%40", "@")
  const generation = /^gemini-(\d+(?:\.\d+)?)/.exec(model)?.[1]
  return { model, method, vertex: !path.startsWith("/v1beta/"), generation: generation === undefined ? null : Number(generation) }
}

/** A call that only wants its tokens counted. */
export interface CountCall extends SimulatedCall {
  readonly countOnly: true
}

interface Parts {
  readonly text: string
  readonly tokens: number
  readonly calls: ReadonlyArray<string | null>
  readonly results: ReadonlyArray<string>
  readonly resultIds: ReadonlyArray<string | null>
  /** The first call has a signature; true without calls. */
  readonly signed: boolean
}

const isBase64 = (value: unknown): boolean =>
  Predicate.isString(value) && value !== "" && /^[A-Za-z0-9+/_-]*={0,2}$/.test(value) && value.replace(/=+$/, "").length % 4 !== 1

/** Bytes that are plain text cannot be encrypted content. */
const isForged = (signature: string): boolean => {
  const plain = Buffer.from(signature, "base64").toString("latin1")
  return plain.length >= 16 && /^[\x20-\x7e]+$/.test(plain)
}

const checkSignature = (value: unknown, at: string): void => {
  if (value === undefined) return
  if (!isBase64(value)) throw bad(`Invalid value at '${at}.thought_signature' (TYPE_BYTES), Base64 decoding failed for "${String(value).slice(0, 40)}"`)
  if (!DUMMY_SIGNATURES.includes(String(value)) && isForged(String(value))) throw bad("Corrupted thought signature.")
}

const checkInline = (value: unknown, at: string): void => {
  const inline = members(value, ["mimeType", "data", "displayName"], `${at}.inline_data`)
  if (textAt(inline, "mimeType", at) === "") throw bad(`Unable to process input: mime type is missing at '${at}.inline_data'.`)
  if (!isBase64(inline["data"])) throw bad(`Invalid value at '${at}.inline_data.data' (TYPE_BYTES), Base64 decoding failed`)
}

const checkFile = (value: unknown, at: string, { vertex }: Address): void => {
  const file = members(value, ["mimeType", "fileUri", "displayName"], `${at}.file_data`)
  if (textAt(file, "fileUri", at) === "") throw bad(`* ${at}.file_data.file_uri: must not be empty\n`)
  if (textAt(file, "mimeType", at) === "" && vertex) throw bad("Unable to submit request because it must have a mimeType parameter in fileData.")
}

const checkId = (id: unknown, at: string, { generation, vertex }: Address): string | null => {
  if (id === undefined) return null
  if (vertex && generation !== null && generation < 3) throw bad(`Invalid JSON payload received. Unknown name "id" at '${at}': Cannot find field.`)
  if (!Predicate.isString(id)) throw bad(`Invalid value at '${at}.id' (TYPE_STRING)`)
  return id
}

const checkName = (name: unknown, at: string): void => {
  if (!Predicate.isString(name) || name === "") throw bad(`* GenerateContentRequest.${at}.name: Name cannot be empty.\n`)
  if (!NAME.test(name)) throw bad(`* GenerateContentRequest.${at}.name: Invalid function name.\n`)
}

/** Text of a function's response. */
const readResponse = (value: unknown, at: string, address: Address): { readonly text: string; readonly id: string | null } => {
  const result = members(value, ["id", "name", "response", "parts", "scheduling", "willContinue"], at)
  const id = checkId(result["id"], at, address)
  checkName(result["name"], at)
  const response = result["response"]
  if (!Predicate.isObject(response) || Array.isArray(response)) throw bad(`Invalid value at '${at}.response' (type.googleapis.com/google.protobuf.Struct)`)
  const media = listAt(result, "parts", at)
  if (media.length > 0 && address.generation !== null && address.generation < 3) throw bad("Multimodal function responses are not supported by this model.")
  media.forEach((part, k) => {
    const medium = members(part, ["inlineData", "fileData"], `${at}.parts[${k}]`)
    if (medium["inlineData"] !== undefined) checkInline(medium["inlineData"], `${at}.parts[${k}]`)
    else checkFile(medium["fileData"], `${at}.parts[${k}]`, address)
  })
  return { text: "result" in response && Predicate.isString(response["result"]) ? response["result"] : JSON.stringify(response), id }
}

const readParts = (content: Body, at: string, isModel: boolean, address: Address): Parts => {
  const list = listAt(content, "parts", at)
  if (list.length === 0) throw bad(`* GenerateContentRequest.${at}.parts: contents.parts must not be empty.\n`)
  let text = ""
  let tokens = TOKENS_PER_TURN
  let signed = true
  const calls: Array<string | null> = []
  const results: Array<string> = []
  const resultIds: Array<string | null> = []
  list.forEach((raw, i) => {
    const here = `${at}.parts[${i}]`
    const part = members(raw, PART, here)
    const present = DATA.filter((name) => part[name] !== undefined)
    if (present.length === 0) throw bad(`* GenerateContentRequest.${here}.data: required oneof field 'data' must have one initialized field\n`)
    if (present.length > 1) throw bad(`Invalid value at '${here}' (oneof), oneof field 'data' is already set. Cannot set '${present[1]}'`)
    if (part["thought"] !== undefined && !Predicate.isBoolean(part["thought"])) throw bad(`Invalid value at '${here}.thought' (TYPE_BOOL)`)
    checkSignature(part["thoughtSignature"], here)
    switch (present[0]) {
      case "text": {
        const said = textAt(part, "text", here)
        if (part["thought"] !== true) text += said
        tokens += countTokens(said)
        break
      }
      case "functionCall": {
        const call = members(part["functionCall"], ["id", "name", "args"], `${here}.function_call`)
        if (!isModel) throw bad("Please ensure that function call turns come from the model.")
        checkName(call["name"], `${here}.function_call`)
        const { args = {} } = call
        if (!Predicate.isObject(args) || Array.isArray(args)) throw bad(`Invalid value at '${here}.function_call.args' (type.googleapis.com/google.protobuf.Struct)`)
        if (calls.length === 0) signed = part["thoughtSignature"] !== undefined
        calls.push(checkId(call["id"], `${here}.function_call`, address))
        tokens += countTokens(JSON.stringify(call))
        break
      }
      case "functionResponse": {
        if (isModel) throw bad("Please ensure that function response turns do not come from the model.")
        const response = readResponse(part["functionResponse"], `${here}.function_response`, address)
        results.push(response.text)
        resultIds.push(response.id)
        tokens += countTokens(response.text)
        break
      }
      case "inlineData":
        checkInline(part["inlineData"], here)
        tokens += TOKENS_PER_MEDIUM
        break
      case "fileData":
        checkFile(part["fileData"], here, address)
        tokens += TOKENS_PER_MEDIUM
        break
      default:
        tokens += countTokens(JSON.stringify(part))
    }
  })
  return { text, tokens, calls, results, resultIds, signed }
}

const readContents = (contents: ReadonlyArray<unknown>, address: Address) => {
  if (contents.length === 0) throw bad("* GenerateContentRequest.contents: contents is not specified\n")
  let lastUserText = ""
  let toolResult: string | null = null
  let tokens = 0
  let open: ReadonlyArray<string | null> = []
  /** Calls without a signature since the user last spoke. */
  let unsigned: string | null = null
  let before: "none" | "user" | "model" = "none"
  contents.forEach((raw, i) => {
    const content = members(raw, ["role", "parts"], `contents[${i}]`)
    const { role } = content
    const known = role === "user" || role === "model" || role === "function"
    if (!known && (address.vertex || role !== undefined)) throw bad("Please use a valid role: user, model.")
    const isModel = role === "model"
    const parts = readParts(content, `contents[${i}]`, isModel, address)
    tokens += parts.tokens
    if (isModel) {
      if (open.length > 0 && before !== "model") throw bad("Please ensure that function response turn comes immediately after a function call turn.")
      if (parts.calls.length > 0 && before === "none") throw bad("Please ensure that function call turn comes immediately after a user turn or after a function response turn.")
      open = before === "model" ? [...open, ...parts.calls] : parts.calls
      if (!parts.signed) unsigned ??= `contents[${i}]`
      before = "model"
      return
    }
    if (parts.results.length !== open.length) {
      throw bad("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
    }
    for (const id of parts.resultIds) {
      if (id !== null && open.some((call) => call !== null) && !open.includes(id)) throw bad(`The function response id '${id}' matches no function call.`)
    }
    open = []
    before = "user"
    if (parts.results.length === 0) unsigned = null
    if (parts.text !== "") lastUserText = parts.text
    toolResult = parts.results.length > 0 ? parts.results.join("\n") : null
  })
  if (unsigned !== null && address.generation !== null && address.generation >= 3) {
    throw bad(`Function call is missing a thought_signature in functionCall parts (${String(unsigned)}). This is required for tools to work correctly.`)
  }
  return { lastUserText, toolResult, tokens }
}

const readTools = (tools: ReadonlyArray<unknown>): ReadonlyArray<Tool> => {
  const names = new Set<string>()
  return tools.flatMap((raw, k) => {
    const tool = members(raw, ["functionDeclarations", ...HOSTED], `tools[${k}]`)
    return listAt(tool, "functionDeclarations", `tools[${k}]`).map((one, i) => {
      const at = `tools[${k}].function_declarations[${i}]`
      const declared = members(one, ["name", "description", "parameters", "parametersJsonSchema", "response", "responseJsonSchema", "behavior"], at)
      checkName(declared["name"], at)
      const name = String(declared["name"])
      if (names.has(name)) throw bad(`Duplicate function declaration found: ${name}`)
      names.add(name)
      textAt(declared, "description", at)
      const { parameters, parametersJsonSchema } = declared
      if (parameters !== undefined && parametersJsonSchema !== undefined) throw bad(`${at}: parameters and parameters_json_schema are mutually exclusive.`)
      if (parameters !== undefined) {
        checkSchema(parameters, `${at}.parameters`)
        if (Predicate.isObject(parameters) && lowerTypes(parameters["type"]) !== "object" && String(parameters["type"]).toLowerCase() !== "object") {
          throw bad(`${name} functionDeclaration parameters schema should be of type OBJECT`)
        }
      } else if (parametersJsonSchema !== undefined && !Predicate.isObject(parametersJsonSchema)) throw bad(`Invalid value at '${at}.parameters_json_schema'`)
      return { name, parameters: lowerTypes(parameters ?? parametersJsonSchema) }
    })
  })
}

const readToolChoice = (config: Body, tools: ReadonlyArray<Tool>): SimulatedCall["toolChoice"] => {
  const toolConfig = members(config, ["functionCallingConfig", "retrievalConfig", "includeServerSideToolInvocations"], "tool_config")
  const at = "tool_config.function_calling_config"
  const calling = members(messageAt(toolConfig, "functionCallingConfig", "tool_config"), ["mode", "allowedFunctionNames", "streamFunctionCallArguments"], at)
  const { mode } = calling
  if (mode === undefined) return "auto"
  oneOf(mode, ["MODE_UNSPECIFIED", "AUTO", "ANY", "NONE", "VALIDATED"], `${at}.mode`)
  const allowed = listAt(calling, "allowedFunctionNames", at)
  if (allowed.length > 0 && mode !== "ANY" && mode !== "VALIDATED") throw bad("Allowed function names should only be set when the function calling mode is ANY or VALIDATED.")
  for (const name of allowed) {
    if (!tools.some((tool) => tool.name === name)) throw bad(`Allowed function name '${String(name)}' is not among the function declarations.`)
  }
  if (mode === "ANY" && tools.length === 0) throw bad("Function calling config is set without function_declarations.")
  if (mode === "NONE") return "none"
  if (mode !== "ANY") return "auto"
  return allowed.length > 0 && Predicate.isString(allowed[0]) ? { name: allowed[0] } : "required"
}

const checkSafety = (settings: ReadonlyArray<unknown>): void =>
  settings.forEach((raw, i) => {
    const setting = members(raw, ["category", "threshold", "method"], `safety_settings[${i}]`)
    if (!/^HARM_CATEGORY_[A-Z_]+$/.test(textAt(setting, "category", `safety_settings[${i}]`))) {
      throw bad(`Invalid value at 'safety_settings[${i}].category' (type.googleapis.com/google.ai.generativelanguage.v1beta.HarmCategory)`)
    }
    oneOf(setting["threshold"], THRESHOLDS, `safety_settings[${i}].threshold`)
  })

const readSystem = (value: unknown, address: Address): number => {
  if (value === undefined) return 0
  const parts = readParts(members(value, ["role", "parts"], "system_instruction"), "system_instruction", false, address)
  if (parts.results.length > 0) throw bad("System instruction takes text only.")
  return parts.tokens
}

const readRequest = (raw: unknown, address: Address): Omit<SimulatedCall, "stream" | "streamType"> => {
  const body = members(raw, REQUEST, "")
  const tools = readTools(listAt(body, "tools", ""))
  const conversation = readContents(listAt(body, "contents", ""), address)
  const systemTokens = readSystem(body["systemInstruction"], address)
  const config = readGenerationConfig(body["generationConfig"], address)
  if (config.json !== null && tools.length > 0 && address.generation !== null && address.generation < 3) {
    throw bad("Function calling with a response mime type: 'application/json' is unsupported")
  }
  checkSafety(listAt(body, "safetySettings", ""))
  const tier = textAt(body, "serviceTier", "")
  const cached = textAt(body, "cachedContent", "")
  if (body["cachedContent"] !== undefined && !/(?:^|\/)cachedContents\/[\w-]+$/.test(cached)) throw bad(`Invalid CachedContent name: ${cached}`)
  return {
    model: address.model, n: config.candidates, includeUsage: true, maxTokens: config.maxTokens, stop: config.stop,
    lastUserText: conversation.lastUserText, toolResult: conversation.toolResult, tools, toolChoice: readToolChoice(messageAt(body, "toolConfig", ""), tools),
    json: config.json, promptTokens: conversation.tokens + systemTokens, ...(tier === "" ? {} : { serviceTier: tier })
  }
}

/** The public API counts `contents` or a whole request; Vertex AI takes the parts of a request side by side. */
const readCount = (raw: Body, address: Address): CountCall => {
  const body = members(raw, [...REQUEST, "generateContentRequest"], "")
  const whole = body["generateContentRequest"]
  if (whole !== undefined && body["contents"] !== undefined) throw bad("Only one of contents and generate_content_request can be set.")
  if (!address.vertex) {
    const stranger = Object.keys(body).find((name) => name !== "contents" && name !== "generateContentRequest" && name !== "model")
    if (stranger !== undefined) throw bad(`Invalid JSON payload received. Unknown name "${stranger}": Cannot find field.`)
  }
  const call = readRequest(whole ?? raw, address)
  // Nothing is generated.
  return { ...call, n: 1, stream: false, maxTokens: 0, countOnly: true }
}

export const readGenerateContent = strictly((body: Body, request: RequestHead): SimulatedCall => {
  const address = addressOf(request.path)
  if (address === null) throw new Bad("Not found.", null, null, 404)
  if (address.method === "countTokens") return readCount(body, address)
  const stream = address.method === "streamGenerateContent"
  const sse = new URLSearchParams(request.query).get("alt") === "sse"
  return { ...readRequest(body, address), stream, ...(sse || !stream ? {} : { streamType: "application/json; charset=UTF-8" }) }
})

