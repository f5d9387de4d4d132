import * as Schema from "effect/Schema"

/** The wire formats of a provider on its main (chat) path; `none` = no chat at all (audio, search, rerank rows). */
export const WireFormat = Schema.Literals([
  "chat-completions", "messages", "responses", "generateContent", "local-model-server", "none"
])
export type WireFormat = typeof WireFormat.Type

/** What a model is for; decides the endpoint that serves it and the `type` of its /v1/models entry. */
export const ModelKind = Schema.Literals([
  "chat", "embedding", "rerank", "image", "audio", "video", "music", "moderation", "ocr", "search", "fetch"
])
export type ModelKind = typeof ModelKind.Type

/** Endpoints other than chat; the value in `paths` is a path below `baseUrl`, or a whole URL where the vendor uses another host. */
export const EndpointName = Schema.Literals([
  "chat-completions", "messages", "responses", "embeddings", "multimodal-embeddings", "rerank", "images-generations", "images-content", "images-edits",
  "videos-generations", "music-generations", "audio-transcriptions", "audio-translations", "audio-speech", "moderations", "ocr", "search", "web-fetch", "classify", "segment",
  "count-tokens"
])
export type EndpointName = typeof EndpointName.Type

/** The groups of POST /api/providers/test-batch that a registry row can belong to. */
export const ProviderCategory = Schema.Literals(["apikey", "oauth", "no-auth", "local", "search", "audio"])
export type ProviderCategory = typeof ProviderCategory.Type

export const Modality = Schema.Literals(["text", "image", "audio", "video", "pdf"])
export type Modality = typeof Modality.Type

export const Capability = Schema.Literals(["tools", "vision", "reasoning", "structuredOutput"])
export type Capability = typeof Capability.Type

/** How a credential travels. `prefix` stands before the key (`Bearer ` is implied by `bearer`). */
export const ProviderAuth = Schema.Union([
  Schema.Struct({ type: Schema.Literal("bearer") }),
  Schema.Struct({ type: Schema.Literal("header"), name: Schema.String, prefix: Schema.optionalKey(Schema.String) }),
  Schema.Struct({ type: Schema.Literal("query"), name: Schema.String }),
  Schema.Struct({ type: Schema.Literal("oauth") }),
  Schema.Struct({ type: Schema.Literal("none") })
])
export type ProviderAuth = typeof ProviderAuth.Type

const Amount = Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0))
const Tokens = Schema.Int.check(Schema.isGreaterThan(0))

/** A vendor's service tiers with a price of their own. OpenAI calls priority also "fast". */
export const ServiceTier = Schema.Literals(["flex", "priority"])
export type ServiceTier = typeof ServiceTier.Type

/** What tokens cost in a service tier, as a multiple of the standard price (0.5 = half). Missing: the standard price. */
export const TierFactors = Schema.Struct({ flex: Schema.optionalKey(Amount), priority: Schema.optionalKey(Amount) })
export interface TierFactors extends Schema.Schema.Type<typeof TierFactors> {}

/**
 * USD per 1,000,000 tokens; the `per_*` fields are USD per single unit (`schemas/records/Units.ts`), beside what tokens cost.
 * Missing: cached = input, reasoning = output, cache_creation = input, and cache_creation_1h (written to be kept for an hour) = cache_creation. `long` replaces them above `above` input tokens. `tiers` apply to all
 * of them, for answers that name their service tier.
 */
export const Price = Schema.Struct({
  input: Schema.optionalKey(Amount),
  output: Schema.optionalKey(Amount),
  cached: Schema.optionalKey(Amount),
  reasoning: Schema.optionalKey(Amount),
  cache_creation: Schema.optionalKey(Amount),
  cache_creation_1h: Schema.optionalKey(Amount),
  per_image: Schema.optionalKey(Amount),
  per_second: Schema.optionalKey(Amount),
  per_character: Schema.optionalKey(Amount),
  per_search_unit: Schema.optionalKey(Amount),
  per_query: Schema.optionalKey(Amount),
  per_page: Schema.optionalKey(Amount),
  per_document: Schema.optionalKey(Amount),
  per_request: Schema.optionalKey(Amount),
  long: Schema.optionalKey(Schema.Struct({
    above: Tokens,
    input: Amount,
    output: Amount,
    cached: Schema.optionalKey(Amount),
    cache_creation: Schema.optionalKey(Amount)
  })),
  tiers: Schema.optionalKey(TierFactors)
})
export interface Price extends Schema.Schema.Type<typeof Price> {}

/** One model of one provider. A fact that could not be confirmed is left out, never guessed. */
export const Model = Schema.Struct({
  id: Schema.NonEmptyString.check(Schema.isMaxLength(240)),
  name: Schema.NonEmptyString,
  kind: ModelKind,
  /** True for a model of another kind that answers conversations, too. */
  conversations: Schema.optionalKey(Schema.Boolean),
  /** The vendor's own id when it differs from `id` (a family id that stands for one variant). */
  upstreamId: Schema.optionalKey(Schema.NonEmptyString),
  /** Other ids the vendor accepts for the same model (dated snapshots); they resolve, and are not listed. */
  aliases: Schema.optionalKey(Schema.Array(Schema.NonEmptyString)),
  contextWindow: Schema.optionalKey(Tokens),
  maxOutputTokens: Schema.optionalKey(Tokens),
  dimensions: Schema.optionalKey(Tokens),
  inputModalities: Schema.optionalKey(Schema.Array(Modality)),
  outputModalities: Schema.optionalKey(Schema.Array(Modality)),
  capabilities: Schema.optionalKey(Schema.Array(Capability)),
  price: Schema.optionalKey(Price),
  /** Overrides the family rule of the no-thinking variants: true lists one, false says the model cannot stop thinking. */
  noThinkingAlias: Schema.optionalKey(Schema.Boolean)
})
export interface Model extends Schema.Schema.Type<typeof Model> {}

