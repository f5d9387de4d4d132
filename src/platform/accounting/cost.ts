/**
 * What an attempt cost: tokens and units times prices in whole pico-USD, rounded once to the 10 decimals of a ledger row. Sums of rows
 * are exact as long as they are taken in units (`toUnits`, 1e-10 USD), never by adding doubles.
 */
import type { Price, ServiceTier } from "#schemas/Provider.ts"
import * as Units from "#schemas/records/Units.ts"

/** The token fields of a ledger row, which are totals whatever the vendor's form was. */
export interface Tokens {
  /** With the cache's reads and writes. */
  readonly tokensIn: number
  /** With the reasoning. */
  readonly tokensOut: number
  readonly tokensCacheRead: number
  readonly tokensCacheCreation: number
  readonly tokensReasoning: number
  /** Of tokensCacheCreation, what is kept for an hour; absent = none. */
  readonly tokensCacheCreationHour?: number | undefined
  /** Of the vendor's service; absent = the standard one. */
  readonly tier?: ServiceTier | undefined
}

/** The parts of a cost, pico-USD (1e-12 USD). */
export interface CostParts {
  readonly input: bigint
  readonly cacheRead: bigint
  readonly cacheCreation: bigint
  readonly output: bigint
  readonly reasoning: bigint
}

/** Pico-USD per unit of 1e-10 USD. */
const PICO_PER_UNIT = 100
const UNITS_PER_USD = 1e10

/** A usable count: whole, not negative, finite. */
const count = (tokens: number): number => tokens > 0 && tokens < Number.MAX_SAFE_INTEGER ? Math.round(tokens) : 0

/** USD per million tokens to pico-USD per token, exact to 6 decimals of the price. */
const rate = (usdPerMillion: number): number => usdPerMillion > 0 && usdPerMillion < 1e9 ? Math.round(usdPerMillion * 1e6) : 0

interface Split {
  readonly input: number
  readonly cacheRead: number
  readonly cacheCreation: number
  readonly cacheCreationHour: number
  readonly output: number
  readonly reasoning: number
}

/** Disjoint token counts: what a total contains is subtracted first, so that no token is paid for twice. */
const split = (tokens: Tokens): Split => {
  const cacheRead = count(tokens.tokensCacheRead)
  const cacheCreation = count(tokens.tokensCacheCreation)
  const cacheCreationHour = Math.min(cacheCreation, count(tokens.tokensCacheCreationHour ?? 0))
  const reasoning = count(tokens.tokensReasoning)
  return {
    input: Math.max(0, count(tokens.tokensIn) - cacheRead - cacheCreation),
    cacheRead,
    cacheCreation: cacheCreation - cacheCreationHour,
    cacheCreationHour,
    output: Math.max(0, count(tokens.tokensOut) - reasoning),
    reasoning
  }
}

/**
 * Disjoint rates per token, pico-USD. Absent: cached and cache_creation cost what input costs, cache_creation_1h what cache_creation
 * costs, reasoning what output costs.
 * Above its threshold the long-context prices stand over the base; the factor of a service tier applies to what then holds.
 */
const rates = (price: Price, { tier, tokensIn }: Tokens): Split => {
  const { long } = price
  const isLong = long !== undefined && count(tokensIn) > long.above
  const rated = isLong ? { ...price, ...long } : price
  const factor = tier === undefined ? 1 : price.tiers?.[tier] ?? 1
  const input = rated.input ?? 0
  const output = rated.output ?? 0
  const cacheCreation = rated.cache_creation ?? input
  return {
    input: rate(factor * input),
    cacheRead: rate(factor * (rated.cached ?? input)),
    cacheCreation: rate(factor * cacheCreation),
    cacheCreationHour: rate(factor * (rated.cache_creation_1h ?? cacheCreation)),
    output: rate(factor * output),
    reasoning: rate(factor * (isLong ? output : rated.reasoning ?? output))
  }
}

/** Each part exactly. */
export const parts = (tokens: Tokens, price: Price): CostParts => {
  const n = split(tokens)
  const r = rates(price, tokens)
  return {
    input: BigInt(n.input) * BigInt(r.input),
    cacheRead: BigInt(n.cacheRead) * BigInt(r.cacheRead),
    cacheCreation: BigInt(n.cacheCreation) * BigInt(r.cacheCreation) + BigInt(n.cacheCreationHour) * BigInt(r.cacheCreationHour),
    output: BigInt(n.output) * BigInt(r.output),
    reasoning: BigInt(n.reasoning) * BigInt(r.reasoning)
  }
}

/** USD with 10 decimals (half up); 0 without a price. Never negative, never NaN. */
export const cost = (tokens: Tokens, price: Price | null, units: Units.Units | null = null): number => {
  if (price === null) return 0
  const n = split(tokens)
  const r = rates(price, tokens)
  const beside = units === null ? 0 : Units.picoUsd(units, price)
  // Doubles are exact up to 2^53 pico-USD (9,007 USD); a larger bill takes the slow road.
  const pico = n.input * r.input + n.cacheRead * r.cacheRead + n.cacheCreation * r.cacheCreation + n.cacheCreationHour * r.cacheCreationHour
    + n.output * r.output + n.reasoning * r.reasoning + beside
  if (pico < Number.MAX_SAFE_INTEGER) return fromUnits(Math.floor((pico + PICO_PER_UNIT / 2) / PICO_PER_UNIT))
  const p = parts(tokens, price)
  const exact = p.input + p.cacheRead + p.cacheCreation + p.output + p.reasoning + BigInt(beside)
  return fromUnits(Number((exact + BigInt(PICO_PER_UNIT / 2)) / BigInt(PICO_PER_UNIT)))
}

/** Whole units of 1e-10 USD; exact for every cost of a ledger row below 900,000 USD. */
export const toUnits = (usd: number): number => Math.round(usd * UNITS_PER_USD)

export const fromUnits = (units: number): number => units / UNITS_PER_USD

/** The exact sum of costs with 10 decimals. */
export const sum = (costs: Iterable<number>): number => {
  let units = 0
  for (const usd of costs) units += toUnits(usd)
  return fromUnits(units)
}

/** `0.0000000000`: 10 decimals, never an exponent. */
export const formatCost = (usd: number): string => (Number.isFinite(usd) ? fromUnits(toUnits(usd)) : 0).toFixed(10)
