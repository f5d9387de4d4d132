/** The combo behind an id of automatic routing: every active connection with its model, nothing stored. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Combo, ModelStep } from "#schemas/records/Combo.ts"
import type { Registry } from "#src/providers/Registry.ts"
import { type Channel, fitsCategory } from "#src/routing/auto/channel.ts"

const idPrefix = "auto:"

/** Made here, and stored nowhere. */
export const isAutomatic = ({ id }: Combo): boolean => id.startsWith(idPrefix)

export const automaticCombo = (id: string, channel: Channel, snapshot: Snapshot, registry: Registry): Combo => {
  const steps: Array<ModelStep> = []
  for (const [provider, connections] of snapshot.activeByProvider) {
    const row = registry.byId.get(provider)
    const node = snapshot.nodeById.get(provider)
    const prefix = node?.prefix ?? row?.id
    if (prefix === undefined) continue
    const chats = row?.models.filter(({ kind }) => kind === "chat") ?? []
    for (const connection of connections) {
      const fitting = channel.category === null ? undefined : chats.find(({ capabilities }) => capabilities !== undefined && fits(capabilities, channel))
      const model = connection.defaultModel ?? fitting?.id ?? chats[0]?.id ?? snapshot.customModels.find((one) => one.provider === provider)?.modelId
      if (model === undefined) continue
      steps.push({
        kind: "model", id: connection.id, model: `${prefix}/${model}`, provider: null, connectionId: connection.id, weight: 0, label: null, tags: [], prompt: null
      })
    }
  }
  return {
    id: `${idPrefix}${id}`, name: id, description: null, models: steps, strategy: channel.config.routerStrategy === "lkgp" ? "lkgp" : "auto",
    config: channel.config, allowedProviders: [], system_message: null, tool_filter_regex: null, context_cache_protection: false,
    context_length: null, dimensions: null, isActive: true, isHidden: false, sortOrder: 0, createdAt: "", updatedAt: ""
  }
}

/** Judged by capabilities alone: a step made here has no tags. */
const fits = (capabilities: ReadonlyArray<string>, { category }: Channel): boolean =>
  category !== null && fitsCategory({ capabilities, tags: [] }, category) === "yes"
