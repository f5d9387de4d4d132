/** Entries of memories in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { MemoryEntry, memoryTypes } from "#schemas/memory/MemoryEntry.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import { stored } from "#src/platform/postgres/text.ts"
import * as Vector from "./vectors/vector.ts"
import { type MemoryFilter, MemoryStore } from "./ports/MemoryStore.ts"

const table = Table.make("MemoryStore", MemoryEntry, { json: ["metadata"] })

const whole = (entry: MemoryEntry): MemoryEntry => ({
  ...entry, apiKeyId: stored(entry.apiKeyId), sessionId: stored(entry.sessionId), key: stored(entry.key), content: stored(entry.content)
})

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("MemoryStore", options)
  const columns = sql.literal(table.columns)
  const one = (rows: ReadonlyArray<object>) => rows[0] === undefined ? Effect.succeed(null) : table.fromRow(rows[0])
  const all = Effect.forEach(table.fromRow)

  const matching = ({ apiKeyId, before, q, sessionId, type }: MemoryFilter) => sql.and([
    sql`true`,
    ...apiKeyId === undefined ? [] : [sql`api_key_id = ${stored(apiKeyId)}`],
    ...type === undefined ? [] : [sql`type = ${type}`],
    ...sessionId === undefined ? [] : [sql`session_id = ${stored(sessionId)}`],
    ...before === undefined ? [] : [sql`updated_at < ${before}`],
    ...q === undefined ? [] : [sql`(strpos(lower(key), lower(${stored(q)}::text)) > 0 OR strpos(lower(content), lower(${stored(q)}::text)) > 0)`]
  ])

  return MemoryStore.of({
    get: (id) => run("get", Effect.flatMap(sql`SELECT ${columns} FROM memories WHERE id = ${stored(id)}`, one)),
    findByKey: (apiKeyId, key) => run("findByKey", Effect.flatMap(
      sql`SELECT ${columns} FROM memories WHERE api_key_id = ${stored(apiKeyId)} AND key = ${stored(key)}`, one
    )),
    put: (entry) => run("put", Effect.asVoid(Effect.suspend(() => {
      const row = table.toRow(whole(entry))
      return sql`INSERT INTO memories ${sql.insert(row)} ON CONFLICT (id) DO UPDATE SET ${sql.update(row, ["id"])}`
    }))),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM memories WHERE id = ${stored(id)} RETURNING 1`, (rows) => rows.length > 0)),
    replace: (ids, entry) => run("replace", Effect.asVoid(sql`
      WITH gone AS (DELETE FROM memories WHERE ${sql.in("id", ids.map(stored))})
      INSERT INTO memories ${sql.insert(table.toRow(whole(entry)))}`)),
    removeAll: (filter) => Operation.removeAll(run("removeAll", sql`
      DELETE FROM memories WHERE id IN (SELECT id FROM memories WHERE ${matching(filter)} LIMIT ${Operation.REMOVED_AT_ONCE}) RETURNING 1`)),
    list: (filter, limit, offset) => run("list", Effect.gen(function*() {
      const entries = yield* Effect.flatMap(
        sql`SELECT ${columns} FROM memories WHERE ${matching(filter)} ORDER BY updated_at DESC, id LIMIT ${limit} OFFSET ${offset}`, all
      )
      const [counted] = yield* sql<{ readonly total: unknown }>`SELECT count(*) AS total FROM memories WHERE ${matching(filter)}`
      return { entries, total: Number(counted?.total ?? 0) }
    })),
    ofKey: (apiKeyId, now, limit) => run("ofKey", Effect.flatMap(
      sql`SELECT ${columns} FROM memories
        WHERE api_key_id = ${stored(apiKeyId)} AND (expires_at IS NULL OR expires_at > ${now}) ORDER BY updated_at DESC, id LIMIT ${limit}`,
      all
    )),
    weight: (apiKeyId, but) => run("weight", Effect.map(
      sql<{ readonly entries: unknown; readonly characters: unknown }>`
        SELECT count(*) AS entries, coalesce(sum(length(key) + length(content)), 0) AS characters
        FROM memories WHERE api_key_id = ${stored(apiKeyId)} AND key <> ${stored(but)}`,
      ([row]) => ({ entries: Number(row?.entries ?? 0), characters: Number(row?.characters ?? 0) })
    )),
    figures: (filter) => run("figures", Effect.map(
      sql<{ readonly type: string; readonly total: unknown; readonly tokens: unknown }>`
        SELECT type, count(*) AS total, sum(tokens) AS tokens FROM memories WHERE ${matching(filter)} GROUP BY type`,
      (rows) => {
        const of = (type: string): number => Number(rows.find((row) => row.type === type)?.total ?? 0)
        const [factual, episodic, semantic, procedural] = memoryTypes
        return {
          total: rows.reduce((sum, row) => sum + Number(row.total), 0), tokens: rows.reduce((sum, row) => sum + Number(row.tokens), 0),
          byType: { factual: of(factual), episodic: of(episodic), semantic: of(semantic), procedural: of(procedural) }
        }
      }
    )),
    sweep: (now, before) => Operation.removeAll(run("sweep", sql`
      DELETE FROM memories WHERE id IN (
        SELECT id FROM memories WHERE expires_at <= ${now}${before === null ? sql`` : sql` OR updated_at < ${before}`} LIMIT ${Operation.REMOVED_AT_ONCE}
      ) RETURNING 1`)),
    vectors: (apiKeyId, model) => run("vectors", Effect.map(
      sql<{ readonly memoryId: string; readonly digest: string; readonly vector: string }>`
        SELECT memory_id AS "memoryId", digest, encode(vector, 'base64') AS vector FROM memory_vectors WHERE api_key_id = ${stored(apiKeyId)} AND model = ${stored(model)} ORDER BY memory_id`,
      (rows) => rows.flatMap(({ digest, memoryId, vector: text }) => {
        const vector = Vector.fromBytes(Buffer.from(text, "base64"))
        return vector === null ? [] : [{ memoryId, digest, vector }]
      })
    )),
    putVectors: (apiKeyId, model, vectors) => run("putVectors", Effect.asVoid(sql`
      INSERT INTO memory_vectors (memory_id, api_key_id, model, digest, vector)
      SELECT x.id, ${stored(apiKeyId)}, ${stored(model)}, x.digest, decode(x.vector, 'base64')
      FROM json_to_recordset(${JSON.stringify(vectors.map(({ digest, memoryId, vector }) => ({ id: stored(memoryId), digest, vector: Buffer.from(Vector.toBytes(vector)).toString("base64") })))}::text::json)
        AS x(id text, digest text, vector text)
      WHERE EXISTS (SELECT 1 FROM memories WHERE memories.id = x.id AND memories.api_key_id = ${stored(apiKeyId)})
      ON CONFLICT (memory_id) DO UPDATE SET model = excluded.model, digest = excluded.digest, vector = excluded.vector`)),
    removeVectors: (apiKeyId) => Operation.removeAll(run("removeVectors", sql`
      DELETE FROM memory_vectors WHERE memory_id IN (
        SELECT memory_id FROM memory_vectors${apiKeyId === undefined ? sql`` : sql` WHERE api_key_id = ${stored(apiKeyId)}`} LIMIT ${Operation.REMOVED_AT_ONCE}
      ) RETURNING 1`)),
    owners: (after, limit) => run("owners", Effect.map(
      sql<{ readonly owner: string }>`
        SELECT DISTINCT api_key_id AS owner FROM memories${after === null ? sql`` : sql` WHERE api_key_id > ${stored(after)}`} ORDER BY api_key_id LIMIT ${limit}`,
      (rows) => rows.map(({ owner }) => owner)
    )),
    ping: run("ping", Effect.asVoid(sql`SELECT 1 FROM memories LIMIT 1`))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions) => Layer.effect(MemoryStore, make(options))