const Slug = Schema.String.check(Schema.isPattern(/^[a-z0-9][a-z0-9.-]{0,63}$/))
const UrlPath = Schema.String.check(Schema.isPattern(/^(\/|https:\/\/)\S*$/))
const EnvName = Schema.String.check(Schema.isPattern(/^[A-Z][A-Z0-9_]*$/))

/** What a request body needs at one provider beyond its wire format; dropped members go first. Top level only. */
export const BodyRules = Schema.Struct({
  add: Schema.optionalKey(Schema.Record(Schema.String, Schema.Json)),
  drop: Schema.optionalKey(Schema.Array(Schema.NonEmptyString))
})
export interface BodyRules extends Schema.Schema.Type<typeof BodyRules> {}

const Parameters = Schema.Record(Schema.NonEmptyString, Schema.String)

/**
 * How an operator signs in to a provider. The OAuth client is the operator's own registration: its id and secret come
 * from the named environment variables; the gateway ships none. `{name}` in a URL is filled like in `baseUrl`.
 */
export const ProviderOAuth = Schema.Struct({
  /** Authorization code with PKCE (S256). */
  authorizeUrl: Schema.optionalKey(UrlPath),
  /** Device code (RFC 8628). */
  deviceUrl: Schema.optionalKey(UrlPath),
  tokenUrl: UrlPath,
  clientId: EnvName,
  /** Absent for a public client. */
  clientSecret: Schema.optionalKey(EnvName),
  scopes: Schema.Array(Schema.NonEmptyString),
  /** Constants of the authorization request. */
  authorizeParams: Schema.optionalKey(Parameters),
  /** Constants of every token request. */
  tokenParams: Schema.optionalKey(Parameters),
  /** For a client that is registered with another address than the gateway's callback; the code is then pasted. */
  redirectUri: Schema.optionalKey(Schema.String.check(Schema.isPattern(/^https?:\/\/\S+$/)))
})
export interface ProviderOAuth extends Schema.Schema.Type<typeof ProviderOAuth> {}

const Place = Schema.String.check(Schema.isPattern(/^\$[.[]\S+$/))

/**
 * Where a vendor tells what is left of an account, asked by GET with the connection's key, and where in the JSON of its answer. Places are
 * as in `$.data.limit_remaining`. Amounts are numbers or their digits, in the vendor's unit.
 */
export const ProviderQuota = Schema.Struct({
  path: UrlPath,
  windows: Schema.Array(Schema.Struct({
    name: Schema.NonEmptyString,
    remaining: Place,
    /** Absent where an account has a balance and no limit. */
    limit: Schema.optionalKey(Place),
    /** Of the word daily, weekly or monthly: days, weeks and months begin at midnight UTC. */
    resets: Schema.optionalKey(Place),
    /** Of a boolean: false = nothing may be used, whatever remains. */
    usable: Schema.optionalKey(Place)
  })).check(Schema.isMinLength(1))
})
export interface ProviderQuota extends Schema.Schema.Type<typeof ProviderQuota> {}

/**
 * One row of the provider registry: data only. Request URL = `baseUrl` + path; `{name}` in either is filled from the
 * connection's providerSpecificData (`{model}` from the request). An empty baseUrl is filled by the operator or at run time.
 */
export const Provider = Schema.Struct({
  id: Slug,
  alias: Slug,
  name: Schema.NonEmptyString,
  baseUrl: Schema.String,
  wireFormat: WireFormat,
  auth: ProviderAuth,
  headers: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** Headers beside the Bearer token of an OAuth or exchanged credential, which replaces what `auth` says. */
  tokenHeaders: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** Values of `{name}` that a connection does not give. */
  defaults: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /** Base URLs of those values of `{region}` that do not follow the pattern of `baseUrl`. */
  regionalBaseUrls: Schema.optionalKey(Schema.Record(Schema.String, UrlPath)),
  /** Applies at `chatPath` and `streamPath`. */
  body: Schema.optionalKey(BodyRules),
  oauth: Schema.optionalKey(ProviderOAuth),
  /** Scope of a token that is exchanged for a service-account document. */
  serviceAccountScope: Schema.optionalKey(Schema.NonEmptyString),
  chatPath: Schema.NullOr(UrlPath),
  /** Where streaming uses another path than `chatPath`. */
  streamPath: Schema.optionalKey(UrlPath),
  modelsPath: Schema.NullOr(UrlPath),
  quota: Schema.optionalKey(ProviderQuota),
  paths: Schema.optionalKey(Schema.Record(Schema.String, UrlPath)),
  authKinds: Schema.Array(Schema.Literals(["apikey", "oauth", "none"])).check(Schema.isMinLength(1)),
  category: ProviderCategory,
  freeTier: Schema.Boolean,
  env: Schema.Array(EnvName),
  modalities: Schema.Array(ModelKind).check(Schema.isMinLength(1)),
  models: Schema.Array(Model),
  source: Schema.Struct({
    date: Schema.String.check(Schema.isPattern(/^\d{4}-\d{2}-\d{2}$/)),
    urls: Schema.Array(Schema.String.check(Schema.isPattern(/^https:\/\/\S+$/)))
  })
})
export interface Provider extends Schema.Schema.Type<typeof Provider> {}
