/** A neutral conversation as a responses request. */
import type { PublicError } from "#schemas/errors.ts"
import type { Conversation, Tool, ToolChoice, Turn } from "#schemas/wire/conversation.ts"
import { closedSchema } from "#src/wire/json/closedSchema.ts"
import { foreign } from "#src/wire/neutral/foreign.ts"
import { effortFor, effortOf, nameOf, Omitted, reading, unsayable, userFor, verbosityFor } from "#src/wire/neutral/settings.ts"
import { paired } from "#src/wire/neutral/toolPairs.ts"
import { encryptedInclude, logprobsInclude } from "./decodeRequest.ts"
import { InputWriter } from "./encodeInput.ts"
import { qualified, type QualifiedName } from "./namespaces.ts"
import type { EncodedRequest, TargetTraits } from "#src/wire/WireFormat.ts"

/** The vendor's least `max_output_tokens`. */
const minOutputTokens = 16
/** Names that the vendor takes for a function. */
const toolName = /^[a-zA-Z0-9_-]{1,128}$/
/** What the vendor wants to see somewhere in the prompt before it answers with any JSON. */
const jsonWord = /json/i
const jsonInstruction = "Answer with a JSON object."
const serviceTiers = new Set(["auto", "default", "flex", "scale", "priority", "fast"])

export const encodeRequest = (given: Conversation, traits: TargetTraits): EncodedRequest | PublicError =>
  reading(() => {
    const omitted = new Omitted()
    const conversation = foreign(given, { family: "responses", freeform: true }, omitted)
    const body: Record<string, unknown> = { model: traits.model }
    writeInput(body, conversation, omitted)
    writeTools(body, conversation, omitted)
    writeSettings(body, conversation, traits, omitted)
    writeJsonWord(body, conversation)
    writeReasoning(body, conversation, traits, omitted)
    writeExtras(body, conversation, traits, omitted)
    if (traits.stream) body["stream"] = true
    return { body: JSON.stringify(body), omitted: omitted.fields }
  })

const writeInput = (body: Record<string, unknown>, conversation: Conversation, omitted: Omitted): void => {
  // Calls may stand in an earlier response that the vendor remembers.
  const isContinued = conversation.format === "responses" && conversation.extras.some((extra) => extra.field === "previous_response_id" || extra.field === "conversation")
  const turns = isContinued ? conversation.turns : paired(conversation, (field) => omitted.add(field))
  const writer = new InputWriter(conversation, omitted)
  const [first, ...rest] = turns
  const instructions = first === undefined ? null : instructionsOf(first, conversation, omitted)
  if (instructions !== null) body["instructions"] = instructions
  for (const turn of instructions === null ? turns : rest) writer.turn(turn)
  body["input"] = writer.items
}

/** The first system text; null when the turn is none or more than text. */
const instructionsOf = (turn: Turn, conversation: Conversation, omitted: Omitted): string | null => {
  if (turn.role !== "system" && turn.role !== "developer") return null
  if (conversation.format === "responses" && turn.path !== "instructions") return null
  const texts: Array<string> = []
  for (const part of turn.parts) {
    if (part.kind !== "text") return null
    texts.push(part.text)
  }
  if (turn.parts.some((part) => part.kind === "text" && part.cache !== null)) omitted.add("cache_control")
  if (turn.name !== null) omitted.add("name")
  return texts.join("\n")
}

// ---- Tools ---------------------------------------------------------------------------------------------------------------------------

const writeTools = (body: Record<string, unknown>, conversation: Conversation, omitted: Omitted): void => {
  const { toolChoice, tools } = conversation
  const isNative = conversation.format === "responses"
  const names = qualified(isNative ? conversation.namespaces ?? [] : [])
  if (tools.length > 0) body["tools"] = toolsJson(conversation, names, omitted)
  if (toolChoice !== null && (tools.length > 0 || toolChoice.kind === "required")) body["tool_choice"] = choiceJson(toolChoice, tools, names)
  const parallel = conversation.settings.parallelToolCalls
  if (parallel !== null && (tools.length > 0 || isNative)) body["parallel_tool_calls"] = parallel
}

/** Tools of a namespace stand in it again, where its first one stood. */
const toolsJson = ({ format, namespaces = [], tools }: Conversation, names: ReadonlyMap<string, QualifiedName>, omitted: Omitted): ReadonlyArray<unknown> => {
  const isNative = format === "responses"
  const open = new Map<string, Array<unknown>>()
  const descriptions = new Map(namespaces.toReversed().map((one) => [one.name, one.description]))
  return tools.flatMap((tool): ReadonlyArray<unknown> => {
    const own = tool.kind === "hosted" ? undefined : names.get(tool.name)
    if (tool.kind === "hosted" || own === undefined) return [toolJson(tool, isNative, omitted)]
    const member = toolJson({ ...tool, name: own.name }, isNative, omitted)
    const members = open.get(own.namespace)
    if (members !== undefined) {
      members.push(member)
      return []
    }
    const first = [member]
    open.set(own.namespace, first)
    const description = descriptions.get(own.namespace) ?? null
    return [{ type: "namespace", name: own.namespace, ...(description === null ? {} : { description }), tools: first }]
  })
}

