/** Attempts to sign in that this process has seen: bounded, the address that was seen longest ago is dropped first. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as LoginBrake from "#actors/access/LoginBrake.ts"
import { type LockedAddress, LoginAttempts } from "./LoginAttempts.ts"

const ADDRESSES_MAX = 10_000

export const make = Effect.map(Clock.Clock, (clock) => {
  const known = new Map<string, LoginBrake.State>()
  return {
    begin: (address: string): Effect.Effect<LoginBrake.LoginVerdict> => Effect.sync(() => {
      const result = LoginBrake.attempt(known.get(address), clock.currentTimeMillisUnsafe())
      known.delete(address)
      if (known.size >= ADDRESSES_MAX) known.delete(known.keys().next().value as string)
      known.set(address, result.state)
      return result
    }),
    succeeded: (address: string): Effect.Effect<void> => Effect.sync(() => {
      known.delete(address)
    }),
    locked: Effect.sync(() => {
      const now = clock.currentTimeMillisUnsafe()
      return Array.from(known, ([address, { lockedUntil }]): LockedAddress => ({ address, until: lockedUntil })).filter(({ until }) => until > now)
    }),
    unlock: (address: string): Effect.Effect<boolean> => Effect.sync(() => {
      const state = known.get(address)
      return state !== undefined && state.lockedUntil > clock.currentTimeMillisUnsafe() && known.delete(address)
    })
  }
})

export const layer: Layer.Layer<LoginAttempts> = Layer.effect(LoginAttempts, make)
