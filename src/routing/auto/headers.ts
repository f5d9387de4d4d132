/** X-Gateway-Mode, -Budget and -Budget-Fallback: what one request changes in the configuration. Pure. */
import type { ComboConfig } from "#schemas/records/Combo.ts"
import { packOf } from "#src/routing/auto/packs.ts"

/** Values as the client sent them; undefined when absent. */
export interface AutoHeaders {
  readonly mode?: string | undefined
  readonly budget?: string | undefined
  readonly budgetFallback?: string | undefined
}

const fallbacks: Readonly<Record<string, "cheapest" | "strict">> = {
  "cheapest": "cheapest", "cheapest-viable": "cheapest", "soft": "cheapest", "strict": "strict", "block": "strict", "hard": "strict"
}

/** A positive amount in USD; null when the text is none. */
export const budgetOf = (text: string): number | null => {
  const plain = text.trim()
  if (!/^\d{1,9}(\.\d{1,12})?$|^\.\d{1,12}$/.test(plain)) return null
  const amount = Number(plain)
  return amount > 0 ? amount : null
}

/**
 * The configuration with the request's wishes; unknown values change nothing. `chaos` is the key's chaosModeEnabled: without it
 * no request can ask for that pack. A smaller budget of the combo still holds: a header never widens it.
 */
export const withHeaders = (config: ComboConfig, headers: AutoHeaders, chaos: boolean): ComboConfig => {
  const asked = headers.mode === undefined ? null : packOf(headers.mode)
  const pack = asked === "chaos-mode" && !chaos ? null : asked
  const budget = headers.budget === undefined ? null : budgetOf(headers.budget)
  const word = headers.budgetFallback?.trim().toLowerCase()
  const fallback = word !== undefined && Object.hasOwn(fallbacks, word) ? fallbacks[word] : undefined
  if (pack === null && budget === null && fallback === undefined) return config
  return {
    ...config,
    ...(pack === null ? {} : { modePack: pack }),
    ...(budget === null ? {} : { budgetCap: config.budgetCap === undefined ? budget : Math.min(budget, config.budgetCap) }),
    ...(fallback === undefined || (config.budgetFallback === "strict" && config.budgetCap !== undefined) ? {} : { budgetFallback: fallback })
  }
}
