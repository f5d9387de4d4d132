/** A neutral conversation as the body of a Messages request. */
import type { PublicError } from "#schemas/errors.ts"
import type { Conversation, FunctionTool, GenerationSettings, Tool, ToolChoice } from "#schemas/wire/conversation.ts"
import * as Json from "#src/wire/json/json.ts"
import { JsonWriter } from "#src/wire/json/JsonWriter.ts"
import { type Capabilities, capabilitiesOf } from "#src/wire/messages/claude.ts"
import * as ContextEditing from "#src/wire/messages/contextEditing.ts"
import { encodeThinking, knownLimit } from "./encodeThinking.ts"
import { checkedName, type TurnContext, encodeTurns, mayThink } from "./encodeTurns.ts"
import { wrappedTool } from "#src/wire/neutral/freeform.ts"
import { closedSchema } from "#src/wire/json/closedSchema.ts"
import { foreign } from "#src/wire/neutral/foreign.ts"
import { invalid, nameOf, Omitted, reading, unsayable } from "#src/wire/neutral/settings.ts"
import { paired } from "#src/wire/neutral/toolPairs.ts"
import type { EncodedRequest, TargetTraits } from "#src/wire/WireFormat.ts"

const jsonInstruction = "Answer with one valid JSON object and nothing else: no explanation before or after it, no code fence."

export const encodeRequest = (given: Conversation, traits: TargetTraits): EncodedRequest | PublicError =>
  reading(() => {
    const omitted = new Omitted()
    const conversation = foreign(given, { family: "messages", freeform: false }, omitted)
    const { settings } = conversation
    refuse(conversation)
    const turns = paired(conversation, (field) => omitted.add(field))
    const capabilities = capabilitiesOf(traits.model)
    const json = new JsonWriter()
    const at: TurnContext = { conversation, omitted, json, systemMessages: capabilities.systemMessages, ids: new Map() }
    const { choice, tools } = toolsOf(conversation, omitted)
    const forced = choice?.type === "any" || choice?.type === "tool"
    const { effort, isOn, maxTokens, thinking } = encodeThinking({ conversation, traits, capabilities, omitted, forced, mayThink: mayThink(turns, at) })
    // The vendor wants a limit: one that the client did not give, and that no model's own limit stands behind, may cut the answer.
    if (settings.maxTokens === null && knownLimit(traits) === null) omitted.add(`max_tokens (set to ${maxTokens})`)
    // A limit that leaves no room beside the thoughts is raised.
    else if (settings.maxTokens !== null && maxTokens > settings.maxTokens) omitted.add(`${nameOf(conversation, "maxTokens")} (raised to ${maxTokens})`)
    const { messages, system } = encodeTurns(turns, at, settings.output?.kind === "json" ? jsonInstruction : null)
    const fields: Record<string, unknown> = {
      max_tokens: maxTokens,
      ...(traits.stream ? { stream: true } : {}),
      ...sampling(conversation, capabilities, isOn, omitted),
      ...(thinking === null ? {} : { thinking }),
      ...(tools.length === 0 ? {} : { tools }),
      ...(choice === null ? {} : { tool_choice: choice }),
      ...outputConfig(conversation, effort, omitted),
      ...identity(conversation, omitted),
      ...tier(settings, conversation, omitted),
      ...(traits.clears === true ? { [ContextEditing.field]: ContextEditing.edits } : {})
    }
    leaveOut(conversation, omitted)
    extras(conversation, fields, omitted)
    const body = { model: traits.model, ...fields, ...(system === null ? {} : { system }), messages }
    return { body: json.write(body), omitted: omitted.fields }
  })

/** What would make another answer if it were left out. */
const refuse = (conversation: Conversation): void => {
  const { settings } = conversation
  const name = (setting: keyof GenerationSettings) => nameOf(conversation, setting)
  if (settings.choices !== null && settings.choices > 1) throw unsayable(name("choices"), "it answers with one choice only.")
  if (settings.logprobs === true) throw unsayable(name("logprobs"), "it gives no log probabilities.")
  if (settings.topLogprobs !== null && settings.topLogprobs > 0) throw unsayable(name("topLogprobs"), "it gives no log probabilities.")
  if (settings.logitBias !== null && Object.keys(settings.logitBias).length > 0) throw unsayable(name("logitBias"), "it knows no token bias.")
  if (settings.modalities?.some((modality) => modality !== "text") === true) throw unsayable(name("modalities"), "it answers with text only.")
  if (settings.stop?.some((one) => one.trim() === "") === true) throw unsayable(name("stop"), "it takes no stop sequence of white space alone.")
}

