/** Models that can be priced: those of the registry, and those that operators added. Pure. */
import { type Snapshot, shownProvider } from "#actors/ports/Configuration.ts"
import type { PricedModel } from "./api.ts"
import * as Pricing from "#src/providers/pricing.ts"
import type { Registry } from "#src/providers/Registry.ts"
import { isFree as costsNothing } from "#src/routing/freeModel.ts"

const idOf = (provider: string, model: string): string => `${provider}/${model}`

/** `strict` (FREE_BADGE_REQUIRES_PROVIDER_FREE_TIER): models of providers without a free tier are never called free. */
export const list = (snapshot: Pick<Snapshot, "customModels" | "nodeById" | "pricing" | "synced">, registry: Registry, strict: boolean): ReadonlyArray<PricedModel> => {
  const priceOf = Pricing.makePricer(Pricing.viewOf(snapshot))
  const own = new Map(snapshot.customModels.map((model) => [idOf(model.provider, model.modelId), model]))
  const known = new Set(registry.all.flatMap(({ id, models }) => models.map((model) => idOf(id, model.id))))
  const shown = (provider: string, model: string, name: string, freeTier: boolean): PricedModel => {
    const price = priceOf(provider, model)
    // What an operator says of a model goes before its price.
    const isFree = own.get(idOf(provider, model))?.isFree ?? costsNothing(price)
    return { provider: shownProvider(snapshot, provider), model, name, priced: price !== null, isFree: isFree && (!strict || freeTier) }
  }
  return [
    ...registry.all.flatMap((row) => row.models.map(({ id, name }) => shown(row.id, id, name, row.freeTier))),
    ...Array.from(own.entries(), ([id, { modelId, modelName, provider }]) => known.has(id) ? [] : [shown(provider, modelId, modelName ?? modelId, registry.byId.get(provider)?.freeTier === true)]).flat()
  ]
}
