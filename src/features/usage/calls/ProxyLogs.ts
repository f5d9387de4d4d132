/** Pages of the calls that left by an outbound proxy: rows of the ledger, which are kept and removed with it. */
import * as Effect from "effect/Effect"
import * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import type { Configuration } from "#actors/ports/Configuration.ts"
import type { ProxyStore } from "#actors/ports/Stores.ts"
import type { UsageStore } from "#actors/ports/UsageStore.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { ProxyLog } from "#src/features/usage/logs/api.ts"
import type { Names } from "#src/features/usage/callLog.ts"
import * as CallSearches from "./CallSearches.ts"
import * as Search from "./search.ts"

export type Query = Search.CallQuery & { readonly proxy?: string; readonly before?: string; readonly limit?: number }

const logOf = (row: LedgerRow, { accountOf, providerOf }: Names, nameOf: ReadonlyMap<string, string>): ProxyLog => ({
  id: row.attemptId,
  requestId: row.requestId,
  timestamp: new Date(row.startedAt).toISOString(),
  proxyId: row.proxyId ?? "",
  proxyName: nameOf.get(row.proxyId ?? "") ?? null,
  provider: providerOf(row.provider),
  model: row.model,
  account: row.connectionId === null ? null : accountOf(row.connectionId),
  connectionId: row.connectionId,
  apiKeyName: row.apiKeyName,
  comboName: row.combo,
  status: row.status,
  outcome: row.outcome,
  latencyMs: row.latencyMs,
  error: row.errorCode
})

/** A look reads as many rows as one of the call log, and only those of proxied calls. */
export const make = (store: UsageStore["Service"], configuration: Configuration["Service"], proxies: ProxyStore["Service"], names: Names) =>
  Effect.fnUntraced(function*({ before, limit = CallSearches.PAGE, proxy, ...query }: Query) {
    const nameOf = new Map((yield* proxies.list).map(({ id, name }) => [id, name]))
    const { conditions, ...within } = Search.searchOf(query, configuration.current())
    const wanted = proxy === undefined ? [] : [{ name: "proxy", anyOf: [{ field: "proxyId" as const, is: Search.proxyIds(nameOf, proxy) }] }]
    const { next, rows } = yield* store.calls({ ...within, proxied: true, conditions: [...conditions, ...wanted] }, {
      after: before === undefined ? null : Search.placeOf(before), limit, look: CallSearches.LOOK
    })
    return HttpApiSchema.withHeaders({
      body: rows.map((row) => logOf(row, names, nameOf)),
      headers: next === null ? {} : { "x-next-cursor": Search.cursorOf(next) }
    })
  })
