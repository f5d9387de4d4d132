/** What the body of a call to the lease endpoint asks for. */
import { PublicError } from "#schemas/errors.ts"
import { type ReleaseReason, releaseReasons } from "#schemas/protocols/Lease.ts"
import type { CallHead } from "#src/inference/lane/InferenceCall.ts"
import * as LeaseContext from "#src/inference/lane/leaseContext.ts"
import * as LeaseErrors from "#src/inference/lane/leaseErrors.ts"
import * as Json from "#src/wire/json/json.ts"

export type LeaseRequest =
  | { readonly action: "acquire"; readonly model: string }
  | { readonly action: "renew" | "status"; readonly generation: number }
  | { readonly action: "release"; readonly generation: number; readonly reason: ReleaseReason }

/** Words are taken in any case. The generation stands in the body; where it does not, in the header of the inference calls. */
export const readLeaseRequest = (text: string, head: Pick<CallHead, "header">): LeaseRequest | PublicError => {
  const body = Json.parseRecord(text)
  if (body === null) return LeaseErrors.actionInvalid
  const action = typeof body["action"] === "string" ? body["action"].toLowerCase() : null
  if (action === "acquire") {
    const { model } = body
    return typeof model === "string" && model.trim() !== "" ? { action, model } : LeaseErrors.modelInvalid
  }
  if (action !== "renew" && action !== "release" && action !== "status") return LeaseErrors.actionInvalid
  const generation = body["generation"] ?? LeaseContext.generationOf(head) ?? LeaseErrors.contextRequired
  if (generation instanceof PublicError) return generation
  if (typeof generation !== "number" || !Number.isSafeInteger(generation) || generation < 1) return LeaseErrors.contextInvalid
  if (action !== "release") return { action, generation }
  const given = body["reason"] ?? "OWNER_EXIT"
  const reason = typeof given === "string" ? releaseReasons.find((known) => known === given.toUpperCase()) : undefined
  return reason === undefined ? LeaseErrors.actionInvalid : { action, generation, reason }
}
