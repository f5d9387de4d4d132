/** Claims of idempotent requests in this process: what several stages of one process share, and the double of the Redis store. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { IdempotencyStore, type KeptReply } from "#src/features/cache/ports/Idempotency.ts"

interface Held {
  readonly digest: string
  readonly owner: string
  readonly reply: KeptReply | null
  /** ms since the epoch. */
  readonly until: number
}

export const make = Effect.map(Clock.Clock, (clock) => {
  const claims = new Map<string, Held>()
  const now = (): number => clock.currentTimeMillisUnsafe()
  const live = (key: string): Held | null => {
    const held = claims.get(key)
    return held === undefined || held.until <= now() ? null : held
  }
  const owned = (key: string, owner: string, then: (held: Held) => void): boolean => {
    const held = live(key)
    if (held === null || held.owner !== owner) return false
    then(held)
    return true
  }
  return IdempotencyStore.of({
    claim: (key, digest, owner, leaseMs) => Effect.sync(() => {
      const held = live(key)
      if (held === null) {
        claims.set(key, { digest, owner, reply: null, until: now() + leaseMs })
        return { _tag: "Mine" }
      }
      if (held.digest !== digest) return { _tag: "Reused" }
      if (held.reply !== null) return { _tag: "Finished", reply: held.reply }
      return held.owner === owner ? { _tag: "Mine" } : { _tag: "Running" }
    }),
    renew: (key, owner, leaseMs) => Effect.sync(() => owned(key, owner, (held) => claims.set(key, { ...held, until: now() + leaseMs }))),
    finish: (key, owner, reply, windowMs) => Effect.sync(() => owned(key, owner, (held) => claims.set(key, { ...held, reply, until: now() + windowMs }))),
    abandon: (key, owner) => Effect.sync(() => {
      owned(key, owner, () => claims.delete(key))
    })
  })
})

export const layer: Layer.Layer<IdempotencyStore> = Layer.effect(IdempotencyStore, make)
