/** Members of a combo that name nothing: a step that can never be asked is refused when it is written, not skipped in silence. Pure. */
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import type { Combo, ModelStep } from "#schemas/records/Combo.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { builtin } from "#src/providers/Registry.ts"
import { modelIdOf } from "#src/routing/combos/expand.ts"
import { resolverView } from "#src/routing/plan.ts"
import { resolveModel, SIM_PROVIDER } from "#src/routing/models/resolveModel.ts"
import * as ConfigWords from "./ports/configWords.ts"

/** Any id of a known provider or node is a model; a bare id must be a known model or an alias. The simulator need not be offered now. */
const modelIssue = (step: ModelStep, snapshot: Snapshot, resolve: (id: string) => ReturnType<typeof resolveModel>): string | null => {
  if (step.provider !== null && knownProvider(snapshot, step.provider) === null) return unknownProvider(step.provider)
  const id = modelIdOf(step, (provider) => shownProvider(snapshot, provider))
  const resolution = resolve(id)
  if (resolution._tag === "Resolved" || resolution.reason === "ProviderRequired") return null
  return id.startsWith(`${SIM_PROVIDER}/`) ? null : resolution.message
}

const sameModel = (a: ModelStep) => (b: Combo["models"][number]): boolean => b.kind === "model" && b.model === a.model && b.provider === a.provider

/** What stood in the combo before stays: whatever it named may be gone, and other fields must still be changeable. */
export const issuesOf = (next: Combo, previous: Combo | null, snapshot: Snapshot): ReadonlyArray<FieldIssue> => {
  const view = resolverView({ snapshot, registry: builtin, noThinkingAliases: true, thinkingLevels: true, priceOf: () => null })
  const issues: Array<FieldIssue> = []
  for (const [index, step] of next.models.entries()) {
    if (step.kind !== "model") continue
    const stood = previous?.models.some(sameModel(step)) === true
    const message = stood ? null : modelIssue(step, snapshot, (id) => resolveModel(view, id))
    if (message !== null) issues.push({ field: `models.${index}.model`, message })
    const { connectionId } = step
    const known = connectionId === null || snapshot.connectionById.has(connectionId)
      || previous?.models.some((one) => one.kind === "model" && one.connectionId === connectionId) === true
    if (!known) issues.push({ field: `models.${index}.connectionId`, message: "No such connection" })
  }
  for (const [index, provider] of next.allowedProviders.entries()) {
    if (previous?.allowedProviders.includes(provider) !== true && knownProvider(snapshot, provider) === null) {
      issues.push({ field: `allowedProviders.${index}`, message: unknownProvider(provider) })
    }
  }
  return [...issues, ...ConfigWords.ofCombo(next, previous, snapshot)]
}
