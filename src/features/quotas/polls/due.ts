/** Which connections' quotas are read now. Pure. */
import { blockedProviders, type Snapshot } from "#actors/ports/Configuration.ts"
import type { Provider, ProviderQuota } from "#schemas/Provider.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { Registry } from "#src/providers/Registry.ts"

/** A vendor's quota, as its row says where; or the balance at a node that is an aggregator. */
export type Pollable =
  | { readonly connection: Connection; readonly row: Provider; readonly quota: ProviderQuota; readonly node?: never }
  | { readonly connection: Connection; readonly node: ProviderNode }

/** What is read. */
export interface Reads {
  /** Setting `autoRefreshProviderQuota`. */
  readonly quotas: boolean
  /** Flag NEWAPI_AGGREGATOR_BALANCE. */
  readonly balances: boolean
}

/** When a quota was read, ms since the epoch, and the part of the interval after which it is read again. */
export interface LastRead {
  readonly at: number
  readonly part: number
}

const terminal: ReadonlySet<string> = new Set(["expired", "banned"])
const defaultSeconds = 180

/** Active connections with a key, of vendors that tell what is left, and of nodes that are said to be aggregators. */
export const pollable = (snapshot: Snapshot, registry: Pick<Registry, "byId">, { balances, quotas }: Reads): ReadonlyArray<Pollable> => {
  const blocked = blockedProviders(snapshot)
  return snapshot.connections.flatMap((connection): ReadonlyArray<Pollable> => {
    const isUsable = connection.isActive && connection.authType === "apikey" && !terminal.has(connection.testStatus) && !blocked.has(connection.provider)
    if (!isUsable) return []
    const row = quotas ? registry.byId.get(connection.provider) : undefined
    if (row?.quota !== undefined) return [{ connection, row, quota: row.quota }]
    const node = balances && connection.providerSpecificData["newApiAggregatorBalance"] === true ? snapshot.nodeById.get(connection.provider) : undefined
    return node?.type === "openai-compatible" ? [{ connection, node }] : []
  })
}

export const readsQuotas = ({ settings }: Pick<Snapshot, "settings">): boolean => settings.get("autoRefreshProviderQuota") === true

/** ms between two readings of a connection; null while quotas of vendors are not read. */
export const intervalMs = (snapshot: Pick<Snapshot, "settings">): number | null => readsQuotas(snapshot) ? everyMs(snapshot) : null

/** ms between two readings of a connection, of whatever is read (setting `autoRefreshProviderQuotaInterval`). */
export const everyMs = ({ settings }: Pick<Snapshot, "settings">): number => {
  const seconds = settings.get("autoRefreshProviderQuotaInterval")
  return 1_000 * (typeof seconds === "number" && seconds > 0 ? seconds : defaultSeconds)
}

export const due = (all: ReadonlyArray<Pollable>, last: ReadonlyMap<string, LastRead>, everyMs: number, now: number): ReadonlyArray<Pollable> =>
  all.filter(({ connection }) => {
    const read = last.get(connection.id)
    // A clock that was set back must not stop the readings.
    return read === undefined || now < read.at || now - read.at >= everyMs * read.part
  })