const toolJson = (tool: Tool, isNative: boolean, omitted: Omitted): unknown => {
  if (tool.kind !== "hosted" && !toolName.test(tool.name)) throw unsayable("tools", `the name '${tool.name.slice(0, 64)}' may hold letters, digits, '_' and '-' only.`)
  switch (tool.kind) {
    case "function": {
      if (tool.cache !== null) omitted.add("cache_control")
      // Strict is the default here and nowhere else: what another format did not ask for must be switched off.
      let strict = tool.strict ?? (isNative ? null : false)
      let parameters = schemaOf(tool.parameters)
      if (strict === true && !isNative) {
        const closed = closedSchema(parameters, true)
        if (closed === null) {
          omitted.add("strict")
          strict = false
        } else parameters = closed
      }
      return {
        type: "function", name: tool.name, ...(tool.description === null ? {} : { description: tool.description }), parameters,
        ...(strict === null ? {} : { strict })
      }
    }
    case "custom":
      return {
        type: "custom", name: tool.name, ...(tool.description === null ? {} : { description: tool.description }),
        ...(tool.format === null || tool.format === undefined ? {} : { format: tool.format })
      }
    case "hosted":
      return tool.value
  }
}

/** The vendor refuses an object schema without properties. */
const schemaOf = (parameters: Readonly<Record<string, unknown>> | null): Readonly<Record<string, unknown>> => {
  if (parameters === null) return { type: "object", properties: {} }
  const isObject = parameters["type"] === "object" || Object.keys(parameters).length === 0
  return isObject && parameters["properties"] === undefined ? { ...parameters, type: "object", properties: {} } : parameters
}

const choiceJson = (choice: ToolChoice, tools: ReadonlyArray<Tool>, names: ReadonlyMap<string, QualifiedName>): unknown => {
  const byName = new Map(tools.toReversed().map((tool) => [tool.kind === "hosted" ? tool.type : tool.name, tool]))
  const named = (name: string) => {
    const tool = byName.get(name)
    return tool?.kind === "hosted" ? { type: name } : { type: tool?.kind === "custom" ? "custom" : "function", ...(names.get(name) ?? { name }) }
  }
  switch (choice.kind) {
    case "tool": return named(choice.name)
    case "hosted": return choice.value
    case "allowed": return { type: "allowed_tools", mode: choice.required ? "required" : "auto", tools: choice.names.map(named) }
    default: return choice.kind
  }
}

// ---- Settings ------------------------------------------------------------------------------------------------------------------------

const writeSettings = (body: Record<string, unknown>, conversation: Conversation, traits: TargetTraits, omitted: Omitted): void => {
  const { settings } = conversation
  const name = (setting: keyof Conversation["settings"]) => nameOf(conversation, setting)
  const refuse = (setting: keyof Conversation["settings"], why: string): never => {
    throw unsayable(name(setting), why)
  }
  if ((settings.choices ?? 1) > 1) refuse("choices", "the responses format gives one answer.")
  if (settings.stop !== null && settings.stop.length > 0) refuse("stop", "the responses format has no stop sequences.")
  if (settings.logitBias !== null && Object.keys(settings.logitBias).length > 0) refuse("logitBias", "the responses format has no logit bias.")
  if (settings.modalities !== null && settings.modalities.length > 0) refuse("modalities", `the responses format answers with text, not with ${settings.modalities.join(", ")}.`)
  for (const setting of ["topK", "minP", "seed"] as const) if (settings[setting] !== null) omitted.add(name(setting))
  // Servers of the format know penalties, its first vendor does not: only its own client may ask for them.
  for (const [setting, field] of [["frequencyPenalty", "frequency_penalty"], ["presencePenalty", "presence_penalty"]] as const) {
    if (conversation.format === "responses" && settings[setting] !== null) body[field] = settings[setting]
    else if (settings[setting] !== null && settings[setting] !== 0) omitted.add(name(setting))
  }
  if (settings.maxTokens !== null) {
    if (settings.maxTokens < minOutputTokens) omitted.add(`${name("maxTokens")} (raised to ${minOutputTokens})`)
    body["max_output_tokens"] = Math.max(settings.maxTokens, minOutputTokens)
  }
  const put = (field: string, value: unknown): void => {
    if (value !== null) body[field] = value
  }
  put("temperature", settings.temperature)
  put("top_p", settings.topP)
  put("prompt_cache_key", settings.promptCacheKey)
  put("safety_identifier", settings.safetyIdentifier)
  put("user", userFor(conversation, omitted))
  put("metadata", settings.metadata === null ? null : textsOf(settings.metadata))
  // The vendor stores a response only when the client asked for it.
  put("store", settings.store ?? (conversation.format === "responses" ? null : false))
  if (settings.serviceTier === "standard_only") body["service_tier"] = "default"
  else if (settings.serviceTier !== null && (serviceTiers.has(settings.serviceTier) || conversation.format === "responses")) body["service_tier"] = settings.serviceTier
  else if (settings.serviceTier !== null) omitted.add(name("serviceTier"))
  const include: Array<string> = []
  if (settings.logprobs === true) {
    include.push(logprobsInclude)
    put("top_logprobs", settings.topLogprobs)
  }
  // A model that does not reason refuses to be asked for it; without a store nothing else keeps its thoughts.
  if (traits.reasoning === true && body["store"] !== true) include.push(encryptedInclude)
  if (include.length > 0) body["include"] = include
  writeText(body, conversation, omitted)
}

