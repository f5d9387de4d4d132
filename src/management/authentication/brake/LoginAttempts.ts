/** Attempts to sign in with the password, counted per address over every node of a gateway. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { LoginVerdict } from "#actors/access/LoginBrake.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"

/** An address that may not try until a time, ms since the epoch. */
export interface LockedAddress {
  readonly address: string
  readonly until: number
}

export class LoginAttempts extends Context.Service<LoginAttempts, {
  /** Counts an attempt of an address, or of the network that counts as one, and says whether it may go ahead. */
  readonly begin: (address: string) => Effect.Effect<LoginVerdict, StoreError>
  /** The right password was given: the address is forgotten. */
  readonly succeeded: (address: string) => Effect.Effect<void, StoreError>
  /** Addresses that are locked now; of very many the newest ones. */
  readonly locked: Effect.Effect<ReadonlyArray<LockedAddress>, StoreError>
  /** Ends the lock of an address; false when it has none. */
  readonly unlock: (address: string) => Effect.Effect<boolean, StoreError>
}>()("gateway/ports/LoginAttempts") {}
