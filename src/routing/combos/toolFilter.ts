/**
 * A combo's tool_filter_regex: only tools whose name matches are kept, in the neutral conversation and in a raw
 * body of each format. A tool that has no name of its own (one that the vendor runs) goes by its type. A choice that names a
 * dropped tool is dropped with it. Pure.
 */
import type { Conversation, FormatName, Tool, ToolChoice } from "#schemas/wire/conversation.ts"
import { compile } from "#src/routing/combos/linearRegex.ts"
import * as Json from "#src/wire/json/json.ts"
import type { Json as Body } from "#src/wire/WireFormat.ts"

export type Keeps = (name: string) => boolean

/** The filter of a stored pattern; a pattern that would be refused today keeps no tool, because its meaning is unknown. */
export const keepsOf = (pattern: string): Keeps => {
  const compiled = compile(pattern)
  return compiled._tag === "Refused" ? () => false : compiled.matches
}

const toolName = (tool: Tool): string => tool.kind === "hosted" ? tool.type : tool.name

const keptChoice = (choice: ToolChoice | null, keeps: Keeps): ToolChoice | null => {
  if (choice?.kind === "hosted") return keeps(choice.type) ? choice : null
  if (choice === null || (choice.kind !== "tool" && choice.kind !== "allowed")) return choice
  if (choice.kind === "tool") return keeps(choice.name) ? choice : null
  const names = choice.names.filter(keeps)
  return names.length === 0 ? null : { ...choice, names }
}

export const ofConversation = (conversation: Conversation, keeps: Keeps): Conversation => {
  const tools = conversation.tools.filter((tool) => keeps(toolName(tool)))
  if (tools.length === conversation.tools.length) return conversation
  return { ...conversation, tools, toolChoice: tools.length === 0 ? null : keptChoice(conversation.toolChoice, keeps) }
}

const text = (value: unknown): string | null => typeof value === "string" && value !== "" ? value : null
const inner = (value: unknown, key: string): unknown => Json.isRecord(value) ? value[key] : undefined

/** Name of a tool or of a choice in any of the formats that wrap it in `type`. */
export const nameOf = (tool: unknown): string =>
  text(inner(inner(tool, "function"), "name")) ?? text(inner(inner(tool, "custom"), "name")) ?? text(inner(tool, "name")) ??
    text(inner(tool, "type")) ?? ""

const without = (body: Body, ...keys: ReadonlyArray<string>): Body => Object.fromEntries(Object.entries(body).filter(([key]) => !keys.includes(key)))

/** A namespace is as good as its tools. */
const keptTools = (tools: ReadonlyArray<unknown>, keeps: Keeps): ReadonlyArray<unknown> => tools.flatMap((tool) => {
  if (!Json.isRecord(tool) || tool["type"] !== "namespace" || !Array.isArray(tool["tools"])) return keeps(nameOf(tool)) ? [tool] : []
  const members = keptTools(tool["tools"], keeps)
  return members.length === 0 ? [] : [members.length === tool["tools"].length ? tool : { ...tool, tools: members }]
})

/** What is left of a forced or narrowed choice; undefined when nothing is. */
const keptRawChoice = (choice: unknown, keeps: Keeps): unknown => {
  if (!Json.isRecord(choice)) return choice
  if (choice["type"] === "allowed_tools") {
    const nested = choice["allowed_tools"]
    const place = Json.isRecord(nested) ? nested : choice
    const names = Array.isArray(place["tools"]) ? place["tools"].filter((tool) => keeps(nameOf(tool))) : []
    if (names.length === 0) return undefined
    return Json.isRecord(nested) ? { ...choice, allowed_tools: { ...nested, tools: names } } : { ...choice, tools: names }
  }
  const name = nameOf(choice)
  return ["auto", "any", "none", "required"].includes(name) || keeps(name) ? choice : undefined
}

const filtered = (body: Body, list: string, choice: string, keeps: Keeps): Body => {
  const tools = body[list]
  if (!Array.isArray(tools)) return body
  const kept = keptTools(tools, keeps)
  if (kept.length === 0) return without(body, list, choice, ...(list === "tools" ? ["parallel_tool_calls"] : []))
  const left = keptRawChoice(body[choice], keeps)
  return { ...(left === undefined ? without(body, choice) : { ...body, [choice]: left }), [list]: kept }
}

const either = (body: Body, camel: string, snake: string): string => Object.hasOwn(body, snake) ? snake : camel

/** Declarations by name, tools of the vendor by the key they stand under (`googleSearch`). */
const keptDeclarations = (tool: unknown, keeps: Keeps): ReadonlyArray<unknown> => {
  if (!Json.isRecord(tool)) return []
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(tool)) {
    if ((key !== "functionDeclarations" && key !== "function_declarations") || !Array.isArray(value)) {
      if (keeps(key)) kept[key] = value
      continue
    }
    const declarations = value.filter((one) => keeps(nameOf(one)))
    if (declarations.length > 0) kept[key] = declarations
  }
  return Object.keys(kept).length === 0 ? [] : [kept]
}

const ofGenerateContent = (body: Body, keeps: Keeps): Body => {
  // A single object in place of the list is read as a list of one.
  const tools = Array.isArray(body["tools"]) ? body["tools"] : Json.isRecord(body["tools"]) ? [body["tools"]] : null
  if (tools === null) return body
  const kept = tools.flatMap((tool) => keptDeclarations(tool, keeps))
  const config = either(body, "toolConfig", "tool_config")
  if (kept.length === 0) return without(body, "tools", config)
  const result: Body = { ...body, tools: kept }
  const settings = body[config]
  if (!Json.isRecord(settings)) return result
  const calling = either(settings, "functionCallingConfig", "function_calling_config")
  const mode = settings[calling]
  if (!Json.isRecord(mode)) return result
  const names = either(mode, "allowedFunctionNames", "allowed_function_names")
  const list = mode[names]
  if (!Array.isArray(list)) return result
  const left = list.filter((name) => typeof name === "string" && keeps(name))
  return { ...result, [config]: left.length === 0 ? without(settings, calling) : { ...settings, [calling]: { ...mode, [names]: left } } }
}

/** A body of that format with only the tools that are kept; the given body is not changed. */
export const ofBody = (format: FormatName, body: Body, keeps: Keeps): Body => {
  switch (format) {
    case "chat-completions":
      return filtered(filtered(body, "tools", "tool_choice", keeps), "functions", "function_call", keeps)
    case "messages":
    case "responses":
    case "local-model-server":
      return filtered(body, "tools", "tool_choice", keeps)
    case "generateContent":
      return ofGenerateContent(body, keeps)
    case "completions":
      return body
  }
}
