/** Lists of outbound proxies in Postgres. The URL is sealed, bound to its row. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Reseal from "#src/platform/postgres/Reseal.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { ProxySubscription } from "./ProxySubscription.ts"
import { ProxySubscriptionStore } from "./ProxySubscriptionStore.ts"

const table = Table.make("ProxySubscriptionStore", ProxySubscription)

type Row = Record<string, unknown>

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const run = Operation.make("ProxySubscriptionStore", options)

  const sealed = (subscription: ProxySubscription): Row =>
    ({ ...table.toRow(subscription), url: secrets.seal(subscription.url, Reseal.proxySubscriptionContext(subscription.id)) })

  const read = (row: Row) => Effect.flatMap(
    Effect.try({
      try: () => ({ ...row, url: secrets.openUnsafe(String(row["url"]), Reseal.proxySubscriptionContext(String(row["id"]))) }),
      catch: (error) => error instanceof SealBroken ? error : new SealBroken({ keyId: "", message: `The URL of proxy subscription ${String(row["id"])} cannot be read.` })
    }),
    table.fromRow
  )

  return ProxySubscriptionStore.of({
    list: run("list", Effect.flatMap(sql<Row>`SELECT ${sql.literal(table.columns)} FROM proxy_subscriptions ORDER BY name COLLATE "C", id`, Effect.forEach(read))),
    insert: (subscription) => run("insert", Effect.asVoid(Effect.suspend(() => sql`INSERT INTO proxy_subscriptions ${sql.insert(sealed(subscription))}`))),
    change: (subscription) => run("change", Effect.map(
      Effect.suspend(() => {
        const { enabled, interval_seconds, name, type, updated_at, url } = sealed(subscription)
        return sql`UPDATE proxy_subscriptions SET ${sql.update({ enabled, interval_seconds, name, type, updated_at, url })} WHERE id = ${stored(subscription.id)} RETURNING id`
      }),
      (rows) => rows.length > 0
    )),
    tried: (id, tried) => run("tried", Effect.asVoid(Effect.suspend(() => sql`
      UPDATE proxy_subscriptions SET ${sql.update(table.toRow(tried))} WHERE id = ${stored(id)}`))),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM proxy_subscriptions WHERE id = ${stored(id)} RETURNING id`, (rows) => rows.length > 0))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}) => Layer.effect(ProxySubscriptionStore, make(options))
