/** Which tools of other servers a caller may use. Pure. */
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { McpServer } from "./ports/McpServer.ts"
import * as Scopes from "#src/management/inner/scopes.ts"
import * as ToolNames from "./toolNames.ts"

/** Null for a call without a key where none is needed. */
const isListed = (key: ApiKey | null, server: McpServer, name: string): boolean => {
  if (server.access === "open") return true
  if (key === null) return false
  const { allowedMcpTools, scopes } = key.policy
  return scopes.includes("admin") || scopes.includes("manage") || ToolNames.names(allowedMcpTools, server.name, name)
}

/** An issued key may use no more than its issuer. */
const mayUse = (key: ApiKey | null, server: McpServer, name: string): boolean =>
  isListed(key, server, name) && (key === null || key.issuerId === null || (key.issuer !== null && key.issuer !== undefined && isListed(key.issuer, server, name)))

export interface User {
  readonly key: ApiKey | null
  /** The operator, who needs no list. */
  readonly isOperator: boolean
  readonly scopes: ReadonlyArray<string>
}

/** Null, or the code of what is missing. `enforced`: GATEWAY_MCP_ENFORCE_SCOPES. */
export const missing = ({ isOperator, key, scopes }: User, server: McpServer, name: string, enforced: boolean): string | null => {
  if (!isOperator && !mayUse(key, server, name)) return "tool_denied"
  const scope = enforced ? Scopes.missing(scopes, server.scopes) : null
  return scope === null ? null : `scope_denied:${scope}`
}
