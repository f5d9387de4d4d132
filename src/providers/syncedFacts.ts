/** The registry with the facts that were read from a public list over its own. Pure; made once for one set of facts. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { ModelFacts } from "#schemas/catalogue/SyncedModels.ts"
import type { Capability, Model } from "#schemas/Provider.ts"
import { builtin, make, type Registry } from "#src/providers/Registry.ts"

/** Whether a model reasons stays as the registry says it: ids of variants follow from it. */
const told = ["tools", "vision", "structuredOutput"] as const

const capabilitiesOf = (model: Model, facts: ModelFacts): ReadonlyArray<Capability> => {
  const all = new Set(model.capabilities ?? [])
  for (const name of told) {
    if (facts[name] === true) all.add(name)
    else if (facts[name] === false) all.delete(name)
  }
  return Array.from(all)
}

/** A model with the facts over its own. */
const withFacts = (model: Model, facts: ModelFacts): Model => {
  const { structuredOutput: _schemas, tools: _tools, vision: _vision, ...rest } = facts
  const saysCapabilities = told.some((name) => facts[name] !== undefined)
  return { ...model, ...rest, ...(saysCapabilities ? { capabilities: capabilitiesOf(model, facts) } : {}) }
}

const registries = new WeakMap<ReadonlyMap<string, ModelFacts>, Registry>()

/** The registry as this snapshot has it: the shipped one while nothing was read. */
export const registryOf = ({ synced: { facts } }: Pick<Snapshot, "synced">): Registry => {
  if (facts.size === 0) return builtin
  let registry = registries.get(facts)
  if (registry === undefined) {
    registry = make(builtin.all.map((row) => ({
      ...row,
      models: row.models.map((model) => {
        const found = facts.get(`${row.id}/${model.id}`)
        return found === undefined ? model : withFacts(model, found)
      })
    })))
    registries.set(facts, registry)
  }
  return registry
}
