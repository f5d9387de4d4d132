/** A neutral conversation as a chat-completions request. */
import type { PublicError } from "#schemas/errors.ts"
import type { Conversation, Effort, FunctionTool, Reasoning, GenerationSettings, Tool, ToolChoice } from "#schemas/wire/conversation.ts"
import { MessageWriter } from "./encodeMessages.ts"
import { type Abilities, abilitiesOf } from "#src/wire/chatCompletions/models.ts"
import { closedSchema } from "#src/wire/json/closedSchema.ts"
import { foreign } from "#src/wire/neutral/foreign.ts"
import { effortFor, effortOf, invalid, nameOf, Omitted, reading, unsayable, userFor, verbosityFor } from "#src/wire/neutral/settings.ts"
import { paired } from "#src/wire/neutral/toolPairs.ts"
import type { EncodedRequest, TargetTraits } from "#src/wire/WireFormat.ts"

type Out = Readonly<Record<string, unknown>>

/** Most stop sequences that the vendor takes. */
const mostStops = 4

export const encodeRequest = (given: Conversation, traits: TargetTraits): EncodedRequest | PublicError =>
  reading(() => {
    const omitted = new Omitted()
    const body = {
      ...bodyOf(given, traits, abilitiesOf(traits), omitted),
      ...(traits.stream ? { stream: true, ...(traits.streamOptions ? { stream_options: { include_usage: true } } : {}) } : {})
    }
    return { body: JSON.stringify(body), omitted: omitted.fields }
  })

/** The members of a request but for those about streams, for a server with these abilities; throws (inside `reading`) what it cannot be told. */
export const bodyOf = (given: Conversation, traits: TargetTraits, can: Abilities, omitted: Omitted): Out => {
  const conversation = documented(foreign(given, { family: "chat-completions", freeform: can.freeform }, omitted), can, omitted)
  const turns = paired(conversation, (field) => omitted.add(field))
  const messages = new MessageWriter(can, omitted).write(turns)
  const isOwn = conversation.format === "chat-completions"
  if (!isOwn) omitted.extras(conversation.extras, "only the format it was written in knows it.")
  return {
    model: traits.model,
    messages: withJsonWord(messages, conversation),
    ...toolsOf(conversation, can, omitted),
    ...settingsOf(conversation, can, omitted),
    ...reasoningOf(conversation, traits, can, omitted),
    ...(isOwn ? ownExtras(conversation) : {})
  }
}

type Settings = { -readonly [Setting in keyof GenerationSettings]: GenerationSettings[Setting] }

/** Settings that only some servers of the format have a word for. */
const undocumented = ["user", "safetyIdentifier", "promptCacheKey", "verbosity", "serviceTier", "topK", "minP"] as const

/** Without what a strict server would refuse. */
const documented = (conversation: Conversation, can: Abilities, omitted: Omitted): Conversation => {
  if (!can.strict || conversation.format === "chat-completions") return conversation
  const settings: Settings = { ...conversation.settings, store: null }
  if (conversation.settings.store === true) omitted.add(nameOf(conversation, "store"))
  for (const setting of undocumented) {
    if (settings[setting] === null) continue
    omitted.add(nameOf(conversation, setting))
    settings[setting] = null
  }
  return { ...conversation, settings }
}

/** Fields of this very format; what stands inside messages cannot be put back. */
const ownExtras = (conversation: Conversation): Out =>
  Object.fromEntries(conversation.extras.filter((extra) => !extra.field.includes("[")).map((extra) => [extra.field, extra.value]))

/** The vendor refuses JSON mode unless the word stands in a message; formats with a field of their own never had to say it. */
const withJsonWord = (messages: ReadonlyArray<Out>, conversation: Conversation): ReadonlyArray<Out> =>
  conversation.settings.output?.kind !== "json" || conversation.format === "chat-completions" || /json/i.test(JSON.stringify(messages))
    ? messages
    : [{ role: "system", content: "Answer with a JSON object." }, ...messages]

// ---- tools -----------------------------------------------------------------------------------------------------------------------

