/**
 * Looks for other nodes on the database, once at the start: several nodes need a shared Redis, and each its own name. A row
 * in the table of nodes proves nothing until it changes, for its process may have been killed.
 */
import * as Os from "node:os"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { ClusterStore, isAlive, type Node, type SeenNode } from "#actors/ports/Nodes.ts"
import * as Processes from "#src/platform/structures/processes.ts"

/** How long and how often a row is looked at until it has moved or not, ms; longer than a living node is ever silent. */
const LOOK_FOR_MS = 2_500
const LOOK_EVERY_MS = 200

/** This node must not run beside the others as it is configured. */
export class ClusterError extends Schema.TaggedError<ClusterError>()("ClusterError", { message: Schema.String }) {}

/** A process of this machine that is gone. */
const isGone = (row: SeenNode): boolean => row.host === Os.hostname() && !Processes.isAlive(row.pid)

const refusal = (self: Node, other: SeenNode): ClusterError => new ClusterError({
  message: other.id === self.id
    ? `Another living process (${other.pid} on ${other.host}, ${other.address}) is node ${self.id} on this database. Give each node its own GATEWAY_NODE_ID.`
    : `Node ${other.id} (${other.address} on ${other.host}) works on the same database. Several nodes share their state in Redis: set REDIS_URL on each of them, or give this one a database of its own.`
})

/** Fails when a living node forbids the start of this one; returns at once when no node was seen lately. */
export const check = Effect.fnUntraced(function*(self: Node, shares: boolean) {
  const store = yield* ClusterStore
  const suspects = (rows: ReadonlyArray<SeenNode>) =>
    rows.filter((row) => row.incarnation !== self.incarnation && (row.id === self.id || !shares) && isAlive(row) && !isGone(row))
  const seen = new Map((suspects(yield* store.nodes)).map((row) => [`${row.id} ${row.incarnation}`, row.lastSeenAt]))
  for (let waited = 0; seen.size > 0 && waited < LOOK_FOR_MS; waited += LOOK_EVERY_MS) {
    yield* Effect.sleep(LOOK_EVERY_MS)
    for (const row of suspects(yield* store.nodes)) {
      const before = seen.get(`${row.id} ${row.incarnation}`)
      if (before !== undefined && row.lastSeenAt > before) return yield* Effect.fail(refusal(self, row))
    }
  }
})