/** The vendor keeps texts only. */
const textsOf = (metadata: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, typeof value === "string" ? value : JSON.stringify(value)]))

const writeJsonWord = (body: Record<string, unknown>, conversation: Conversation): void => {
  if (conversation.settings.output?.kind !== "json") return
  const instructions = typeof body["instructions"] === "string" ? body["instructions"] : ""
  if (jsonWord.test(instructions) || jsonWord.test(JSON.stringify(body["input"]))) return
  body["instructions"] = instructions === "" ? jsonInstruction : `${instructions}\n${jsonInstruction}`
}

const writeText = (body: Record<string, unknown>, conversation: Conversation, omitted: Omitted): void => {
  const { output } = conversation.settings
  const verbosity = verbosityFor(conversation, "responses", omitted)
  const text: Record<string, unknown> = {}
  if (output !== null) {
    text["format"] = output.kind === "json" ? { type: "json_object" } : {
      type: "json_schema", name: (output.name ?? "").replace(/[^a-zA-Z0-9_-]/g, "_").slice(0, 64) || "response", ...(output.description === null ? {} : { description: output.description }), schema: output.schema,
      ...(output.strict === null ? {} : { strict: output.strict })
    }
  }
  if (verbosity !== null) text["verbosity"] = verbosity
  if (Object.keys(text).length > 0) body["text"] = text
}

const summaries: ReadonlySet<string> = new Set(["auto", "concise", "detailed"])

const writeReasoning = (body: Record<string, unknown>, conversation: Conversation, traits: TargetTraits, omitted: Omitted): void => {
  const { reasoning } = conversation.settings
  if (reasoning === null) return
  const { budget, enabled, summary } = reasoning
  const isOff = enabled === false && (reasoning.effort === null || reasoning.effort === "none")
  if (traits.reasoning === false) {
    // Nothing to switch off.
    if (!isOff) omitted.add(nameOf(conversation, "reasoning"))
    return
  }
  let effort = reasoning.effort
  if (effort === null && isOff) {
    // Models that cannot reason refuse the field; only a known one gets the field.
    if (traits.reasoning === null) omitted.add(nameOf(conversation, "reasoning"))
    else effort = "none"
  }
  if (effort === null && budget !== null && budget >= 0 && !isOff) effort = effortOf(budget)
  // Newer models do not think unless an effort is named.
  if (effort === null && enabled === true) effort = "medium"
  const wire: Record<string, unknown> = {}
  // A client of this format says what it means; a word of the gateway is one that the model takes.
  if (effort !== null) wire["effort"] = conversation.format === "responses" && reasoning.decided !== true ? effort : effortFor(traits.model, effort)
  // These clients are shown thoughts whenever there are any.
  const shows = enabled === true && (conversation.format === "messages" || conversation.format === "local-model-server")
  const known = summary === null || conversation.format === "responses" || summaries.has(summary) ? summary : "auto"
  const wanted = summary === "omitted" ? null : known ?? (shows ? "auto" : null)
  if (wanted !== null) wire["summary"] = wanted
  if (Object.keys(wire).length > 0) body["reasoning"] = wire
}

// ---- What only the client's format says ----------------------------------------------------------------------------------------------

const writeExtras = (body: Record<string, unknown>, conversation: Conversation, traits: TargetTraits, omitted: Omitted): void => {
  if (conversation.format !== "responses") return omitted.extras(conversation.extras, "the responses format has no word for it.")
  for (const { field, value } of conversation.extras) {
    if (field === "previous_response_id" && traits.previousResponseId === "strip") omitted.add(field)
    else if (field === "include" && Array.isArray(value)) body[field] = [...(Array.isArray(body[field]) ? body[field] : []), ...value]
    else if (/^(?:text|reasoning)\./.test(field)) {
      const [outer, inner] = field.split(".") as [string, string]
      body[outer] = { ...(body[outer] as Record<string, unknown> | undefined), [inner]: value }
    } else if (!field.includes("[")) body[field] = value
    else omitted.add(field)
  }
}
