/**
 * Whether a password attempt is allowed now: attempts are counted over all nodes, and by this node alone when the shared store is
 * unavailable. A success resets the address.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import type { LoginVerdict } from "#actors/access/LoginBrake.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { type LockedAddress, LoginAttempts } from "./LoginAttempts.ts"
import * as MemoryLoginAttempts from "./MemoryLoginAttempts.ts"

/** Password hashes computed at once: scrypt takes 32 MiB and a core each. */
const PARALLEL_HASHES = 2

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
  readonly begin: (ip: string | null) => Effect.Effect<LoginVerdict>
  readonly succeeded: (ip: string | null) => Effect.Effect<void>
  /** Addresses that are locked now, over all nodes; those that this node knows of when the others cannot be asked. */
  readonly locked: Effect.Effect<ReadonlyArray<LockedAddress>>
  /** Ends the lock of an address as `locked` spells it; false when it has none. */
  readonly unlock: (address: string) => Effect.Effect<boolean, StoreError>
  /** Bounds the hashes computed at once. */
  readonly hashing: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E, R>
}>()("gateway/http/LoginGuard") {}

export const make = Effect.gen(function*() {
  const shared = yield* LoginAttempts
  const own = yield* MemoryLoginAttempts.make
  const slots = yield* Semaphore.make(PARALLEL_HASHES)
  return LoginGuard.of({
    // Counted here, too: the node need not begin at nothing when the others go away.
    begin: (ip) => Effect.flatMap(own.begin(bucketOf(ip)), (alone) => shared.begin(bucketOf(ip)).pipe(Effect.catch(() => Effect.succeed(alone)))),
    succeeded: (ip) => Effect.andThen(own.succeeded(bucketOf(ip)), Effect.ignore(shared.succeeded(bucketOf(ip)))),
    locked: shared.locked.pipe(Effect.catch(() => own.locked)),
    unlock: (address) => Effect.zipWith(own.unlock(address), shared.unlock(address), (here, everywhere) => here || everywhere),
    hashing: (effect) => slots.withPermits(1)(effect)
  })
})

export const layer: Layer.Layer<LoginGuard, never, LoginAttempts> = Layer.effect(LoginGuard, make)
