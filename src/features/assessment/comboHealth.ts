/** Combos by the standing of their models. Pure. */
import type { Combo } from "#schemas/records/Combo.ts"
import type { Assessment, ModelStanding } from "./Assessment.ts"
import { candidatesOf, type Expansion } from "#src/routing/combos/expand.ts"
import type { ComboHealth, ComboStanding } from "./api.ts"

export const standingOf = (models: ReadonlyArray<ModelStanding>): ComboStanding => {
  const working = models.filter((status) => status === "working").length
  if (working > 0) return working === models.length ? "healthy" : "degraded"
  return models.length === 0 || models.includes("unknown") ? "unknown" : "down"
}

export const comboHealth = (results: ReadonlyArray<Assessment>, expansionOf: (combo: Combo) => Expansion): (combo: Combo) => ComboHealth => {
  const byModel = new Map(results.map(({ modelId, status }) => [modelId, status]))
  return (combo) => {
    const ids = Array.from(new Set(candidatesOf(expansionOf(combo)).map(({ target }) => target.publicModel)))
    const models = ids.map((modelId) => ({ modelId, status: byModel.get(modelId) ?? "unknown" as const }))
    const statuses = models.map(({ status }) => status)
    return {
      comboId: combo.id, comboName: combo.name, status: standingOf(statuses), working: statuses.filter((status) => status === "working").length,
      total: models.length, models
    }
  }
}
