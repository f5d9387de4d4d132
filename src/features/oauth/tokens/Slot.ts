/** What is known in memory about the token of one connection. Pure but for its own fields. */
import * as Redacted from "effect/Redacted"
import type { CredentialFailure } from "#actors/request/ports/Credentials.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { isExchanged, kindOf } from "#src/providers/credentialKind.ts"
import type { Provider } from "#schemas/Provider.ts"
import type { Grant } from "./tokenEndpoint.ts"

/** A token with less life than this is renewed behind the callers. */
const SOFT_MS = 300_000
/** A token with less life than this is not used for a call. */
const HARD_MS = 60_000
/** Assumed life where nothing was said (ms). */
const USUAL_LIFE_MS = 3_600_000

export interface Slot {
  readonly kind: "service-account" | "refresh"
  /** The service-account document, or the newest refresh token. */
  basis: string
  /** Secrets of the record as they were last read. */
  read: string
  /** Secrets of the record as this process will have written them; differs from `read` while they are not stored. */
  written: string
  /** Version of the configuration snapshot that was compared last. */
  version: number
  value: string | null
  /** ms since the epoch; null = unknown. */
  expiresAt: number | null
  softAt: number
  hardAt: number
  /** When the value was granted to this process; 0 when it came from the store. */
  obtainedAt: number
  /** No renewal behind the callers before this time. */
  retryAt: number
  /** A retry is pointless until the operator acts. */
  final: CredentialFailure | null
  /** An operator asked for the running renewal. */
  byOperator: boolean
  /** The last failure that was written to the record or the log. */
  noted: string | null
}

const open = (secret: Redacted.Redacted<string> | null): string => secret === null ? "" : Redacted.value(secret)

/** The secrets of a record as one text, to see whether another caller changed them. */
export const secretsOf = (connection: Connection): string =>
  connection.authType === "oauth" ? secretsWith(open(connection.refreshToken), open(connection.accessToken)) : open(connection.apiKey ?? connection.accessToken)

const secretsWith = (refreshToken: string, accessToken: string): string => `${refreshToken}\u0000${accessToken}`

const age = (slot: Slot, expiresAt: number | null, life: number): void => {
  slot.expiresAt = expiresAt
  // A short-lived token keeps most of its life.
  slot.softAt = expiresAt === null ? Number.POSITIVE_INFINITY : expiresAt - Math.min(SOFT_MS, life / 4)
  slot.hardAt = expiresAt === null ? Number.POSITIVE_INFINITY : expiresAt - Math.min(HARD_MS, life / 10)
}

/** The slot of a connection as it is stored; null when its token is not exchanged. */
export const of = (connection: Connection, row: Pick<Provider, "oauth"> | null, version: number): Slot | null => {
  const kind = kindOf(connection, row)
  if (!isExchanged(kind)) return null
  const refreshes = kind === "refresh"
  const secrets = secretsOf(connection)
  const slot: Slot = {
    kind: refreshes ? "refresh" : "service-account",
    basis: refreshes ? open(connection.refreshToken) : secrets,
    read: secrets, written: secrets, version,
    value: null, expiresAt: null, softAt: 0, hardAt: 0, obtainedAt: 0, retryAt: 0, final: null, byOperator: false, noted: null
  }
  if (refreshes && connection.accessToken !== null) {
    slot.value = Redacted.value(connection.accessToken)
    const at = Date.parse(connection.tokenExpiresAt ?? connection.expiresAt ?? "")
    age(slot, Number.isNaN(at) ? null : at, connection.expiresIn === null ? USUAL_LIFE_MS : connection.expiresIn * 1000)
  }
  return slot
}

/** Whether the token is good for a call. */
export const isUsable = (slot: Slot, now: number): boolean => slot.value !== null && now < slot.hardAt

/** Whether the token should be renewed behind the callers. */
export const isAging = (slot: Slot, now: number): boolean => now >= slot.softAt && now >= slot.retryAt && slot.final === null

/** Takes a grant over; a new refresh token replaces the used one. */
export const adopt = (slot: Slot, grant: Grant, now: number): void => {
  slot.value = Redacted.value(grant.accessToken)
  slot.obtainedAt = now
  slot.retryAt = 0
  slot.final = null
  slot.noted = null
  age(slot, grant.expiresIn === null ? null : now + grant.expiresIn * 1000, (grant.expiresIn ?? 0) * 1000)
  if (slot.kind === "service-account") return
  if (grant.refreshToken !== null) slot.basis = Redacted.value(grant.refreshToken)
  slot.written = secretsWith(slot.basis, slot.value)
}
