/** What the operator set for the tools at start. */
import * as Context from "effect/Context"

export class McpOptions extends Context.Service<McpOptions, {
  /** MCP_TOOL_ALLOW; empty = every tool. */
  readonly allow: ReadonlyArray<string>
  /** MCP_TOOL_DENY, which wins. */
  readonly deny: ReadonlyArray<string>
  /** GATEWAY_MCP_SCOPES, for callers that bring no scopes of their own. */
  readonly scopes: ReadonlyArray<string>
}>()("gateway/mcp/McpOptions") {}

/** Is a tool offered? Both lists may name it with or without its prefix. */
export const offers = ({ allow, deny }: McpOptions["Service"], name: string): boolean => {
  const named = (list: ReadonlyArray<string>): boolean => list.includes(name) || list.includes(name.replace(/^gateway_/, ""))
  return (allow.length === 0 || named(allow)) && !named(deny)
}
