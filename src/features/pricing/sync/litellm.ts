/**
 * LiteLLM's list of prices: an object of models, each with the provider that LiteLLM calls for it (`litellm_provider`) and prices in USD per
 * token, image, second and so on. Pure.
 */
import type { Price } from "#schemas/Provider.ts"
import { amountOf, type Doc, given, isDoc, isEmpty, own, Reading, TOKENS_MAX, UNIT_MAX } from "./reading.ts"

interface Served {
  /** Ids of this gateway's registry. */
  readonly as: ReadonlyArray<string>
  /** What stands before the model in the name of an entry, if anything does. */
  readonly prefix?: string
  /** Whether the ids of its models have slashes. Where they have none, a slash separates a region, a size or a quality. */
  readonly hasSlashes?: boolean
}

const vertexPartner: Served = { as: ["vertex-partner"], prefix: "vertex_ai", hasSlashes: true }
const vertex: Served = { as: ["vertex"], prefix: "vertex_ai" }
const bedrock: Served = { as: ["bedrock", "bedrock-anthropic"] }

/** By `litellm_provider`. Providers of clients' subscriptions and of deployments of an operator's own have no public price. */
export const providers: ReadonlyMap<string, Served> = new Map(Object.entries<Served>({
  openai: { as: ["openai"] }, anthropic: { as: ["anthropic"] }, gemini: { as: ["gemini"] }, xai: { as: ["xai"] }, deepseek: { as: ["deepseek"] },
  mistral: { as: ["mistral"] }, cohere: { as: ["cohere"] }, cohere_chat: { as: ["cohere"], prefix: "cohere" }, perplexity: { as: ["perplexity"] },
  "vertex_ai-language-models": vertex, "vertex_ai-embedding-models": vertex, "vertex_ai-image-models": vertex,
  "vertex_ai-anthropic_models": { as: ["vertex-anthropic"], prefix: "vertex_ai" },
  "vertex_ai-deepseek_models": vertexPartner, "vertex_ai-llama_models": vertexPartner, "vertex_ai-qwen_models": vertexPartner,
  "vertex_ai-openai_models": vertexPartner, "vertex_ai-moonshot_models": vertexPartner, "vertex_ai-minimax_models": vertexPartner, "vertex_ai-zai_models": vertexPartner,
  bedrock, bedrock_converse: bedrock, azure: { as: ["azure-openai", "azure-openai-deployments"] },
  groq: { as: ["groq"], hasSlashes: true }, cerebras: { as: ["cerebras"] }, sambanova: { as: ["sambanova"] },
  together_ai: { as: ["together"], hasSlashes: true }, fireworks_ai: { as: ["fireworks"], hasSlashes: true },
  "fireworks_ai-embedding-models": { as: ["fireworks"], prefix: "fireworks_ai", hasSlashes: true },
  deepinfra: { as: ["deepinfra"], hasSlashes: true }, novita: { as: ["novita"], hasSlashes: true }, nebius: { as: ["nebius"], hasSlashes: true },
  hyperbolic: { as: ["hyperbolic"], hasSlashes: true }, featherless_ai: { as: ["featherless"], hasSlashes: true }, nvidia_nim: { as: ["nvidia"], hasSlashes: true },
  cloudflare: { as: ["cloudflare"], hasSlashes: true }, vercel_ai_gateway: { as: ["vercel"], hasSlashes: true }, openrouter: { as: ["openrouter"], hasSlashes: true },
  ovhcloud: { as: ["ovhcloud"] }, moonshot: { as: ["moonshot"] }, zai: { as: ["zai"] }, minimax: { as: ["minimax"] }, dashscope: { as: ["qwen"] },
  volcengine: { as: ["volcengine"] }, ai21: { as: ["ai21"] }, voyage: { as: ["voyage"] }, jina_ai: { as: ["jina"] }, deepgram: { as: ["deepgram"] },
  elevenlabs: { as: ["elevenlabs"] }, assemblyai: { as: ["assemblyai"] }, recraft: { as: ["recraft"] }
}))

