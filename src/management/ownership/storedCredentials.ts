/** A stored credential is sent only to the origin that it was stored for: a caller who may not read it could point it at a server of their own. */
import * as Effect from "effect/Effect"
import { scopeRank } from "#actors/keys/scopes.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { callerRank } from "#src/management/authentication/rights.ts"

/** `from` and `to`: origins before and after the change; null where there is none. */
export interface Move {
  readonly field: string
  readonly from: string | null
  readonly to: string | null
}

/** The origin of a URL; null for what is none. */
export const originOf = (url: string): string | null => URL.parse(url)?.origin ?? null

/** Lets a change through that leaves them at their origin, or that a caller with all rights makes. */
export const refuseMove = ({ field, from, to }: Move): Effect.Effect<void, Refusal.Refusal, ManagementCall> => from === to
  ? Effect.void
  : Effect.flatMap(ManagementCall, ({ caller }) => callerRank(caller) >= scopeRank(["admin"])
    ? Effect.void
    : Effect.fail(Refusal.forbidden(`Stored credentials would be sent to ${to ?? "another address"}: changing ${field} needs a dashboard session or scope admin while they are kept`, {
      code: "CREDENTIALS_STAY", details: [{ field, message: from === null ? "Must not be set" : `Must stay at ${from}` }]
    })))
