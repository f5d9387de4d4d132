/** What is counted beside tokens, and what a price may name: images, seconds, pages and the like. */
import * as Schema from "effect/Schema"

const amount = Schema.optionalKey(Schema.Finite.check(Schema.isGreaterThanOrEqualTo(0)))

/**
 * Amounts by unit; a unit that was not used is absent. `second`: of audio or video. `search_unit`: a vendor's unit of reranking or
 * search. `request`: one call of a model that has a price per request.
 */
export const Units = Schema.Struct({
  image: amount,
  second: amount,
  character: amount,
  page: amount,
  search_unit: amount,
  query: amount,
  document: amount,
  request: amount
}).annotate({ identifier: "Units" })
export interface Units extends Schema.Schema.Type<typeof Units> {}
export type Unit = keyof Units

/** Their names, in the order of their numbers in the journal: a new one is only ever appended. */
export const names: ReadonlyArray<Unit> = ["image", "second", "character", "page", "search_unit", "query", "document", "request"]

/** Largest amount of one unit in a row. */
const most = 1e15

const isAmount = (value: unknown): value is number => typeof value === "number" && value >= 0 && value <= most

/** Every amount is one that a row can hold. */
export const fit = (units: Units): boolean => Object.values(units).every(isAmount)

/** The amounts that are possible; null without any. An upstream may have counted them. */
export const possible = (units: Units | null): Units | null => {
  if (units === null || fit(units)) return units
  const kept = names.flatMap((name) => isAmount(units[name]) ? [[name, units[name]] as const] : [])
  return kept.length === 0 ? null : Object.fromEntries(kept)
}

/** The same amounts. */
export const same = (a: Units | null, b: Units | null): boolean =>
  a === b || (a !== null && b !== null && names.every((name) => a[name] === b[name]))

type PerUnit = { readonly [U in Unit as `per_${U}`]?: number | undefined }

/** With the call itself as a unit, where the model has a price for it. */
export const withRequest = (units: Units | null, price: PerUnit | null): Units | null =>
  price === null || price.per_request === undefined ? units : { request: 1, ...units }

/** USD of the amounts, as pico-USD (1e-12); 0 without a price. */
export const picoUsd = (units: Units, price: PerUnit): number => {
  let pico = 0
  for (const name of names) {
    const each = price[`per_${name}`]
    const many = units[name]
    if (each !== undefined && isAmount(many) && each > 0 && each < 1e9) pico += Math.round(many * Math.round(each * 1e12))
  }
  return pico
}

/** Neither tokens nor any of the units have a price, so that they count as free. */
export const unpriced = (units: Units | null, price: (PerUnit & { readonly input?: number; readonly output?: number }) | null): boolean =>
  units !== null && (price === null ||
    (price.input === undefined && price.output === undefined && names.every((name) => units[name] === undefined || price[`per_${name}`] === undefined)))
