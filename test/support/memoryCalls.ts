/** Searches of the usage store over rows in memory, newest first. */
import * as Effect from "effect/Effect"
import { callFacets, type CallCondition, type CallSearch, type CallTerm, type UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

const fields = { provider: "provider", model: "model", apiKey: "apiKeyId", connection: "connectionId", combo: "combo", outcome: "outcome", status: "status", error: "errorCode" } as const

const fits = (row: LedgerRow) => (term: CallTerm): boolean => {
  const value = row[term.field]
  if (value === null) return false
  if ("from" in term) return Number(value) >= term.from && Number(value) <= term.to
  if ("is" in term) return term.is.includes(String(value))
  return String(value).toLowerCase().includes(term.has.toLowerCase()) && term.except?.includes(String(value)) !== true
}
const fitsAll = (row: LedgerRow, conditions: ReadonlyArray<CallCondition>): boolean => conditions.every(({ anyOf }) => anyOf.some(fits(row)))

const inRange = (rows: ReadonlyArray<LedgerRow>, { proxied, since, until }: CallSearch) =>
  rows.filter(({ proxyId, startedAt }) => (proxied === undefined || proxyId !== null) && (since === undefined || startedAt >= since) && (until === undefined || startedAt < until))

export const calls = (newestFirst: () => ReadonlyArray<LedgerRow>): Pick<UsageStore["Service"], "calls" | "facets"> => ({
  calls: (search, { after, limit, look }) => Effect.sync(() => {
    const behind = inRange(newestFirst(), search).filter(({ attemptId, startedAt }) =>
      after === null || startedAt < after.startedAt || (startedAt === after.startedAt && attemptId < after.attemptId))
    const looked = search.conditions.length === 0 ? behind : behind.slice(0, look)
    const found = looked.filter((row) => fitsAll(row, search.conditions))
    const rows = found.slice(0, limit)
    const end = found.length > limit ? rows.at(-1) : looked.length < behind.length ? looked.at(-1) : undefined
    return { rows, next: end === undefined ? null : { startedAt: end.startedAt, attemptId: end.attemptId } }
  }),
  facets: (search, { bucketMs, look, most }) => Effect.sync(() => {
    const looked = inRange(newestFirst(), search).slice(0, look)
    const values = callFacets.flatMap((facet) => {
      const counted = Map.groupBy(
        looked.filter((row) => row[fields[facet]] !== null && fitsAll(row, search.conditions.filter(({ name }) => name !== facet))), (row) => String(row[fields[facet]])
      )
      return Array.from(counted, ([value, rows]) => ({ facet, value, label: facet === "apiKey" ? rows[0]?.apiKeyName ?? null : null, count: rows.length }))
        .sort((a, b) => b.count - a.count || (a.value < b.value ? -1 : 1)).slice(0, most)
    })
    const found = looked.filter((row) => fitsAll(row, search.conditions))
    const buckets = Array.from(Map.groupBy(found, ({ startedAt }) => Math.floor(startedAt / bucketMs) * bucketMs), ([start, rows]) =>
      ({ start, count: rows.length, errors: rows.filter(({ status }) => status >= 400).length })).sort((a, b) => a.start - b.start)
    return { values, buckets, count: found.length, looked: looked.length }
  })
})
