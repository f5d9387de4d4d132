/** The tools of all servers under their offered names. Pure. */
import * as Predicate from "effect/Predicate"
import type { McpServer } from "./ports/McpServer.ts"
import type { Described } from "./client/Session.ts"
import * as ToolNames from "./toolNames.ts"

/** Tools of all servers together. */
export const TOOLS_MAX = 2_000

export interface CatalogTool {
  readonly name: string
  readonly server: McpServer
  /** Its name at its server. */
  readonly original: string
  /** As its server describes it, under the offered name. */
  readonly described: Described
}

export interface LeftOut {
  readonly tool: string
  readonly why: string
}

/** What every client and model can read: a name, and a schema of an object. */
const whyInvalid = ({ inputSchema, name }: Described): string | null => {
  if (name === "" || name.length > 256) return "its name has no characters, or more than 256"
  return Predicate.isReadonlyObject(inputSchema) && inputSchema["type"] === "object" ? null : "its input schema is not of type object"
}

/** The tools of one server. A name that is taken is left to the tool that had it first. */
export const ofServer = (server: McpServer, described: ReadonlyArray<Described>): { readonly tools: ReadonlyArray<CatalogTool>; readonly leftOut: ReadonlyArray<LeftOut> } => {
  const tools = new Map<string, CatalogTool>()
  const leftOut: Array<LeftOut> = []
  for (const tool of described) {
    const name = ToolNames.offered(server.name, tool.name)
    const invalid = whyInvalid(tool)
    if (ToolNames.listed(server.blockedTools, tool.name) || (server.allowedTools.length > 0 && !ToolNames.listed(server.allowedTools, tool.name))) continue
    if (invalid !== null) leftOut.push({ tool: tool.name.slice(0, 256), why: invalid })
    else if (tools.has(name)) leftOut.push({ tool: tool.name, why: `the name ${name} is taken by the tool '${tools.get(name)?.original ?? ""}'` })
    else tools.set(name, { name, server, original: tool.name, described: { ...tool, name } })
  }
  return { tools: [...tools.values()], leftOut }
}

/** By server's name, each in its server's order. */
export const merged = (servers: ReadonlyArray<{ readonly record: McpServer; readonly tools: ReadonlyArray<CatalogTool> }>): ReadonlyMap<string, CatalogTool> => {
  const all = servers.toSorted((a, b) => a.record.name < b.record.name ? -1 : 1).flatMap(({ tools }) => tools)
  return new Map(all.slice(0, TOOLS_MAX).map((tool) => [tool.name, tool]))
}
