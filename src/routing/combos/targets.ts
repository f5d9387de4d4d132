/** `targetsOf` of an expansion over a planner of models. */
import type { Egress } from "#actors/egress/Egress.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
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

/** What the calls of a key, and those through combos, leave by where it is not what the plan says. */
export interface Leaving {
  /** Names the key's own proxy; "" for a key without one, and for no key. */
  readonly nameOf: (key: ApiKey | null) => string
  /** The same list for a key without a proxy of its own. */
  readonly targets: (targets: ReadonlyArray<Target>, key: ApiKey | null) => ReadonlyArray<Target>
  /** `combos`: the innermost first. */
  readonly target: (target: Target, key: ApiKey | null, combos: ReadonlyArray<Combo>) => Target
}

/** Null when nothing is assigned to any proxy. Lists are remembered per list and proxy, because requests share them. */
export const leavingBy = (egress: Egress | null): Leaving | null => {
  if (egress === null) return null
  const remembered = new Map<string, WeakMap<ReadonlyArray<Target>, ReadonlyArray<Target>>>()
  const proxyOf = (key: ApiKey | null) => key === null ? null : egress.ofKey(key.id)
  const moved = (target: Target, key: ApiKey | null, combos: ReadonlyArray<string>): Target => {
    const { proxy } = egress.of({ provider: target.provider, connection: target.connection, key: key === null ? null : key.id, combos })
    return proxy === target.proxy ? target : { ...target, proxy }
  }
  return {
    nameOf: (key) => proxyOf(key)?.id ?? "",
    targets: (targets, key) => {
      const own = proxyOf(key)
      if (own === null) return targets
      let lists = remembered.get(own.id)
      if (lists === undefined) remembered.set(own.id, lists = new WeakMap())
      let list = lists.get(targets)
      if (list === undefined) lists.set(targets, list = targets.map((target) => moved(target, key, [])))
      return list
    },
    target: (target, key, combos) => moved(target, key, combos.map(({ id }) => id))
  }
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
