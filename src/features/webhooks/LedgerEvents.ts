/**
 * Events of requests are made from the ledger's rows on their way to the record store: the journal that keeps rows through a
 * crash keeps the events, and a request costs nothing more. They go first, so that a row in the store has its event in the queue;
 * a repeated event has the same id and is queued once.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { Webhooks } from "#actors/webhook/ports/Webhooks.ts"
import * as Payloads from "#actors/webhook/payloads.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

const none: ReadonlyArray<LedgerRow> = []
/** Calls of one request that are looked for. */
const MOST_CALLS = 100

/** Was the request answered after several calls? */
const isJoint = ({ attempt, final, outcome }: LedgerRow): boolean => final && outcome === "completed" && attempt > 1

/** Two requests under one id of a client's: told apart by their key, their path and what they ask for. */
const isSameRequest = (a: LedgerRow, b: LedgerRow): boolean =>
  a.requestId === b.requestId && a.nodeId === b.nodeId && a.apiKeyId === b.apiKeyId && a.endpoint === b.endpoint && a.requestedModel === b.requestedModel && a.sessionTag === b.sessionTag

/** The calls before the last one of a joint request. An id that a client gave may be that of other requests, too: the newest call of each number counts. */
const othersOf = (row: LedgerRow, beside: ReadonlyArray<LedgerRow>, store: UsageStore["Service"]) =>
  Effect.map(store.rows({ requestId: row.requestId, limit: MOST_CALLS }), (stored) => {
    const calls = [...stored, ...beside].filter((one) =>
      isSameRequest(one, row) && one.attempt < row.attempt && one.startedAt <= row.startedAt && one.settledAt <= row.settledAt)
    return [...new Map(calls.sort((a, b) => a.startedAt - b.startedAt).map((one) => [one.attempt, one])).values()]
  })

/** A `UsageStore` for the ledger, in front of the real one. */
export const layer: Layer.Layer<UsageStore, never, Configuration | UsageStore | Webhooks> = Layer.effect(UsageStore, Effect.gen(function*() {
  const configuration = yield* Configuration
  const store = yield* UsageStore
  const webhooks = yield* Webhooks
  return UsageStore.of({
    ...store,
    insert: (rows) => Effect.suspend(() => {
      if (!webhooks.wants("request.completed") && !webhooks.wants("request.failed")) return store.insert(rows)
      const snapshot = configuration.current()
      const joint = Effect.forEach(rows.filter(isJoint), (row) => Effect.map(othersOf(row, rows, store), (others) => [row, others] as const))
      return Effect.flatMap(joint, (found) => {
        const others = new Map(found)
        const events = rows.map((row) => Payloads.ofRow(row, (provider) => shownProvider(snapshot, provider), others.get(row) ?? none)).filter((event) => event !== null)
        return events.length === 0 ? Effect.void : webhooks.append(events)
      }).pipe(
        // A store that is away keeps the rows in the journal, and with them their events; anything else must not stop the ledger.
        Effect.catch((error) => error.reason === "unavailable"
          ? Effect.fail(error)
          : Effect.logError(`Events of ${rows.length} calls could not be queued for webhooks: ${error.message}`)),
        Effect.andThen(store.insert(rows))
      )
    })
  })
}))
