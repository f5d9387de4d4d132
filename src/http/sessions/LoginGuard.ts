/**
 * Brute-force brake of the password: 5 failures in 15 minutes per address lock it for 15 minutes (supplement 17).
 * An attempt counts when it begins, so that parallel guesses cannot pass; a success forgets the address.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"

export const ATTEMPTS_MAX = 5
export const WINDOW_MS = 15 * 60_000
export const LOCK_MS = 15 * 60_000
/** Addresses remembered; the one that was heard of longest ago goes first. */
const ADDRESSES_MAX = 10_000
/** Password hashes computed at once: scrypt takes 16 MiB and a core each. */
const PARALLEL_HASHES = 2

export interface Attempts {
  /** Begin of the window, ms. */
  readonly since: number
  readonly count: number
  /** 0 = not locked. */
  readonly lockedUntil: number
  /** An attempt was refused in this lock already: the audit log needs one line, not one per guess. */
  readonly told: boolean
}

export interface Verdict {
  /** 0 = go ahead. */
  readonly waitMs: number
  /** The first refusal of this lock. */
  readonly first: boolean
}

/** Pure: the state after one more attempt, and how long the address has to wait. */
export const attempt = (state: Attempts | undefined, now: number): Verdict & { readonly state: Attempts } => {
  if (state !== undefined && state.lockedUntil > now) {
    return { waitMs: state.lockedUntil - now, first: !state.told, state: { ...state, told: true } }
  }
  const fresh = state === undefined || state.lockedUntil !== 0 || now - state.since >= WINDOW_MS
  const count = fresh ? 1 : state.count + 1
  return {
    waitMs: 0,
    first: false,
    state: { since: fresh ? now : state.since, count, lockedUntil: count >= ATTEMPTS_MAX ? now + LOCK_MS : 0, told: false }
  }
}

/** IPv6 clients own whole /64 networks: they share one count. */
export const bucketOf = (ip: string | null): string => {
  if (ip === null || !ip.includes(":") || ip.includes(".")) return ip ?? "unknown"
  const groupsOf = (part: string) => part.split(":").filter((group) => group !== "")
  const [head = "", tail] = ip.split("::")
  const before = groupsOf(head)
  const after = tail === undefined ? [] : groupsOf(tail)
  const between = tail === undefined ? [] : Array.from({ length: Math.max(0, 8 - before.length - after.length) }, () => "0")
  return [...before, ...between, ...after].slice(0, 4).join(":")
}

export class LoginGuard extends Context.Service<LoginGuard, {
  /** Counts an attempt and says whether it may go ahead. */
  readonly begin: (ip: string | null) => Effect.Effect<Verdict>
  readonly succeeded: (ip: string | null) => Effect.Effect<void>
  /** Bounds the hashes computed at once. */
  readonly hashing: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>()("gateway/http/LoginGuard") {}

export const make = Effect.gen(function*() {
  const known = new Map<string, Attempts>()
  const slots = yield* Semaphore.make(PARALLEL_HASHES)
  return LoginGuard.of({
    begin: (ip) => Effect.map(Clock.currentTimeMillis, (now) => {
      const bucket = bucketOf(ip)
      const result = attempt(known.get(bucket), now)
      known.delete(bucket)
      if (known.size >= ADDRESSES_MAX) known.delete(known.keys().next().value as string)
      known.set(bucket, result.state)
      return result
    }),
    succeeded: (ip) => Effect.sync(() => {
      known.delete(bucketOf(ip))
    }),
    hashing: (effect) => slots.withPermits(1)(effect)
  })
})

export const layer: Layer.Layer<LoginGuard> = Layer.effect(LoginGuard, make)
