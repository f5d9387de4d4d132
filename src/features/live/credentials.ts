/** What live events say of stored credentials: a status that changed. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { LiveEvent, Shown } from "./events.ts"

/** What is the matter with each connection, by its id. */
export type Statuses = ReadonlyMap<string, string>

export const statusesOf = ({ connections }: Pick<Snapshot, "connections">): Statuses => new Map(connections.map(({ id, testStatus }) => [id, testStatus]))

/** Connections whose status is another one than before; new ones had none. `now`: ms since the epoch. */
export const changed = (before: Statuses, { connections }: Pick<Snapshot, "connections">, node: string, shown: Shown, now: number): ReadonlyArray<LiveEvent> =>
  connections.flatMap(({ id, provider, testStatus }): ReadonlyArray<LiveEvent> => {
    const oldStatus = before.get(id)
    return oldStatus === undefined || oldStatus === testStatus ? [] : [{
      channel: "credentials", event: "credential.health.changed", node,
      data: { connectionId: id, provider: shown(provider), oldStatus, newStatus: testStatus, timestamp: new Date(now).toISOString() }
    }]
  })
