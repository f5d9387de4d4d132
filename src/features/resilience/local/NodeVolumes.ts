/** The volumes of this node's connections as services: what a settled call used, and which days are to be read from the ledger. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import type { Configuration } from "#actors/ports/Configuration.ts"
import type { Resilience } from "#actors/request/ports/Resilience.ts"
import { ConnectionVolumes } from "#src/features/resilience/ports/ConnectionVolumes.ts"
import { hasDayLimit, hasVolume } from "./rules.ts"
import type { Tables } from "./Tables.ts"
import { Volumes } from "./Volumes.ts"

export interface NodeVolumes {
  readonly context: Context.Context<ConnectionVolumes>
  readonly spent: Resilience["Service"]["spent"]
  /** The configuration or the number of nodes is another. */
  readonly changed: () => void
}

/** Joins the tables of the node. */
export const make = (configuration: Configuration["Service"], tables: Tables): NodeVolumes => {
  const wanted = Latch.makeUnsafe(false)
  const volumes = new Volumes()
  tables.volumes = volumes
  const unread = (): ReadonlyArray<string> => configuration.current().connections.flatMap((record) =>
    hasDayLimit(record) && !volumes.isReadFor(record.id, tables.effective.nodes) ? [record.id] : [])
  const look = (): void => {
    if (unread().length > 0) wanted.openUnsafe()
    else wanted.closeUnsafe()
  }
  const changed = (): void => {
    const { connectionById } = configuration.current()
    volumes.keep((id) => {
      const record = connectionById.get(id)
      return record !== undefined && hasVolume(record)
    })
    look()
  }
  changed()
  return {
    changed,
    spent: (target, tokens, now) => {
      const { connection } = target
      if (connection === null || connection.rateLimitOverrides === null || tables.rulesFor(target).volume === null) return
      volumes.spent(connection.id, tokens, now)
    },
    context: Context.make(ConnectionVolumes, {
      unread,
      wanted: Effect.suspend(() => wanted.await),
      begin: (connectionIds) => {
        const { nodes } = tables.effective
        const takes = connectionIds.map((id) => [id, volumes.begin(id, nodes)] as const)
        return (slots) => {
          for (const [id, take] of takes) take(slots === null ? null : slots.get(id) ?? [])
          look()
        }
      }
    })
  }
}
