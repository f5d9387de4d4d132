/** From the query of a call log to a search of the ledger, whose rows know providers, keys and connections by id. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { shownProvider } from "#actors/ports/Configuration.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import type { CallCondition, CallPlace, CallSearch, CallTerm } from "#actors/ports/UsageStore.ts"

export interface CallQuery {
  readonly status?: string
  readonly model?: string
  readonly provider?: string
  readonly account?: string
  readonly apiKey?: string
  readonly combo?: string
  readonly outcome?: string
  readonly error?: string
  readonly requestId?: string
  readonly session?: string
  readonly minDurationMs?: number
  readonly search?: string
  readonly exact?: boolean
  readonly from?: string
  readonly to?: string
}

/** Above every status and duration; a whole number of 32 bits, as the columns are. */
const anything = 2_147_483_647
const never: CallTerm = { field: "outcome", is: [] }

/** A number, a class such as `5xx`, `success` or `error`. */
const statusTerm = (wanted: string): CallTerm => {
  const range = (from: number, to: number): CallTerm => ({ field: "status", from, to })
  if (wanted === "success") return range(0, StatusReason.FIRST_ERROR - 1)
  if (wanted === "error") return range(StatusReason.FIRST_ERROR, anything)
  const digit = /^([1-5])xx$/.exec(wanted)?.[1]
  if (digit !== undefined) return range(Number(digit) * 100, Number(digit) * 100 + 99)
  return /^\d{1,3}$/.test(wanted) ? range(Number(wanted), Number(wanted)) : never
}

type Known = Pick<Snapshot, "connections" | "nodes" | "nodeById" | "nodeByPrefix">

const isPart = (name: string | null, part: string): boolean => name !== null && name.toLowerCase().includes(part.toLowerCase())

/** A server of the operator's own is named by its prefix, in any case by a part of it; its id names it, too. */
const providerTerms = (known: Known, wanted: string, exact: boolean): ReadonlyArray<CallTerm> => {
  const own = known.nodes.filter(({ id, prefix }) => id === wanted || (exact ? prefix === wanted : isPart(prefix, wanted))).map(({ id }) => id)
  if (exact) return [{ field: "provider", is: [wanted, ...own] }]
  return [{ field: "provider", is: own }, { field: "provider", has: wanted, except: known.nodes.map(({ id }) => id) }]
}

const accountIds = (known: Known, wanted: string, exact: boolean): ReadonlyArray<string> =>
  known.connections.filter(({ name }) => exact ? name === wanted : isPart(name, wanted)).map(({ id }) => id)

/** Ids of the proxies that an id or a part of a name means; an id of a proxy that is gone means its rows. */
export const proxyIds = (nameOf: ReadonlyMap<string, string>, wanted: string): ReadonlyArray<string> =>
  [wanted, ...[...nameOf].filter(([, name]) => isPart(name, wanted)).map(([id]) => id)]

const given = (name: string, anyOf: ReadonlyArray<CallTerm>): CallCondition => ({ name, anyOf })

export const searchOf = (query: CallQuery, known: Known): CallSearch => {
  const { account, apiKey, combo, error, exact = false, from, minDurationMs, model, outcome, provider, requestId, search, session, status, to } = query
  const text = (field: "combo" | "apiKeyName", wanted: string): CallTerm => exact ? { field, is: [wanted] } : { field, has: wanted }
  const conditions: Array<CallCondition> = []
  if (status !== undefined) conditions.push(given("status", [statusTerm(status)]))
  if (provider !== undefined) conditions.push(given("provider", providerTerms(known, provider, exact)))
  if (model !== undefined) conditions.push(given("model", exact ? [{ field: "model", is: [model] }] : [{ field: "model", has: model }, { field: "requestedModel", has: model }]))
  if (account !== undefined) conditions.push(given("connection", [{ field: "connectionId", is: [account, ...accountIds(known, account, exact)] }]))
  if (apiKey !== undefined) conditions.push(given("apiKey", [{ field: "apiKeyId", is: [apiKey] }, text("apiKeyName", apiKey)]))
  if (combo !== undefined) conditions.push(given("combo", [text("combo", combo)]))
  if (outcome !== undefined) conditions.push(given("outcome", [{ field: "outcome", is: [outcome] }]))
  if (error !== undefined) conditions.push(given("error", [{ field: "errorCode", is: [error] }]))
  if (requestId !== undefined) conditions.push(given("requestId", [{ field: "requestId", is: [requestId] }]))
  if (session !== undefined) conditions.push(given("session", [{ field: "sessionTag", is: [session] }]))
  if (minDurationMs !== undefined) conditions.push(given("duration", [{ field: "latencyMs", from: minDurationMs, to: anything }]))
  if (search !== undefined) conditions.push(given("search", [
    ...(["attemptId", "requestId", "model", "requestedModel", "apiKeyName", "errorCode", "sessionTag"] as const).map((field): CallTerm => ({ field, has: search })),
    ...providerTerms(known, search, false), { field: "connectionId", is: [search, ...accountIds(known, search, false)] }
  ]))
  return {
    ...(from === undefined ? {} : { since: Date.parse(from) }),
    ...(to === undefined ? {} : { until: Date.parse(to) }),
    conditions
  }
}

/** `<ms>.<attempt id>` of the last row that was given. */
export const cursorOf = ({ attemptId, startedAt }: CallPlace): string => `${startedAt}.${attemptId}`

export const placeOf = (cursor: string): CallPlace => {
  const dot = cursor.indexOf(".")
  return { startedAt: Number(cursor.slice(0, dot)), attemptId: cursor.slice(dot + 1) }
}

/** How a value of a facet is shown, and what a filter takes for it. */
export const shownValue = (known: Known, facet: string, value: string): string => facet === "provider" ? shownProvider(known, value) : value
