/** Rows of the call log as the table keeps them: few fields each, texts shared, newest first. Pure. */
import { csvOf } from "../../format/csv.ts"
import type { CallLog } from "./outcome.ts"

export interface CallRow {
  readonly id: string
  readonly requestId: string
  /** ms since the epoch. */
  readonly at: number
  readonly status: number
  readonly outcome: string
  readonly error: string | null
  readonly requestedModel: string
  readonly provider: string
  readonly model: string
  readonly attempt: number
  readonly key: string | null
  readonly ttft: number | null
  readonly duration: number
  readonly tokensIn: number
  readonly tokensOut: number
  readonly cost: number
  readonly estimated: boolean
}

/** Rows that are kept: beyond them a narrower search helps more. */
export const MOST_ROWS = 10_000

/** Names that many rows share are one text in memory. */
const names = new Map<string, string>()
const MOST_NAMES = 5_000
const shared = <A extends string | null>(text: A): A => {
  if (text === null) return text
  const known = names.get(text)
  if (known !== undefined) return known as A
  if (names.size < MOST_NAMES) names.set(text, text)
  return text
}

export const rowOf = (log: CallLog): CallRow => ({
  id: log.id, requestId: log.requestId, at: Date.parse(log.timestamp), status: log.status, outcome: shared(log.outcome), error: shared(log.error),
  requestedModel: shared(log.requestedModel), provider: shared(log.provider), model: shared(log.model), attempt: log.attempt, key: shared(log.apiKeyName),
  ttft: log.ttft, duration: log.duration, tokensIn: log.tokensIn, tokensOut: log.tokensOut, cost: log.cost, estimated: log.estimated
})

const newestFirst = (a: CallRow, b: CallRow): number => b.at - a.at || (a.id < b.id ? 1 : -1)

/** Rows of a page that are not among the known ones. */
export const unknownOf = (known: ReadonlyArray<CallRow>, page: ReadonlyArray<CallRow>): ReadonlyArray<CallRow> => {
  const ids = new Set(known.slice(0, known.length).map(({ id }) => id))
  return page.filter(({ id }) => !ids.has(id))
}

export const withRows = (known: ReadonlyArray<CallRow>, more: ReadonlyArray<CallRow>): ReadonlyArray<CallRow> => {
  if (more.length === 0) return known
  const last = known.at(-1)
  const first = more[0]
  const rows = last === undefined || (first !== undefined && newestFirst(last, first) < 0) ? [...known, ...more] : [...more, ...known].sort(newestFirst)
  return rows.slice(0, MOST_ROWS)
}

/** The rows with exact numbers. */
export const callsCsv = (rows: ReadonlyArray<CallRow>): string => csvOf(
  ["time", "request", "attempt", "id", "status", "outcome", "error", "asked_for", "provider", "model", "key", "first_token_ms", "duration_ms", "tokens_in", "tokens_out", "cost_usd", "estimated"],
  rows.map((row) => [
    new Date(row.at).toISOString(), row.requestId, row.attempt, row.id, row.status, row.outcome, row.error, row.requestedModel, row.provider, row.model, row.key, row.ttft, row.duration, row.tokensIn, row.tokensOut, row.cost, String(row.estimated)
  ])
)
