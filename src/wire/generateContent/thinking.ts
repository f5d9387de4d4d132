/** Thinking in the vendor's terms: levels from Gemini 3 on, budgets of tokens before. */
import type { Effort, Reasoning } from "#schemas/wire/conversation.ts"
import { effortOf } from "#src/wire/neutral/settings.ts"

const levels: Readonly<Record<string, Effort | null>> = {
  THINKING_LEVEL_UNSPECIFIED: null, MINIMAL: "minimal", LOW: "low", MEDIUM: "medium", HIGH: "high"
}

interface Config {
  readonly includeThoughts?: boolean
  readonly thinkingBudget?: number
  readonly thinkingLevel?: string
}

/** What a client's thinkingConfig says; null for a level that does not exist. Thoughts are only shown on request. */
export const reasoningOf = (config: Config): Reasoning | null => {
  const word = config.thinkingLevel?.toUpperCase() ?? "THINKING_LEVEL_UNSPECIFIED"
  if (!Object.hasOwn(levels, word)) return null
  const effort = levels[word] ?? null
  const budget = config.thinkingBudget ?? null
  return {
    enabled: budget === 0 ? false : budget !== null || effort !== null || config.includeThoughts === true ? true : null,
    effort, budget, summary: config.includeThoughts === true ? "auto" : "omitted"
  }
}

/** The generation of a Gemini model (`gemini-2.5-pro` -> 2.5, `models/gemini-3-flash` -> 3); null for another model. */
export const generationOf = (model: string): number | null => {
  const number = /(?:^|[/.])gemini-(\d+(?:\.\d+)?)/i.exec(model)?.[1]
  return number === undefined ? null : Number(number)
}

/** Budgets of the 2.5 models: smallest, largest, and whether 0 is taken. */
const limitsOf = (model: string): { readonly least: number; readonly most: number; readonly canStop: boolean } =>
  model.includes("flash-lite") ? { least: 512, most: 24_576, canStop: true }
    : model.includes("flash") ? { least: 0, most: 24_576, canStop: true }
    : model.includes("pro") ? { least: 128, most: 32_768, canStop: false }
    : { least: 0, most: 32_768, canStop: true }

const budgets: Readonly<Record<Effort, number>> = { none: 0, minimal: 512, low: 1024, medium: 8192, high: 32_768, xhigh: 32_768, max: 32_768 }

/** Only the earlier and the light Flash models know MINIMAL. */
const knowsMinimal = (model: string): boolean => /gemini-3(?:\.[0-6])?-flash|flash-lite/i.test(model)

interface Written {
  /** JSON of thinkingConfig. */
  readonly config: string
  /** False when the model cannot do this (it cannot stop thinking). */
  readonly exact: boolean
}

/** thinkingConfig for a model. */
export const thinkingConfigOf = (reasoning: Reasoning, model: string): Written => {
  const off = reasoning.enabled === false || reasoning.effort === "none" || reasoning.budget === 0
  const generation = generationOf(model)
  const shown = !off && reasoning.summary !== "omitted"
  const write = (member: string, exact = true): Written => ({ config: `{${member}"includeThoughts":${shown}}`, exact })
  if (generation !== null && generation >= 3) {
    const level = levelOf(reasoning, off, knowsMinimal(model))
    return write(level === null ? "" : `"thinkingLevel":"${level}",`, !off)
  }
  const { canStop, least, most } = limitsOf(model)
  if (off) return write(`"thinkingBudget":${canStop ? 0 : least},`, canStop)
  // "As much as it takes" says less than an effort does.
  const isDynamic = reasoning.budget !== null && reasoning.budget < 0
  const wanted = reasoning.effort !== null && (reasoning.budget === null || isDynamic) ? budgets[reasoning.effort] : reasoning.budget
  if (wanted === null) return write("")
  return write(`"thinkingBudget":${wanted < 0 ? -1 : Math.min(most, Math.max(least, wanted))},`)
}

const levelOf = (reasoning: Reasoning, off: boolean, minimal: boolean): string | null => {
  const effort = off ? "minimal" : reasoning.effort ?? (reasoning.budget === null || reasoning.budget < 0 ? null : effortOf(reasoning.budget))
  switch (effort) {
    case null: return null
    case "none":
    case "minimal": return minimal ? "MINIMAL" : "LOW"
    case "low": return "LOW"
    case "medium": return "MEDIUM"
    case "high":
    case "xhigh":
    case "max": return "HIGH"
  }
}
