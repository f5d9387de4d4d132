/**
 * A sign-in that has begun: sealed in a cookie of the browser that began it. No node keeps it, so any node can finish it, and callers
 * without a credential fill no memory. It is used once, because the issuer takes its code once.
 */
import * as Option from "effect/Option"
import * as Redacted from "effect/Redacted"
import * as Schema from "effect/Schema"
import type { Secrets } from "#actors/ports/Secrets.ts"

export const COOKIE = "oidc_state"
/** A sign-in is finished within this time, ms. */
export const LIFE_MS = 600_000
/** Longest cookie that is looked at, characters. */
const SEALED_MAX = 4_096
const CONTEXT = "oidc:state"

export const Pending = Schema.Struct({
  state: Schema.String,
  nonce: Schema.String,
  /** Of PKCE (RFC 7636). */
  verifier: Schema.String,
  issuer: Schema.String,
  clientId: Schema.String,
  returnTo: Schema.String,
  /** ms since the epoch. */
  expiresAt: Schema.Finite
})
export interface Pending extends Schema.Schema.Type<typeof Pending> {}

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Pending))

export const seal = (secrets: Secrets["Service"], pending: Pending): string => secrets.seal(Redacted.make(JSON.stringify(pending)), CONTEXT)

/** Null for anything that this gateway did not seal, and for a sign-in whose time is over. `now`: ms since the epoch. */
export const open = (secrets: Secrets["Service"], sealed: string | undefined, now: number): Pending | null => {
  if (sealed === undefined || sealed.length > SEALED_MAX) return null
  try {
    const pending = Option.getOrNull(decode(Redacted.value(secrets.openUnsafe(sealed, CONTEXT))))
    return pending === null || pending.expiresAt <= now ? null : pending
  } catch {
    return null
  }
}
