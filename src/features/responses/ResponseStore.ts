/** Responses that clients asked to be kept (`store: true`), and those that are made in the background. */
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
  /** How many processes began to make it so far. Only the newest one may finish it. */
  readonly run: number
}

/** One that is made in the background, with what it is made of. */
export interface BackgroundResponse extends StoredResponse {
  /** JSON text of a `BackgroundRequest`; null when nothing is known of it. */
  readonly request: string | null
}

/** A run of a response: another process may have begun a newer one. */
export type Run = Pick<StoredResponse, "id" | "run">

export class ResponseStore extends Context.Service<ResponseStore, {
  /** Writes or replaces a finished one. */
  readonly put: (response: StoredResponse) => Effect.Effect<void, StoreError>
  /** Writes one that is going to be made. */
  readonly begin: (response: BackgroundResponse) => Effect.Effect<void, StoreError>
  /** The end of one that is being made; false when it was cancelled or deleted, or a newer run makes it. */
  readonly finish: (response: StoredResponse) => Effect.Effect<boolean, StoreError>
  /** Null also for one that has expired. */
  readonly find: (id: string, now: number) => Effect.Effect<StoredResponse | null, StoreError>
  readonly remove: (id: string) => Effect.Effect<void, StoreError>
  /** Marks one that is being made as cancelled; false when it is not being made any more. */
  readonly cancel: (id: string, response: string, now: number) => Effect.Effect<boolean, StoreError>
  /** Says that these are still being made; answers the ids of those that are not to be made here any more. */
  readonly touch: (runs: ReadonlyArray<Run>, now: number) => Effect.Effect<ReadonlyArray<string>, StoreError>
  /** Begins a newer run of those that nothing was said of since `silentSince`, the longest silent first. No other caller gets the same ones. */
  readonly takeOver: (options: { readonly silentSince: number; readonly now: number; readonly limit: number }) => Effect.Effect<ReadonlyArray<BackgroundResponse>, StoreError>
  /** Says that a run is over without an end: any process may take it over at once. */
  readonly leave: (run: Run) => Effect.Effect<void, StoreError>
  /** Answers how many went. */
  readonly removeExpired: (now: number) => Effect.Effect<number, StoreError>
}>()("gateway/features/responses/ResponseStore") {}
