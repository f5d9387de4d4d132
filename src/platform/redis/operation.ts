/** How every record store over Redis asks it: failures are `StoreError`. The deadline is `RedisStore`'s. */
import * as Effect from "effect/Effect"
import { StoreError } from "#actors/ports/StoreError.ts"
import type { SharedStoreDown } from "./RedisStore.ts"

/** Runs an effect as the named operation of a store. */
export type RunOperation = <A>(operation: string, effect: Effect.Effect<A, SharedStoreDown>) => Effect.Effect<A, StoreError>

/** Builds the runner of one store. */
export const make = (store: string): RunOperation => (operation, effect) =>
  Effect.mapError(effect, ({ message }) => new StoreError({ store, operation, reason: "unavailable", message }))
