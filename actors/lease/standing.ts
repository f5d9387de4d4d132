/** May a lease still be had by its key and on its connection? Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { type EndReason, type Lease, leaseScope } from "#schemas/protocols/Lease.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

/** Hex digits of the key's hash that tell one value of a key from another. */
const printLength = 16

/** What a lease keeps of its key: it differs when the key has a new value. */
export const printOf = (key: ApiKey): string => key.keyHash.slice(0, printLength)

/** True for a key that uses connections by lease only. */
export const isManaged = (key: ApiKey): boolean => key.policy.scopes.includes(leaseScope)

/** Why the lease's key may not have it (any more); null = it may. `key` as it stands now, null when there is none; `now` in ms since the epoch. */
export const ofKey = (lease: Lease, key: ApiKey | null, now: number): EndReason | null => {
  if (key === null || key.revokedAt !== null || !key.policy.isActive || key.policy.isBanned || printOf(key) !== lease.keyPrint) return "MANAGED_KEY_REVOKED"
  if (key.policy.expiresAt !== null && now >= Date.parse(key.policy.expiresAt)) return "MANAGED_KEY_REVOKED"
  return isManaged(key) && key.policy.allowedConnections.includes(lease.connection) ? null : "AUTHORIZATION_CHANGED"
}

/** Why a connection may not be leased; null = it may. A cooldown is no reason: it passes. */
export const ofConnection = (id: string, snapshot: Snapshot): EndReason | null => {
  const connection = snapshot.connectionById.get(id)
  if (connection === undefined || !connection.isActive) return "CONNECTION_INELIGIBLE"
  const { testStatus } = connection
  return testStatus === "expired" || testStatus === "banned" || testStatus === "credits_exhausted" ? "CONNECTION_INELIGIBLE" : null
}
