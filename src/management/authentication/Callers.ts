/** Finds out who is calling: local command line, Bearer credential, dashboard cookie, or anonymous. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { timingSafeEqual } from "node:crypto"
import { Keys } from "#actors/ports/Keys.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { AccessTokenStore } from "#actors/ports/Stores.ts"
import type { Caller } from "#schemas/api/Management.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import * as InferenceCall from "#src/inference/lane/InferenceCall.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import * as KeyPolicy from "#actors/keys/keyPolicy.ts"
import { LOCAL_TOKEN_HEADER, localToken } from "./localToken.ts"
import * as Origin from "#src/platform/gate/origin.ts"
import { COOKIE, Sessions } from "./Sessions.ts"

export const TOKEN_PREFIX = "gwa_live_"
/** Longest Bearer credential that is looked at, in characters. */
const BEARER_MAX = 1024
/** lastUsedAt of an access token is written at most this often (ms). */
const TOUCH_EVERY_MS = 5 * 60_000

export interface Identified {
  readonly caller: Caller
  /** A Bearer was sent, and nothing management accepts. */
  readonly refusedBearer: boolean
  readonly renewedCookie: string | null
}

export interface Presented extends Origin.Head {
  readonly cookies: Readonly<Record<string, string | undefined>>
}

/** In whose name the gateway asks its own management API, inside one process; no request over a socket can set it. */
export const ActingCaller: Context.Reference<Caller | null> = Context.Reference<Caller | null>("gateway/http/ActingCaller", { defaultValue: () => null })

export class Callers extends Context.Service<Callers, {
  readonly identify: (presented: Presented) => Effect.Effect<Identified, StoreError>
}>()("gateway/http/Callers") {}

/** True when an API key came with the call, by whatever header or query parameter a client may send one. */
export const keyIn = ({ headers }: Presented, query: string): boolean =>
  InferenceCall.presentedKey({ query, header: (name) => headers[name], remoteAddress: "" }) !== null

const manages = (key: ApiKey): "admin" | "manage" | null =>
  key.policy.scopes.includes("admin") ? "admin" : key.policy.scopes.includes("manage") ? "manage" : null

const sameText = (left: string, right: string): boolean => {
  const a = Buffer.from(left)
  const b = Buffer.from(right)
  return a.length === b.length && timingSafeEqual(a, b)
}

const bearerOf = (header: string | undefined): string | null => {
  const match = header === undefined ? null : /^bearer +(\S+) *$/i.exec(header)
  return match === null ? null : match[1] as string
}

const anonymous: Caller = { kind: "anonymous" }

export const make = Effect.gen(function*() {
  const keys = yield* Keys
  const tokens = yield* AccessTokenStore
  const sessions = yield* Sessions
  const secrets = yield* Secrets
  const { machineId } = yield* ManagementOptions
  const local = localToken(secrets, machineId)

  const byToken = Effect.fnUntraced(function*(bearer: string, now: number) {
    const token = yield* tokens.findByHash(keys.hash(bearer))
    if (token === null || (token.expiresAt !== null && Date.parse(token.expiresAt) <= now)) return null
    if (token.lastUsedAt === null || now - Date.parse(token.lastUsedAt) >= TOUCH_EVERY_MS) {
      yield* tokens.touch(token.id, new Date(now).toISOString())
    }
    return { kind: "token", token } as const
  })

  const byKey = Effect.fnUntraced(function*(bearer: string, presented: Presented, now: number) {
    const hash = keys.hash(bearer)
    const known = keys.peek(hash)
    const key = known === undefined ? yield* keys.find(hash) : known
    const level = key === null ? null : manages(key)
    if (key === null || level === null) return null
    const peer = { remoteAddress: presented.remoteAddress ?? "" }
    // Management costs nothing: limits of an issuer do not stand in the way.
    const refused = KeyPolicy.admit(key, "management", peer, now) ??
      (key.issuerId === null ? null : KeyPolicy.admitIssued({ key: key.issuer ?? null, isLimited: false }, "management", peer, now))
    if (refused !== null) return null
    keys.touch(key)
    return { kind: "key", key, admin: level === "admin" } as const
  })

  return Callers.of({
    identify: Effect.fnUntraced(function*(presented) {
      const sent = presented.headers[LOCAL_TOKEN_HEADER]
      if (sent !== undefined && Origin.isLoopback(presented) && sameText(sent, local)) {
        return { caller: { kind: "local" }, refusedBearer: false, renewedCookie: null } as const
      }
      const bearer = bearerOf(presented.headers["authorization"])
      if (bearer !== null && bearer.length <= BEARER_MAX) {
        const now = yield* Clock.currentTimeMillis
        const caller: Caller | null = bearer.startsWith(TOKEN_PREFIX) ? yield* byToken(bearer, now) : yield* byKey(bearer, presented, now)
        if (caller !== null) return { caller, refusedBearer: false, renewedCookie: null }
      }
      const cookie = presented.cookies[COOKIE]
      const session = cookie === undefined ? null : yield* sessions.find(cookie)
      return session === null
        ? { caller: anonymous, refusedBearer: bearer !== null, renewedCookie: null }
        : {
          caller: { kind: "session", sessionId: session.sessionId, ...(session.subject === null ? {} : { subject: session.subject }) } as const,
          refusedBearer: false,
          renewedCookie: session.renewed
        }
    })
  })
})

export const layer = Layer.effect(Callers, make)
