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
}

const every: ReadonlyArray<string> = ["*"]

/** A key with management rights may use every tool; another one those that its scopes name, or else `fallback`. */
export const ofKey = (key: ApiKey, fallback: ReadonlyArray<string>): McpCaller => {
  const { scopes } = key.policy
  const admin = scopes.includes("admin")
  const named = scopes.filter((scope) => scope === "*" || scope.endsWith(":*") || Scopes.toolScopes.some((known) => known === scope))
  return {
    owner: `key:${key.id}`, key, acts: { kind: "key", key, admin },
    scopes: admin || scopes.includes("manage") ? every : named.length > 0 ? named : fallback
  }
}

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
