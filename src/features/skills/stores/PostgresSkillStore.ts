/** Records of skills in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { Skill } from "#src/features/skills/ports/Skill.ts"
import { SkillStore } from "#src/features/skills/ports/SkillStore.ts"

const table = Table.make("SkillStore", Skill, { json: ["schema", "tags"] })

type Row = Record<string, unknown>

/** The driver gives a bigint as text. */
const read = (row: Row) => table.fromRow({ ...row, installCount: Number(row["installCount"]) })
const rowOf = (skill: Skill): Row =>
  table.toRow({ ...skill, name: stored(skill.name), description: stored(skill.description), handler: stored(skill.handler), tags: skill.tags.map(stored) })

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("SkillStore", options)
  const columns = sql.literal(table.columns)
  return SkillStore.of({
    list: ({ apiKeyId, limit, mode, offset, q, source }) => run("list", Effect.gen(function*() {
      const wanted = sql.and([
        sql`true`,
        ...(q === undefined ? [] : [sql`position(lower(${stored(q)}::text) IN lower(concat_ws(' ', name, description, tags::text))) > 0`]),
        ...(mode === undefined ? [] : [sql`mode = ${mode}`]),
        ...(source === undefined ? [] : [sql`source_provider = ${source}`]),
        ...(apiKeyId === undefined ? [] : [sql`(api_key_id IS NULL OR api_key_id = ${stored(apiKeyId)})`])
      ])
      const rows = yield* sql<Row>`
        SELECT ${columns} FROM skills WHERE ${wanted} ORDER BY name, created_at DESC, id LIMIT ${limit}::bigint OFFSET ${offset}::bigint`
      const [count] = yield* sql<{ readonly total: unknown }>`SELECT count(*) AS total FROM skills WHERE ${wanted}`
      return { skills: yield* Effect.forEach(rows, read), total: Number(count?.total ?? 0) }
    })),
    get: (id) => run("get", Effect.flatMap(
      sql<Row>`SELECT ${columns} FROM skills WHERE id = ${stored(id)}`,
      ([row]) => row === undefined ? Effect.succeed(null) : read(row)
    )),
    versions: (name) => run("versions", Effect.flatMap(
      sql<Row>`SELECT ${columns} FROM skills WHERE name = ${stored(name)} ORDER BY version`, Effect.forEach(read)
    )),
    popular: (limit) => run("popular", Effect.map(
      sql<{ readonly name: string }>`SELECT name FROM skills GROUP BY name ORDER BY sum(install_count) DESC, name LIMIT ${limit}::bigint`,
      (rows) => rows.map(({ name }) => name)
    )),
    insert: (skill) => run("insert", Effect.asVoid(Effect.suspend(() => sql`INSERT INTO skills ${sql.insert(rowOf(skill))}`))),
    replace: (skill) => run("replace", Effect.map(
      Effect.suspend(() => sql`UPDATE skills SET ${sql.update(rowOf(skill), ["id"])} WHERE id = ${skill.id} RETURNING id`),
      (rows) => rows.length > 0
    )),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM skills WHERE id = ${stored(id)} RETURNING id`, (rows) => rows.length > 0))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<SkillStore, never, SqlClient.SqlClient> => Layer.effect(SkillStore, make(options))
