/** The owner and the generation that a call presents. The owner is turned into its SHA-256 here and is never kept as it came. */
import * as Crypto from "node:crypto"
import * as Standing from "#actors/lease/standing.ts"
import { PublicError } from "#schemas/errors.ts"
import { ownerPattern } from "#schemas/protocols/Lease.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { CallHead } from "./InferenceCall.ts"
import * as LeaseErrors from "./leaseErrors.ts"

const isSaid = (given: string | undefined): given is string => given !== undefined && given !== ""

const wholeNumber = /^[1-9]\d{0,15}$/

/** SHA-256 (hex) of the presented owner; null when none was presented. */
export const ownerOf = (head: Pick<CallHead, "header">): string | PublicError | null => {
  const given = head.header(LeaseErrors.ownerHeader)
  if (!isSaid(given)) return null
  return ownerPattern.test(given) ? Crypto.hash("sha256", given, "hex") : LeaseErrors.contextInvalid
}

/** The presented generation; null when none was presented. */
export const generationOf = (head: Pick<CallHead, "header">): number | PublicError | null => {
  const given = head.header(LeaseErrors.generationHeader)
  if (!isSaid(given)) return null
  const generation = Number(given)
  return wholeNumber.test(given) && Number.isSafeInteger(generation) ? generation : LeaseErrors.contextInvalid
}

export interface LeaseContext {
  readonly owner: string
  readonly generation: number
}

/** Whether a call presents a lease: its owner and its generation, each right or wrong. */
export const isPresented = (head: Pick<CallHead, "header">): boolean =>
  isSaid(head.header(LeaseErrors.ownerHeader)) && isSaid(head.header(LeaseErrors.generationHeader))

/** Why a call may not go where no lease is checked; null = it may. */
export const refusalUnfenced = (head: Pick<CallHead, "header">, key: ApiKey | null): PublicError | null => {
  if (key !== null && Standing.isManaged(key)) return LeaseErrors.unsupportedRoute
  // The lease is another key's.
  return isPresented(head) ? LeaseErrors.fenceStale : null
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