/** The unit that a mode is billed in, and the fields that may say its price, the first one first. */
const units: ReadonlyMap<unknown, readonly [keyof Price, ReadonlyArray<string>]> = new Map<unknown, readonly [keyof Price, ReadonlyArray<string>]>([
  ["image_generation", ["per_image", ["output_cost_per_image", "input_cost_per_image"]]],
  ["image_edit", ["per_image", ["output_cost_per_image", "input_cost_per_image"]]],
  ["audio_transcription", ["per_second", ["input_cost_per_second", "output_cost_per_second"]]],
  ["audio_speech", ["per_character", ["input_cost_per_character"]]],
  ["video_generation", ["per_second", ["output_cost_per_video_per_second", "output_cost_per_second"]]],
  ["rerank", ["per_search_unit", ["input_cost_per_query"]]],
  ["ocr", ["per_page", ["ocr_cost_per_page"]]]
])

const MILLION = 1_000_000
const tokensOf = (entry: Doc, field: string): number | undefined => amountOf(field, own(entry, field), MILLION, TOKENS_MAX)

/** The lowest threshold whose price is whole. */
const longOf = (entry: Doc): Price["long"] | undefined => {
  const thousands = Object.keys(entry).flatMap((field) => {
    const found = /^input_cost_per_token_above_(\d{1,5})k_tokens$/.exec(field)
    return found === null ? [] : [Number(found[1])]
  }).sort((a, b) => a - b)
  for (const limit of thousands) {
    const suffix = `_above_${limit}k_tokens`
    const [input, output] = [tokensOf(entry, `input_cost_per_token${suffix}`), tokensOf(entry, `output_cost_per_token${suffix}`)]
    if (limit === 0 || input === undefined || output === undefined) continue
    return {
      above: limit * 1_000, input, output,
      ...given({ cached: tokensOf(entry, `cache_read_input_token_cost${suffix}`), cache_creation: tokensOf(entry, `cache_creation_input_token_cost${suffix}`) })
    }
  }
  return undefined
}

const priceOf = (entry: Doc): Price => {
  const [unit, fields] = units.get(own(entry, "mode")) ?? [null, []]
  const field = fields.find((name) => typeof own(entry, name) === "number")
  return given({
    input: tokensOf(entry, "input_cost_per_token"),
    output: tokensOf(entry, "output_cost_per_token"),
    cached: tokensOf(entry, "cache_read_input_token_cost"),
    reasoning: tokensOf(entry, "output_cost_per_reasoning_token"),
    cache_creation: tokensOf(entry, "cache_creation_input_token_cost"),
    cache_creation_1h: tokensOf(entry, "cache_creation_input_token_cost_above_1hr"),
    ...(unit === null || field === undefined ? {} : { [unit]: amountOf(field, own(entry, field), 1, UNIT_MAX) }),
    long: longOf(entry)
  })
}

/** The id of a model at its provider; null for an entry that is about a region or a size of it. */
const modelOf = (name: string, provider: string, { hasSlashes = false, prefix = provider }: Served): string | null => {
  const model = name.startsWith(`${prefix}/`) ? name.slice(prefix.length + 1) : name
  return model === "" || (!hasSlashes && model.includes("/")) ? null : model
}

export const read = (list: Doc): Reading => {
  const reading = new Reading()
  for (const [name, entry] of Object.entries(list)) {
    if (!isDoc(entry)) {
      reading.warn(`${name.slice(0, 80)}: it is no object`)
      continue
    }
    const provider = own(entry, "litellm_provider")
    const served = typeof provider === "string" ? providers.get(provider) : undefined
    if (typeof provider !== "string" || served === undefined) continue
    const model = modelOf(name, provider, served)
    if (model === null) continue
    reading.entry(model, () => {
      const price = priceOf(entry)
      if (!isEmpty(price)) for (const id of served.as) reading.price(`${id}/${model}`, price)
    })
  }
  return reading
}
