/** API keys as the hot path sees them: memory first, then the store; negative answers are remembered briefly. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"

export class Keys extends Context.Service<Keys, {
  /** SHA-256 hex of a presented key, constant cost per length. */
  readonly hash: (presented: string) => string
  /** Memory only: the key, null = known to be no key, undefined = ask `find`. */
  readonly peek: (keyHash: string) => ApiKey | null | undefined
  /** A key comes with its issuer, here and from `peek`; a change of the issuer drops both. */
  readonly find: (keyHash: string) => Effect.Effect<ApiKey | null, StoreError>
  /** Notes a use; written to the store at most every five minutes per key. */
  readonly touch: (key: ApiKey) => void
  /** Drops a key from memory after it was changed or removed. */
  readonly forget: (id: string) => void
  /**
   * Calls the listener when a key was changed or removed, here or on another node (null = any key may have been); returns the
   * unsubscribe function.
   */
  readonly onForget: (listener: (id: string | null) => void) => () => void
}>()("gateway/ports/Keys") {}
