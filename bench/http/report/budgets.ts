/** The committed performance budgets, and whether a run keeps them. Only a guard fails a build; the rest is ambition. */
import type { Row } from "./comparison.ts"
import { metricOf } from "./metrics.ts"

export interface Budget {
  readonly metric: string
  readonly bound: "atMost" | "atLeast"
  readonly reach: number
  readonly then: number | null
  /** Null: reported, never failed. */
  readonly guard: number | null
}

export interface Budgets {
  /** The target that the budgets are about. */
  readonly subject: string
  /** The target that ratios are taken against. */
  readonly reference: string
  /** What stands in when the reference is not installed, and how many times the reference it usually costs. */
  readonly fallback: { readonly reference: string; readonly timesReference: Readonly<Record<string, number>> }
  /** Guards are this many times wider in a smoke run, whose rounds are short. */
  readonly smokeMargin: number
  /** The same for what is measured by the clock: a neighbour on the host makes every target slower at once. */
  readonly smokeTimedMargin: number
  readonly budgets: ReadonlyArray<Budget>
}

export type Verdict = "beyond guard" | "beyond guard in some rounds" | "within guard" | "reached" | "next reached" | "disturbed" | "not measured"

export interface Judgement {
  readonly metric: string
  readonly value: number | null
  readonly reach: number
  readonly guard: number | null
  readonly verdict: Verdict
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null

const parseBudget = (value: unknown): Budget => {
  if (!isRecord(value)) throw new Error("budgets.json: a budget is an object")
  const { metric, bound, reach, then, guard } = value
  if (typeof metric !== "string") throw new Error("budgets.json: a budget names its metric")
  metricOf(metric)
  if (bound !== "atMost" && bound !== "atLeast") throw new Error(`budgets.json: ${metric}: bound is atMost or atLeast`)
  if (typeof reach !== "number") throw new Error(`budgets.json: ${metric}: reach is a number`)
  if (then !== null && typeof then !== "number") throw new Error(`budgets.json: ${metric}: then is a number or null`)
  if (guard !== null && typeof guard !== "number") throw new Error(`budgets.json: ${metric}: guard is a number or null`)
  return { metric, bound, reach, then, guard }
}

export const parseBudgets = (text: string): Budgets => {
  const value: unknown = JSON.parse(text)
  if (!isRecord(value)) throw new Error("budgets.json: an object expected")
  const { subject, reference, fallback, smokeMargin, smokeTimedMargin, budgets } = value
  if (typeof subject !== "string" || typeof reference !== "string") throw new Error("budgets.json: subject and reference are names")
  if (typeof smokeMargin !== "number" || smokeMargin < 1) throw new Error("budgets.json: smokeMargin is a number of at least 1")
  if (typeof smokeTimedMargin !== "number" || smokeTimedMargin < 1) throw new Error("budgets.json: smokeTimedMargin is a number of at least 1")
  if (!Array.isArray(budgets)) throw new Error("budgets.json: budgets is a list")
  if (!isRecord(fallback) || typeof fallback["reference"] !== "string" || !isRecord(fallback["timesReference"])) {
    throw new Error("budgets.json: fallback has a reference and timesReference")
  }
  const timesReference = Object.fromEntries(Object.entries(fallback["timesReference"]).map(([metric, times]) => {
    if (typeof times !== "number" || times <= 0) throw new Error(`budgets.json: fallback: ${metric} is a positive number`)
    return [metricOf(metric).id, times]
  }))
  return {
    subject,
    reference,
    fallback: { reference: fallback["reference"], timesReference },
    smokeMargin,
    smokeTimedMargin,
    budgets: budgets.map(parseBudget)
  }
}

const keeps = (budget: Budget, value: number, limit: number): boolean => budget.bound === "atMost" ? value <= limit : value >= limit

/** A regression shows in every round, a busy machine in some: only the first breaks a build. */
const verdictOf = (budget: Budget, value: number, best: number, guard: number | null): Verdict => {
  if (guard !== null && !keeps(budget, value, guard)) {
    return keeps(budget, best, guard) ? "beyond guard in some rounds" : "beyond guard"
  }
  if (budget.then !== null && keeps(budget, value, budget.then)) return "next reached"
  return keeps(budget, value, budget.reach) ? "reached" : "within guard"
}

/**
 * What is measured by the clock is judged by calm rounds only; without any, the verdict is "disturbed", which breaks nothing.
 * Budgets are stated against the reference; ratios against the stand-in are converted before they are judged.
 */
export const judge = (
  budgets: Budgets,
  rows: ReadonlyArray<Row>,
  options: { readonly reference: string; readonly smoke: boolean }
): ReadonlyArray<Judgement> =>
  budgets.budgets.map((budget) => {
    const { timed } = metricOf(budget.metric)
    const margin = !options.smoke ? 1 : timed ? budgets.smokeTimedMargin : budgets.smokeMargin
    const widened = budget.guard === null ? null : budget.bound === "atMost" ? budget.guard * margin : budget.guard / margin
    const row = rows.find((each) => each.metric === budget.metric && each.target === budgets.subject)
    const times = options.reference === budgets.reference || metricOf(budget.metric).compare !== "ratio"
      ? 1
      : budgets.fallback.timesReference[budget.metric]
    const compared = (timed ? row?.calm : row?.compared) ?? null
    const shown = { metric: budget.metric, reach: budget.reach, guard: widened }
    if (compared === null || times === undefined || Number.isNaN(compared.median)) {
      return { ...shown, value: null, verdict: compared === null && (row?.compared ?? null) !== null ? "disturbed" : "not measured" }
    }
    const value = compared.median * times
    const best = (budget.bound === "atMost" ? compared.min : compared.max) * times
    return { ...shown, value, verdict: verdictOf(budget, value, best, widened) }
  })
