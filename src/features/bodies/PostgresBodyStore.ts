/** Sealed bodies of calls in Postgres. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { BodyStore, type SealedBodies } from "#src/features/bodies/ports/BodyStore.ts"

const rowOf = ({ createdAt, id, sealed }: SealedBodies) => ({ id: stored(id), created_at: createdAt, bytes: sealed.length, sealed })

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("BodyStore", options)
  return BodyStore.of({
    put: (records) => Arr.isReadonlyArrayNonEmpty(records)
      ? run("put", Effect.asVoid(sql`INSERT INTO call_bodies ${sql.insert(Arr.map(records, rowOf))} ON CONFLICT (id) DO NOTHING`))
      : Effect.void,
    renew: (ids, time) => ids.length === 0
      ? Effect.void
      : run("renew", Effect.asVoid(sql`UPDATE call_bodies SET created_at = ${time} WHERE ${sql.in("id", ids.map(stored))} AND created_at < ${time}`)),
    find: (ids, since) => ids.length === 0 ? Effect.succeed([]) : run("find", Effect.map(
      sql<Omit<SealedBodies, "createdAt"> & { readonly createdAt: unknown }>`
        SELECT id, created_at AS "createdAt", sealed FROM call_bodies
        WHERE ${sql.in("id", ids.map(stored))} AND created_at >= ${since} ORDER BY created_at DESC, id DESC`,
      (rows) => rows.map((row) => ({ ...row, createdAt: Number(row.createdAt) }))
    )),
    removeBefore: (time) => Operation.removeAll(run("removeBefore", sql`
      DELETE FROM call_bodies WHERE id IN (SELECT id FROM call_bodies WHERE created_at < ${time} ORDER BY created_at LIMIT ${Operation.REMOVED_AT_ONCE})
      RETURNING 1`)),
    removeBeyond: (most) => Operation.removeAll(run("removeBeyond", sql`
      DELETE FROM call_bodies WHERE id IN (
        SELECT id FROM (SELECT id, created_at, sum(bytes) OVER (ORDER BY created_at DESC, id DESC) AS total FROM call_bodies) AS sums
        WHERE total > ${most} ORDER BY created_at LIMIT ${Operation.REMOVED_AT_ONCE}
      ) RETURNING 1`))
  })
})

export const layer = (options: Operation.StoreOptions) => Layer.effect(BodyStore, make(options))
