/**
 * The synchronous prelude that every inference endpoint shares: request id, session tag, key, policy.
 *
 * It answers at once when the key is in memory, which is always but the first time; only an unknown key asks the store.
 */
import * as Effect from "effect/Effect"
import type { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import type { Keys } from "#actors/ports/Keys.ts"
import type { Limits } from "#actors/limits/ports/Limits.ts"
import type { Flags } from "#actors/ports/Flags.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { RequestTags } from "./gatewayHeaders.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey, EndpointName } from "#schemas/records/ApiKey.ts"
import type { Addresses } from "#src/platform/gate/addresses.ts"
import type { Pages } from "#src/platform/gate/pages.ts"
import type { ActsAs } from "#src/platform/server/Exchange.ts"
import * as Issuers from "./issuers.ts"
import * as KeyPolicy from "#actors/keys/keyPolicy.ts"

/** The head of a request, as far as admission reads it; the front end's Exchange has this shape. */
export interface CallHead {
  readonly query: string
  /** Set by the gateway itself for work that a client left with it; no head that came over a socket has it. */
  readonly actsAs?: ActsAs | undefined
  readonly header: (lowerCaseName: string) => string | undefined
  readonly remoteAddress: string
}

export interface AdmissionServices {
  /** Whether this node may act on what it knows. */
  readonly feed: Pick<ChangeFeed["Service"], "isBehind" | "caughtUp">
  readonly keys: Keys["Service"]
  /** Whether amounts or rates limit a key: asked of the issuers of issued keys only. */
  readonly limits: Pick<Limits["Service"], "of">
  readonly flags: Flags["Service"]
  readonly pages: Pick<Pages, "refusal">
  /** Answers requests of addresses that are not served. */
  readonly addresses: Pick<Addresses, "guard">
  /** SHA-256 of permanent keys from the environment, with the key each stands for. */
  readonly environmentKeys: ReadonlyMap<string, ApiKey>
  readonly now: () => number
  readonly makeRequestId: () => string
  /** Notes which device used a key (GET /api/keys/{id}/devices); called for every admitted call, so it must be cheap. `at`: ms since the epoch. */
  readonly seen: (key: ApiKey, head: CallHead, at: number) => void
  /** Runs a store look-up off the synchronous path. */
  readonly runLookup: (lookup: Effect.Effect<ApiKey | null, StoreError>, done: (key: ApiKey | null | StoreError) => void) => void
}

const wellFormedId = /^[\w.:-]{1,128}$/
const printable = /^[\x20-\x7e]{1,256}$/

const told = (value: string | undefined): string | null => value !== undefined && printable.test(value) ? value : null

/** Correlation id (the client's X-Request-Id when it is well formed), the session tag and the session. */
export const tagsOf = (head: CallHead, services: AdmissionServices): RequestTags => {
  const given = head.header("x-request-id")
  return {
    requestId: given !== undefined && wellFormedId.test(given) ? given : services.makeRequestId(),
    sessionTag: told(head.header("x-gateway-session-id")),
    session: told(head.header("x-session-id") ?? head.header("x_session_id"))
  }
}

const queryNames = ["token", "apiKey", "api_key", "key"]

/** The presented key: Authorization: Bearer, x-api-key or x-goog-api-key, else a query parameter. */
export const presentedKey = (head: CallHead): string | null => {
  const authorization = head.header("authorization")
  if (authorization !== undefined) {
    return authorization.length > 7 && authorization.slice(0, 7).toLowerCase() === "bearer " ? authorization.slice(7).trim() : ""
  }
  const named = head.header("x-api-key") ?? head.header("x-goog-api-key")
  if (named !== undefined) return named
  if (head.query === "") return null
  const query = new URLSearchParams(head.query)
  for (const name of queryNames) {
    const value = query.get(name)
    if (value !== null) return value
  }
  return null
}

const invalidKey = () => Errors.make("invalid_api_key", "The API key is not valid. Create one with POST /api/keys and send it as 'Authorization: Bearer <key>'.")

/** The key that may ask (null = anonymous), or the refusal. */
export type Decision = ApiKey | null | PublicError

/** Calls `done` with the decision; at once unless the key, or whatever changed, must be looked up. */
export const admit = (head: CallHead, endpoint: EndpointName, services: AdmissionServices, done: (decision: Decision) => void): void => {
  const decision = decideNow(head, endpoint, services)
  if (decision !== undefined) done(decision)
  // This process stood still: a key, a flag or a route may have changed meanwhile.
  else if (services.feed.isBehind()) services.runLookup(Effect.as(services.feed.caughtUp, null), () => decideSoon(head, endpoint, services, done))
  else decideSoon(head, endpoint, services, done)
}

/** The decision where nothing has to be looked up, as for most requests; else undefined. */
export const decideNow = (head: CallHead, endpoint: EndpointName, services: AdmissionServices): Decision | undefined => {
  if (services.feed.isBehind()) return undefined
  const hash = hashOf(head, services)
  return typeof hash === "string" ? ofHash(hash, head, endpoint, services) : hash
}

const decideSoon: typeof admit = (head, endpoint, services, done) => {
  const hash = hashOf(head, services)
  if (typeof hash !== "string") return done(hash)
  const decision = ofHash(hash, head, endpoint, services)
  if (decision !== undefined) done(decision)
  else lookUp(hash, head, endpoint, services, done)
}

/** The hash of the key that is presented, or the decision without one. */
const hashOf = (head: CallHead, services: AdmissionServices): string | null | PublicError => {
  const { actsAs } = head
  if (actsAs !== undefined) return actsAs.keyHash
  const presented = presentedKey(head)
  if (presented === null) {
    return services.flags.isOn("REQUIRE_API_KEY")
      ? Errors.make("invalid_api_key", "An API key is required: send 'Authorization: Bearer <key>'.")
      : pageRefusal(head, services)
  }
  return presented === "" || presented.length > 512 ? invalidKey() : services.keys.hash(presented)
}

const pageRefusal = (head: CallHead, { pages }: AdmissionServices): PublicError | null => pages.refusal((name) => head.header(name))

/** Undefined when the key must be looked up. */
const ofHash = (hash: string, head: CallHead, endpoint: EndpointName, services: AdmissionServices): Decision | undefined => {
  const permanent = services.environmentKeys.get(hash)
  if (permanent !== undefined) return permanent
  const known = services.keys.peek(hash)
  return known === undefined ? undefined : decided(known, head, endpoint, services)
}

const lookUp = (hash: string, head: CallHead, endpoint: EndpointName, services: AdmissionServices, done: (decision: Decision) => void): void => services.runLookup(services.keys.find(hash), (found) => {
  if (found !== null && "_tag" in found) {
    // The key store cannot be read: fail closed.
    done(Errors.make("service_unavailable", "The key store cannot be read at the moment.", { retryAfterSeconds: 1 }))
  } else done(decided(found, head, endpoint, services))
})

/** The key, or why it may not be used here. */
const decided = (key: ApiKey | null, head: CallHead, endpoint: EndpointName, services: AdmissionServices): ApiKey | PublicError => {
  if (key === null) return invalidKey()
  const at = services.now()
  const refusal = KeyPolicy.admit(key, endpoint, head, at) ??
    (key.issuerId === null ? null : KeyPolicy.admitIssued(Issuers.of(key, services.limits), endpoint, head, at))
  if (refusal !== null) return refusal
  services.keys.touch(key)
  if (head.actsAs === undefined) services.seen(key, head, at)
  return key
}
