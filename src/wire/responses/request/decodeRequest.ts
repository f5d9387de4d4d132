/** A client's responses request as a neutral conversation. */
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Conversation, CustomTool, Extra, FunctionTool, Namespace, OutputFormat, Reasoning, GenerationSettings, Tool, ToolChoice } from "#schemas/wire/conversation.ts"
import * as WireResponses from "#schemas/wire/responses.ts"
import * as Json from "#src/wire/json/json.ts"
import { decoder, hasOnly, sparing } from "#src/wire/neutral/decoding.ts"
import { effortIn, invalid, none, noteUnknown, reading } from "#src/wire/neutral/settings.ts"
import { text, turnsOf } from "./decodeInput.ts"
import { type FlatName, flatNames, namespacesOf } from "./namespaces.ts"
import type { Json as Body, RequestHead } from "#src/wire/WireFormat.ts"

const isPlain = (item: unknown): item is WireResponses.Item =>
  hasOnly(item, "type", "role", "content") && item["type"] === "message" && typeof item["content"] === "string" && plainRoles.has(item["role"])
const plainRoles: ReadonlySet<unknown> = new Set(["user", "assistant", "system", "developer"])

const decode = sparing(decoder(WireResponses.Request), "input", isPlain)

/** Fields without which an input may be left out: the conversation stands elsewhere. */
const inputElsewhere = ["previous_response_id", "conversation", "prompt"]

/** Model, stream flag and the presence of input; called for every request, so it reads by hand. */
export const head = (body: Body): RequestHead | PublicError => {
  const { input, model, stream } = body
  if (typeof model !== "string" || model === "") return invalid("model", "Field 'model' must be a non-empty string such as 'openai/gpt-5-mini'.")
  const absent = input === undefined || input === null
  if (absent ? inputElsewhere.every((field) => isAbsent(body[field])) : typeof input === "string" ? input === "" : !Array.isArray(input)) return noInput
  if (Array.isArray(input)) {
    if (input.length === 0 && inputElsewhere.every((field) => isAbsent(body[field]))) return noInput
    for (let i = 0; i < input.length; i++) {
      if (!Json.isRecord(input[i])) return invalid(`input[${i}]`, `Field 'input[${i}]' must be an object.`)
    }
  }
  if (!isAbsent(stream) && typeof stream !== "boolean") return invalid("stream", "Field 'stream' must be a boolean.")
  return { model, stream: stream === true, wantsUsage: true }
}

const noInput = invalid("input", "Field 'input' must be a non-empty string or array.")

const isAbsent = (value: unknown): boolean => value === undefined || value === null

export const decodeRequest = (body: Body): Conversation | PublicError => {
  const front = head(body)
  if ("_tag" in front) return front
  const request = decode(withTypes(body))
  if ("_tag" in request) return request
  return reading(() => {
    if (request.background === true) {
      throw Errors.make("unsupported_feature", "Field 'background': a response in the background cannot be had from this model.", { extra: { param: "background" } })
    }
    const extras: Array<Extra> = []
    const namespaces = namespacesOf(body["tools"])
    const flat = flatNames(namespaces)
    const input = turnsOf(request.input ?? [], flat, (field, value) => extras.push({ field, weight: "hint", value }))
    const { instructions } = request
    const turns = isAbsent(instructions) || instructions === "" ? input : [{ role: "system" as const, parts: [text(instructions!)], name: null, path: "instructions" }, ...input]
    noteUnknown(extras, "reasoning.effort", request.reasoning?.effort, effortIn(request.reasoning?.effort))
    noteOthers(body, extras)
    return {
      format: "responses", turns, tools: toolsOf(request.tools ?? [], body["tools"], flat), toolChoice: choiceOf(request.tool_choice, namespaces, flat),
      settings: settingsOf(request), extras, ...(namespaces.length === 0 ? {} : { namespaces })
    }
  })
}

/** The easy form of a message has no type. */
const withTypes = (body: Body): Body => {
  const input = body["input"]
  if (!Array.isArray(input)) return body
  return { ...body, input: input.map((item: unknown) => Json.isRecord(item) && isAbsent(item["type"]) ? { ...item, type: "message" } : item) }
}

// ---- Tools ---------------------------------------------------------------------------------------------------------------------------

type Of<Type extends string> = Extract<WireResponses.Tool, { readonly type: Type }>
const isTool = <T extends string>(tool: WireResponses.Tool, type: T): tool is Of<T> => tool["type"] === type
type Member = Of<"namespace">["tools"][number]
const isMember = <T extends string>(tool: Member, type: T): tool is Extract<Member, { readonly type: T }> => tool["type"] === type

const toolsOf = (tools: ReadonlyArray<WireResponses.Tool>, raw: unknown, flat: FlatName): ReadonlyArray<Tool> =>
  tools.flatMap((tool, i): ReadonlyArray<Tool> => {
    if (isTool(tool, "function") || isTool(tool, "command")) return [functionTool(tool, tool.name)]
    if (isTool(tool, "custom")) return [customTool(tool, tool.name)]
    if (isTool(tool, "namespace")) {
      return tool.tools.map((one): Tool =>
        isMember(one, "custom") ? customTool(one, flat(tool.name, one.name))
          : isMember(one, "function") ? functionTool(one, flat(tool.name, one.name))
          : hostedTool(one))
    }
    return [hostedTool((raw as ReadonlyArray<Body>)[i] ?? tool)]
  })

