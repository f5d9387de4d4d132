/**
 * Named JSON documents in Postgres. Those of kind `secret` are sealed on the way in and opened on the way out;
 * an absent document reads as undefined, a stored null as null.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as SqlClient from "effect/sql/SqlClient"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Operation from "./operation.ts"
import { documentContext } from "./Reseal.ts"

interface Row {
  readonly key: string
  readonly value: unknown
}

const secretKind = "secret"

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const run = Operation.make("DocumentStore", options)

  /** JSON text of what is stored. */
  const encode = (kind: string, key: string, value: unknown): string => {
    const text = JSON.stringify(value) ?? "null"
    return kind === secretKind ? JSON.stringify(secrets.seal(Redacted.make(text), documentContext(key))) : text
  }

  const decode = (kind: string, row: Row): Effect.Effect<unknown, SealBroken> =>
    kind !== secretKind ? Effect.succeed(row.value) : Effect.try({
      try: (): unknown => JSON.parse(Redacted.value(secrets.openUnsafe(String(row.value), documentContext(row.key)))),
      catch: (error) => error instanceof SealBroken ? error : new SealBroken({ keyId: "", message: `The secret ${row.key} cannot be read.` })
    })

  const first = (kind: string) => (rows: ReadonlyArray<Row>) => rows[0] === undefined ? Effect.undefined : decode(kind, rows[0])

  return DocumentStore.of({
    list: (kind) =>
      run("list", Effect.gen(function*() {
        const rows = yield* sql<Row>`SELECT key, value FROM documents WHERE kind = ${kind} ORDER BY key`
        const entries = yield* Effect.forEach(rows, (row) => Effect.map(decode(kind, row), (value) => [row.key, value] as const))
        return new Map(entries)
      })),
    get: (kind, key) =>
      run("get", Effect.flatMap(sql<Row>`SELECT key, value FROM documents WHERE kind = ${kind} AND key = ${key}`, first(kind))),
    put: (kind, key, value) =>
      run("put", Effect.asVoid(Effect.suspend(() => sql`
        INSERT INTO documents ${sql.insert({ kind, key, value: encode(kind, key, value) })}
        ON CONFLICT (kind, key) DO UPDATE SET value = excluded.value`))),
    // The empty update makes the standing row visible to RETURNING, also one that another node has just inserted.
    putIfAbsent: (kind, key, value) =>
      run("putIfAbsent", Effect.flatMap(
        Effect.suspend(() => sql<Row>`
          INSERT INTO documents ${sql.insert({ kind, key, value: encode(kind, key, value) })}
          ON CONFLICT (kind, key) DO UPDATE SET key = excluded.key
          RETURNING key, value`),
        first(kind)
      )),
    remove: (kind, key) =>
      run("remove", Effect.map(
        sql`DELETE FROM documents WHERE kind = ${kind} AND key = ${key} RETURNING key`,
        (rows) => rows.length > 0
      )),
    clear: (kind) => run("clear", Effect.map(sql`DELETE FROM documents WHERE kind = ${kind} RETURNING key`, (rows) => rows.length))
  })
})

/** `DocumentStore` on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<DocumentStore, never, SqlClient.SqlClient | Secrets> =>
  Layer.effect(DocumentStore, make(options))
