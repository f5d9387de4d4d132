/**
 * `requestRetry` and `maxRetryIntervalSec` are older names of two values of the section `waitForCooldown`: how often a request asks
 * again after a wait, and the longest wait. The section stands before them, and a change under an older name takes the section's value
 * away, so that the newest one acts. Pure.
 */
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { ResilienceChange, type ResilienceSettings } from "#schemas/records/ResilienceSettings.ts"

type Waits = NonNullable<ResilienceChange["waitForCooldown"]>

const fields = new Map([["requestRetry", "maxRetries"], ["maxRetryIntervalSec", "maxRetryWaitSec"]] as const)
const read = Schema.decodeUnknownOption(ResilienceChange.fields.waitForCooldown.schema)

/** What is stored under the older names, as a change of the section; a value that does not fit it is passed over. */
export const stored = (settings: ReadonlyMap<string, unknown>): Waits => {
  let waits: Waits = {}
  for (const [name, field] of fields) {
    if (settings.has(name)) waits = { ...waits, ...Option.getOrElse(read({ [field]: settings.get(name) }), () => ({})) }
  }
  return waits
}

/** The values that act, under their older names. */
export const shown = ({ waitForCooldown }: Pick<ResilienceSettings, "waitForCooldown">) =>
  ({ requestRetry: waitForCooldown.maxRetries, maxRetryIntervalSec: waitForCooldown.maxRetryWaitSec })

/** The older names of what this change says: what is stored under them is older. */
export const saidBy = ({ waitForCooldown = {} }: ResilienceChange): ReadonlyArray<string> =>
  Array.from(fields).flatMap(([name, field]) => waitForCooldown[field] === undefined ? [] : [name])

/** The stored sections without what these names say anew; null when they say nothing of it. */
export const without = (change: ResilienceChange, names: ReadonlyArray<string>): ResilienceChange | null => {
  const waits: Record<string, unknown> = { ...change.waitForCooldown }
  let said = false
  for (const [name, field] of fields) {
    if (!names.includes(name) || waits[field] === undefined) continue
    delete waits[field]
    said = true
  }
  return said ? { ...change, waitForCooldown: waits as Waits } : null
}
