/** The one middleware of the management API: route exactness, caller, rights, body bounds, and every error body. */
import * as Context from "effect/Context"
import * as HttpApiMiddleware from "effect/http-api/HttpApiMiddleware"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { AccessToken } from "#schemas/records/Session.ts"
import { errorResponses } from "#schemas/api/Refusal.ts"

/**
 * Who is calling. `open` = an unidentified caller while requireLogin is off; `local` = the command line on this machine;
 * `anonymous` only reaches PUBLIC routes and the first-run setup.
 */
export type Caller =
  | { readonly kind: "session"; readonly sessionId: string; /** Who signed in by single sign-on. */ readonly subject?: string }
  | { readonly kind: "key"; readonly key: ApiKey; readonly admin: boolean }
  | { readonly kind: "token"; readonly token: AccessToken }
  | { readonly kind: "local"; /** The configuration file that it applies. */ readonly file?: string }
  | { readonly kind: "open" }
  | { readonly kind: "anonymous" }

export interface CallFacts {
  readonly requestId: string
  readonly caller: Caller
  /** Textual client address; null when the transport knows none. */
  readonly ip: string | null
  /** The peer sits on this machine and no proxy stands between. */
  readonly loopback: boolean
  /** Set the Secure attribute on cookies of this reply. */
  readonly secure: boolean
  readonly userAgent: string | null
}

/** The call that is being served; provided to every management handler. */
export class ManagementCall extends Context.Service<ManagementCall, CallFacts>()("gateway/api/ManagementCall") {}

export class Management extends HttpApiMiddleware.Service<Management, { provides: ManagementCall }>()("gateway/api/Management", {
  error: errorResponses
}) {}
