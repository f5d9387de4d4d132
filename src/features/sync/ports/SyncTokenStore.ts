import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { SyncToken } from "./SyncToken.ts"

/** Records of sync tokens, by hash. A revoked one keeps its record. */
export class SyncTokenStore extends Context.Service<SyncTokenStore, {
  readonly findByHash: (tokenHash: string) => Effect.Effect<SyncToken | null, StoreError>
  /** Newest first. */
  readonly list: Effect.Effect<ReadonlyArray<SyncToken>, StoreError>
  readonly insert: (token: SyncToken) => Effect.Effect<void, StoreError>
  /** Of a token that is not revoked. */
  readonly touch: (id: string, lastUsedAt: string) => Effect.Effect<void, StoreError>
  /** `none`: there is no such token; `before`: it was revoked already, and its time stays. */
  readonly revoke: (id: string, revokedAt: string) => Effect.Effect<"revoked" | "before" | "none", StoreError>
  /** Removes the oldest revoked ones above `most` revoked tokens; answers how many. */
  readonly trimRevoked: (most: number) => Effect.Effect<number, StoreError>
}>()("gateway/sync/SyncTokenStore") {}
