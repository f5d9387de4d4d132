/** Which connections' quotas are read now. Pure. */
import { blockedProviders, type Snapshot } from "#actors/ports/Configuration.ts"
import type { Provider, ProviderQuota } from "#schemas/Provider.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { Registry } from "#src/providers/Registry.ts"

export interface Pollable {
  readonly connection: Connection
  readonly row: Provider
  readonly quota: ProviderQuota
}

/** When a quota was read, ms since the epoch, and the part of the interval after which it is read again. */
export interface LastRead {
  readonly at: number
  readonly part: number
}

const terminal: ReadonlySet<string> = new Set(["expired", "banned"])
const defaultSeconds = 180

/** Active connections with a key, of vendors that tell what is left. */
export const pollable = (snapshot: Snapshot, registry: Pick<Registry, "byId">): ReadonlyArray<Pollable> => {
  const blocked = blockedProviders(snapshot)
  return snapshot.connections.flatMap((connection) => {
    const row = registry.byId.get(connection.provider)
    const isUsable = connection.isActive && connection.authType === "apikey" && !terminal.has(connection.testStatus) && !blocked.has(connection.provider)
    return row?.quota === undefined || !isUsable ? [] : [{ connection, row, quota: row.quota }]
  })
}

/** ms between two readings of a connection; null while quotas are not read (settings `autoRefreshProviderQuota` and its interval). */
export const intervalMs = ({ settings }: Pick<Snapshot, "settings">): number | null => {
  if (settings.get("autoRefreshProviderQuota") !== true) return null
  const seconds = settings.get("autoRefreshProviderQuotaInterval")
  return 1_000 * (typeof seconds === "number" && seconds > 0 ? seconds : defaultSeconds)
}

export const due = (all: ReadonlyArray<Pollable>, last: ReadonlyMap<string, LastRead>, everyMs: number, now: number): ReadonlyArray<Pollable> =>
  all.filter(({ connection }) => {
    const read = last.get(connection.id)
    // A clock that was set back must not stop the readings.
    return read === undefined || now < read.at || now - read.at >= everyMs * read.part
  })
