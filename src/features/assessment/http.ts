import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import type { ModelStanding } from "./Assessment.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import * as Surface from "#src/management/Surface.ts"
import { expansionsOf } from "#src/routing/combos/expansions.ts"
import { AssessmentGroup, type NewAssessment } from "./api.ts"
import { Assessments } from "./Assessments.ts"
import { comboHealth } from "./comboHealth.ts"

const help = {
  actions: {
    results: "What is known of each model; filters: status, provider, category",
    working: "The models that work",
    "combo-health": "Combos by the standing of their models"
  },
  scopes: ["all", "provider", "model"]
}

interface Question {
  readonly action?: "results" | "working" | "combo-health"
  readonly status?: ModelStanding
  readonly provider?: string
  readonly category?: string
}

export const layer = HttpApiBuilder.group(Surface.make(AssessmentGroup), "assessment", Effect.fn(function*(handlers) {
  const assessments = yield* Assessments
  const audit = yield* Audit
  const configuration = yield* Configuration
  const flags = yield* Flags

  const read = Effect.fnUntraced(function*({ action, category, provider, status }: Question) {
    if (action === undefined) return help
    const results = yield* assessments.results
    const snapshot = configuration.current()
    if (action === "combo-health") return { combos: snapshot.combos.map(comboHealth(results, expansionsOf(snapshot, flags))) }
    if (action === "working") return { models: results.filter((model) => model.status === "working") }
    const known = provider === undefined ? null : knownProvider(snapshot, provider)
    const owner = known === null ? provider : shownProvider(snapshot, known)
    return {
      models: results.filter((model) => (status === undefined || model.status === status) && (owner === undefined || model.provider === owner) &&
        (category === undefined || model.category === category))
    }
  })

  const run = Effect.fnUntraced(function*({ scope, trigger = "on_demand" }: NewAssessment) {
    const finished = yield* assessments.run(scope)
    yield* audit.note({ action: "assessment.run", target: finished.run_id, resourceType: "assessment", details: { trigger, scope: scope.type, models: finished.models_tested } })
    return finished
  })

  return handlers.handleAll({
    read: ({ query }) => answer(read(query)),
    run: ({ payload }) => answer(run(payload))
  })
}))
