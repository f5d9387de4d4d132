/**
 * Which models have metrics of their own: those of the registry, and those that the operator's configuration names. A client may
 * ask a node for any name, so all other models of a provider share one series.
 */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Registry } from "#src/providers/Registry.ts"

export type IsKnown = (provider: string, model: string) => boolean

const keyOf = (provider: string, model: string): string => `${provider}\0${model}`

/** Every model that the configuration names, with the provider it is asked of. */
const namedIn = (snapshot: Snapshot, { byPrefix }: Registry): ReadonlySet<string> => {
  const named = new Set<string>()
  const add = (prefix: string, model: string): void => {
    named.add(keyOf(snapshot.nodeByPrefix.get(prefix)?.id ?? byPrefix.get(prefix)?.id ?? prefix, model))
  }
  const addId = (id: string): void => {
    const slash = id.indexOf("/")
    if (slash > 0) add(id.slice(0, slash), id.slice(slash + 1))
  }
  for (const { modelId, provider } of snapshot.customModels) add(provider, modelId)
  for (const { defaultModel, provider } of snapshot.connections) if (defaultModel !== null) add(provider, defaultModel)
  for (const { models } of snapshot.combos) {
    for (const step of models) {
      if (step.kind !== "model") continue
      addId(step.model)
      if (step.provider !== null) add(step.provider, step.model)
    }
  }
  for (const id of snapshot.aliases.values()) addId(id)
  for (const id of snapshot.pricing.keys()) addId(id)
  return named
}

/** Reads the configuration as it stands; what it names is collected once per snapshot. */
export const make = (registry: Registry, current: () => Snapshot): IsKnown => {
  let seen: Snapshot | null = null
  let named: ReadonlySet<string> = new Set()
  return (provider, model) => {
    if (registry.modelsOf.get(provider)?.has(model) === true) return true
    const snapshot = current()
    if (snapshot !== seen) {
      seen = snapshot
      named = namedIn(snapshot, registry)
    }
    return named.has(keyOf(provider, model))
  }
}
