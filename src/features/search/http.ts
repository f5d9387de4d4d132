import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { answer } from "#src/management/answer.ts"
import * as Surface from "#src/management/Surface.ts"
import * as Pricing from "#src/providers/pricing.ts"
import { SearchGroup } from "./api.ts"
import { SearchStatistics } from "./statistics/SearchStatistics.ts"
import * as Views from "./views.ts"

export const layer = HttpApiBuilder.group(Surface.make(SearchGroup), "search", Effect.fn(function*(handlers) {
  const configuration = yield* Configuration
  const flags = yield* Flags
  const statistics = yield* SearchStatistics

  const stats = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const rows = yield* statistics.byProvider("all")
    const hours = yield* statistics.byHour("all", Views.sinceOf(now))
    const snapshot = configuration.current()
    const { byProvider: _, ...totals } = Views.analyticsOf(snapshot, rows, hours, now)
    const known = new Set(snapshot.connections.map(({ id }) => id))
    const hides = flags.isOn("SEARCH_STATS_HIDE_DELETED_CONNECTIONS")
    return { ...totals, rows: Views.statsOf(rows, (id) => !hides || known.has(id), snapshot) }
  })

  return handlers.handleAll({
    providers: () => Effect.sync(() => {
      const snapshot = configuration.current()
      const view = Pricing.viewOf(snapshot)
      return { providers: Views.providersOf(snapshot, (provider, model) => Pricing.priceOf(view, provider, model)) }
    }),
    stats: () => answer(stats)
  })
}))
