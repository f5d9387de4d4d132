/**
 * models.dev's list: providers with their models, each with prices in USD per million tokens (`cost`), limits, modalities and what it can do.
 * Pure.
 */
import type { ModelFacts } from "#schemas/catalogue/SyncedModels.ts"
import { Modality, type Price } from "#schemas/Provider.ts"
import { amountOf, type Doc, given, isDoc, isEmpty, own, Reading, shown, TOKENS_MAX } from "./reading.ts"

/** Ids of this gateway's registry by those of the list. */
export const providers: ReadonlyMap<string, ReadonlyArray<string>> = new Map(Object.entries({
  openai: ["openai"], anthropic: ["anthropic"], google: ["gemini"], "google-vertex": ["vertex"], "google-vertex-anthropic": ["vertex-anthropic"],
  "amazon-bedrock": ["bedrock", "bedrock-anthropic"], azure: ["azure-openai", "azure-openai-deployments"], xai: ["xai"], deepseek: ["deepseek"],
  mistral: ["mistral"], cohere: ["cohere"], perplexity: ["perplexity"], groq: ["groq"], cerebras: ["cerebras"], togetherai: ["together"],
  "fireworks-ai": ["fireworks"], deepinfra: ["deepinfra"], "novita-ai": ["novita"], nebius: ["nebius"], siliconflow: ["siliconflow"], chutes: ["chutes"],
  ovhcloud: ["ovhcloud"], "ollama-cloud": ["ollama-cloud"], openrouter: ["openrouter"], vercel: ["vercel"], nvidia: ["nvidia"], "github-models": ["github-models"],
  huggingface: ["huggingface"], "cloudflare-workers-ai": ["cloudflare"], moonshotai: ["moonshot"], zai: ["zai"], zhipuai: ["zhipu"], minimax: ["minimax"],
  alibaba: ["qwen"], stepfun: ["stepfun"], upstage: ["upstage"], inception: ["inception"], poe: ["poe"]
}))

const OVER_TOKENS = 200_000
const TOKENS_OF_MODEL_MAX = 1_000_000_000

const rateOf = (cost: Doc, field: string): number | undefined => amountOf(`cost.${field}`, own(cost, field), 1, TOKENS_MAX)

/** `above`: prompt tokens. */
const tier = (above: number, rates: Doc): Price["long"] | undefined => {
  const [input, output] = [rateOf(rates, "input"), rateOf(rates, "output")]
  return input === undefined || output === undefined || !Number.isSafeInteger(above) || above <= 0 ? undefined
    : { above, input, output, ...given({ cached: rateOf(rates, "cache_read"), cache_creation: rateOf(rates, "cache_write") }) }
}

/** The lowest tier of prompts' lengths; older entries have one alone, beyond 200,000 tokens. */
const longOf = (cost: Doc): Price["long"] | undefined => {
  const tiers = own(cost, "tiers")
  const found = (Array.isArray(tiers) ? tiers : []).flatMap((rates: unknown) => {
    const kind = isDoc(rates) ? own(rates, "tier") : null
    const size = isDoc(kind) && own(kind, "type") === "context" ? own(kind, "size") : null
    const long = isDoc(rates) && typeof size === "number" ? tier(size, rates) : undefined
    return long === undefined ? [] : [long]
  }).sort((a, b) => a.above - b.above)[0]
  const over = own(cost, "context_over_200k")
  return found ?? (isDoc(over) ? tier(OVER_TOKENS, over) : undefined)
}

const priceOf = (cost: Doc): Price => given({
  input: rateOf(cost, "input"), output: rateOf(cost, "output"), cached: rateOf(cost, "cache_read"), reasoning: rateOf(cost, "reasoning"),
  cache_creation: rateOf(cost, "cache_write"), long: longOf(cost)
})

const known: ReadonlySet<unknown> = new Set(Modality.literals)

const modalitiesIn = (value: unknown): ReadonlyArray<Modality> | undefined =>
  Array.isArray(value) ? Array.from(new Set(value.filter((one): one is Modality => known.has(one)))) : undefined

const tokensIn = (value: unknown): number | undefined =>
  typeof value === "number" && Number.isSafeInteger(value) && value > 0 && value <= TOKENS_OF_MODEL_MAX ? value : undefined

const saidIn = (model: Doc, field: string): boolean | undefined => {
  const value = own(model, field)
  return typeof value === "boolean" ? value : undefined
}

const factsOf = (model: Doc): ModelFacts => {
  const limit = own(model, "limit")
  const modalities = own(model, "modalities")
  const inputModalities = isDoc(modalities) ? modalitiesIn(own(modalities, "input")) : undefined
  const outputModalities = isDoc(modalities) ? modalitiesIn(own(modalities, "output")) : undefined
  return given({
    contextWindow: isDoc(limit) ? tokensIn(own(limit, "context")) : undefined,
    maxOutputTokens: isDoc(limit) ? tokensIn(own(limit, "output")) : undefined,
    inputModalities: inputModalities?.length === 0 ? undefined : inputModalities,
    outputModalities: outputModalities?.length === 0 ? undefined : outputModalities,
    tools: saidIn(model, "tool_call"),
    structuredOutput: saidIn(model, "structured_output"),
    vision: inputModalities === undefined ? undefined : inputModalities.includes("image")
  })
}

export const read = (list: Doc): Reading => {
  const reading = new Reading()
  for (const [name, provider] of Object.entries(list)) {
    const ids = providers.get(name)
    if (ids === undefined) continue
    const models = isDoc(provider) ? own(provider, "models") : null
    if (!isDoc(models)) {
      reading.warn(`${shown(name)}: it has no models`)
      continue
    }
    for (const [model, entry] of Object.entries(models)) {
      if (!isDoc(entry)) {
        reading.warn(`${shown(`${name}/${model}`)}: it is no object`)
        continue
      }
      reading.entry(model, () => {
        const facts = factsOf(entry)
        if (!isEmpty(facts)) for (const id of ids) reading.fact(`${id}/${model}`, facts)
        const cost = own(entry, "cost")
        const price = isDoc(cost) ? priceOf(cost) : {}
        if (!isEmpty(price)) for (const id of ids) reading.price(`${id}/${model}`, price)
      })
    }
  }
  return reading
}
