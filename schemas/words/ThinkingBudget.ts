/** The setting `thinkingBudget`: how much models think, whatever clients ask. */
import * as Schema from "effect/Schema"

/** Thinking tokens. */
const Budget = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 131_072 }))

export const ThinkingBudgetSettings = Schema.Struct({
  /** passthrough: as the client asks; auto: the client's wish is taken away; custom: customBudget; adaptive: by the request. */
  mode: Schema.Literals(["passthrough", "auto", "custom", "adaptive"]),
  /** Tokens in mode custom; 0 = models do not think. */
  customBudget: Budget,
  /** What adaptive begins with, where baseBudget is null. */
  effortLevel: Schema.Literals(["none", "low", "medium", "high"]),
  /** Tokens that adaptive begins with; null = those of effortLevel. */
  baseBudget: Schema.NullOr(Budget),
  /** How much adaptive adds for long conversations, many tools and long questions; 0 = nothing. */
  complexityMultiplier: Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: 10 }))
})
export interface ThinkingBudgetSettings extends Schema.Schema.Type<typeof ThinkingBudgetSettings> {}

/** Under this name among the settings. */
export const settingKey = "thinkingBudget"

const thinkingBudgetDefaults: ThinkingBudgetSettings = {
  mode: "passthrough", customBudget: 10_240, effortLevel: "medium", baseBudget: null, complexityMultiplier: 1
}

const isSettings = Schema.is(ThinkingBudgetSettings)

/** The effective settings; defaults for what is no longer allowed. */
export const thinkingBudgetOf = (settings: ReadonlyMap<string, unknown>): ThinkingBudgetSettings => {
  const stored = settings.get(settingKey)
  const whole: unknown = typeof stored === "object" && stored !== null ? { ...thinkingBudgetDefaults, ...stored } : thinkingBudgetDefaults
  return isSettings(whole) ? whole : thinkingBudgetDefaults
}
