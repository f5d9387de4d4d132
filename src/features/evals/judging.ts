/** Whether an answer meets an eval case's expectation, and counts over many answers. Pure. */
import type { Scorecard } from "./api.ts"
import type { EvalExpectation, EvalResult, EvalRunHead, EvalTally } from "#schemas/records/Eval.ts"
import * as LinearRegex from "#src/routing/combos/linearRegex.ts"

/** Characters of an answer that a pattern is matched against; a longer answer has failed. */
const longestMatched = 100_000

/** Why an expectation cannot be judged, for people; null when it can. */
export const problemOf = ({ strategy, value }: EvalExpectation): string | null => {
  if (strategy !== "regex") return null
  const pattern = LinearRegex.compile(value)
  return pattern._tag === "Refused" ? pattern.message : null
}

export const isRight = ({ strategy, value }: EvalExpectation, answer: string): boolean => {
  switch (strategy) {
    case "contains": return answer.toLowerCase().includes(value.toLowerCase())
    case "exact": return answer.trim() === value.trim()
    case "regex": {
      const pattern = LinearRegex.compile(value, longestMatched)
      return pattern._tag === "Pattern" && pattern.matches(answer)
    }
  }
}

const added = (a: EvalTally | undefined, b: EvalTally): EvalTally =>
  a === undefined ? b : { cases: a.cases + b.cases, passed: a.passed + b.passed, latencyMs: a.latencyMs + b.latencyMs }

/** Judged and measured answers by the model that gave them. */
export const tallied = (results: ReadonlyArray<EvalResult>): Readonly<Record<string, EvalTally>> => {
  const models = new Map<string, EvalTally>()
  for (const { answeredBy, latencyMs, status } of results) {
    if (answeredBy === null || latencyMs === null || status === "error") continue
    models.set(answeredBy, added(models.get(answeredBy), { cases: 1, passed: status === "passed" ? 1 : 0, latencyMs }))
  }
  return Object.fromEntries(models)
}

export const scorecardOf = (runs: ReadonlyArray<EvalRunHead>): Scorecard => {
  const sum = (count: (run: EvalRunHead) => number): number => runs.reduce((total, run) => total + count(run), 0)
  const models = new Map<string, EvalTally>()
  for (const run of runs) for (const [model, tally] of Object.entries(run.models)) models.set(model, added(models.get(model), tally))
  const [passed, failed] = [sum((run) => run.passed), sum((run) => run.failed)]
  return {
    runs: runs.length,
    cases: sum((run) => run.cases),
    passed,
    failed,
    errors: sum((run) => run.errors),
    passRate: passed + failed === 0 ? null : passed / (passed + failed),
    models: [...models].map(([model, { cases, latencyMs, passed: right }]) =>
      ({ model, cases, passed: right, passRate: right / cases, avgLatencyMs: Math.round(latencyMs / cases) }))
      .sort((a, b) => b.passRate - a.passRate || a.avgLatencyMs - b.avgLatencyMs || (a.model < b.model ? -1 : 1))
  }
}
