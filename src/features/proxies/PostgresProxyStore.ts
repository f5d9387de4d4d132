/** Outbound proxies and their assignments in Postgres. Username and password are sealed, bound to row and field. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import { ProxyStore } from "#actors/ports/Stores.ts"
import { Proxy, ProxyAssignment, proxySecrets } from "#schemas/egress/Proxy.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Reseal from "#src/platform/postgres/Reseal.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import { stored } from "#src/platform/postgres/text.ts"

const table = Table.make("ProxyStore", Proxy)
const assignmentTable = Table.make("ProxyStore", ProxyAssignment, { nameOf: (row) => `${String(Reflect.get(row, "scope"))} ${String(Reflect.get(row, "scopeId"))}` })

type Row = Record<string, unknown>

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const run = Operation.make("ProxyStore", options)
  const columns = sql.literal(table.columns)

  const sealed = (proxy: Proxy): Row => {
    const row: Row = table.toRow(proxy)
    for (const field of proxySecrets) {
      const value = proxy[field]
      if (Redacted.isRedacted(value)) row[field] = secrets.seal(value, Reseal.proxyContext(proxy.id, field))
    }
    return row
  }

  const read = (row: Row) => Effect.flatMap(
    Effect.try({
      try: () => {
        const open: Row = { ...row }
        for (const field of proxySecrets) {
          const value = row[field]
          if (typeof value === "string") open[field] = secrets.openUnsafe(value, Reseal.proxyContext(String(row["id"]), field))
        }
        return open
      },
      catch: (error) => error instanceof SealBroken ? error : new SealBroken({ keyId: "", message: `The credentials of proxy ${String(row["id"])} cannot be read.` })
    }),
    table.fromRow
  )

  return ProxyStore.of({
    list: run("list", Effect.flatMap(sql<Row>`SELECT ${columns} FROM proxies ORDER BY name COLLATE "C", id`, Effect.forEach(read))),
    insert: (proxy) => run("insert", Effect.asVoid(Effect.suspend(() => sql`INSERT INTO proxies ${sql.insert(sealed(proxy))}`))),
    replace: (proxy) => run("replace", Effect.map(
      Effect.suspend(() => sql`UPDATE proxies SET ${sql.update(sealed(proxy), ["id"])} WHERE id = ${proxy.id} RETURNING id`),
      (rows) => rows.length > 0
    )),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM proxies WHERE id = ${stored(id)} RETURNING id`, (rows) => rows.length > 0)),
    assignments: run("assignments", Effect.flatMap(
      sql`SELECT ${sql.literal(assignmentTable.columns)} FROM proxy_assignments ORDER BY scope, scope_id`,
      Effect.forEach(assignmentTable.fromRow)
    )),
    assign: (assignment) => run("assign", Effect.asVoid(Effect.suspend(() => sql`
      INSERT INTO proxy_assignments ${sql.insert(assignmentTable.toRow(assignment))}
      ON CONFLICT (scope, scope_id) DO UPDATE SET proxy_id = excluded.proxy_id, assigned_at = excluded.assigned_at`))),
    unassign: (scope, scopeId) => run("unassign", Effect.map(
      sql`DELETE FROM proxy_assignments WHERE scope = ${scope} AND scope_id = ${stored(scopeId)} RETURNING scope`,
      (rows) => rows.length > 0
    ))
  })
})

export const layer = (options: Operation.StoreOptions) => Layer.effect(ProxyStore, make(options))
