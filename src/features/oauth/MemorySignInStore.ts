/** Sign-ins in progress of one process: bounded, the oldest goes first. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SignInStore } from "#src/features/oauth/ports/SignInStore.ts"

/** Sign-ins that may be in progress at once. */
const ENTRIES_MAX = 256

interface Held {
  sealed: string
  /** ms since the epoch. */
  readonly until: number
  turnAt: number
}

export const make = Effect.map(Clock.Clock, (clock) => {
  const entries = new Map<string, Held>()
  const now = (): number => clock.currentTimeMillisUnsafe()
  const live = (id: string): Held | null => {
    const held = entries.get(id)
    return held === undefined || held.until <= now() ? null : held
  }
  return SignInStore.of({
    add: (id, sealed, lifeMs, restMs) => Effect.sync(() => {
      for (const [known, { until }] of entries) if (until <= now()) entries.delete(known)
      while (entries.size >= ENTRIES_MAX) entries.delete(entries.keys().next().value as string)
      entries.set(id, { sealed, until: now() + lifeMs, turnAt: now() + restMs })
    }),
    find: (id) => Effect.sync(() => live(id)?.sealed ?? null),
    take: (id) => Effect.sync(() => {
      const held = live(id)
      entries.delete(id)
      return held?.sealed ?? null
    }),
    turn: (id, ms) => Effect.sync(() => {
      const held = live(id)
      if (held === null || now() < held.turnAt) return false
      held.turnAt = now() + ms
      return true
    }),
    rest: (id, sealed, ms) => Effect.sync(() => {
      const held = live(id)
      if (held === null) return
      held.sealed = sealed
      held.turnAt = now() + ms
    })
  })
})

export const layer: Layer.Layer<SignInStore> = Layer.effect(SignInStore, make)
