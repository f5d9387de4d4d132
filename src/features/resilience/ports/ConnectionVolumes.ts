/** The days of connections with a limit per day, as far as this node must read them from the ledger. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { DaySlot } from "#actors/resilience/Volume.ts"

export class ConnectionVolumes extends Context.Service<ConnectionVolumes, {
  /** Connections with a limit per day that were not read yet, or for another number of nodes. */
  readonly unread: () => ReadonlyArray<string>
  /** Waits until there are such connections. */
  readonly wanted: Effect.Effect<void>
  /**
   * A reading begins: what is settled from now on counts on top of it. Answers what takes the slots of each connection (the oldest
   * first); a reading that fails takes none, and is wanted again.
   */
  readonly begin: (connectionIds: ReadonlyArray<string>) => (slots: ReadonlyMap<string, ReadonlyArray<DaySlot>> | null) => void
}>()("gateway/ports/ConnectionVolumes") {}
