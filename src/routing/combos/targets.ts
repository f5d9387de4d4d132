/** `targetsOf` of an expansion over a planner of models. */
import type { Target } from "#actors/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import type { Registry } from "#src/providers/Registry.ts"
import type { Candidate } from "#src/routing/candidate.ts"
import type { Planner } from "#src/routing/plan.ts"

/** `planner` must know no combos. A named connection that is not among the usable ones gives a refusal. */
export const targetsFrom = (planner: Pick<Planner, "plan">, key: ApiKey | null, face: FormatName) =>
(modelId: string, connectionId: string | null): ReadonlyArray<Target> | PublicError => {
  const plan = planner.plan(modelId, key, face)
  if (plan instanceof PublicError || connectionId === null) return plan
  const pinned = plan.filter((target) => target.connection?.id === connectionId)
  return pinned.length > 0
    ? pinned
    : Errors.make("ALL_ACCOUNTS_INACTIVE", `The connection that serves '${modelId}' here is missing, inactive or not allowed.`)
}

/** What the registry knows of a target's model. */
export const factsFrom = (registry: Registry) => (target: Target): Pick<Candidate, "contextWindow" | "capabilities"> => {
  const model = registry.modelsOf.get(target.provider)?.get(target.publicModel.slice(target.publicModel.indexOf("/") + 1))
  return { contextWindow: model?.contextWindow ?? null, capabilities: model?.capabilities ?? null }
}
