/** Responses that clients asked to be kept (`store: true`). */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"

export type Status = "queued" | "in_progress" | "completed" | "incomplete" | "failed" | "cancelled"

/** Times are ms since the epoch. */
export interface StoredResponse {
  readonly id: string
  /** The key that may read it; null for a caller without one. */
  readonly keyId: string | null
  readonly createdAt: number
  readonly expiresAt: number
  /** When the process that makes it last said so; of a finished one when it was finished. */
  readonly updatedAt: number
  readonly status: Status
  /** JSON text: the list of all input items, those of earlier responses included. */
  readonly input: string
  /** JSON text: the response object. */
  readonly response: string
}

export class ResponseStore extends Context.Service<ResponseStore, {
  /** Writes or replaces; one that was cancelled stays so. */
  readonly put: (response: StoredResponse) => Effect.Effect<void, StoreError>
  /** Null also for one that has expired. */
  readonly find: (id: string, now: number) => Effect.Effect<StoredResponse | null, StoreError>
  readonly remove: (id: string) => Effect.Effect<void, StoreError>
  /** Marks one that is being made as cancelled; false when it is not being made any more. */
  readonly cancel: (id: string, response: string, now: number) => Effect.Effect<boolean, StoreError>
  /** Says that these are still being made; answers those of them that were cancelled elsewhere. */
  readonly touch: (ids: ReadonlyArray<string>, now: number) => Effect.Effect<ReadonlyArray<string>, StoreError>
  /** Answers how many went. */
  readonly removeExpired: (now: number) => Effect.Effect<number, StoreError>
}>()("gateway/features/responses/ResponseStore") {}