const toolsOf = (conversation: Conversation, can: Abilities, omitted: Omitted): Out => {
  const { tools, toolChoice, settings } = conversation
  if (tools.length === 0) {
    if (toolChoice !== null && toolChoice.kind !== "auto" && toolChoice.kind !== "none") {
      throw invalid("tool_choice", "Field 'tool_choice' asks for a tool, but the request declares none.")
    }
    return {}
  }
  const parallel = settings.parallelToolCalls
  return {
    tools: tools.map((tool) => toolOf(tool, can, conversation.format === "chat-completions", omitted)),
    ...(toolChoice === null ? {} : { tool_choice: choiceOf(toolChoice, tools) }),
    ...(parallel === null ? {} : { parallel_tool_calls: parallel })
  }
}

const toolOf = (tool: Tool, can: Abilities, isOwn: boolean, omitted: Omitted): unknown => {
  switch (tool.kind) {
    case "function": {
      if (tool.cache !== null && !can.cacheControl) omitted.add("cache_control")
      const cache = tool.cache === null || !can.cacheControl ? {} : { cache_control: { type: "ephemeral", ...(tool.cache.ttl === null ? {} : { ttl: tool.cache.ttl }) } }
      const { parameters, strict } = strictly(tool, isOwn, omitted)
      return {
        type: "function",
        function: {
          name: tool.name,
          ...(tool.description === null ? {} : { description: tool.description }),
          ...(parameters === null ? {} : { parameters: withProperties(parameters) }),
          ...(strict === null ? {} : { strict })
        },
        ...cache
      }
    }
    case "custom":
      return {
        type: "custom",
        custom: {
          name: tool.name,
          ...(tool.description === null ? {} : { description: tool.description }),
          ...(tool.format === null || tool.format === undefined ? {} : { format: writeGrammar(tool.format) })
        }
      }
    case "hosted":
      return tool.value
  }
}

/** Others are strict with open objects and optional properties, too, which this vendor refuses. */
const strictly = (tool: FunctionTool, isOwn: boolean, omitted: Omitted): Pick<FunctionTool, "parameters" | "strict"> => {
  if (isOwn || tool.strict !== true) return tool
  const parameters = closedSchema(withProperties(tool.parameters ?? { type: "object" }), true)
  if (parameters !== null) return { parameters, strict: true }
  omitted.add("strict")
  return { parameters: tool.parameters, strict: null }
}

/** The vendor refuses an object schema without `properties`. */
const withProperties = (schema: Readonly<Record<string, unknown>>): Out =>
  schema["type"] === "object" && schema["properties"] === undefined ? { ...schema, properties: {} } : schema

/** Chat nests the grammar that the neutral form has flat. */
const writeGrammar = (format: unknown): unknown => {
  if (typeof format !== "object" || format === null || !("definition" in format)) return format
  const { type: _, ...grammar } = format as Out
  return { type: "grammar", grammar }
}

const choiceOf = (choice: ToolChoice, tools: ReadonlyArray<Tool>): unknown => {
  const byName = new Map(tools.toReversed().flatMap((tool) => tool.kind === "hosted" ? [] : [[tool.name, tool] as const]))
  const reference = (name: string): unknown => {
    const tool = byName.get(name)
    if (tool === undefined) throw invalid("tool_choice", `Field 'tool_choice' names the tool '${name.slice(0, 64)}', which the request does not declare.`)
    return tool.kind === "custom" ? { type: "custom", custom: { name } } : { type: "function", function: { name } }
  }
  switch (choice.kind) {
    case "tool":
      return reference(choice.name)
    case "hosted":
      return choice.value
    case "allowed":
      return { type: "allowed_tools", allowed_tools: { mode: choice.required ? "required" : "auto", tools: choice.names.map(reference) } }
    default:
      return choice.kind
  }
}

// ---- settings --------------------------------------------------------------------------------------------------------------------

