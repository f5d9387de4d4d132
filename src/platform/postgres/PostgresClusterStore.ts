/** The table of nodes and the log of changes in Postgres; triggers write the log (migration 9), times are the server's. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { type Change, isChangeKind } from "#actors/ports/ChangeFeed.ts"
import { ClusterStore, type SeenNode } from "#actors/ports/Nodes.ts"
import * as Operation from "./operation.ts"

interface ChangeRow {
  readonly version: number
  readonly kind: string
  readonly id: string
}

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("ClusterStore", options)
  const now = sql.literal("(extract(epoch FROM clock_timestamp()) * 1000)::double precision")
  const version = Effect.map(
    sql<{ readonly version: number }>`SELECT version FROM record_version`,
    ([row]) => row?.version ?? 0
  )

  return ClusterStore.of({
    version: run("version", version),
    newsAfter: (after, limit) =>
      run("newsAfter", Effect.gen(function*() {
        const rows = yield* sql<ChangeRow>`SELECT version, kind, id FROM record_changes WHERE version > ${after} ORDER BY version LIMIT ${limit}`
        const [first] = rows
        // Versions are counted without gaps, so the log reaches back exactly when its first entry is the next one.
        if (first === undefined || first.version !== after + 1) {
          const current = yield* version
          return { version: current, changes: current === after ? [] : null }
        }
        return { version: rows[rows.length - 1]?.version ?? after, changes: rows.flatMap(({ id, kind }): ReadonlyArray<Change> => isChangeKind(kind) ? [{ kind, id }] : []) }
      })),
    beat: (node, applied) =>
      run("beat", Effect.map(
        sql<{ readonly version: number }>`
          INSERT INTO cluster_nodes (id, incarnation, host, address, pid, worker, release, started_at, last_seen_at, version, version_at)
          VALUES (${node.id}, ${node.incarnation}, ${node.host}, ${node.address}, ${node.pid}, ${node.worker}, ${node.release}, ${node.startedAt},
            ${now}, ${applied}, ${now})
          ON CONFLICT (id) DO UPDATE SET
            incarnation = excluded.incarnation, host = excluded.host, address = excluded.address, pid = excluded.pid,
            worker = excluded.worker, release = excluded.release, started_at = excluded.started_at, last_seen_at = excluded.last_seen_at,
            version = excluded.version,
            version_at = CASE WHEN cluster_nodes.version = excluded.version AND cluster_nodes.incarnation = excluded.incarnation
              THEN cluster_nodes.version_at ELSE excluded.version_at END
          RETURNING (SELECT version FROM record_version) AS version`,
        ([row]) => row?.version ?? 0
      )),
    nodes: run("nodes", sql<SeenNode>`
      SELECT id, incarnation, host, address, pid, worker, release, started_at AS "startedAt", last_seen_at AS "lastSeenAt",
        greatest(0, ${now} - last_seen_at) AS "silentMs", version, version_at AS "versionAt"
      FROM cluster_nodes ORDER BY id`),
    leave: (id, incarnation) => run("leave", Effect.asVoid(sql`DELETE FROM cluster_nodes WHERE id = ${id} AND incarnation = ${incarnation}`)),
    prune: (keep, silentMs) =>
      run("prune", Effect.gen(function*() {
        const changes = yield* sql`DELETE FROM record_changes WHERE version <= (SELECT version FROM record_version) - ${keep} RETURNING version`
        const nodes = yield* sql`DELETE FROM cluster_nodes WHERE last_seen_at < ${now} - ${silentMs}::double precision RETURNING id`
        return changes.length + nodes.length
      }))
  })
})

/** `ClusterStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<ClusterStore, never, SqlClient.SqlClient> =>
  Layer.effect(ClusterStore, make(options))
