/**
 * Combos that are made for model ids, and stored nowhere. Of ids without a provider: of a fallback chain, and of the order of
 * connections over several providers (`globalPriority`); both have the strategy `priority`. Of ids that name a group of
 * connections, `qtSd/<group>/<provider>/<model>`: the strategy `quota-share`. Pure; made per snapshot.
 */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Combo, ModelStep } from "#schemas/records/Combo.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as FallbackChains from "#schemas/words/FallbackChains.ts"
import type { Registry } from "#src/providers/Registry.ts"
import type { ComboResolver, ResolvedCombo } from "#src/routing/combos/resolve.ts"
import type { BareRules, ModelNotFound, ModelQuery } from "#src/routing/models/resolveModel.ts"

const idPrefix = "bare:"
export const groupPrefix = "qtSd/"
const groupIdPrefix = idPrefix + groupPrefix

/** Made here: its client asked for a model, and its rights are those of the models. */
export const isMade = ({ id }: Combo): boolean => id.startsWith(idPrefix)

/** What orders a combo's targets: no record names the strategy of groups. */
export const strategyOf = ({ id, strategy }: Combo): Combo["strategy"] | "quota-share" => id.startsWith(groupIdPrefix) ? "quota-share" : strategy

const made = (name: string, models: ReadonlyArray<ModelStep>, id = name): Combo => ({
  id: idPrefix + id, name, description: null, models, strategy: "priority", config: {}, allowedProviders: [], system_message: null,
  tool_filter_regex: null, context_cache_protection: false, context_length: null, dimensions: null, isActive: true, isHidden: false,
  sortOrder: 0, createdAt: "", updatedAt: ""
})

const stepOf = (id: string, model: string, connectionId: string | null): ModelStep =>
  ({ kind: "model", id, model, provider: null, connectionId, weight: 0, label: null, tags: [], prompt: null })

const found = (asked: ModelQuery, combo: Combo): ResolvedCombo =>
  ({ _tag: "Combo", requested: asked.requested, combo, via: "bare", noThinking: asked.noThinking, level: asked.level ?? null })

/** Null while no active connection has a group, which is the rule. `[group, provider, model]` of an id that names none of them is refused. */
export const groupStep = ({ registry, snapshot }: { readonly snapshot: Snapshot; readonly registry: Registry }): ComboResolver | null => {
  if (![...snapshot.activeByProvider.values()].some((connections) => connections.some(({ group }) => group !== null))) return null
  const nodes = new Map(snapshot.nodes.map((node) => [node.prefix, node.id]))
  return (asked) => {
    if (!asked.id.startsWith(groupPrefix)) return undefined
    const [group = "", prefix = "", ...rest] = asked.id.slice(groupPrefix.length).split("/")
    const provider = registry.byPrefix.get(prefix)?.id ?? nodes.get(prefix)
    const connections = provider === undefined ? [] : snapshot.activeByProvider.get(provider) ?? []
    const model = rest.join("/")
    const steps = model === "" ? [] : connections.filter((one) => one.group === group).map(({ id }) => stepOf(id, `${prefix}/${model}`, id))
    // Metrics and the ledger tell of the group: a client may put any name behind it.
    return steps.length === 0 ? noGroup(asked, group, prefix) : found(asked, made(groupPrefix + group, steps, asked.id))
  }
}

const noGroup = (asked: ModelQuery, group: string, prefix: string): ModelNotFound => ({
  _tag: "Unresolved", reason: "ModelNotFound", requested: asked.requested, nearMatches: [],
  message: `No active connection of provider '${prefix.slice(0, 100)}' is in the group '${group.slice(0, 100)}': ask for qtSd/<group>/<provider>/<model>.`
})

/** Where a connection stands among those of all providers; those without a place come last. */
export const placeOf = ({ globalPriority }: Connection): number => globalPriority ?? Number.MAX_SAFE_INTEGER

/** Null while there is no chain and no connection has a place, which is the rule. */
export const rulesOf = ({ registry, snapshot }: { readonly snapshot: Snapshot; readonly registry: Registry }): BareRules<ResolvedCombo> | null => {
  const prefixOf = (provider: string): string | null => registry.byId.get(provider)?.id ?? snapshot.nodeById.get(provider)?.prefix ?? null
  const chains = new Map(FallbackChains.chainsOf(snapshot.settings).flatMap(({ chain, model }) => {
    const steps = FallbackChains.ordered(chain).flatMap(({ enabled, provider }) => {
      const prefix = enabled ? prefixOf(provider) : null
      return prefix === null ? [] : [stepOf(provider, `${prefix}/${model}`, null)]
    })
    return steps.length === 0 ? [] : [[model, made(`fallback/${model}`, steps)] as const]
  }))
  const hasPlaces = [...snapshot.activeByProvider.values()].some((connections) => connections.some(({ globalPriority }) => globalPriority !== null))
  if (chains.size === 0 && !hasPlaces) return null
  return {
    stated: (asked) => {
      const combo = chains.get(asked.id)
      return combo === undefined ? undefined : found(asked, combo)
    },
    several: (asked, owners) => {
      const connections = owners.flatMap((owner) => snapshot.activeByProvider.get(owner) ?? [])
      if (!connections.some(({ globalPriority }) => globalPriority !== null)) return undefined
      const named = (provider: string): string => `${prefixOf(provider) ?? provider}/${asked.id}`
      const steps = [...connections].sort((a, b) => placeOf(a) - placeOf(b)).map(({ id, provider }) => stepOf(id, named(provider), id))
      // A provider that needs no connection.
      for (const owner of owners) if (!snapshot.activeByProvider.has(owner)) steps.push(stepOf(owner, named(owner), null))
      return found(asked, made(`ordered/${asked.id}`, steps))
    }
  }
}
