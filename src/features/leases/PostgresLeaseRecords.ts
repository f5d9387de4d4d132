/** Generations and the audit of leases in Postgres. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { LeaseRecords } from "#actors/lease/LeaseRecords.ts"
import { type LeaseChange, ChangeKind, EndReason } from "#schemas/protocols/Lease.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import * as LookUps from "#src/platform/structures/LookUps.ts"

/** A change as one row; the key's print is a matter of the living lease and is not kept. */
const Row = Schema.Struct({
  kind: ChangeKind,
  reason: Schema.NullOr(EndReason),
  at: Schema.Int,
  owner: Schema.String,
  keyId: Schema.String,
  connection: Schema.String,
  generation: Schema.Int,
  acquiredAt: Schema.Int,
  renewedAt: Schema.Int,
  expiresAt: Schema.Int
})

const table = Table.make("LeaseRecords", Row, { nameOf: (row) => `generation ${String(Reflect.get(row, "generation"))}` })

const rowOf = ({ at, kind, lease: { keyPrint: _keyPrint, ...lease }, reason }: LeaseChange) => table.toRow({ kind, reason, at, ...lease })

const changeOf = ({ at, kind, reason, ...lease }: typeof Row.Type): LeaseChange => ({ kind, reason, at, lease: { ...lease, keyPrint: "" } })

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("LeaseRecords", options)
  // Waited for, never cut: an unused number is skipped, a cut connection would be missed.
  const draws = yield* LookUps.make<number>({ name: "LeaseRecords", withinMs: options.lookUpMs ?? 1_000 })
  let drawn = 0
  const columns = sql.literal(table.columns)
  const by = (owner: string | undefined): ReadonlyArray<Fragment> => owner === undefined ? [] : [sql`owner = ${owner}`]
  return LeaseRecords.of({
    nextGeneration: (owner, atLeast) =>
      draws.ask(`${++drawn}`, run("nextGeneration", Effect.map(
        sql<{ readonly generation: number }>`
          INSERT INTO lease_generations (owner, generation) VALUES (${owner}, ${atLeast + 1})
          ON CONFLICT (owner) DO UPDATE SET generation = greatest(lease_generations.generation, ${atLeast}) + 1
          RETURNING generation`,
        (rows) => Number(rows[0]?.generation)
      ))),
    append: (changes) =>
      Arr.isReadonlyArrayNonEmpty(changes)
        ? run("append", Effect.asVoid(sql`INSERT INTO lease_changes ${sql.insert(Arr.map(changes, rowOf))} ON CONFLICT DO NOTHING`))
        : Effect.void,
    changes: ({ limit, owner }) =>
      run("changes", Effect.flatMap(
        sql`SELECT ${columns} FROM lease_changes WHERE ${sql.and(by(owner))} ORDER BY seq DESC LIMIT ${limit}`,
        (rows) => Effect.map(Effect.forEach(rows, table.fromRow), (found) => found.map(changeOf))
      )),
    // Rows are in the order of time: only the oldest are looked at, for which there is an index.
    removeBefore: (time) => Operation.removeAll(run("removeBefore", sql`
      DELETE FROM lease_changes WHERE seq IN
        (SELECT seq FROM (SELECT seq, at FROM lease_changes ORDER BY seq LIMIT ${Operation.REMOVED_AT_ONCE}) oldest WHERE at < ${Math.ceil(time)})
      RETURNING 1`))
  })
})

/** `LeaseRecords` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<LeaseRecords, never, SqlClient.SqlClient> =>
  Layer.effect(LeaseRecords, make(options))
