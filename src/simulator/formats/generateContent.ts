/**
 * The generateContent format: `POST /v1beta/models/{model}:generateContent` and `:streamGenerateContent`.
 *
 * Stream: one chunk per token, each with the usage so far; function calls whole, at the end; the last chunk has finishReason.
 * Server-sent events with `alt=sse`, else the chunks of one JSON array. No terminal event: the end of the body is the end.
 */
import * as Predicate from "effect/Predicate"
import { countTokens } from "../text.ts"
import { Bad, strictly } from "./chatRequest.ts"
import { googleStreamError, renderGoogleError } from "./errors.ts"
import type { Answer, Body, Call, Choice, Format, RequestHead, Tool, Usage, WireEvent } from "./Format.ts"

/** A pace in a model id may come percent-encoded. */
const modelIn = (segment: string): string => segment.replaceAll("%40", "@")

const PATH = /^\/v1beta\/models\/([^/:]+):(generateContent|streamGenerateContent)$/
const FIELDS = ["contents", "systemInstruction", "system_instruction", "tools", "toolConfig", "tool_config", "generationConfig",
  "generation_config", "safetySettings", "safety_settings", "cachedContent", "model", "labels"]
const TOKENS_PER_TURN = 4
const TOKENS_PER_MEDIUM = 85

const bad = (message: string): Bad => new Bad(message, null)

interface Parts {
  readonly text: string
  readonly tokens: number
  readonly calls: number
  readonly results: ReadonlyArray<string>
}

const readParts = (content: unknown, at: string): Parts => {
  if (!Predicate.isObject(content)) throw bad(`Invalid value at '${at}'`)
  const list = content["parts"]
  if (!Array.isArray(list) || list.length === 0) throw bad(`* GenerateContentRequest.${at}.parts: contents.parts must not be empty.\n`)
  let text = ""
  let tokens = TOKENS_PER_TURN
  let calls = 0
  const results: Array<string> = []
  list.forEach((part: unknown, i) => {
    if (!Predicate.isObject(part)) throw bad(`Invalid value at '${at}.parts[${i}]'`)
    if (Predicate.isString(part["text"])) {
      text += part["text"]
      tokens += countTokens(part["text"])
    } else if (Predicate.isObject(part["functionCall"])) {
      calls++
      tokens += countTokens(JSON.stringify(part["functionCall"]))
    } else if (Predicate.isObject(part["functionResponse"])) {
      const response = part["functionResponse"]["response"]
      const result = Predicate.isObject(response) && Predicate.isString(response["result"]) ? response["result"] : JSON.stringify(response ?? {})
      results.push(result)
      tokens += countTokens(result)
    } else if (["inlineData", "inline_data", "fileData", "file_data"].some((name) => part[name] !== undefined)) {
      tokens += TOKENS_PER_MEDIUM
    } else {
      throw bad(`* GenerateContentRequest.${at}.parts[${i}].data: required oneof field 'data' must have one initialized field\n`)
    }
  })
  return { text, tokens, calls, results }
}

const readContents = (contents: unknown) => {
  if (!Array.isArray(contents) || contents.length === 0) throw bad("* GenerateContentRequest.contents: contents is not specified\n")
  let lastUserText = ""
  let toolResult: string | null = null
  let tokens = 0
  let open = 0
  contents.forEach((content: unknown, i) => {
    const role = Predicate.isObject(content) ? content["role"] ?? "user" : undefined
    if (role !== "user" && role !== "model" && role !== "function") throw bad("Please use a valid role: user, model.")
    const parts = readParts(content, `contents[${i}]`)
    tokens += parts.tokens
    if (parts.results.length !== open) {
      throw bad("Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.")
    }
    open = role === "model" ? parts.calls : 0
    if (role === "model") return
    if (parts.text !== "") lastUserText = parts.text
    toolResult = parts.results.length > 0 ? parts.results.join("\n") : null
  })
  return { lastUserText, toolResult, tokens }
}

