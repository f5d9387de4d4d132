/** The setting `autoDisableAccounts`: connections whose upstream says that their account is banned are taken out of use. */
import * as Schema from "effect/Schema"
import { integer } from "#schemas/api/fields.ts"

export const AutoDisableSettings = Schema.Struct({
  enabled: Schema.Boolean,
  /** Calls in a row that were answered so. */
  threshold: integer(1, 10)
}).annotate({ identifier: "AutoDisableAccounts" })
export interface AutoDisableSettings extends Schema.Schema.Type<typeof AutoDisableSettings> {}

/** Its name among the settings. */
export const settingKey = "autoDisableAccounts"

const autoDisableDefaults: AutoDisableSettings = { enabled: false, threshold: 3 }

const isWhole = Schema.is(AutoDisableSettings)

/** The effective settings; defaults for what is no longer allowed. */
export const autoDisableOf = (settings: ReadonlyMap<string, unknown>): AutoDisableSettings => {
  const stored = settings.get(settingKey)
  const whole: unknown = typeof stored === "object" && stored !== null ? { ...autoDisableDefaults, ...stored } : autoDisableDefaults
  return isWhole(whole) ? whole : autoDisableDefaults
}
