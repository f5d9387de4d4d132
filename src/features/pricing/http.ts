import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Schema from "effect/Schema"
import { Configuration, shownKeys, shownModel } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { type PriceInput, type PriceView, PricingGroup, StoredPrice } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import * as Pricing from "#src/providers/pricing.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as Priceable from "./priceable.ts"
import * as Surface from "#src/management/Surface.ts"

const KIND = "pricing"

const readPrice = Schema.decodeUnknownOption(StoredPrice)

/** Field by field, factors of tiers too. */
const merged = (before: PriceInput | undefined, change: PriceInput): PriceInput =>
  ({ ...before, ...change, ...(before?.tiers === undefined && change.tiers === undefined ? {} : { tiers: { ...before?.tiers, ...change.tiers } }) })

export const layer = HttpApiBuilder.group(Surface.make(PricingGroup), "pricing", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const flags = yield* Flags

  const view = (): Pricing.PricingView => Pricing.viewOf(configuration.current())

  const providerOf = (name: string): string | null => knownProvider(configuration.current(), name)

  const named = (key: string): string => shownModel(configuration.current(), key)

  const effective = (withSources: boolean) => {
    const layers = view()
    const map = Pricing.pricingMap(layers)
    if (!withSources) return shownKeys(configuration.current(), map)
    return shownKeys(configuration.current(), Object.fromEntries(Object.entries(map).map(([provider, models]) => [
      provider,
      Object.fromEntries(Object.entries(models).map(([model, price]): readonly [string, PriceView] =>
        [model, { ...price, source: Pricing.sourceOf(layers, provider, model) }]))
    ])))
  }

  const update = Effect.fn("Pricing.update")(function*(change: Readonly<Record<string, Readonly<Record<string, PriceInput>>>>) {
    const unknown = Object.keys(change).filter((name) => providerOf(name) === null)
    if (unknown.length > 0) return yield* Effect.fail(Refusal.invalidFields(unknown.map((name) => ({ field: name, message: unknownProvider(name) }))))
    // Two names of one provider are one.
    const prices = new Map<string, PriceInput>()
    for (const [name, models] of Object.entries(change)) {
      for (const [model, price] of Object.entries(models)) {
        const key = `${providerOf(name)}/${model}`
        prices.set(key, merged(prices.get(key), price))
      }
    }
    if (prices.size === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    // Read inside the commit: one writer at a time, so that changes of different fields are all kept.
    yield* configuration.commit(Effect.forEach(prices, ([key, price]) => {
      const known = readPrice(configuration.current().pricing.get(key))
      return documents.put(KIND, key, merged(known._tag === "Some" ? known.value : undefined, price))
    }, { discard: true }))
    yield* audit.note({ action: "pricing.updated", resourceType: "pricing", details: { models: Array.from(prices.keys(), named) } })
    return effective(false)
  })

  const reset = Effect.fn("Pricing.reset")(function*(query: { readonly provider?: string; readonly model?: string }) {
    if (query.model !== undefined && query.provider === undefined) {
      return yield* Effect.fail(Refusal.invalidField("provider", "Required together with model"))
    }
    // What was stored under a name that means nothing can be taken away by that name.
    const prefixes = query.provider === undefined ? [""] : [query.provider, providerOf(query.provider) ?? query.provider].map((provider) => `${provider}/${query.model ?? ""}`)
    const keys = Array.from(configuration.current().pricing.keys())
      .filter((key) => prefixes.some((prefix) => query.model === undefined ? key.startsWith(prefix) : key === prefix))
    if (query.provider !== undefined && keys.length === 0 && providerOf(query.provider) === null) {
      return yield* Effect.fail(Refusal.invalidField("provider", unknownProvider(query.provider)))
    }
    yield* configuration.commit(Effect.forEach(keys, (key) => documents.remove(KIND, key), { discard: true }))
    yield* audit.note({ action: "pricing.reset", resourceType: "pricing", details: { models: keys.map(named) } })
    return effective(false)
  })

  return handlers.handleAll({
    get: ({ query }) => Effect.sync(() => effective(query.includeSources === "1" || query.includeSources === "true")),
    update: ({ payload }) => answer(update(payload)),
    reset: ({ query }) => answer(reset(query)),
    defaults: () => Effect.sync(() => Pricing.defaults(builtin)),
    models: () => Effect.sync(() => ({ models: Priceable.list(configuration.current(), builtin, flags.isOn("FREE_BADGE_REQUIRES_PROVIDER_FREE_TIER")) }))
  })
}))
