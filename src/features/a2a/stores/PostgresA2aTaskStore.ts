/** Tasks of agents in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as SqlClient from "effect/sql/SqlClient"
import { SealBroken, Secrets } from "#actors/ports/Secrets.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { type A2aTask, TaskContent, type TaskState } from "#src/features/a2a/ports/A2aTask.ts"
import { A2aTaskStore } from "#src/features/a2a/ports/A2aTaskStore.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import { pushConfigContext } from "#src/platform/postgres/Reseal.ts"
import { stored } from "#src/platform/postgres/text.ts"

interface Row {
  readonly id: string
  readonly owner: string
  readonly contextId: string
  readonly skill: string
  readonly state: TaskState
  readonly revision: unknown
  readonly createdAt: unknown
  readonly updatedAt: unknown
  readonly completedAt: unknown
  readonly expiresAt: unknown
  readonly goneAt: unknown
  readonly silentMs: unknown
  readonly isPrivate: boolean
  readonly content: string
}

/** ms by the database's clock: those of nodes may differ. */
const databaseNow = "(extract(epoch FROM clock_timestamp()) * 1000)::bigint"

const columns = `id, owner, context_id AS "contextId", skill, state, revision, created_at AS "createdAt", updated_at AS "updatedAt",
  completed_at AS "completedAt", expires_at AS "expiresAt", gone_at AS "goneAt", ${databaseNow} - beat_at AS "silentMs", is_private AS "isPrivate", content`

const decode = Schema.decodeUnknownEffect(Schema.fromJsonString(TaskContent))

/** What of a task is stored: of a private one neither what was asked nor what was answered. */
const contentOf = ({ artifacts, events, fault, input, isPrivate, messages, metadata, request }: A2aTask): string => stored(JSON.stringify(isPrivate
  ? { input: "", messages: [], request: {}, artifacts: [], events, metadata: {}, fault }
  : { input, messages, request, artifacts, events, metadata, fault } satisfies TaskContent))

const taskOf = (row: Row): Effect.Effect<A2aTask, StoreError> => Effect.mapBoth(decode(row.content), {
  onSuccess: (content) => ({
    ...content, id: row.id, owner: row.owner, contextId: row.contextId, skill: row.skill, state: row.state, revision: Number(row.revision),
    createdAt: Number(row.createdAt), updatedAt: Number(row.updatedAt), completedAt: row.completedAt === null ? null : Number(row.completedAt),
    expiresAt: Number(row.expiresAt), goneAt: Number(row.goneAt), isPrivate: row.isPrivate
  }),
  onFailure: (error) => new StoreError({
    store: "A2aTaskStore", operation: "read", reason: "corrupt", message: `A2aTaskStore: the row of ${row.id} no longer fits its record: ${error.message}`, cause: error
  })
})

