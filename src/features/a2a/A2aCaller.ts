/** Who gives tasks: an API key, or the operator. */
import type { Caller } from "#schemas/api/Management.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { AgentHead } from "#src/inference/ports/AgentCalls.ts"

export interface A2aCaller {
  /** `key:<id>`, `token:<id>` or `operator`: whose tasks a caller sees. */
  readonly owner: string
  readonly key: ApiKey | null
  /** Scopes of reading about the whole gateway; `*` = every one. */
  readonly scopes: ReadonlyArray<string>
  /** In whose name reports ask the management API. */
  readonly acts: Caller
  /** The credential as it was presented; null for an operator. */
  readonly presents: { readonly authorization: string; readonly address: string } | null
  readonly head: AgentHead
}

type Sent = Pick<A2aCaller, "head" | "presents">

const every: ReadonlyArray<string> = ["*"]

export const ofKey = (key: ApiKey, sent: Sent): A2aCaller => {
  const { scopes } = key.policy
  const admin = scopes.includes("admin")
  return { ...sent, owner: `key:${key.id}`, key, scopes: admin || scopes.includes("manage") ? every : scopes, acts: { kind: "key", key, admin } }
}

/** An operator without a key: what its tasks ask of models, they ask as a caller without one. Null for all other callers. */
export const ofOperator = (caller: Caller, head: AgentHead): A2aCaller | null => {
  switch (caller.kind) {
    case "session":
    case "open":
    case "local":
      return { head, presents: null, owner: "operator", key: null, scopes: every, acts: caller }
    case "token":
      return { head, presents: null, owner: `token:${caller.token.id}`, key: null, scopes: every, acts: caller }
    case "key":
    case "anonymous":
      return null
  }
}
