/** Sign-ins that have begun and are not finished, as every node of a gateway sees them: short-lived, each handed out once. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"

/** `id` tells nothing and `sealed` cannot be read without the master key: what is kept here may lie on another machine. */
export class SignInStore extends Context.Service<SignInStore, {
  /** Keeps one for `lifeMs`; its first turn is in `restMs`. */
  readonly add: (id: string, sealed: string, lifeMs: number, restMs: number) => Effect.Effect<void, StoreError>
  /** Null: never begun, taken, or its time is over. */
  readonly find: (id: string) => Effect.Effect<string | null, StoreError>
  /** Takes it; of many concurrent callers one gets it. */
  readonly take: (id: string) => Effect.Effect<string | null, StoreError>
  /** The turn to ask the vendor, for `ms`: one caller at a time has it, and none before its time. */
  readonly turn: (id: string, ms: number) => Effect.Effect<boolean, StoreError>
  /** Ends the turn: `sealed` is kept from now on, the next turn is in `ms`. Nothing comes back that was taken meanwhile. */
  readonly rest: (id: string, sealed: string, ms: number) => Effect.Effect<void, StoreError>
}>()("gateway/ports/SignInStore") {}