const make = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const secrets = yield* Secrets
  const run = Operation.make("A2aTaskStore", options)
  const live = sql.literal("state IN ('submitted', 'working')")
  const now = sql.literal(databaseNow)
  const changing = (task: A2aTask) => ({
    state: task.state, revision: task.revision, updated_at: task.updatedAt, completed_at: task.completedAt, content: contentOf(task)
  })
  return A2aTaskStore.of({
    insert: (task) => run("insert", Effect.asVoid(Effect.suspend(() => sql`INSERT INTO a2a_tasks ${sql.insert({
      id: task.id, owner: task.owner, context_id: stored(task.contextId), skill: task.skill, created_at: task.createdAt, expires_at: task.expiresAt,
      gone_at: task.goneAt, is_private: task.isPrivate, ...changing(task)
    })}`))),
    save: (task) => run("save", Effect.map(
      Effect.suspend(() => sql`UPDATE a2a_tasks SET ${sql.update(changing(task))}, beat_at = ${now} WHERE id = ${task.id} AND ${live} RETURNING id`),
      (rows) => rows.length > 0
    )),
    find: (id) => run("find", Effect.gen(function*() {
      const [row] = yield* sql<Row>`SELECT ${sql.literal(columns)} FROM a2a_tasks WHERE id = ${stored(id)}`
      return row === undefined ? null : { task: yield* taskOf(row), silentMs: Number(row.silentMs) }
    })),
    list: ({ changedAfter, contextId, limit, offset, owner, skill, state }) => run("list", Effect.gen(function*() {
      const wanted = sql.and([
        sql`owner = ${owner}`,
        ...(state === undefined ? [] : [sql`state = ${state}`]),
        ...(skill === undefined ? [] : [sql`skill = ${stored(skill)}`]),
        ...(contextId === undefined ? [] : [sql`context_id = ${stored(contextId)}`]),
        ...(changedAfter === undefined ? [] : [sql`updated_at > ${changedAfter}`])
      ])
      const rows = yield* sql<Row>`
        SELECT ${sql.literal(columns)} FROM a2a_tasks WHERE ${wanted} ORDER BY created_at DESC, id DESC LIMIT ${limit}::bigint OFFSET ${offset}::bigint`
      const [count] = yield* sql<{ readonly total: unknown }>`SELECT count(*) AS total FROM a2a_tasks WHERE ${wanted}`
      return { tasks: yield* Effect.forEach(rows, taskOf), total: Number(count?.total ?? 0) }
    })),
    running: (owner) => run("running", Effect.map(
      sql<{ readonly total: unknown }>`SELECT count(*) AS total FROM a2a_tasks WHERE owner = ${owner} AND ${live}`,
      ([row]) => Number(row?.total ?? 0)
    )),
    touch: (ids) => ids.length === 0 ? Effect.succeed([]) : run("touch", Effect.map(
      sql<{ readonly id: string }>`UPDATE a2a_tasks SET beat_at = ${now} WHERE ${sql.in("id", [...ids])} AND ${live} RETURNING id`,
      (rows) => {
        const known = new Set(rows.map(({ id }) => id))
        return ids.filter((id) => !known.has(id))
      }
    )),
    overdue: (at, silentMs, limit) => run("overdue", Effect.flatMap(
      sql<Row>`SELECT ${sql.literal(columns)} FROM a2a_tasks WHERE ${live} AND (expires_at <= ${at} OR beat_at < ${now} - ${silentMs}::bigint) ORDER BY id LIMIT ${limit}::bigint`,
      (rows) => Effect.forEach(rows, taskOf)
    )),
    removeGone: (at) => Operation.removeAll(run("removeGone", sql`
      DELETE FROM a2a_tasks WHERE id IN (SELECT id FROM a2a_tasks WHERE gone_at <= ${at} AND NOT (${live}) LIMIT ${Operation.REMOVED_AT_ONCE})
      RETURNING 1`)),
    counts: run("counts", Effect.map(
      sql<{ readonly state: TaskState; readonly total: unknown }>`SELECT state, count(*) AS total FROM a2a_tasks GROUP BY state`,
      (rows) => ({
        submitted: 0, working: 0, completed: 0, failed: 0, cancelled: 0, ...Object.fromEntries(rows.map(({ state, total }) => [state, Number(total)]))
      })
    )),
    putConfig: ({ id, receiver, taskId }) => run("putConfig", Effect.asVoid(Effect.suspend(() => sql`
      INSERT INTO a2a_push_configs ${sql.insert({ task_id: taskId, id: stored(id), receiver: secrets.seal(receiver, pushConfigContext(taskId, id)) })}
      ON CONFLICT (task_id, id) DO UPDATE SET receiver = excluded.receiver`))),
    configs: (taskId) => run("configs", Effect.flatMap(
      sql<{ readonly id: string; readonly receiver: string }>`SELECT id, receiver FROM a2a_push_configs WHERE task_id = ${stored(taskId)} ORDER BY id`,
      (rows) => Effect.forEach(rows, ({ id, receiver }) => Effect.try({
        try: () => ({ taskId, id, receiver: secrets.openUnsafe(receiver, pushConfigContext(taskId, id)) }),
        catch: (error) => error instanceof SealBroken ? error : new SealBroken({ keyId: "", message: String(error) })
      }))
    )),
    removeConfig: (taskId, id) => run("removeConfig", Effect.asVoid(sql`DELETE FROM a2a_push_configs WHERE task_id = ${stored(taskId)} AND id = ${stored(id)}`))
  })
})

/** On the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<A2aTaskStore, never, SqlClient.SqlClient | Secrets> =>
  Layer.effect(A2aTaskStore, make(options))