/** Hints that this format has no word for. */
const leaveOut = (conversation: Conversation, omitted: Omitted): void => {
  const { settings } = conversation
  for (const setting of ["minP", "seed", "verbosity", "promptCacheKey", "metadata"] as const) {
    if (settings[setting] !== null) omitted.add(nameOf(conversation, setting))
  }
  // Nothing is kept there anyway.
  if (settings.store === true) omitted.add(nameOf(conversation, "store"))
  for (const setting of ["frequencyPenalty", "presencePenalty"] as const) {
    if (settings[setting] !== null && settings[setting] !== 0) omitted.add(nameOf(conversation, setting))
  }
}

/** The range of temperature ends at 1 here; thinking and the newest models take no sampling parameters. */
const sampling = (conversation: Conversation, capabilities: Capabilities, thinks: boolean, omitted: Omitted): Record<string, unknown> => {
  const { stop, temperature, topK, topP } = conversation.settings
  const fields: Record<string, unknown> = {}
  if (stop !== null && stop.length > 0) fields["stop_sequences"] = stop
  const none = capabilities.adaptiveOnly
  if (temperature !== null) {
    if (none || thinks) {
      if (temperature !== 1) omitted.add(nameOf(conversation, "temperature"))
    } else {
      if (temperature > 1) omitted.add(`${nameOf(conversation, "temperature")} (lowered to 1)`)
      fields["temperature"] = Math.min(1, temperature)
    }
  }
  if (topP !== null) {
    // Thinking takes 0.95 to 1; a top_p of 1 says nothing and is left out where it would be refused.
    const refused = none || (thinks && (topP < 0.95 || topP > 1)) || (capabilities.oneSampler && fields["temperature"] !== undefined)
    if (!refused) fields["top_p"] = topP
    else if (topP !== 1) omitted.add(nameOf(conversation, "topP"))
  }
  if (topK !== null) {
    if (none || thinks) omitted.add(nameOf(conversation, "topK"))
    else fields["top_k"] = topK
  }
  return fields
}

const outputConfig = (conversation: Conversation, effort: string | null, omitted: Omitted): Record<string, unknown> => {
  const { output } = conversation.settings
  const config: Record<string, unknown> = {}
  if (effort !== null) config["effort"] = effort
  if (output?.kind === "schema") {
    config["format"] = { type: "json_schema", schema: conversation.format === "messages" ? output.schema : closed(output.schema) }
    if (output.description !== null) omitted.add(`${nameOf(conversation, "output")}.description`)
  }
  return Object.keys(config).length === 0 ? {} : { output_config: config }
}

const single = ["items", "additionalItems", "not"] as const
const several = ["anyOf", "allOf", "oneOf", "prefixItems"] as const
const named = ["properties", "$defs", "definitions"] as const

/** The vendor wants `additionalProperties: false` said of every object; a schema that says nothing means the same here. */
const closed = (schema: Readonly<Record<string, unknown>>): Record<string, unknown> => {
  const out: Record<string, unknown> = { ...schema }
  const inner = (value: unknown): unknown => Json.isRecord(value) ? closed(value) : value
  if ((out["type"] === "object" || Json.isRecord(out["properties"])) && out["additionalProperties"] === undefined) out["additionalProperties"] = false
  for (const key of single) if (out[key] !== undefined) out[key] = inner(out[key])
  for (const key of several) {
    const list = out[key]
    if (Array.isArray(list)) out[key] = list.map(inner)
  }
  for (const key of named) {
    const members = out[key]
    if (Json.isRecord(members)) out[key] = Object.fromEntries(Object.entries(members).map(([name, value]) => [name, inner(value)]))
  }
  return out
}

const identity = (conversation: Conversation, omitted: Omitted): Record<string, unknown> => {
  const { safetyIdentifier, user } = conversation.settings
  if (user !== null && safetyIdentifier !== null) omitted.add(nameOf(conversation, "safetyIdentifier"))
  const id = user ?? safetyIdentifier
  return id === null ? {} : { metadata: { user_id: id } }
}

const tier = (settings: GenerationSettings, conversation: Conversation, omitted: Omitted): Record<string, unknown> => {
  switch (settings.serviceTier) {
    case null: return {}
    case "auto": return { service_tier: "auto" }
    case "default":
    case "standard_only": return { service_tier: "standard_only" }
    default:
      if (conversation.format === "messages") return { service_tier: settings.serviceTier }
      omitted.add(nameOf(conversation, "serviceTier"))
      return {}
  }
}

