/** The owner and the generation that a call presents. The owner is turned into its SHA-256 here and is never kept as it came. */
import * as Crypto from "node:crypto"
import { PublicError } from "#schemas/errors.ts"
import { ownerPattern } from "#schemas/protocols/Lease.ts"
import type { CallHead } from "./InferenceCall.ts"
import * as LeaseErrors from "./leaseErrors.ts"

const wholeNumber = /^[1-9]\d{0,15}$/

/** SHA-256 (hex) of the presented owner; null when none was presented. */
export const ownerOf = (head: Pick<CallHead, "header">): string | PublicError | null => {
  const given = head.header(LeaseErrors.ownerHeader)
  if (given === undefined || given === "") return null
  return ownerPattern.test(given) ? Crypto.hash("sha256", given, "hex") : LeaseErrors.contextInvalid
}

/** The presented generation; null when none was presented. */
export const generationOf = (head: Pick<CallHead, "header">): number | PublicError | null => {
  const given = head.header(LeaseErrors.generationHeader)
  if (given === undefined || given === "") return null
  const generation = Number(given)
  return wholeNumber.test(given) && Number.isSafeInteger(generation) ? generation : LeaseErrors.contextInvalid
}

export interface LeaseContext {
  readonly owner: string
  readonly generation: number
}

/** The lease owner and generation headers; every inference call of a managed key must send both. */
export const contextOf = (head: Pick<CallHead, "header">): LeaseContext | PublicError => {
  const owner = ownerOf(head)
  const generation = generationOf(head)
  if (owner === null && generation === null) return LeaseErrors.required
  if (owner instanceof PublicError) return owner
  if (generation instanceof PublicError) return generation
  return owner === null || generation === null ? LeaseErrors.contextRequired : { owner, generation }
}
