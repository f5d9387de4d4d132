/**
 * Events of requests are made from the ledger's rows on their way to the record store: the journal that keeps rows through a
 * crash keeps the events, and a request costs nothing more. They go first, so that a row in the store has its event in the queue;
 * a repeated event has the same id and is queued once.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { Webhooks } from "#actors/webhook/WebhookQueue.ts"
import * as Payloads from "#actors/webhook/payloads.ts"

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
      const events = rows.map((row) => Payloads.ofRow(row, (provider) => shownProvider(snapshot, provider))).filter((event) => event !== null)
      if (events.length === 0) return store.insert(rows)
      return webhooks.append(events).pipe(
        // A store that is away keeps the rows in the journal, and with them their events; anything else must not stop the ledger.
        Effect.catch((error) => error.reason === "unavailable"
          ? Effect.fail(error)
          : Effect.logError(`${events.length} request events could not be queued for webhooks: ${error.message}`)),
        Effect.andThen(store.insert(rows))
      )
    })
  })
}))
