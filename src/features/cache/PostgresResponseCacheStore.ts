/** Stored answers in Postgres: one row per signature, the newest answer stands, hits are added to it. */
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import type { Fragment } from "effect/sql/Statement"
import { type CachedAnswer, type CacheEntry, type EntryQuery, type Forgotten, ResponseCacheStore } from "#src/features/cache/ports/ResponseCache.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import { stored } from "#src/platform/postgres/text.ts"

type Row = Omit<CacheEntry, "tokensSaved"> & { readonly body: string }

const facts = `signature, api_key_id AS "apiKeyId", model, provider, strategy, format, tokens_in AS "tokensIn", tokens_out AS "tokensOut",
  cost_usd AS "costUsd", created_at AS "createdAt", expires_at AS "expiresAt"`

/** A text as it stands within a LIKE pattern. */
const literal = (text: string): string => text.replace(/[\\%_]/g, "\\$&")

const orders = {
  created_at: "created_at", expires_at: "expires_at", hit_count: "hits", tokens_saved: "hits * (tokens_in + tokens_out)", model: "model"
} as const

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("ResponseCacheStore", options)
  const columns = sql.literal(facts)

  const matching = (query: EntryQuery, now: number): Fragment => {
    const clauses: Array<Fragment> = [sql`expires_at > ${now}`]
    if (query.model !== undefined) clauses.push(sql`model = ${query.model}`)
    if (query.search !== undefined) {
      const pattern = `%${literal(query.search)}%`
      clauses.push(sql`(model ILIKE ${pattern} OR signature ILIKE ${pattern})`)
    }
    return sql.and(clauses)
  }

  const forgotten = (what: Forgotten): Fragment => {
    switch (what._tag) {
      case "All":
        return sql`TRUE`
      case "Signature":
        return sql`signature = ${what.signature}`
      case "Model":
        return sql`model = ${what.model}`
      case "Stale":
        return sql`created_at <= ${what.storedBefore}`
    }
  }

  const removeAll = (where: Fragment) => Operation.removeAll(run("sweep", sql`
    DELETE FROM response_cache WHERE signature IN (SELECT signature FROM response_cache ${where} LIMIT ${Operation.REMOVED_AT_ONCE}) RETURNING 1`))

  return ResponseCacheStore.of({
    find: (signature, now) =>
      run("find", Effect.map(
        sql<Row>`SELECT ${columns}, body FROM response_cache WHERE signature = ${signature} AND expires_at > ${now}`,
        ([row]): CachedAnswer | null => row === undefined ? null : { ...row, body: Buffer.from(row.body) }
      )),
    put: (answers) => {
      // One row per signature in a statement, in one order everywhere: two nodes that write the same ones wait instead of deadlocking.
      const newest = new Map(answers.map((answer) => [answer.signature, answer]))
      const rows = [...newest.values()].sort((a, b) => a.signature < b.signature ? -1 : 1).map((answer) => ({
        signature: answer.signature, api_key_id: answer.apiKeyId, model: stored(answer.model), provider: stored(answer.provider), strategy: answer.strategy,
        format: answer.format, body: stored(Buffer.from(answer.body).toString("utf8")), tokens_in: answer.tokensIn, tokens_out: answer.tokensOut,
        cost_usd: answer.costUsd, created_at: answer.createdAt, expires_at: answer.expiresAt
      }))
      return !Arr.isArrayNonEmpty(rows) ? Effect.void : run("put", Effect.asVoid(sql`
        INSERT INTO response_cache ${sql.insert(rows)}
        ON CONFLICT (signature) DO UPDATE SET
          model = excluded.model, provider = excluded.provider, strategy = excluded.strategy, body = excluded.body,
          tokens_in = excluded.tokens_in, tokens_out = excluded.tokens_out, cost_usd = excluded.cost_usd,
          created_at = excluded.created_at, expires_at = excluded.expires_at
        WHERE response_cache.created_at <= excluded.created_at`))
    },
    noteHits: (hits) =>
      hits.length === 0 ? Effect.void : run("noteHits", Effect.asVoid(sql`
        UPDATE response_cache SET hits = response_cache.hits + added.hits
        FROM json_to_recordset(${JSON.stringify(hits)}::json) AS added(signature text, hits bigint)
        WHERE response_cache.signature = added.signature`)),
    entries: (query, now) =>
      run("entries", Effect.gen(function*() {
        const order = sql.literal(`${orders[query.sortBy]} ${query.descending ? "DESC" : "ASC"}, signature`)
        const rows = yield* sql<Row>`
          SELECT ${columns}, hits FROM response_cache WHERE ${matching(query, now)}
          ORDER BY ${order} LIMIT ${query.limit} OFFSET ${query.offset}`
        const counts = yield* sql<{ readonly total: number }>`SELECT count(*) AS total FROM response_cache WHERE ${matching(query, now)}`
        return {
          entries: rows.map((row): CacheEntry => ({ ...row, tokensSaved: row.hits * (row.tokensIn + row.tokensOut) })),
          total: counts[0]?.total ?? 0
        }
      })),
    count: (now) =>
      run("count", Effect.map(sql<{ readonly total: number }>`SELECT count(*) AS total FROM response_cache WHERE expires_at > ${now}`, ([row]) => row?.total ?? 0)),
    remove: (what) =>
      run("remove", Effect.map(
        sql<{ readonly signature: string }>`DELETE FROM response_cache WHERE ${forgotten(what)} RETURNING signature`,
        (rows) => rows.map(({ signature }) => signature)
      )),
    sweep: (now, most) => Effect.zipWith(
      removeAll(sql`WHERE expires_at <= ${now}`), removeAll(sql`ORDER BY created_at DESC, signature OFFSET ${most}`),
      (expired, surplus) => expired + surplus
    )
  })
})

/** `ResponseCacheStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<ResponseCacheStore, never, SqlClient.SqlClient> =>
  Layer.effect(ResponseCacheStore, make(options))
