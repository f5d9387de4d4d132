/**
 * Dashboard sessions: the auth_token cookie holds a JWT (HS256, 30 days) whose id names a server-side record, so that a
 * sign-out ends it everywhere.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { jwtVerify, SignJWT } from "jose"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { SessionStore } from "#actors/ports/Stores.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import * as SingleSignOn from "./singleSignOn.ts"

export const COOKIE = "auth_token"
export const LIFETIME_MS = 30 * 86_400_000
/** A session with less time left is renewed. */
export const RENEW_BELOW_MS = 7 * 86_400_000
/** Longest cookie that is looked at, in characters. */
const TOKEN_MAX = 2048

export interface OpenedSession {
  readonly sessionId: string
  /** Value of its cookie. */
  readonly cookie: string
}

export interface FoundSession {
  readonly sessionId: string
  /** A fresh cookie value to hand out, when the old one ends soon. */
  readonly renewed: string | null
  /** Who signed in by single sign-on; null = the password did. */
  readonly subject: string | null
}

export class Sessions extends Context.Service<Sessions, {
  /** `identity`: who single sign-on says it is; null for the password. */
  readonly open: (ip: string | null, identity: SingleSignOn.Identity | null) => Effect.Effect<OpenedSession, StoreError>
  /** Null for anything that is not a live session of this gateway, or belongs to a subject that single sign-on no longer admits. */
  readonly find: (token: string) => Effect.Effect<FoundSession | null, StoreError>
  readonly revoke: (sessionId: string) => Effect.Effect<void, StoreError>
  /** Ends every session but `kept`; answers how many. */
  readonly endOthers: (kept: string | null) => Effect.Effect<number, StoreError>
}>()("gateway/http/Sessions") {}

export const make = Effect.gen(function*() {
  const store = yield* SessionStore
  const secrets = yield* Secrets
  const random = yield* SecureRandom.SecureRandom
  const configuration = yield* Configuration
  const { jwtSecret } = yield* ManagementOptions
  const key = new TextEncoder().encode(jwtSecret === null ? secrets.mac("jwt", "auth_token") : Redacted.value(jwtSecret))

  const sign = (id: string, now: number) => Effect.promise(() =>
    new SignJWT({ authenticated: true })
      .setProtectedHeader({ alg: "HS256" })
      .setJti(id)
      .setIssuedAt(Math.floor(now / 1000))
      .setExpirationTime(Math.floor((now + LIFETIME_MS) / 1000))
      .sign(key))

  /** Session id and end (ms) of a token whose signature, algorithm, times and claim hold. */
  const read = (token: string, now: number) => Effect.promise(async () => {
    try {
      const { payload } = await jwtVerify(token, key, { algorithms: ["HS256"], currentDate: new Date(now), requiredClaims: ["exp", "jti"] })
      if (payload["authenticated"] !== true || payload.jti === undefined || payload.exp === undefined) return null
      return { id: payload.jti, endsAt: payload.exp * 1000 }
    } catch {
      return null
    }
  })

  return Sessions.of({
    open: Effect.fn("Sessions.open")(function*(ip, identity) {
      const now = yield* Clock.currentTimeMillis
      const id = yield* random.uuidV4()
      yield* store.insert({ id, createdAt: now, expiresAt: now + LIFETIME_MS, revokedAt: null, ipAddress: ip, issuer: identity?.issuer ?? null, subject: identity?.subject ?? null })
      return { sessionId: id, cookie: yield* sign(id, now) }
    }),
    find: Effect.fnUntraced(function*(token) {
      if (token.length === 0 || token.length > TOKEN_MAX) return null
      const now = yield* Clock.currentTimeMillis
      const claim = yield* read(token, now)
      if (claim === null) return null
      const { endsAt, id } = claim
      const session = yield* store.get(id)
      if (session === null || session.revokedAt !== null || session.expiresAt <= now) return null
      const { issuer, subject } = session
      // Asked for each call: who is taken out of the list is out at once, on every node.
      if (subject !== null && !SingleSignOn.admits(configuration.current().settings, { issuer: issuer ?? "", subject })) return null
      if (endsAt - now >= RENEW_BELOW_MS) return { sessionId: id, renewed: null, subject }
      yield* store.extend(id, now + LIFETIME_MS)
      return { sessionId: id, renewed: yield* sign(id, now), subject }
    }),
    endOthers: Effect.fn("Sessions.endOthers")(function*(kept) {
      return yield* store.revokeOthers(kept, yield* Clock.currentTimeMillis)
    }),
    revoke: Effect.fn("Sessions.revoke")(function*(sessionId) {
      yield* store.revoke(sessionId, yield* Clock.currentTimeMillis)
    })
  })
})

export const layer = Layer.effect(Sessions, make)
