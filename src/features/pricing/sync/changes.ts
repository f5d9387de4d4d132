/** Which models a reading makes ten times dearer or cheaper: what an operator should look at before money is counted by it. Pure. */
import type { Price } from "#schemas/Provider.ts"
import * as Pricing from "#src/providers/pricing.ts"
import { shown, WARNINGS_MAX } from "./reading.ts"

const FACTOR = 10

const isLeap = (before: number | undefined, after: number | undefined): boolean => {
  if (before === undefined || after === undefined || before === after) return false
  return before === 0 || after === 0 || after / before > FACTOR || before / after > FACTOR
}

/** `view`: prices as they stand. A model that had no price has not changed. */
export const leaps = (view: Pricing.PricingView, entries: ReadonlyMap<string, Price>): ReadonlyArray<string> => {
  const shipped = { ...view, user: new Map() }
  const found: Array<string> = []
  let untold = 0
  for (const [key, after] of entries) {
    const slash = key.indexOf("/")
    const before = Pricing.priceOf(shipped, key.slice(0, slash), key.slice(slash + 1))
    const fields = before === null ? [] : (["input", "output"] as const).filter((field) => isLeap(before[field], after[field]))
    if (before === null || fields.length === 0) continue
    if (found.length >= WARNINGS_MAX) untold++
    else found.push(`${shown(key)}: ${fields.map((field) => `${field} changes from ${before[field]} to ${after[field]}`).join(", ")} USD for a million tokens`)
  }
  return untold === 0 ? found : [...found, `and ${untold} more prices that change by more than a factor of ${FACTOR}`]
}
