/** `targetsOf` of an expansion over a planner of models. */
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import type { Registry } from "#src/providers/Registry.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"
import type { makeConfigs } from "#src/routing/combos/config.ts"
import type { Planner } from "#src/routing/plan.ts"

/** `planner` must know no combos; `preferred`: connections that come first. A named connection that is not among the usable ones gives a refusal. */
export const targetsFrom = (planner: Pick<Planner, "plan">, face: CallFormat, preferred: ReadonlyArray<string> = []) =>
(modelId: string, connectionId: string | null): ReadonlyArray<Target> | PublicError => {
  const plan = planner.plan(modelId, face)
  if (plan instanceof PublicError) return plan
  if (connectionId === null) return preferredFirst(plan, preferred)
  const pinned = plan.filter((target) => target.connection?.id === connectionId)
  return pinned.length > 0
    ? pinned
    : Errors.make("ALL_ACCOUNTS_INACTIVE", `The connection that serves '${modelId}' here is missing or inactive.`)
}

/** The targets of these connections first; the list itself where nothing is preferred. */
export const preferredFirst = (targets: ReadonlyArray<Target>, preferred: ReadonlyArray<string>): ReadonlyArray<Target> => {
  if (preferred.length === 0) return targets
  const isPreferred = ({ connection }: Target): boolean => connection !== null && preferred.includes(connection.id)
  return [...targets.filter(isPreferred), ...targets.filter((target) => !isPreferred(target))]
}

/** `gated` of an expansion: concurrencyPerModel of the cascade, over all connections of a model. */
export const gatedBy = (configOf: ReturnType<typeof makeConfigs>) => (target: Target, combo: Combo): Target => {
  const { concurrencyPerModel, queueDepth, queueTimeoutMs } = configOf(combo, target)
  return concurrencyPerModel === 0
    ? target
    : { ...target, gate: { id: `${combo.id} ${target.provider}/${target.model}`, max: concurrencyPerModel, depth: queueDepth, timeoutMs: queueTimeoutMs } }
}

/** What is known of a target's model: the operator's `contextWindowOverride`, else the registry's value. */
export const factsFrom = (registry: Registry, customModels: ReadonlyArray<CustomModel>) => {
  const windows = new Map<string, number>()
  for (const { contextWindowOverride, modelId, provider } of customModels) {
    if (contextWindowOverride !== null) windows.set(`${provider}/${modelId}`, contextWindowOverride)
  }
  return (target: Target): Pick<Candidate, "contextWindow" | "capabilities"> => {
    const asked = target.publicModel.slice(target.publicModel.indexOf("/") + 1)
    const model = registry.modelsOf.get(target.provider)?.get(asked)
    const own = windows.size === 0 ? undefined : windows.get(`${target.provider}/${asked}`) ?? windows.get(`${target.provider}/${model?.id}`)
    return { contextWindow: own ?? model?.contextWindow ?? null, capabilities: model?.capabilities ?? null }
  }
}
