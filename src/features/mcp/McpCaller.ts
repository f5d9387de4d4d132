/** Who uses the tools: an API key with a scope for them, or the operator. */
import type { Caller } from "#schemas/api/Management.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as Scopes from "#src/management/inner/scopes.ts"

export interface McpCaller {
  /** `key:<id>`, or `operator`: whose sessions a caller may use. */
  readonly owner: string
  readonly key: ApiKey | null
  readonly scopes: ReadonlyArray<string>
  /** In whose name tools ask the management API. */
  readonly acts: Caller
  /** Where the frame came from. */
  readonly address?: string
  /** The session that it calls in; absent where there is none. */
  readonly session?: string
}

const every: ReadonlyArray<string> = ["*"]

export const ofKey = (key: ApiKey, fallback: ReadonlyArray<string>): McpCaller =>
  ({ owner: `key:${key.id}`, key, acts: { kind: "key", key, admin: key.policy.scopes.includes("admin") }, scopes: Scopes.ofKey(key, fallback) })

/** Null for a caller that is none of these. */
export const ofManagement = (caller: Caller, fallback: ReadonlyArray<string>, isStdio: boolean): McpCaller | null => {
  switch (caller.kind) {
    case "key":
      return ofKey(caller.key, fallback)
    case "session":
    case "open":
      return { owner: "operator", key: null, scopes: every, acts: caller }
    case "local":
      return { owner: "operator", key: null, scopes: isStdio && fallback.length > 0 ? fallback : every, acts: caller }
    case "token":
      return { owner: `token:${caller.token.id}`, key: null, scopes: every, acts: caller }
    case "anonymous":
      return null
  }
}

/** A client on standard input may give up scopes for one frame: `params._meta.scopes`. */
export const narrowed = (caller: McpCaller, body: string): McpCaller => {
  if (!body.includes("\"scopes\"")) return caller
  try {
    const scopes: unknown = (JSON.parse(body) as { readonly params?: { readonly _meta?: { readonly scopes?: unknown } } }).params?._meta?.scopes
    if (!Array.isArray(scopes)) return caller
    const wanted = Scopes.granted(scopes.filter((scope) => typeof scope === "string"))
    return { ...caller, scopes: wanted.filter((scope) => Scopes.missing(caller.scopes, [scope]) === null) }
  } catch {
    return caller
  }
}

/** May an API key use the transports? */
export const connects = (key: ApiKey): boolean =>
  key.policy.scopes.some((scope) => Scopes.connectScopes.includes(scope) || scope === "manage" || scope === "admin")
