import * as Schema from "effect/Schema"
import * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import * as OpenApi from "effect/http-api/OpenApi"
import { Access, reads, writes } from "#schemas/api/Access.ts"
import { amount, text } from "#schemas/api/fields.ts"
import { Price, ServiceTier, TierFactors } from "#schemas/Provider.ts"
import { TOKENS_MAX, UNIT_MAX } from "./sync/reading.ts"

const ofTokens = ["input", "output", "cached", "reasoning", "cache_creation", "cache_creation_1h"] as const
const ofUnits = ["per_image", "per_second", "per_character", "per_search_unit", "per_query", "per_page", "per_document", "per_request"] as const

/** Of amounts that may be zero. */
const fieldsOf = <Name extends string>(names: ReadonlyArray<Name>, value: typeof amount) =>
  Object.fromEntries(names.map((name) => [name, Schema.optionalKey(value)])) as { readonly [K in Name]: Schema.optionalKey<typeof amount> }

const atMost = (most: number) => amount.check(Schema.makeFilter((value: number) => value <= most || `Expected at most ${most}`))

/** As prices are stored; an earlier release took any amount. */
export const StoredPrice = Schema.Struct({ ...fieldsOf(ofTokens, amount), ...fieldsOf(ofUnits, amount), tiers: Schema.optionalKey(TierFactors) })

/** Largest factor of a service tier. */
const FACTOR_MAX = 1_000

/**
 * USD per 1,000,000 tokens; the per_* fields are USD per single unit. `tiers`: what tokens cost in a service tier, times the standard price.
 * What is too large to be counted would cost nothing.
 */
export const PriceInput = Schema.Struct({
  ...fieldsOf(ofTokens, atMost(TOKENS_MAX)), ...fieldsOf(ofUnits, atMost(UNIT_MAX)), tiers: Schema.optionalKey(Schema.Struct(fieldsOf(ServiceTier.literals, atMost(FACTOR_MAX))))
})
export interface PriceInput extends Schema.Schema.Type<typeof PriceInput> {}

/** `long`: what tokens cost in prompts of more than `above` tokens. */
const PriceView = Schema.Struct({ ...StoredPrice.fields, long: Price.fields.long, source: Schema.optionalKey(Schema.Literals(["user", "synced", "default"])) })
export interface PriceView extends Schema.Schema.Type<typeof PriceView> {}

/** By provider and model. */
export const prices = Schema.Record(Schema.String, Schema.Record(Schema.String, PriceView)).annotate({ identifier: "Prices" })
const flag = Schema.optionalKey(Schema.Literals(["0", "1", "true", "false"]))

export const PricedModel = Schema.Struct({
  provider: Schema.String,
  model: Schema.String,
  name: Schema.String,
  priced: Schema.Boolean,
  /** Free of charge, as the operator says (`isFree` of a custom model), else as its price says. */
  isFree: Schema.Boolean
})
export type PricedModel = typeof PricedModel.Type

/** Prices: operator overrides over synchronised prices over the shipped defaults. */
export const PricingGroup = HttpApiGroup.make("pricing").add(
  HttpApiEndpoint.get("get", "/api/pricing", { query: { includeSources: flag }, success: prices })
    .annotate(Access, reads).annotate(OpenApi.Summary, "Effective prices by provider and model"),
  HttpApiEndpoint.patch("update", "/api/pricing", {
    payload: Schema.Record(Schema.String, Schema.Record(Schema.String, PriceInput)),
    success: prices
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Merge overrides; the reply is the whole map"),
  HttpApiEndpoint.delete("reset", "/api/pricing", {
    query: { provider: Schema.optionalKey(text(1, 120)), model: Schema.optionalKey(text(1, 240)) },
    success: prices
  }).annotate(Access, writes).annotate(OpenApi.Summary, "Back to the defaults: of one model, of a provider, or of all"),
  HttpApiEndpoint.get("defaults", "/api/pricing/defaults", { success: prices })
    .annotate(Access, reads).annotate(OpenApi.Summary, "The shipped prices"),
  HttpApiEndpoint.get("models", "/api/pricing/models", {
    success: Schema.Struct({
      models: Schema.Array(PricedModel)
    })
  }).annotate(Access, reads).annotate(OpenApi.Summary, "Models that can be priced")
).annotateMerge(OpenApi.annotations({ title: "Pricing", description: "USD per 1,000,000 tokens." }))
