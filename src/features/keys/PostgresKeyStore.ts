/**
 * API keys in Postgres. `sealedKey` is sealed here: callers hand over and receive the key itself, Redacted.
 *
 * A policy that was stored before a field existed is completed with that field's default; a revealable key that cannot
 * be opened any more reads as null, so that a lost master secret never locks clients out.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { Secrets } from "#actors/ports/Secrets.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import { ApiKey, defaultPolicy } from "#schemas/records/ApiKey.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import { apiKeyContext } from "#src/platform/postgres/Reseal.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const table = Table.make("KeyStore", ApiKey, { json: ["policy"] })

type Row = Record<string, unknown>

/** Only an object is completed: anything else must fail to decode, not turn into a policy that allows everything. */
const completed = (policy: unknown): unknown =>
  typeof policy === "object" && policy !== null && !Array.isArray(policy) ? { ...defaultPolicy, ...policy } : policy

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const run = Operation.make("KeyStore", options)
  const columns = sql.literal(table.columns)

  const sealed = (key: ApiKey): Row => ({
    ...table.toRow(key),
    sealed_key: key.sealedKey === null ? null : secrets.seal(key.sealedKey, apiKeyContext(key.id))
  })

  const open = (id: string, value: unknown): Effect.Effect<Redacted.Redacted<string> | null> =>
    typeof value !== "string"
      ? Effect.succeed(null)
      : Effect.try({ try: () => secrets.openUnsafe(value, apiKeyContext(id)), catch: (error) => error }).pipe(
        Effect.catch((error) => Effect.as(Effect.logWarning(`API key ${id} cannot be revealed any more.`, error), null))
      )

  const read = (row: Row) =>
    Effect.flatMap(open(String(row["id"]), row["sealedKey"]), (sealedKey) =>
      table.fromRow({ ...row, sealedKey, policy: completed(row["policy"]) }))

  const one = (rows: ReadonlyArray<Row>) => rows[0] === undefined ? Effect.succeed(null) : read(rows[0])

  return KeyStore.of({
    findByHash: (keyHash) => run("findByHash", Effect.flatMap(sql<Row>`SELECT ${columns} FROM api_keys WHERE key_hash = ${keyHash}`, one)),
    get: (id) => run("get", Effect.flatMap(sql<Row>`SELECT ${columns} FROM api_keys WHERE id = ${id}`, one)),
    some: (ids) => ids.length === 0
      ? Effect.succeed([])
      : run("some", Effect.flatMap(sql<Row>`SELECT ${columns} FROM api_keys WHERE ${sql.in("id", ids)}`, Effect.forEach(read))),
    list: (limit, offset, search) =>
      run("list", Effect.gen(function*() {
        const fits = search === undefined ? sql`TRUE` : sql`strpos(lower(concat_ws(' ', name, id, key_prefix || '****' || key_suffix)), lower(${search})) > 0`
        const rows = yield* sql<Row>`SELECT ${columns} FROM api_keys WHERE ${fits} ORDER BY created_at DESC, id DESC LIMIT ${limit} OFFSET ${offset}`
        const counts = yield* sql<{ readonly total: number }>`SELECT count(*) AS total FROM api_keys WHERE ${fits}`
        return { keys: yield* Effect.forEach(rows, read), total: counts[0]?.total ?? 0 }
      })),
    insert: (key) => run("insert", Effect.asVoid(Effect.suspend(() => sql`INSERT INTO api_keys ${sql.insert(sealed(key))}`))),
    replace: (key, seen) =>
      run("replace", Effect.map(
        Effect.suspend(() => sql`UPDATE api_keys SET ${sql.update(sealed(key), ["id"])} WHERE id = ${key.id} AND updated_at = ${seen} RETURNING id`),
        (rows) => rows.length > 0
      )),
    touch: (id, lastUsedAt) =>
      run("touch", Effect.asVoid(sql`
        UPDATE api_keys SET last_used_at = ${lastUsedAt}
        WHERE id = ${id} AND (last_used_at IS NULL OR last_used_at < ${lastUsedAt})`)),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM api_keys WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0))
  })
})

/** `KeyStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<KeyStore, never, SqlClient.SqlClient | Secrets> =>
  Layer.effect(KeyStore, make(options))
