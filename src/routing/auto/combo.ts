/** The combo behind an id of automatic routing: every active connection with its model, nothing stored. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Price } from "#schemas/Provider.ts"
import type { Combo, ModelStep } from "#schemas/records/Combo.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import type { Registry } from "#src/providers/Registry.ts"
import { type Channel, channelIds, channelOf, fitsCategory } from "#src/routing/auto/channel.ts"
import * as LastGood from "#src/routing/auto/lastGood.ts"
import { placeOf } from "#src/routing/models/bareCombos.ts"
import type { Wanted } from "#src/routing/models/candidate.ts"
import * as SearchPool from "#src/routing/searchPool.ts"
import * as WebFetchPool from "#src/routing/webFetchPool.ts"

const idPrefix = "auto:"

/** Made here, and stored nowhere. */
export const isAutomatic = ({ id }: Combo): boolean => id.startsWith(idPrefix)

/** What the id of such a combo wants of its candidates; null for every other combo. */
export const wantedOf = (combo: Combo): Wanted | null => isAutomatic(combo) ? channelOf(combo.name) : null

export interface Options {
  readonly snapshot: Snapshot
  readonly registry: Registry
  readonly priceOf: (provider: string, model: string) => Price | null
}

const isAsked = (model: string): boolean => model === "auto" || model.startsWith("auto/")

/** The combos of one snapshot. `mayChaos`: of the key. */
export const automaticCombos = ({ priceOf, registry, snapshot }: Options) => {
  const isOn = snapshot.settings.get("autoRoutingEnabled") !== false
  const variant = snapshot.settings.get("autoRoutingDefaultVariant")
  /** Of searches and pages; their ids differ. */
  const searches = new Map<string, Combo>()
  const forAll = new Map<string, Combo>()
  const withChaos = new Map<string, Combo>()
  const channelled = (model: string, mayChaos: boolean): Combo | null => {
    const channel = isOn ? channelOf(model, typeof variant === "string" ? variant : "lkgp") : null
    return channel === null || (channel.chaos && !mayChaos) ? null : automaticCombo(model, channel, snapshot, registry)
  }
  /** By the id that is asked for, each made once; null for an id that is none. */
  const comboOf = (model: string, face: CallFormat, mayChaos: boolean): Combo | null => {
    if (!isAsked(model)) return null
    const made = face === "search" || face === "web-fetch" ? searches : mayChaos ? withChaos : forAll
    const known = made.get(model)
    if (known !== undefined) return known
    const combo = face === "search" ? SearchPool.automatic(model, snapshot, registry, priceOf) : face === "web-fetch" ? WebFetchPool.automatic(model, snapshot) : channelled(model, mayChaos)
    if (combo !== null) made.set(model, combo)
    return combo
  }
  /** Why an id of automatic routing was not found; any other error as it is. */
  const told = (model: string, error: PublicError): PublicError => {
    if (error.code !== "model_not_found" || !isAsked(model)) return error
    const why = channelOf(model) === null
      ? `Automatic routing has ${channelIds.filter((id) => !id.includes(":")).join(", ")}, and auto/<category>:<tier>.`
      : isOn ? "It is for API keys with chaosModeEnabled." : "Automatic routing is off: see the setting autoRoutingEnabled."
    return new PublicError(error.code, error.status, error.type, `Model '${model.slice(0, 120)}' was not found. ${why}`)
  }
  return { comboOf, told }
}

const automaticCombo = (id: string, channel: Channel, snapshot: Snapshot, registry: Registry): Combo => {
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
  // Equal scores keep this order.
  steps.sort((a, b) => placeIn(snapshot, a) - placeIn(snapshot, b))
  const combo: Combo = {
    id: `${idPrefix}${id}`, name: id, description: null, models: steps, strategy: channel.config.routerStrategy === "lkgp" ? "lkgp" : "auto",
    config: channel.config, allowedProviders: [], system_message: null, tool_filter_regex: null, context_cache_protection: false,
    context_length: null, dimensions: null, isActive: true, isHidden: false, sortOrder: 0, createdAt: "", updatedAt: ""
  }
  return LastGood.isOn(snapshot.settings) ? combo : LastGood.without(combo, combo.config)
}

const placeIn = ({ connectionById }: Snapshot, { id }: ModelStep): number => {
  const connection = connectionById.get(id)
  return connection === undefined ? Number.MAX_SAFE_INTEGER : placeOf(connection)
}

/** Judged by capabilities alone: a step made here has no tags. */
const fits = (capabilities: ReadonlyArray<string>, { category }: Channel): boolean =>
  category !== null && fitsCategory({ capabilities, tags: [] }, category) === "yes"
