/**
 * Combos that are made for model ids without a provider, and stored nowhere: of a fallback chain, and of the order of connections
 * over several providers (`globalPriority`). Both have the strategy `priority`. Pure; made per snapshot.
 */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Combo, ModelStep } from "#schemas/records/Combo.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as FallbackChains from "#schemas/words/FallbackChains.ts"
import type { Registry } from "#src/providers/Registry.ts"
import type { ResolvedCombo } from "#src/routing/combos/resolve.ts"
import type { BareRules, ModelQuery } from "#src/routing/models/resolveModel.ts"

const idPrefix = "bare:"

/** Made here: its client asked for a model, and its rights are those of the models. */
export const isMade = ({ id }: Combo): boolean => id.startsWith(idPrefix)

const made = (name: string, models: ReadonlyArray<ModelStep>): Combo => ({
  id: idPrefix + name, name, description: null, models, strategy: "priority", config: {}, allowedProviders: [], system_message: null,
  tool_filter_regex: null, context_cache_protection: false, context_length: null, dimensions: null, isActive: true, isHidden: false,
  sortOrder: 0, createdAt: "", updatedAt: ""
})

const stepOf = (id: string, model: string, connectionId: string | null): ModelStep =>
  ({ kind: "model", id, model, provider: null, connectionId, weight: 0, label: null, tags: [], prompt: null })

const found = (asked: ModelQuery, combo: Combo): ResolvedCombo =>
  ({ _tag: "Combo", requested: asked.requested, combo, via: "bare", noThinking: asked.noThinking, level: asked.level ?? null })

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
