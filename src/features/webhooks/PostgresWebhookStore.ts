/**
 * Webhooks, their queue and their deliveries in Postgres. Address, secret and metadata are sealed, bound to row and field. Claims run by
 * the database's clock, so that the clocks of nodes do not matter; `SKIP LOCKED` lets lanes of several nodes take jobs side by side.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import { type WebhookJob, WebhookQueue, type WebhookState } from "#actors/webhook/ports/WebhookQueue.ts"
import { WebhookStore } from "#actors/webhook/ports/WebhookStore.ts"
import { DISABLE_AFTER, Webhook, WebhookDelivery } from "#schemas/records/Webhook.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Reseal from "#src/platform/postgres/Reseal.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import { stored } from "#src/platform/postgres/text.ts"

const table = Table.make("WebhookStore", Webhook, { json: ["events"] })
const deliveryTable = Table.make("WebhookStore", WebhookDelivery)

/** ms by the database's clock. */
const databaseNow = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

const makeStore = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const run = Operation.make("WebhookStore", options)
  const columns = sql.literal(table.columns)

  const sealed = (id: string, record: Partial<Webhook>): Record<string, unknown> => {
    const row = table.toRow(record)
    for (const field of Reseal.webhookFields) {
      const value = record[field]
      if (Redacted.isRedacted(value)) row[Table.columnOf(field)] = secrets.seal(value, Reseal.webhookContext(id, field))
    }
    return row
  }

  const read = (row: Record<string, unknown>) =>
    Effect.flatMap(
      Effect.try({
        try: () => {
          const open: Record<string, unknown> = { ...row }
          for (const field of Reseal.webhookFields) {
            const value = row[field]
            if (typeof value === "string") open[field] = secrets.openUnsafe(value, Reseal.webhookContext(String(row["id"]), field))
          }
          return open
        },
        catch: (error) => error instanceof SealBroken ? error : new SealBroken({ keyId: "", message: String(error) })
      }),
      table.fromRow
    )
  const first = ([row]: ReadonlyArray<Record<string, unknown>>) => row === undefined ? Effect.succeed(null) : read(row)

  return WebhookStore.of({
    list: run("list", Effect.flatMap(
      sql<Record<string, unknown>>`SELECT ${columns} FROM webhooks ORDER BY created_at, id`,
      Effect.forEach(read)
    )),
    get: (id) => run("get", Effect.flatMap(sql<Record<string, unknown>>`SELECT ${columns} FROM webhooks WHERE id = ${id}`, first)),
    insert: (webhook) =>
      run("insert", Effect.asVoid(Effect.suspend(() => sql`INSERT INTO webhooks ${sql.insert(sealed(webhook.id, webhook))}`))),
    change: (id, change, updatedAt) =>
      run("change", Effect.flatMap(
        Effect.suspend(() => sql<Record<string, unknown>>`
          UPDATE webhooks SET ${sql.update(sealed(id, { ...change, updatedAt }))}
            ${change.enabled === true ? sql`, enabled_at = CASE WHEN enabled THEN enabled_at ELSE ${updatedAt} END` : sql.literal("")}
          WHERE id = ${id} RETURNING ${columns}`),
        first
      )),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM webhooks WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0)),
    deliveries: (id, limit) =>
      run("deliveries", Effect.flatMap(
        sql`SELECT ${sql.literal(deliveryTable.columns)} FROM webhook_deliveries WHERE webhook_id = ${id} ORDER BY seq DESC LIMIT ${limit}`,
        Effect.forEach(deliveryTable.fromRow)
      )),
    delivery: (webhookId, id) =>
      run("delivery", Effect.flatMap(
        sql`SELECT ${sql.literal(deliveryTable.columns)} FROM webhook_deliveries WHERE webhook_id = ${webhookId} AND id = ${id}`,
        ([row]) => row === undefined ? Effect.succeed(null) : deliveryTable.fromRow(row)
      )),
    note: (delivery, counts) =>
      run("note", Effect.map(
        sql<{ readonly failureCount: number; readonly enabled: boolean }>`
          WITH hook AS (
            UPDATE webhooks SET last_triggered_at = ${delivery.createdAt}, last_status = ${delivery.httpStatus ?? 0}::bigint,
              failure_count = ${sql.literal(counts === "attempt" ? "failure_count" : counts === "failed" ? "failure_count + 1" : "0")}
            WHERE id = ${delivery.webhookId} RETURNING id, failure_count, enabled
          ), kept AS (
            INSERT INTO webhook_deliveries (id, webhook_id, event_type, status, http_status, latency_ms, error, payload_snapshot, created_at)
            SELECT ${delivery.id}::text, id, ${delivery.eventType}::text, ${delivery.status}::text, ${delivery.httpStatus}::bigint,
              ${delivery.latencyMs}::double precision, ${delivery.error}::text, ${delivery.payloadSnapshot}::text, ${delivery.createdAt}::text
            FROM hook
          )
          SELECT failure_count AS "failureCount", enabled FROM hook`,
        ([row]) => row === undefined ? null : { failureCount: Number(row.failureCount), enabled: row.enabled }
      )),
    disableFailed: (id, updatedAt) =>
      run("disableFailed", Effect.map(
        sql`UPDATE webhooks SET enabled = false, updated_at = ${updatedAt}
          WHERE id = ${id} AND enabled AND failure_count >= ${DISABLE_AFTER} RETURNING id`,
        (rows) => rows.length > 0
      )),
    prune: (deliveriesBefore, eventsBefore, keep) =>
      run("prune", Effect.gen(function*() {
        const old = yield* sql`DELETE FROM webhook_deliveries WHERE created_at < ${deliveriesBefore} RETURNING 1`
        const many = yield* sql`
          DELETE FROM webhook_deliveries d USING webhooks w, LATERAL (
            SELECT seq FROM webhook_deliveries WHERE webhook_id = w.id ORDER BY seq DESC OFFSET ${keep}::bigint LIMIT 1
          ) cut WHERE d.webhook_id = w.id AND d.seq <= cut.seq RETURNING 1`
        const events = yield* sql`DELETE FROM webhook_events WHERE created_at < ${eventsBefore} RETURNING 1`
        return old.length + many.length + events.length
      }))
  })
})

