/** What became of requests over their routes, for explanations and combo metrics. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Flags } from "#actors/ports/Flags.ts"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import * as RouteReport from "#src/inference/lane/RouteReport.ts"
import { ComboMetrics, ComboPromotions } from "#src/inference/ports/ComboMetrics.ts"
import { RoutingViews } from "#src/inference/ports/RoutingViews.ts"
import { CurrentRouter } from "./CurrentRouter.ts"
import { Forks } from "./Forks.ts"

export class Reports extends Context.Service<Reports, RouteReport.Report>()("gateway/lane/Reports") {}

export const layer = Layer.effect(Reports, Effect.gen(function*() {
  const flags = yield* Flags
  const { now } = yield* Forks
  const router = yield* CurrentRouter
  return new RouteReport.Report(yield* ComboMetrics, now, () => ({
    infra502: flags.isOn("PROTECTED_PRIORITY_INFRA_502_ENABLED"), provenance: flags.isOn("RETRY_AFTER_PROVENANCE_ENABLED")
  }), RouteReport.automaticOver(router.now, now), yield* ComboPromotions)
}))

/** The port RoutingViews over it. */
export const viewsLayer = Layer.effect(RoutingViews, Effect.gen(function*() {
  const { now } = yield* Forks
  const router = yield* CurrentRouter
  return RouteReport.views(yield* Reports, router, now, yield* Accounting)
}))