const readTools = (tools: unknown): ReadonlyArray<Tool> => {
  if (tools === undefined) return []
  if (!Array.isArray(tools)) throw bad("Invalid value at 'tools'")
  return tools.flatMap((tool: unknown) => {
    const declared = Predicate.isObject(tool) ? tool["functionDeclarations"] ?? tool["function_declarations"] : undefined
    if (!Array.isArray(declared)) return []
    return declared.map((one: unknown, i) => {
      if (!Predicate.isObject(one) || !Predicate.isString(one["name"]) || !/^[a-zA-Z_][\w.:-]{0,63}$/.test(one["name"])) {
        throw bad(`* GenerateContentRequest.tools[0].function_declarations[${i}].name: Invalid function name.\n`)
      }
      return { name: one["name"], parameters: lowerTypes(one["parameters"] ?? one["parametersJsonSchema"]) }
    })
  })
}

/** The vendor spells schema types in capitals. */
const lowerTypes = (schema: unknown): unknown => {
  if (Array.isArray(schema)) return schema.map(lowerTypes)
  if (!Predicate.isObject(schema)) return schema
  return Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, name === "type" && Predicate.isString(value) ? value.toLowerCase() : lowerTypes(value)])
  )
}

const objectAt = (body: Body, ...names: ReadonlyArray<string>): Body => {
  const value = names.map((name) => body[name]).find((one) => one !== undefined)
  return Predicate.isObject(value) ? value : {}
}

const readToolChoice = (config: Body): Call["toolChoice"] => {
  const calling = objectAt(config, "functionCallingConfig", "function_calling_config")
  const mode = calling["mode"]
  if (mode === "NONE") return "none"
  if (mode !== "ANY") return "auto"
  const allowed = calling["allowedFunctionNames"]
  return Array.isArray(allowed) && Predicate.isString(allowed[0]) ? { name: allowed[0] } : "required"
}

const read = (body: Body, request: RequestHead): Call => {
  const [, model = "", method] = PATH.exec(request.path) ?? []
  const stranger = Object.keys(body).find((name) => !FIELDS.includes(name))
  if (stranger !== undefined) throw bad(`Invalid JSON payload received. Unknown name "${stranger}": Cannot find field.`)
  const conversation = readContents(body["contents"])
  const system = body["systemInstruction"] ?? body["system_instruction"]
  const config = objectAt(body, "generationConfig", "generation_config")
  const maxTokens = config["maxOutputTokens"]
  if (maxTokens !== undefined && (!Predicate.isNumber(maxTokens) || maxTokens < 1)) throw bad("max_output_tokens must be positive.")
  const stop = config["stopSequences"] ?? []
  if (!Array.isArray(stop) || !stop.every(Predicate.isString)) throw bad("Invalid value at 'generation_config.stop_sequences'")
  const candidates = config["candidateCount"] ?? 1
  if (!Predicate.isNumber(candidates) || candidates < 1 || candidates > 8) throw bad("candidate_count must be in the range [1, 8].")
  const sse = new URLSearchParams(request.query).get("alt") === "sse"
  return {
    model: modelIn(model),
    stream: method === "streamGenerateContent",
    n: candidates,
    includeUsage: true,
    maxTokens: maxTokens ?? null,
    stop,
    lastUserText: conversation.lastUserText,
    toolResult: conversation.toolResult,
    tools: readTools(body["tools"]),
    toolChoice: readToolChoice(objectAt(body, "toolConfig", "tool_config")),
    json: config["responseMimeType"] === "application/json" ? { schema: lowerTypes(config["responseSchema"] ?? config["responseJsonSchema"]) } : null,
    promptTokens: conversation.tokens + (system === undefined ? 0 : readParts(system, "system_instruction").tokens),
    ...(sse ? {} : { streamType: "application/json; charset=UTF-8" })
  }
}