const hostedTool = (value: Body): Tool => ({ kind: "hosted", format: "responses", type: String(value["type"]), value })

const functionTool = (tool: Omit<Of<"function">, "type">, name: string): FunctionTool =>
  ({ kind: "function", name, description: tool.description ?? null, parameters: tool.parameters ?? null, strict: tool.strict ?? null, cache: null })

const customTool = (tool: Of<"custom">, name: string): CustomTool => ({ kind: "custom", name, description: tool.description ?? null, format: tool.format ?? null })

const choiceOf = (choice: WireResponses.Request["tool_choice"], namespaces: ReadonlyArray<Namespace>, flatName: FlatName): ToolChoice | null => {
  if (choice === null || choice === undefined) return null
  if (typeof choice === "string") return { kind: choice }
  const { mode, name, namespace, tools, type } = choice as ChoiceObject
  const flat = (one: string, within: unknown): string => typeof within === "string" && within !== "" ? flatName(within, one) : one
  if ((type === "function" || type === "custom") && name !== undefined) return { kind: "tool", name: flat(name, namespace) }
  if (type !== "allowed_tools" || tools === undefined) return { kind: "hosted", type, value: choice }
  const names = tools.flatMap((tool): ReadonlyArray<string> => {
    const one = tool["name"]
    if ((tool["type"] === "function" || tool["type"] === "custom") && typeof one === "string") return [flat(one, tool["namespace"])]
    if (tool["type"] === "namespace") return namespaces.filter(({ name: within }) => within === one).flatMap(({ members }) => members.map((member) => member.flat))
    return typeof tool["type"] === "string" ? [tool["type"]] : []
  })
  return { kind: "allowed", names, required: mode === "required" }
}

interface ChoiceObject {
  readonly type: string
  readonly name?: string
  readonly namespace?: unknown
  readonly mode?: string
  readonly tools?: ReadonlyArray<Body>
}

// ---- Settings ------------------------------------------------------------------------------------------------------------------------

const settingsOf = (request: WireResponses.Request): GenerationSettings => {
  const wantsLogprobs = request.include?.includes(logprobsInclude) === true || (request.top_logprobs ?? 0) > 0
  return {
    ...none,
    maxTokens: request.max_output_tokens ?? null,
    temperature: request.temperature ?? null,
    topP: request.top_p ?? null,
    frequencyPenalty: request.frequency_penalty ?? null,
    presencePenalty: request.presence_penalty ?? null,
    logprobs: wantsLogprobs ? true : null,
    topLogprobs: wantsLogprobs ? request.top_logprobs ?? null : null,
    output: outputOf(request),
    reasoning: reasoningOf(request),
    verbosity: request.text?.verbosity ?? null,
    serviceTier: request.service_tier ?? null,
    user: request.user ?? null,
    safetyIdentifier: request.safety_identifier ?? null,
    promptCacheKey: request.prompt_cache_key ?? null,
    metadata: request.metadata ?? null,
    store: request.store ?? null,
    parallelToolCalls: request.parallel_tool_calls ?? null
  }
}

const outputOf = (request: WireResponses.Request): OutputFormat | null => {
  const format = request.text?.format ?? null
  if (format === null || format.type === "text") return null
  if (format.type === "json_object") return { kind: "json" }
  return { kind: "schema", name: format.name, description: format.description ?? null, schema: format.schema, strict: format.strict ?? null }
}

const reasoningOf = (request: WireResponses.Request): Reasoning | null => {
  const effort = effortIn(request.reasoning?.effort)
  const summary = request.reasoning?.summary ?? request.reasoning?.generate_summary ?? null
  return effort === null && summary === null ? null : { enabled: effort === null ? null : effort !== "none", effort, budget: null, summary }
}

// ---- What only this format says ------------------------------------------------------------------------------------------------------

export const logprobsInclude = "message.output_text.logprobs"
export const encryptedInclude = "reasoning.encrypted_content"

const readFields = new Set([...Object.keys(WireResponses.Request.fields), "stream_options"])
readFields.delete("previous_response_id")

/** Members of `text` and `reasoning` that are read. */
const readMembers = new Set(["format", "verbosity", "effort", "summary", "generate_summary"])

const noteOthers = (body: Body, extras: Array<Extra>): void => {
  for (const field of Object.keys(body)) {
    const value = body[field]
    if (isAbsent(value)) continue
    if (!readFields.has(field)) {
      // The vendor's default is no wish.
      if (field === "truncation" && value === "disabled") continue
      // Without what is elsewhere the model would be asked something else.
      extras.push(inputElsewhere.includes(field) ? { field, weight: "essential", value, holdsMessages: true } : { field, weight: "hint", value })
    } else if (field === "include" && Array.isArray(value)) {
      // Log probabilities and encrypted reasoning are given in any case.
      const rest = value.filter((one) => one !== logprobsInclude && one !== encryptedInclude)
      if (rest.length > 0) extras.push({ field, weight: "hint", value: rest })
    } else if ((field === "text" || field === "reasoning") && Json.isRecord(value)) {
      for (const key of Object.keys(value)) {
        if (!readMembers.has(key) && !isAbsent(value[key])) extras.push({ field: `${field}.${key}`, weight: "hint", value: value[key] })
      }
    }
  }
}
