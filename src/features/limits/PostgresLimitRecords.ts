/** Budgets, token limits and issued keys in Postgres. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as SqlClient from "effect/sql/SqlClient"
import { BudgetStore, type IssueStanding, type RegisteredFilter, RegisteredKeyStore, TokenLimitStore } from "#actors/limits/ports/LimitRecords.ts"
import { Budget, IssueLimits, RegisteredKey, TokenLimit } from "#schemas/records/Limits.ts"
import * as Operation from "#src/platform/postgres/operation.ts"
import * as Table from "#src/platform/postgres/Table.ts"

const budgetTable = Table.make("BudgetStore", Budget, { nameOf: (row) => String(Reflect.get(row, "apiKeyId")) })
const limitTable = Table.make("TokenLimitStore", TokenLimit)
const registeredTable = Table.make("RegisteredKeyStore", RegisteredKey)
const issueTable = Table.make("RegisteredKeyStore", IssueLimits, { nameOf: (row) => String(Reflect.get(row, "subject")) })

const budgets = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("BudgetStore", options)
  return BudgetStore.of({
    list: run("list", Effect.flatMap(sql`SELECT ${sql.literal(budgetTable.columns)} FROM budgets ORDER BY api_key_id`, Effect.forEach(budgetTable.fromRow))),
    put: (budget) => {
      const row = budgetTable.toRow(budget)
      return run("put", Effect.asVoid(sql`
        INSERT INTO budgets ${sql.insert(row)}
        ON CONFLICT (api_key_id) DO UPDATE SET ${sql.update(row, ["api_key_id", "created_at"])}`))
    },
    remove: (apiKeyId) => run("remove", Effect.map(sql`DELETE FROM budgets WHERE api_key_id = ${apiKeyId} RETURNING 1`, (rows) => rows.length > 0))
  })
})

const tokenLimits = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("TokenLimitStore", options)
  return TokenLimitStore.of({
    list: run("list", Effect.flatMap(sql`SELECT ${sql.literal(limitTable.columns)} FROM token_limits ORDER BY created_at, id`, Effect.forEach(limitTable.fromRow))),
    insert: (limit) => run("insert", Effect.asVoid(sql`INSERT INTO token_limits ${sql.insert(limitTable.toRow(limit))}`)),
    replace: (limit) =>
      run("replace", Effect.map(
        sql`UPDATE token_limits SET ${sql.update(limitTable.toRow(limit), ["id"])} WHERE id = ${limit.id} RETURNING id`,
        (rows) => rows.length > 0
      )),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM token_limits WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0))
  })
})

/** Rows of one answer. */
const maxRows = 10_000
/** First halves of the advisory locks under which keys are issued; the second is the hash of the subject. Always taken in this order. */
const issueLocks = [["account", 7_230_412], ["provider", 7_230_413]] as const

const registeredKeys = Effect.fnUntraced(function*(options: Operation.StoreOptions) {
  const sql = yield* SqlClient.SqlClient
  const run = Operation.make("RegisteredKeyStore", options)
  const columns = sql.literal(registeredTable.columns)
  const first = <A>(rows: ReadonlyArray<A>): A | null => rows[0] ?? null
  const list = ({ accountId, issuerId, provider }: RegisteredFilter) => {
    const clauses = [
      ...(provider === undefined ? [] : [sql`provider = ${provider}`]),
      ...(accountId === undefined ? [] : [sql`account_id = ${accountId}`]),
      ...(issuerId === undefined ? [] : [issuerId === null ? sql`issuer_id IS NULL` : sql`issuer_id = ${issuerId}`])
    ]
    return Effect.flatMap(
      sql`SELECT ${columns} FROM registered_keys WHERE ${sql.and(clauses)} ORDER BY created_at DESC, id DESC LIMIT ${maxRows}`,
      Effect.forEach(registeredTable.fromRow)
    )
  }
  const issueLimits = (subject: string) => Effect.flatMap(
    sql`SELECT ${sql.literal(issueTable.columns)} FROM issue_limits WHERE subject = ${subject}`,
    (rows) => Effect.map(Effect.forEach(rows, issueTable.fromRow), first)
  )
  /** Judged under the lock of each subject; a waiter sees what the holder of the lock committed. */
  const issue = <R>(key: RegisteredKey, judge: (standing: IssueStanding) => R | null) => Effect.gen(function*() {
    for (const [kind, lock] of issueLocks) {
      const id = kind === "account" ? key.accountId : key.provider
      if (id === "") continue
      const limits = yield* issueLimits(`${kind}:${id}`)
      if (limits === null) continue
      yield* sql`SELECT pg_advisory_xact_lock(${lock}, hashtext(${limits.subject}))`
      const refusal = judge({ kind, limits, keys: yield* list(kind === "account" ? { accountId: id } : { provider: id }) })
      if (refusal !== null) return refusal
    }
    yield* sql`INSERT INTO registered_keys ${sql.insert(registeredTable.toRow(key))}`
    return null
  })
  return RegisteredKeyStore.of({
    list: (filter) => run("list", list(filter)),
    get: (id) => run("get", Effect.flatMap(sql`SELECT ${columns} FROM registered_keys WHERE id = ${id}`, (rows) => Effect.map(Effect.forEach(rows, registeredTable.fromRow), first))),
    byIdempotencyKey: (key) =>
      run("byIdempotencyKey", Effect.flatMap(
        sql`SELECT ${columns} FROM registered_keys WHERE idempotency_key = ${key}`,
        (rows) => Effect.map(Effect.forEach(rows, registeredTable.fromRow), first)
      )),
    issue: (key, judge) => run("issue", sql.withTransaction(issue(key, judge))),
    revoke: (id, revokedAt) =>
      run("revoke", Effect.map(
        sql`UPDATE registered_keys SET revoked_at = ${revokedAt} WHERE id = ${id} AND revoked_at IS NULL RETURNING id`,
        (rows) => rows.length > 0
      )),
    remove: (id) => run("remove", Effect.map(sql`DELETE FROM registered_keys WHERE id = ${id} RETURNING id`, (rows) => rows.length > 0)),
    renameProvider: (from, to) => run("renameProvider", Effect.gen(function*() {
      const keys = yield* sql`UPDATE registered_keys SET provider = ${to} WHERE provider = ${from} RETURNING id`
      // Limits of an earlier provider of the new name give way.
      yield* sql`DELETE FROM issue_limits WHERE subject = ${`provider:${to}`} AND EXISTS (SELECT 1 FROM issue_limits WHERE subject = ${`provider:${from}`})`
      const limits = yield* sql`UPDATE issue_limits SET subject = ${`provider:${to}`} WHERE subject = ${`provider:${from}`} RETURNING subject`
      return keys.length + limits.length > 0
    })),
    issueLimits: (subject) => run("issueLimits", issueLimits(subject)),
    putIssueLimits: (limits) => {
      const row = issueTable.toRow(limits)
      return run("putIssueLimits", Effect.asVoid(sql`
        INSERT INTO issue_limits ${sql.insert(row)} ON CONFLICT (subject) DO UPDATE SET ${sql.update(row, ["subject"])}`))
    }
  })
})

export type LimitRecords = BudgetStore | TokenLimitStore | RegisteredKeyStore

/** The limit records on the client's database, which must be migrated. */
export const layer = (options: Operation.StoreOptions = {}): Layer.Layer<LimitRecords, never, SqlClient.SqlClient> =>
  Layer.mergeAll(
    Layer.effect(BudgetStore, budgets(options)),
    Layer.effect(TokenLimitStore, tokenLimits(options)),
    Layer.effect(RegisteredKeyStore, registeredKeys(options))
  )
