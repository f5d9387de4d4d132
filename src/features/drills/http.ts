import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Refusal from "#schemas/api/Refusal.ts"
import * as Surface from "#src/management/Surface.ts"
import { DrillsGroup } from "./api.ts"
import { type DrillError, Drills } from "./Drills.ts"

const refusalOf = ({ message, reason }: DrillError): Refusal.Refusal => {
  switch (reason) {
    case "simulator-off":
      return Refusal.conflict(message, { code: "simulator_off" })
    case "another-runs":
      return Refusal.conflict(message, { code: "drill_running" })
    case "not-here":
      return Refusal.notFound(message)
  }
}

export const layer = HttpApiBuilder.group(Surface.make(DrillsGroup), "drills", Effect.fn(function*(handlers) {
  const drills = yield* Drills
  return handlers.handleAll({
    list: () => Effect.sync(() => ({ node: drills.node, available: drills.available(), drills: drills.list() })),
    start: ({ payload }) => Effect.mapBoth(drills.start(payload), { onFailure: refusalOf, onSuccess: (drill) => ({ drill }) }),
    stop: ({ params }) => Effect.mapBoth(drills.stop(params.id), { onFailure: refusalOf, onSuccess: (drill) => ({ drill }) })
  })
}))
