/**
 * Which callers may use a route. Every endpoint carries one rule as an annotation; the route table is generated from them. An
 * endpoint without a rule refuses every caller and fails a test.
 */
import * as Context from "effect/Context"
import * as Schema from "effect/Schema"

export const Tier = Schema.Literals(["PUBLIC", "CLIENT_API", "MANAGEMENT", "LOCAL_ONLY", "ALWAYS_PROTECTED"])
export type Tier = typeof Tier.Type

/** Scopes of an access token, weakest first. */
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
  /** An API key without management rights may call, from other machines too; its handler finds out what it may do. */
  readonly clientKey: boolean
}

export class Access extends Context.Service<Access, AccessRule>()("gateway/api/Access") {}

/** Another party's server writes the query and may add parameters: unknown ones are not refused. */
export class ForeignQuery extends Context.Service<ForeignQuery, boolean>()("gateway/api/ForeignQuery") {}

/** Its clients read JSON-RPC frames: refusals have that form, too. */
export class FrameErrors extends Context.Service<FrameErrors, boolean>()("gateway/api/FrameErrors") {}

const rule = (tier: Tier, token: TokenScope, options?: Partial<AccessRule>): AccessRule => ({
  tier, token, adminKey: false, sessionOnly: false, firstRun: false, clientKey: false, ...options
})

/** No credential needed. */
export const anyone = rule("PUBLIC", "read")
/** Management, reading. */
export const reads = rule("MANAGEMENT", "read")
/** Management, changing. */
export const writes = rule("MANAGEMENT", "write")
/** Management; a token needs scope admin (provider mutations). */
export const administers = rule("MANAGEMENT", "admin")
/** Mints, widens or shows a credential of the gateway. Else anonymous callers under requireLogin=false could keep access for good. */
export const grants = rule("ALWAYS_PROTECTED", "write")
/** As `grants`; token and key both need scope admin, because the call can mint stronger credentials. */
export const mints = rule("ALWAYS_PROTECTED", "admin", { adminKey: true })
/** By a signed-in session, or by the gateway's own command line: feature flags. */
export const signedIn = rule("ALWAYS_PROTECTED", "admin", { adminKey: true, sessionOnly: true })
/** Sets the first password from loopback, later an authentication setting. */
export const setsUp = rule("ALWAYS_PROTECTED", "admin", { adminKey: true, firstRun: true })
/** Needs a credential even while requireLogin is off. */
export const alwaysProtected = rule("ALWAYS_PROTECTED", "admin")
/** Ends or throttles the whole gateway: needs scope admin, even while requireLogin is off. */
export const governs = rule("ALWAYS_PROTECTED", "admin", { adminKey: true })
/** An inference route: the API key's own rules decide. */
export const clientApi = rule("CLIENT_API", "read")
/** A reading route of the client surface on the management router: the handler admits the API key, or an operator. */
export const bearer = rule("CLIENT_API", "read")
/** The same for one that changes something: every API key may by its own rights, an access token from scope write on. */
export const bearerWrites = rule("CLIENT_API", "write")
/** Answers this machine only. */
export const loopback = rule("LOCAL_ONLY", "read")
/** The same, and callers of other machines with an API key whose scopes the handler checks. */
export const loopbackOrKey = rule("LOCAL_ONLY", "write", { clientKey: true })