const makeQueue = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("WebhookQueue", options)
  const moment = sql.literal(databaseNow)
  return WebhookQueue.of({
    append: (events, now) =>
      events.length === 0 ? Effect.succeed([]) : run("append", Effect.map(
        sql<{ readonly id: string }>`
          WITH wanted AS (
            SELECT w.id AS webhook_id, e.n, e.id, e.type, e.body
            FROM json_to_recordset(${JSON.stringify(events.map(({ at, body, id, type }, n) => ({ n, id: stored(id), type, happened: stored(at), body: stored(body) })))}::json)
              AS e(n integer, id text, type text, happened text, body text)
            JOIN webhooks w ON w.enabled AND w.enabled_at <= e.happened AND (w.events::jsonb @> '"*"' OR w.events::jsonb @> to_jsonb(e.type))
          ), added AS (
            INSERT INTO webhook_events (id, type, body, created_at)
            SELECT DISTINCT ON (id COLLATE "C") id, type, body, ${now}::text FROM wanted ORDER BY id COLLATE "C", n
            ON CONFLICT (id) DO NOTHING RETURNING id
          ), jobs AS (
            INSERT INTO webhook_jobs (webhook_id, event_id)
            SELECT webhook_id, wanted.id FROM (SELECT webhook_id, id, min(n) AS n FROM wanted GROUP BY webhook_id, id) wanted
            JOIN added ON added.id = wanted.id ORDER BY n
            RETURNING webhook_id
          )
          SELECT DISTINCT webhook_id AS id FROM jobs`,
        (rows) => rows.map(({ id }) => id)
      )),
    claim: (webhookId, owner, limit, holdMs) =>
      run("claim", Effect.map(
        sql<WebhookJob & { readonly seq: number }>`
          WITH picked AS MATERIALIZED (
            SELECT q.seq FROM webhook_jobs q JOIN webhooks w ON w.id = q.webhook_id AND w.enabled
            WHERE q.webhook_id = ${webhookId} AND q.claimed_until < ${moment} ORDER BY q.seq LIMIT ${limit} FOR UPDATE OF q SKIP LOCKED
          )
          UPDATE webhook_jobs j SET claimed_by = ${owner}, claimed_until = ${moment} + ${holdMs}::bigint
          FROM picked, webhook_events e WHERE j.seq = picked.seq AND e.id = j.event_id
          RETURNING j.seq, j.webhook_id AS "webhookId", e.id, e.type, e.body`,
        (rows) => [...rows].sort((a, b) => Number(a.seq) - Number(b.seq)).map(({ body, id, type, webhookId }) => ({ webhookId, id, type, body }))
      )),
    done: (webhookId, eventId) => run("done", Effect.asVoid(sql`DELETE FROM webhook_jobs WHERE webhook_id = ${webhookId} AND event_id = ${eventId}`)),
    release: (owner) => run("release", Effect.asVoid(sql`UPDATE webhook_jobs SET claimed_by = NULL, claimed_until = 0 WHERE claimed_by = ${owner}`)),
    trim: (webhookId, keep) =>
      run("trim", Effect.map(
        sql`DELETE FROM webhook_jobs WHERE webhook_id = ${webhookId} AND claimed_until < ${moment} AND seq <= (
          SELECT seq FROM webhook_jobs WHERE webhook_id = ${webhookId} ORDER BY seq DESC OFFSET ${keep}::bigint LIMIT 1
        ) RETURNING 1`,
        (rows) => rows.length
      )),
    states: run("states", Effect.map(
      sql<WebhookState>`
        SELECT id, updated_at AS "updatedAt", enabled,
          EXISTS (SELECT 1 FROM webhook_jobs j WHERE j.webhook_id = w.id AND j.claimed_until < ${moment}) AS waiting
        FROM webhooks w`,
      (rows) => rows
    ))
  })
})

/** The records and the queue on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<WebhookStore | WebhookQueue, never, SqlClient.SqlClient | Secrets> =>
  Layer.mergeAll(Layer.effect(WebhookStore, makeStore(options)), Layer.effect(WebhookQueue, makeQueue(options)))
