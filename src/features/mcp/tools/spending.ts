/** What calls cost by their prices, before any model is asked. Pure. */
import { at, type Json, listAt, textAt } from "#src/management/inner/Inner.ts"

/** USD of a million tokens. */
export interface Price {
  readonly input: number
  readonly output: number
}

/** The price of a target or a step, as `GET /api/pricing` says it; null: unknown, or not one of tokens. */
export const priceOf = (prices: Json, target: Json): Price | null => {
  const id = textAt(target, "model")
  const slash = id.indexOf("/")
  const provider = textAt(target, "provider") || id.slice(0, Math.max(0, slash))
  const found = at(prices, provider, id.startsWith(`${provider}/`) ? id.slice(provider.length + 1) : id)
  const [input, output] = [at(found, "input"), at(found, "output")]
  return typeof input === "number" ? { input, output: typeof output === "number" ? output : 0 } : null
}

export const costOf = ({ input, output }: Price, promptTokens: number, answerTokens: number): number => (input * promptTokens + output * answerTokens) / 1e6

/** Never with an exponent, which headers do not take. */
export const usdOf = (usd: number): string => usd.toFixed(10).replace(/\.?0+$/, "")

const BYTES_OF_A_TOKEN = 3

/** Tokens of a prompt, rather too many than too few. */
export const promptTokensOf = (messages: ReadonlyArray<{ readonly content: string }>): number =>
  messages.reduce((sum, { content }) => sum + Math.ceil(Buffer.byteLength(content) / BYTES_OF_A_TOKEN) + 4, 0)

/** The longest answer that stays within a budget at each of these prices, in tokens; less than 1: none does. */
export const answerWithin = (budgetUsd: number, promptTokens: number, prices: ReadonlyArray<Price>, most: number): number =>
  prices.reduce((least, price) => {
    const left = budgetUsd - costOf(price, promptTokens, 0)
    if (left < 0) return 0
    return price.output === 0 ? least : Math.min(least, Math.floor(left * 1e6 / price.output))
  }, most)

/**
 * The most that a call of a combo may cost at any of its models, or of those of combos within it.
 * Null: a price is unknown, or the combo has no model.
 */
export const dearestOf = (combo: Json, combos: ReadonlyArray<Json>, prices: Json, tokens: { readonly prompt: number; readonly answer: number }): number | null => {
  const byName = new Map(combos.map((one) => [textAt(one, "name"), one]))
  const seen = new Set<string>()
  const pending = [combo]
  let dearest: number | null = null
  for (let one = pending.pop(); one !== undefined; one = pending.pop()) {
    if (seen.has(textAt(one, "name"))) continue
    seen.add(textAt(one, "name"))
    for (const step of listAt(one, "models")) {
      const inner = byName.get(textAt(step, "comboName"))
      if (inner !== undefined) {
        pending.push(inner)
        continue
      }
      const price = priceOf(prices, step)
      if (price === null) return null
      dearest = Math.max(dearest ?? 0, costOf(price, tokens.prompt, tokens.answer))
    }
  }
  return dearest
}