const settingsOf = (conversation: Conversation, can: Abilities, omitted: Omitted): Out => {
  const { settings } = conversation
  const out: Record<string, unknown> = {}
  const say = (field: string, value: unknown): void => {
    if (value !== null) out[field] = value
  }
  const leave = (setting: keyof GenerationSettings): void => {
    if (settings[setting] !== null) omitted.add(nameOf(conversation, setting))
  }
  say(can.newLimit ? "max_completion_tokens" : "max_tokens", settings.maxTokens)
  for (const [setting, field, usual] of sampling) {
    if (can.sampling || settings[setting] === usual) say(field, settings[setting])
    else leave(setting)
  }
  // Extensions that most compatible servers take; the vendor itself refuses them.
  if (can.openai) {
    leave("topK")
    leave("minP")
  } else {
    say("top_k", settings.topK)
    say("min_p", settings.minP)
  }
  if (settings.stop !== null && settings.stop.length > mostStops) {
    throw unsayable(nameOf(conversation, "stop"), `it takes at most ${mostStops} stop sequences.`)
  }
  say("stop", settings.stop)
  say(can.strict ? "random_seed" : "seed", settings.seed)
  say("n", settings.choices)
  say("logit_bias", settings.logitBias)
  if (!can.sampling && settings.logprobs === true) throw unsayable(nameOf(conversation, "logprobs"), "the model gives no log probabilities.")
  // Candidates are only given beside the chosen token's own probability.
  say("logprobs", settings.logprobs ?? (settings.topLogprobs === null || settings.topLogprobs === 0 ? null : true))
  say("top_logprobs", settings.topLogprobs)
  say("response_format", formatOf(settings))
  say("verbosity", verbosityFor(conversation, "chat-completions", omitted))
  say("user", userFor(conversation, omitted))
  say("safety_identifier", settings.safetyIdentifier)
  say("prompt_cache_key", settings.promptCacheKey)
  say("store", settings.store)
  // The vendor takes metadata of stored completions only.
  if (can.openai && settings.store !== true) leave("metadata")
  else say("metadata", settings.metadata)
  serviceTier(conversation, say, omitted)
  modalities(conversation, can, say)
  return out
}

/** Settings that the vendor's reasoning models take at their usual value only. */
const sampling = [
  ["temperature", "temperature", 1], ["topP", "top_p", 1], ["frequencyPenalty", "frequency_penalty", 0], ["presencePenalty", "presence_penalty", 0]
] as const

const tiers: ReadonlySet<string> = new Set(["auto", "default", "flex", "scale", "priority", "fast"])

const serviceTier = (conversation: Conversation, say: (field: string, value: unknown) => void, omitted: Omitted): void => {
  const tier = conversation.settings.serviceTier
  if (tier === null) return
  if (tiers.has(tier) || conversation.format === "chat-completions") say("service_tier", tier)
  else if (tier === "standard_only" || tier === "standard") say("service_tier", "default")
  else omitted.add(nameOf(conversation, "serviceTier"))
}

const modalities = (conversation: Conversation, can: Abilities, say: (field: string, value: unknown) => void): void => {
  const wanted = conversation.settings.modalities
  if (wanted === null) return
  const hasVoice = conversation.extras.some((extra) => extra.field === "audio")
  for (const modality of wanted) {
    if (modality === "audio" && conversation.format === "chat-completions" && hasVoice) continue
    if (modality === "image" && !can.openai) continue
    throw unsayable(nameOf(conversation, "modalities"), `it cannot be asked for ${modality} in this way.`)
  }
  say("modalities", ["text", ...wanted])
}

const formatOf = ({ output }: GenerationSettings): unknown => {
  if (output === null) return null
  if (output.kind === "json") return { type: "json_object" }
  return {
    type: "json_schema",
    json_schema: {
      name: (output.name ?? "response").replace(/[^A-Za-z0-9_-]/g, "_").slice(0, 64) || "response",
      ...(output.description === null ? {} : { description: output.description }),
      schema: output.schema,
      ...(output.strict === null ? {} : { strict: output.strict })
    }
  }
}

// ---- reasoning -------------------------------------------------------------------------------------------------------------------

const reasoningOf = (conversation: Conversation, traits: TargetTraits, can: Abilities, omitted: Omitted): Out => {
  const { reasoning } = conversation.settings
  if (reasoning === null) return {}
  const effort = wantedEffort(reasoning)
  if (!can.effort) {
    // Nothing is lost where thinking was to be off, or is the model's own habit.
    if (effort !== null && effort !== "none") omitted.add(nameOf(conversation, "reasoning"))
    return {}
  }
  // Servers differ in whether they know `none`; a model that does not think does not need it.
  if (effort === "none" && !can.thinks) return {}
  if (reasoning.summary !== null && can.openai) omitted.add(summaryName(conversation))
  return effort === null ? {} : { reasoning_effort: effortFor(traits.model, effort) }
}

const summaryName = (conversation: Conversation): string =>
  conversation.format === "responses" ? "reasoning.summary" : nameOf(conversation, "reasoning")

const wantedEffort = ({ enabled, effort, budget }: Reasoning): Effort | null => {
  if (enabled === false) return "none"
  if (effort !== null) return effort
  if (budget !== null) return effortOf(budget)
  return enabled === true ? "medium" : null
}
