/** Records of executions in Postgres. Input and output are JSON texts, which may hold what its JSON columns refuse. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import { StoreError } from "#actors/ports/StoreError.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import { stored } from "#src/platform/postgres/text.ts"
import { SkillExecution } from "#src/features/skills/ports/Skill.ts"
import { SkillExecutionStore } from "#src/features/skills/ports/SkillExecutionStore.ts"

type Row = Record<string, unknown>

const columns = `id, skill_id AS "skillId", api_key_id AS "apiKeyId", session_id AS "sessionId", input, output, status, error_message AS "errorMessage",
  duration_ms AS "durationMs", created_at AS "createdAt"`
const json = Schema.fromJsonString(Schema.Json)
const decode = Schema.decodeUnknownEffect(SkillExecution.mapFields((fields) => ({ ...fields, input: json, output: json })))

const read = (row: Row) => Effect.mapError(
  decode({ ...row, durationMs: row["durationMs"] === null ? null : Number(row["durationMs"]) }),
  (error) => new StoreError({
    store: "SkillExecutionStore", operation: "read", reason: "corrupt",
    message: `SkillExecutionStore: the row of ${String(row["id"])} no longer fits its record: ${error.message}`, cause: error
  })
)
const text = (value: string | null): string | null => value === null ? null : stored(value)

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("SkillExecutionStore", options)
  const live = sql.literal("status IN ('pending', 'running')")
  return SkillExecutionStore.of({
    list: ({ apiKeyId, limit, offset }) => run("list", Effect.gen(function*() {
      const wanted = apiKeyId === undefined ? sql`true` : sql`api_key_id = ${stored(apiKeyId)}`
      const rows = yield* sql<Row>`
        SELECT ${sql.literal(columns)} FROM skill_executions WHERE ${wanted} ORDER BY created_at DESC, id DESC LIMIT ${limit}::bigint OFFSET ${offset}::bigint`
      const [count] = yield* sql<{ readonly total: unknown }>`SELECT count(*) AS total FROM skill_executions WHERE ${wanted}`
      return { executions: yield* Effect.forEach(rows, read), total: Number(count?.total ?? 0) }
    })),
    insert: ({ apiKeyId, createdAt, durationMs, errorMessage, id, input, output, sessionId, skillId, status }) => run("insert", Effect.asVoid(Effect.suspend(() => sql`
      INSERT INTO skill_executions ${sql.insert({
        id, skill_id: skillId, api_key_id: stored(apiKeyId), session_id: text(sessionId), input: JSON.stringify(input), output: JSON.stringify(output), status,
        error_message: text(errorMessage), duration_ms: durationMs, created_at: createdAt
      })}`))),
    begin: (id) => run("begin", Effect.asVoid(sql`UPDATE skill_executions SET status = 'running' WHERE id = ${id} AND status = 'pending'`)),
    end: (id, { durationMs, errorMessage, output, status }) => run("end", Effect.asVoid(Effect.suspend(() => sql`
      UPDATE skill_executions SET ${sql.update({ status, output: JSON.stringify(output), error_message: text(errorMessage), duration_ms: durationMs })}
      WHERE id = ${id} AND ${live}`))),
    abandon: (before, errorMessage) => run("abandon", Effect.asVoid(
      sql`UPDATE skill_executions SET status = 'error', error_message = ${errorMessage} WHERE ${live} AND created_at < ${before}`
    )),
    trim: (most) => run("trim", Effect.asVoid(sql`
      DELETE FROM skill_executions WHERE id IN (SELECT id FROM skill_executions ORDER BY created_at DESC, id DESC OFFSET ${most}::bigint)`))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<SkillExecutionStore, never, SqlClient.SqlClient> =>
  Layer.effect(SkillExecutionStore, make(options))