interface WireChoice {
  readonly type: string
  readonly name?: string
  readonly disable_parallel_tool_use?: boolean
}

const toolsOf = (conversation: Conversation, omitted: Omitted): { readonly tools: ReadonlyArray<unknown>; readonly choice: WireChoice | null } => {
  const { settings, toolChoice } = conversation
  const allowed = toolChoice?.kind === "allowed" ? new Set(toolChoice.names) : null
  const given = allowed === null ? conversation.tools : conversation.tools.filter((tool) => tool.kind !== "hosted" && allowed.has(tool.name))
  const tools = given.map((tool) => wireTool(tool, conversation, omitted))
  if (tools.length === 0) {
    if (toolChoice?.kind === "required" || toolChoice?.kind === "tool" || (toolChoice?.kind === "allowed" && toolChoice.required)) {
      throw invalid("tool_choice", "Field 'tool_choice' forces a tool, but the request names none.")
    }
    return { tools, choice: null }
  }
  const base = baseChoice(toolChoice)
  if (base?.type === "tool" && !given.some((tool) => nameOfTool(tool) === base.name)) {
    throw invalid("tool_choice", `Field 'tool_choice' forces the tool '${(base.name ?? "").slice(0, 64)}', which is not among the tools.`)
  }
  if (settings.parallelToolCalls === null || base?.type === "none") {
    return { tools, choice: base }
  }
  // True is the default everywhere; a messages client that wrote it gets it back.
  if (settings.parallelToolCalls && conversation.format !== "messages") return { tools, choice: base }
  return { tools, choice: { ...(base ?? { type: "auto" }), disable_parallel_tool_use: !settings.parallelToolCalls } }
}

const baseChoice = (choice: ToolChoice | null): WireChoice | null => {
  switch (choice?.kind) {
    case undefined: return null
    case "auto":
    case "none": return { type: choice.kind }
    case "required": return { type: "any" }
    case "hosted": return choice.value as WireChoice
    case "tool": return { type: "tool", name: choice.name }
    case "allowed": return { type: choice.required ? "any" : "auto" }
  }
}

const nameOfTool = (tool: Tool): unknown =>
  tool.kind === "hosted" ? (tool.value as { readonly name?: unknown } | null)?.name : tool.name

const wireTool = (tool: Tool, conversation: Conversation, omitted: Omitted): unknown => {
  switch (tool.kind) {
    case "hosted": return tool.value
    case "custom": return functionTool(wrappedTool(tool), conversation, omitted)
    case "function": return functionTool(tool, conversation, omitted)
  }
}

const functionTool = (tool: FunctionTool, conversation: Conversation, omitted: Omitted) => {
  const isOwn = conversation.format === "messages"
  const given = tool.parameters === null ? { type: "object", properties: {} } : tool.parameters["type"] === undefined ? { type: "object", ...tool.parameters } : tool.parameters
  // Others are strict with open objects, too, which this vendor refuses.
  const closed = tool.strict === true && !isOwn ? closedSchema(given, false) : given
  if (closed === null) omitted.add("strict")
  return {
    name: checkedName(tool.name, "tools"),
    ...(tool.description === null ? {} : { description: tool.description }),
    input_schema: closed ?? given,
    // False is the vendor's default; a messages client that wrote it gets it back.
    ...((tool.strict === true && closed !== null) || (tool.strict === false && isOwn) ? { strict: tool.strict } : {}),
    ...(tool.cache === null ? {} : { cache_control: { type: "ephemeral", ...(tool.cache.ttl === null ? {} : { ttl: tool.cache.ttl }) } })
  }
}

/** Fields of the client's own format: put back when it is this one (those inside arrays have lost their place). */
const extras = (conversation: Conversation, fields: Record<string, unknown>, omitted: Omitted): void => {
  if (conversation.format !== "messages") return omitted.extras(conversation.extras, "no other format knows it.")
  for (const extra of conversation.extras) {
    if (extra.field.includes("[")) {
      omitted.extras([extra], "it cannot be passed on after the request was read.")
      continue
    }
    const dot = extra.field.indexOf(".")
    if (dot === -1) fields[extra.field] = extra.value
    else {
      const parent = extra.field.slice(0, dot)
      fields[parent] = { ...(fields[parent] as object | undefined), [extra.field.slice(dot + 1)]: extra.value }
    }
  }
}
