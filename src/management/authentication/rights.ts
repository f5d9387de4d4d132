/** Whether a caller may use a route. Pure over the access rule; deny by default. */
import type { AccessRule } from "#schemas/api/Access.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Caller } from "#schemas/api/Management.ts"
import { isRemote } from "#schemas/FileOwned.ts"

export interface Situation {
  readonly caller: Caller
  readonly refusedBearer: boolean
  readonly loopback: boolean
  /** A management key, on a route that such keys may use from other machines. */
  readonly bypassesLocality: boolean
  readonly requireLogin: boolean
  /** Known only when it matters: an anonymous loopback call of a first-run route. */
  readonly hasPassword: boolean
}

const rank = { read: 1, write: 2, admin: 3 } as const

const ofToken = (rule: AccessRule, caller: Caller & { readonly kind: "token" }): Caller | Refusal.Refusal =>
  rank[caller.token.scope] >= rank[rule.token]
    ? caller
    : Refusal.forbidden(`This access token has scope ${caller.token.scope}; the call needs ${rule.token}`)

/** The caller the handler will see, or why it will not run. */
export const admit = (rule: AccessRule | null, situation: Situation): Caller | Refusal.Refusal => {
  const { caller } = situation
  if (rule === null) return Refusal.forbidden("This route has no access rule and is served to no caller")
  if (rule.tier === "PUBLIC") return caller
  // Whether the Bearer is an API key, and what it may do, the handler finds out; without one there is nothing to find.
  if (rule.tier === "CLIENT_API") {
    if (caller.kind === "token") return ofToken(rule, caller)
    return caller.kind !== "anonymous" || situation.refusedBearer ? caller : Refusal.unauthorized()
  }
  // What the key may do, and from where, the handler finds out; to a caller without one it says where keys are described.
  if (rule.clientKey && caller.kind === "anonymous" && (situation.refusedBearer || (situation.loopback && situation.requireLogin))) return caller
  if (rule.tier === "LOCAL_ONLY" && !situation.loopback && !situation.bypassesLocality) {
    return Refusal.forbidden("This route answers on the gateway's own machine only", { code: "LOCAL_ONLY" })
  }
  if (!situation.requireLogin && rule.tier !== "ALWAYS_PROTECTED") {
    return caller.kind === "anonymous" ? { kind: "open" } : caller
  }
  if (rule.sessionOnly && (caller.kind === "token" || caller.kind === "key")) {
    return Refusal.unauthorized("This call needs a signed-in session (POST /api/auth/login); keys and access tokens are not accepted")
  }
  switch (caller.kind) {
    case "session":
    case "local":
      return caller
    case "token":
      return ofToken(rule, caller)
    case "key":
      return caller.admin || !rule.adminKey
        ? caller
        : Refusal.forbidden("This API key has scope manage; the call needs admin")
    case "open":
    case "anonymous":
      if (rule.firstRun && situation.loopback && !situation.hasPassword) return caller
      return situation.refusedBearer
        ? Refusal.forbidden("Invalid management token")
        : Refusal.unauthorized()
  }
}


export const callerRank = (caller: Caller): number => {
  switch (caller.kind) {
    case "session":
      return 3
    case "local":
      // What another gateway declares makes no key that manages, and moves no stored credential.
      return caller.file !== undefined && isRemote({ file: caller.file }) ? 1 : 3
    case "open":
      return 1
    case "token":
      return caller.token.scope === "admin" ? 3 : 1
    case "key":
      return caller.admin ? 3 : 2
    case "anonymous":
      return 0
  }
}

export const actorOf = (caller: Caller): string => {
  switch (caller.kind) {
    case "session":
      return caller.subject === undefined ? "dashboard" : `oidc:${caller.subject}`
    case "local":
      return caller.file === undefined ? "local-cli" : `file:${caller.file}`
    case "token":
      return `token:${caller.token.name}`
    case "key":
      return `key:${caller.key.id}`
    case "open":
    case "anonymous":
      return "anonymous"
  }
}
