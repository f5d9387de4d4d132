/**
 * What a model costs: the operator's prices over the synced ones over the registry's, field by field.
 * Pure; a model without a price costs nothing.
 */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { type Model, type Price, ServiceTier } from "#schemas/Provider.ts"
import { builtin, type Registry } from "#src/providers/Registry.ts"

export type PriceSource = "user" | "synced" | "default"

/** The layers of one snapshot. `user` and `synced` are keyed `<provider>/<model>`; fields that are no amount are ignored. */
export interface PricingView {
  readonly registry: Registry
  readonly user: ReadonlyMap<string, unknown>
  readonly synced: ReadonlyMap<string, unknown>
}

/** The layers of a snapshot. */
export const viewOf = ({ pricing, synced }: Pick<Snapshot, "pricing" | "synced">): PricingView => ({ registry: builtin, user: pricing, synced: synced.prices })

export type PriceMap = Readonly<Record<string, Readonly<Record<string, Price>>>>

const amounts = [
  "input", "output", "cached", "reasoning", "cache_creation", "cache_creation_1h",
  "per_image", "per_second", "per_character", "per_search_unit", "per_query", "per_page", "per_document", "per_request"
] as const

/** Answers remembered per view; the oldest goes first. */
const REMEMBERED_MAX = 4096

type Draft = { -readonly [K in keyof Price]: Price[K] }

/** The amounts of a layer; what is none is ignored. */
const amountsIn = <Name extends string>(layer: unknown, names: ReadonlyArray<Name>): { [K in Name]?: number } => {
  const found: { [K in Name]?: number } = {}
  if (typeof layer !== "object" || layer === null) return found
  for (const name of names) {
    const amount = (layer as Record<string, unknown>)[name]
    if (typeof amount === "number" && Number.isFinite(amount) && amount >= 0) found[name] = amount
  }
  return found
}

const isEmpty = (found: object): boolean => Object.keys(found).length === 0

const overlay = (into: Draft, layer: unknown): void => {
  const found = amountsIn(layer, amounts)
  // The price of an hour belongs to the price of writing beside it: another one takes it away.
  if (found.cache_creation !== undefined && found.cache_creation !== into.cache_creation) delete into.cache_creation_1h
  Object.assign(into, found)
}

const factorsIn = (layer: unknown): NonNullable<Price["tiers"]> =>
  amountsIn(typeof layer === "object" && layer !== null && "tiers" in layer ? layer.tiers : null, ServiceTier.literals)

const overlayTiers = (into: Draft, layer: unknown): void => {
  const found = factorsIn(layer)
  if (!isEmpty(found)) into.tiers = { ...into.tiers, ...found }
}

/** The price of long prompts of a layer, if it is whole. */
const longIn = (layer: unknown): Price["long"] | undefined => {
  const long = typeof layer === "object" && layer !== null && "long" in layer ? layer.long : null
  if (typeof long !== "object" || long === null || !("above" in long) || typeof long.above !== "number" || !(long.above > 0)) return undefined
  const { cache_creation, cached, input, output } = amountsIn(long, ["input", "output", "cached", "cache_creation"])
  return input === undefined || output === undefined ? undefined
    : { above: long.above, input, output, ...(cached === undefined ? {} : { cached }), ...(cache_creation === undefined ? {} : { cache_creation }) }
}

/** A price of long prompts belongs to the base price of its source: a source with another base and none of its own takes it away. */
const overlayLong = (into: Draft, before: Price | undefined, synced: unknown): void => {
  const own = longIn(synced)
  if (own !== undefined) into.long = own
  else if (into.input !== before?.input || into.output !== before?.output) delete into.long
}

/** The registry's model behind an id: its own id, a dated alias of it, or the upstream id it stands for. */
const registered = (registry: Registry, provider: string, model: string): Model | undefined =>
  registry.modelsOf.get(provider)?.get(model)

const exact = (view: PricingView, provider: string, model: string): Price | null => {
  const facts = registered(view.registry, provider, model)?.price
  const key = `${provider}/${model}`
  const synced = view.synced.get(key)
  const user = view.user.get(key)
  if (synced === undefined && user === undefined) return facts ?? null
  const price: Draft = { ...facts }
  overlay(price, synced)
  overlayLong(price, facts, synced)
  overlay(price, user)
  // An operator's price of tokens is that of all prompts; his other prices leave what long ones cost.
  if (!isEmpty(amountsIn(user, ["input", "output"]))) delete price.long
  overlayTiers(price, synced)
  overlayTiers(price, user)
  return Object.keys(price).length === 0 ? null : price
}

/** Removes what stands before the last slash, and a trailing date (`-20250929`, `-2025-08-07`, `@20250929`). */
const normalizedModel = (model: string): string =>
  model.slice(model.lastIndexOf("/") + 1).replace(/[-@](\d{8}|\d{4}-\d{2}-\d{2})$/, "")

/** The price of a model, else of its normalized name with the same provider, else null. */
export const priceOf = (view: PricingView, provider: string, model: string): Price | null => {
  const price = exact(view, provider, model)
  if (price !== null) return price
  const normalized = normalizedModel(model)
  return normalized === model || normalized === "" ? null : exact(view, provider, normalized)
}

/** `priceOf` over one view with a bounded memory: keep it as long as the view. */
export const makePricer = (view: PricingView): (provider: string, model: string) => Price | null => {
  const remembered = new Map<string, Price | null>()
  return (provider, model) => {
    const key = `${provider}/${model}`
    const known = remembered.get(key)
    if (known !== undefined) return known
    const price = priceOf(view, provider, model)
    if (remembered.size >= REMEMBERED_MAX) {
      for (const oldest of remembered.keys()) {
        remembered.delete(oldest)
        break
      }
    }
    remembered.set(key, price)
    return price
  }
}

/** GET /api/pricing/defaults: what the registry knows, unfilled. */
export const defaults = (registry: Registry): PriceMap => {
  const map: Record<string, Record<string, Price>> = {}
  for (const row of registry.all) {
    for (const model of row.models) if (model.price !== undefined) (map[row.id] ??= {})[model.id] = model.price
  }
  return map
}

const splitKey = (key: string): readonly [string, string] => {
  const slash = key.indexOf("/")
  return slash < 0 ? [key, ""] : [key.slice(0, slash), key.slice(slash + 1)]
}

/** GET /api/pricing: every priced model, the layers merged. */
export const pricingMap = (view: PricingView): PriceMap => {
  // Maps until the end: a model may be called `__proto__`.
  const map = new Map(Object.entries(defaults(view.registry)).map(([provider, models]) => [provider, new Map(Object.entries(models))]))
  for (const key of [...view.synced.keys(), ...view.user.keys()]) {
    const [provider, model] = splitKey(key)
    const price = exact(view, provider, model)
    if (price !== null) map.set(provider, (map.get(provider) ?? new Map<string, Price>()).set(model, price))
  }
  return Object.fromEntries(Array.from(map, ([provider, models]) => [provider, Object.fromEntries(models)]))
}

const says = (layer: unknown): boolean => !isEmpty(amountsIn(layer, amounts)) || !isEmpty(factorsIn(layer))

/** The strongest layer that says something about a model. */
export const sourceOf = ({ synced, user }: PricingView, provider: string, model: string): PriceSource => {
  const key = `${provider}/${model}`
  return says(user.get(key)) ? "user" : says(synced.get(key)) ? "synced" : "default"
}
