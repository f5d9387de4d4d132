/** A tool may act for an API key that manages nothing: things of other keys are not its business. */
import * as Effect from "effect/Effect"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"

/** The id of such a key; null = the caller has no such bound. */
export const boundTo = Effect.map(ManagementCall, ({ caller }) =>
  caller.kind !== "key" || caller.admin || caller.key.policy.scopes.includes("manage") ? null : caller.key.id)

/** The API key whose things are meant: of a bound caller its own. `message` refuses another one's. */
export const ownerOf = (given: string | undefined, message: string): Effect.Effect<string | undefined, Refusal.Refusal, ManagementCall> =>
  Effect.flatMap(boundTo, (own): Effect.Effect<string | undefined, Refusal.Refusal> => {
    if (own === null || given === own) return Effect.succeed(given)
    return given === undefined ? Effect.succeed(own) : Effect.fail(Refusal.forbidden(message))
  })
