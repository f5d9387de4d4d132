/** Turns failures of a store into errors for a client. */
import * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import * as Refusal from "#schemas/api/Refusal.ts"

export const ofStore = (error: StoreError): Refusal.Refusal => {
  switch (error.reason) {
    case "conflict":
      return error.field === undefined
        ? Refusal.conflict(error.message)
        : Refusal.conflict(`Another record has this ${error.field}`, { details: [{ field: error.field, message: "Taken" }] })
    case "unavailable":
      return Refusal.unavailable("The record store cannot be reached; nothing was changed", { code: "store_unavailable" })
    case "corrupt":
      return Refusal.internal()
  }
}

/** The last step of a handler: its store failures become refusals, and the log keeps what the client does not see. */
export const answer = <A, R>(effect: Effect.Effect<A, Refusal.Refusal | StoreError, R>): Effect.Effect<A, Refusal.Refusal, R> =>
  Effect.catchTag(effect, "StoreError", (error) =>
    error.reason === "conflict"
      ? Effect.fail(ofStore(error))
      : Effect.andThen(
        Effect.logError(`${error.store}.${error.operation} ${error.reason}: ${error.message}`),
        Effect.fail(ofStore(error))
      ))