const FINISH: { readonly [finish: string]: string } = { stop: "STOP", length: "MAX_TOKENS", tool_calls: "STOP", content_filter: "SAFETY" }

const finishOf = (choice: Choice): string => FINISH[choice.finish] ?? choice.finish

const usageOf = (usage: Usage, completionTokens = usage.completionTokens, reasoningTokens = usage.reasoningTokens) => ({
  promptTokenCount: usage.promptTokens,
  candidatesTokenCount: completionTokens - reasoningTokens,
  totalTokenCount: completionTokens === usage.completionTokens ? usage.totalTokens : usage.promptTokens + completionTokens,
  ...(reasoningTokens > 0 ? { thoughtsTokenCount: reasoningTokens } : {}),
  ...(usage.cachedTokens > 0 ? { cachedContentTokenCount: usage.cachedTokens } : {})
})

/** Arguments as an object; what is no JSON stays text, as a script wants it. */
const argsOf = (pieces: ReadonlyArray<string>): unknown => {
  try {
    return JSON.parse(pieces.join(""))
  } catch {
    return pieces.join("")
  }
}

const callParts = (choice: Choice) => choice.toolCalls.map((call) => ({ functionCall: { name: call.name, args: argsOf(call.pieces) } }))

function* events(call: Call, answer: Answer): Generator<WireEvent> {
  const { usage } = answer
  const sse = call.streamType === undefined
  let sent = 0
  let thought = 0
  let first = true
  const chunk = (index: number, parts: ReadonlyArray<object>, tokens: number, finish?: string): WireEvent => {
    sent += tokens
    const last = finish !== undefined && index === answer.choices.length - 1
    const json = JSON.stringify({
      candidates: [{ content: { parts, role: "model" }, ...(finish === undefined ? {} : { finishReason: finish }), index }],
      ...(usage === null ? {} : { usageMetadata: last ? usageOf(usage) : usageOf(usage, sent, thought) }),
      modelVersion: call.model,
      responseId: answer.id
    })
    const data = sse ? json : `${first ? "[" : ",\r\n"}${json}`
    first = false
    return { data, tokens, usage: last && usage !== null }
  }
  for (const [index, choice] of answer.choices.entries()) {
    for (const token of choice.reasoning) {
      thought++
      yield chunk(index, [{ text: token, thought: true }], 1)
    }
    for (const token of choice.text) yield chunk(index, [{ text: token }], 1)
    const calls = callParts(choice)
    if (calls.length > 0) yield chunk(index, calls, choice.toolCalls.reduce((sum, one) => sum + one.pieces.length, 0))
    yield chunk(index, [{ text: "" }], 0, finishOf(choice))
  }
  if (!sse) yield { data: first ? "[]" : "\r\n]", tokens: 0, terminal: true }
}

const body = (call: Call, answer: Answer): string =>
  JSON.stringify({
    candidates: answer.choices.map((choice, index) => ({
      content: {
        parts: [
          ...(choice.reasoning.length > 0 ? [{ text: choice.reasoning.join(""), thought: true }] : []),
          ...(choice.text.length > 0 || choice.toolCalls.length === 0 ? [{ text: choice.text.join("") }] : []),
          ...callParts(choice)
        ],
        role: "model"
      },
      finishReason: finishOf(choice),
      index
    })),
    ...(answer.usage === null ? {} : { usageMetadata: usageOf(answer.usage) }),
    modelVersion: call.model,
    responseId: answer.id
  })

export const generateContent: Format = {
  name: "generate-content",
  matches: (path) => PATH.test(path),
  identify: (path) => {
    const [, model, method] = PATH.exec(path) ?? []
    return { model: model === undefined ? null : modelIn(model), stream: method === "streamGenerateContent" }
  },
  read: strictly(read),
  events,
  body,
  renderError: renderGoogleError,
  streamError: googleStreamError
}
