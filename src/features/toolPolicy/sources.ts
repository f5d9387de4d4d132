/** Where the tools of a request come from (setting logToolSources): its client, its vendor, or MCP servers. Pure. */
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as ToolFilter from "#src/routing/combos/toolFilter.ts"
import * as Json from "#src/wire/json/json.ts"

type Body = Readonly<Record<string, unknown>>

/** Plain data: a thread answers it. */
export interface Sources {
  readonly count: number
  /** Names of functions that the client runs. */
  readonly client: ReadonlyArray<string>
  /** Types of tools that the vendor runs. */
  readonly vendor: ReadonlyArray<string>
  /** `<server>/<tool>` of functions that are named after a server, and labels of servers that the vendor asks. */
  readonly mcp: ReadonlyArray<string>
}

type Source = Exclude<keyof Sources, "count">
/** A tool's source and what it is called there. */
type Found = readonly [source: Source, name: string]

/** Names of one source that are told, and the characters of each. */
const TOLD_MAX = 40
const NAME_MAX = 100

/** As coding agents name tools of their servers. */
const serverTool = /^mcp__(.+?)__(.+)$/s

const ofFunction = (name: string): Found => {
  const parts = serverTool.exec(name)
  return parts === null ? ["client", name] : ["mcp", `${parts[1]}/${parts[2]}`]
}

const ofTool = (tool: unknown): ReadonlyArray<Found> => {
  if (!Json.isRecord(tool)) return []
  const { server_label: label, tools, type } = tool
  if (type === "namespace" && Array.isArray(tools)) return tools.flatMap(ofTool)
  if (type === "mcp") return [["mcp", typeof label === "string" ? label : "mcp"]]
  if (typeof type === "string" && type !== "function" && type !== "custom") return [["vendor", type]]
  return [ofFunction(ToolFilter.nameOf(tool))]
}

/** Declarations by name, tools of the vendor by the member that they stand under. */
const ofMembers = (tool: unknown): ReadonlyArray<Found> => !Json.isRecord(tool) ? [] : Object.entries(tool).flatMap(([member, value]): ReadonlyArray<Found> =>
  member === "functionDeclarations" || member === "function_declarations"
    ? (Array.isArray(value) ? value : []).map((one) => ofFunction(ToolFilter.nameOf(one)))
    : [["vendor", member]])

const listOf = (value: unknown): ReadonlyArray<unknown> => Array.isArray(value) ? value : Json.isRecord(value) ? [value] : []

export const of = (format: FormatName, { functions, tools }: Body): Sources => {
  const found = format === "generateContent" ? listOf(tools).flatMap(ofMembers)
    : [...listOf(tools).flatMap(ofTool), ...format === "chat-completions" ? listOf(functions).flatMap(ofTool) : []]
  const named = (source: Source): ReadonlyArray<string> =>
    found.filter(([from]) => from === source).slice(0, TOLD_MAX).map(([, name]) => name.slice(0, NAME_MAX))
  return { count: found.length, client: named("client"), vendor: named("vendor"), mcp: named("mcp") }
}
