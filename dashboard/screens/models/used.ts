/** The models of the list with what they were used for: an unpriced one with use hides its cost. Pure. */
import type { Answer } from "../../api/contract.ts"
import type { PriceRow } from "./Price.tsx"

type Used = Answer<"GET /api/usage/analytics">["byModel"][number]
type Latency = Answer<"GET /api/usage/model-latency-stats">["entries"][number]

export interface Model {
  readonly provider: string
  readonly model: string
  readonly name: string
  readonly priced: boolean
  readonly isFree: boolean
  readonly price: PriceRow | undefined
  readonly used: Used | undefined
  readonly latency: Latency | undefined
}

export const tokensOf = ({ used }: Model): number => used === undefined ? 0 : used.promptTokens + used.completionTokens

/** Its use counts as free, though it was none. */
export const hidesCost = (model: Model): boolean => !model.priced && tokensOf(model) > 0

interface Read {
  readonly models: Answer<"GET /api/pricing/models">["models"]
  readonly prices: Answer<"GET /api/pricing"> | undefined
  readonly usage: ReadonlyArray<Used>
  readonly latencies: ReadonlyArray<Latency>
}

/** Models that were used without being in a catalogue, such as those of an own server, are listed, too. */
export const modelsOf = ({ latencies, models, prices, usage }: Read): ReadonlyArray<Model> => {
  const idOf = ({ model, provider }: { readonly provider: string; readonly model: string }): string => `${provider}/${model}`
  const use = new Map(usage.map((row) => [idOf(row), row]))
  const took = new Map(latencies.map((row) => [idOf(row), row]))
  const known = new Set(models.map(idOf))
  const strays = usage.filter((row) => !known.has(idOf(row)) && row.provider !== "" && row.model !== "").map(({ model, provider }) => ({ provider, model, name: model, priced: prices?.[provider]?.[model] !== undefined, isFree: false }))
  return [...models, ...strays].map((row) => ({ ...row, price: prices?.[row.provider]?.[row.model], used: use.get(idOf(row)), latency: took.get(idOf(row)) }))
}

/** Those that hide a cost first, the largest use before others; then those without a price. */
export const inOrder = (a: Model, b: Model): number =>
  Number(hidesCost(b)) - Number(hidesCost(a)) || Number(a.priced) - Number(b.priced) || (a.priced ? 0 : tokensOf(b) - tokensOf(a)) || a.provider.localeCompare(b.provider) || a.model.localeCompare(b.model)
