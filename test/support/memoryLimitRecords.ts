/** Fast doubles of the limit records. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { BudgetStore, RegisteredKeyStore, TokenLimitStore } from "#actors/limits/ports/LimitRecords.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import type { Budget, IssueLimits, RegisteredKey, TokenLimit } from "#schemas/records/Limits.ts"

const taken = (store: string, field: string) => new StoreError({ store, operation: "write", reason: "conflict", message: `${field} is taken` })
const orderOf = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0
const clean = (text: string): string => text.replaceAll("\0", "\uFFFD").toWellFormed()
const tidy = <A extends object>(record: A): A =>
  Object.fromEntries(Object.entries(record).map(([name, value]) => [name, typeof value === "string" ? clean(value) : value === 0 ? 0 : value])) as A

const budgets = Layer.sync(BudgetStore, () => {
  const rows = new Map<string, Budget>()
  return {
    list: Effect.sync(() => Array.from(rows.values()).sort((a, b) => orderOf(a.apiKeyId, b.apiKeyId))),
    put: (given) => Effect.sync(() => {
      const budget = tidy(given)
      rows.set(budget.apiKeyId, { ...budget, createdAt: rows.get(budget.apiKeyId)?.createdAt ?? budget.createdAt })
    }),
    remove: (apiKeyId) => Effect.sync(() => rows.delete(clean(apiKeyId)))
  }
})

const tokenLimits = Layer.sync(TokenLimitStore, () => {
  const rows = new Map<string, TokenLimit>()
  return {
    list: Effect.sync(() => Array.from(rows.values()).sort((a, b) => orderOf(a.createdAt, b.createdAt) || orderOf(a.id, b.id))),
    insert: (given) => Effect.suspend(() => {
      const limit = tidy(given)
      if (rows.has(limit.id)) return Effect.fail(taken("TokenLimitStore", "id"))
      rows.set(limit.id, limit)
      return Effect.void
    }),
    replace: (given) => Effect.sync(() => {
      const limit = tidy(given)
      if (!rows.has(limit.id)) return false
      rows.set(limit.id, limit)
      return true
    }),
    remove: (id) => Effect.sync(() => rows.delete(clean(id)))
  }
})

const registeredKeys = Layer.sync(RegisteredKeyStore, () => {
  const rows = new Map<string, RegisteredKey>()
  const bounds = new Map<string, IssueLimits>()
  return {
    list: ({ accountId, issuerId, provider }) => Effect.sync(() => Array.from(rows.values())
      .filter((row) => (provider === undefined || row.provider === provider) && (accountId === undefined || row.accountId === accountId) &&
        (issuerId === undefined || row.issuerId === issuerId))
      .sort((a, b) => orderOf(b.createdAt, a.createdAt) || orderOf(b.id, a.id))),
    get: (id) => Effect.sync(() => rows.get(clean(id)) ?? null),
    byIdempotencyKey: (key) => Effect.sync(() => Array.from(rows.values()).find((row) => row.idempotencyKey === clean(key)) ?? null),
    issue: (given, judge) => Effect.suspend(() => {
      const key = tidy(given)
      for (const kind of ["account", "provider"] as const) {
        const id = kind === "account" ? key.accountId : key.provider
        const limits = id === "" ? undefined : bounds.get(`${kind}:${id}`)
        if (limits === undefined) continue
        const refusal = judge({ kind, limits, keys: Array.from(rows.values()).filter((row) => id === (kind === "account" ? row.accountId : row.provider)) })
        if (refusal !== null) return Effect.succeed(refusal)
      }
      if (rows.has(key.id)) return Effect.fail(taken("RegisteredKeyStore", "id"))
      if (key.idempotencyKey !== null && Array.from(rows.values()).some((row) => row.idempotencyKey === key.idempotencyKey)) {
        return Effect.fail(taken("RegisteredKeyStore", "idempotency_key"))
      }
      rows.set(key.id, key)
      return Effect.succeed(null)
    }),
    revoke: (id, revokedAt) => Effect.sync(() => {
      const known = rows.get(clean(id))
      if (known === undefined || known.revokedAt !== null) return false
      rows.set(known.id, { ...known, revokedAt })
      return true
    }),
    remove: (id) => Effect.sync(() => rows.delete(clean(id))),
    renameProvider: (from, to) => Effect.sync(() => {
      const own = Array.from(rows.values()).filter(({ provider }) => provider === from)
      for (const row of own) rows.set(row.id, { ...row, provider: to })
      const limits = bounds.get(`provider:${from}`)
      if (limits !== undefined) bounds.set(`provider:${to}`, { ...limits, subject: `provider:${to}` })
      return bounds.delete(`provider:${from}`) || own.length > 0
    }),
    issueLimits: (subject) => Effect.sync(() => bounds.get(clean(subject)) ?? null),
    putIssueLimits: (given) => Effect.sync(() => {
      const limits = tidy(given)
      bounds.set(limits.subject, limits)
    })
  }
})

export const layer = Layer.mergeAll(budgets, tokenLimits, registeredKeys)
