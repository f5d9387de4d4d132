/**
 * Who may call a route (supplement 17, "Route tier"; PROMISES 14). Every endpoint carries one rule as an annotation; the
 * route table is generated from them. An endpoint without a rule is served to nobody and fails a test.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"

export const Tier = Schema.Literals(["PUBLIC", "CLIENT_API", "MANAGEMENT", "LOCAL_ONLY", "ALWAYS_PROTECTED"])
export type Tier = typeof Tier.Type

/** Scopes of an access token, weakest first (supplement 3.6). */
export const TokenScope = Schema.Literals(["read", "write", "admin"])
export type TokenScope = typeof TokenScope.Type

export interface AccessRule {
  readonly tier: Tier
  /** What an access token needs at least. */
  readonly token: TokenScope
  /** A management key needs scope `admin`; `manage` is not enough. */
  readonly adminKey: boolean
  /** Neither an access token nor an API key will do, whatever its scope. */
  readonly sessionOnly: boolean
  /** Also open to loopback without any credential while no management password exists. */
  readonly firstRun: boolean
}

export class Access extends Context.Service<Access, AccessRule>()("gateway/api/Access") {}

const rule = (tier: Tier, token: TokenScope, options?: Partial<AccessRule>): AccessRule => ({
  tier, token, adminKey: false, sessionOnly: false, firstRun: false, ...options
})

/** No credential needed. */
export const anyone = rule("PUBLIC", "read")
/** Management, reading. */
export const reads = rule("MANAGEMENT", "read")
/** Management, changing. */
export const writes = rule("MANAGEMENT", "write")
/** Management; a token needs scope admin (provider mutations). */
export const administers = rule("MANAGEMENT", "admin")
/** Management; token and key both need scope admin, because the call can mint stronger credentials. */
export const mints = rule("MANAGEMENT", "admin", { adminKey: true })
/** Management by who signed in, or by the gateway's own command line (management document, Authentication 4: feature flags). */
export const signedIn = rule("MANAGEMENT", "admin", { adminKey: true, sessionOnly: true })
/** Sets the first password from loopback, later management. */
export const setsUp = rule("MANAGEMENT", "admin", { adminKey: true, firstRun: true })
/** Needs a credential even while requireLogin is off. */
export const alwaysProtected = rule("ALWAYS_PROTECTED", "admin")
/** An inference route: the API key's own rules decide (inference document, Authentication). */
export const clientApi = rule("CLIENT_API", "read")
/** A route of the client surface on the management router: the handler admits the API key, or an operator. */
export const bearer = rule("CLIENT_API", "read")
/** Answers this machine only. */
export const loopback = rule("LOCAL_ONLY", "read")
