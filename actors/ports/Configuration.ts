/**
 * The whole configuration as one immutable snapshot in memory. Reads are synchronous, so the hot path never waits for a
 * store; a write goes to the store first, then the snapshot is rebuilt and its version grows.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { Egress } from "#actors/egress/Egress.ts"
import type { SyncedModels } from "#schemas/catalogue/SyncedModels.ts"
import type { Combo, ComboMapping } from "#schemas/records/Combo.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import type { FileOwned } from "#schemas/FileOwned.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"

export interface Snapshot {
  /** Grows with every change; caches key on it. */
  readonly version: number
  readonly connections: ReadonlyArray<Connection>
  readonly connectionById: ReadonlyMap<string, Connection>
  /** Active connections of a provider id or node id that is not blocked, lowest priority number first, then oldest. */
  readonly activeByProvider: ReadonlyMap<string, ReadonlyArray<Connection>>
  readonly nodes: ReadonlyArray<ProviderNode>
  readonly nodeById: ReadonlyMap<string, ProviderNode>
  readonly nodeByPrefix: ReadonlyMap<string, ProviderNode>
  readonly customModels: ReadonlyArray<CustomModel>
  /** Active or not, by sortOrder, then name. */
  readonly combos: ReadonlyArray<Combo>
  /** Enabled or not, in the order in which they are asked: highest priority, then oldest. */
  readonly comboMappings: ReadonlyArray<ComboMapping>
  readonly aliases: ReadonlyMap<string, string>
  /** General settings over their defaults. */
  readonly settings: ReadonlyMap<string, unknown>
  readonly flagOverrides: ReadonlyMap<string, string>
  /** `<provider>/<model>` to a partial price. */
  readonly pricing: ReadonlyMap<string, unknown>
  /** Read from public lists; the operator's own word stands before it, the registry's behind it. */
  readonly synced: SyncedModels
  /** What of a body connections' upstreams are not sent, by the connection's id; as it is stored. */
  readonly paramFilters: ReadonlyMap<string, unknown>
  /** Which tools of vendors the gateway runs itself, by the connection's id; as it is stored. */
  readonly interceptions: ReadonlyMap<string, unknown>
  /** `<kind>/<id>` of each record that the configuration file declares. */
  readonly fileOwned: ReadonlyMap<string, FileOwned>
  /** What calls leave by; null = every call goes direct. */
  readonly egress: Egress | null
  /** Base URL of the built-in simulator, which is called by name as provider `sim`; null when a setting turned it off. */
  readonly simulatorUrl: string | null
  /** Whether its models are listed and chosen without being named: by default only while no real connection exists. */
  readonly simulatorListed: boolean
}

/**
 * The name by which people know a provider: a node's prefix in place of its generated id, any other id as it is. Stores, ledger rows
 * and the keys of breakers have the id; what leaves the gateway has this.
 */
export const shownProvider = ({ nodeById }: Pick<Snapshot, "nodeById">, id: string): string => nodeById.get(id)?.prefix ?? id

/** The same of the first part of `<provider>/<model>`. */
export const shownModel = (snapshot: Pick<Snapshot, "nodeById">, id: string): string => {
  const slash = id.indexOf("/")
  return slash <= 0 ? id : shownProvider(snapshot, id.slice(0, slash)) + id.slice(slash)
}

/** The same of the keys of a record. */
export const shownKeys = <A>(snapshot: Pick<Snapshot, "nodeById">, record: Readonly<Record<string, A>>): Record<string, A> =>
  Object.fromEntries(Object.entries(record).map(([id, value]) => [shownProvider(snapshot, id), value]))

const none: ReadonlySet<string> = new Set()

/** Ids of the providers that no request may go to (setting `blockedProviders`). */
export const blockedProviders = ({ settings }: Pick<Snapshot, "settings">): ReadonlySet<string> => {
  const stored = settings.get("blockedProviders")
  return Array.isArray(stored) && stored.length > 0 ? new Set(stored.filter((id) => typeof id === "string")) : none
}

export class Configuration extends Context.Service<Configuration, {
  readonly current: () => Snapshot
  /** Runs a write against the stores, then reloads the snapshot; the reply is given after every reader sees the change. */
  readonly commit: <A, E, R>(write: Effect.Effect<A, E, R>) => Effect.Effect<A, E | StoreError, R>
  /** Reloads from the stores. */
  readonly reload: Effect.Effect<void, StoreError>
  /** Calls the listener with every new snapshot, after it became current; returns the unsubscribe function. */
  readonly onChange: (listener: (snapshot: Snapshot) => void) => () => void
}>()("gateway/ports/Configuration") {}
