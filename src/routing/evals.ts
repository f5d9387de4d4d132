/** The order of a combo by the scores that evals gave its models (`evalRouting`). Pure. */
import type { EvalRules, ModelScore } from "#src/routing/ports/EvalScores.ts"
import type { Strategy } from "#schemas/records/Combo.ts"
import type { EvalScore } from "#schemas/records/Eval.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"

const hourMs = 3_600_000

/** Models with at least `minCases` judged answers in runs of the last `maxAgeHours`. */
export const scoresOf = (runs: ReadonlyArray<EvalScore>, { maxAgeHours, minCases }: Pick<EvalRules, "maxAgeHours" | "minCases">, now: number): ReadonlyMap<string, ModelScore> => {
  const sums = new Map<string, { cases: number; passed: number; latencyMs: number }>()
  for (const { finishedAt, models } of runs) {
    if (now - finishedAt > maxAgeHours * hourMs) continue
    for (const [model, { cases, latencyMs, passed }] of Object.entries(models)) {
      const sum = sums.get(model)
      if (sum === undefined) sums.set(model, { cases, passed, latencyMs })
      else {
        sum.cases += cases
        sum.passed += passed
        sum.latencyMs += latencyMs
      }
    }
  }
  const scores = new Map<string, ModelScore>()
  for (const [model, { cases, latencyMs, passed }] of sums) {
    if (cases > 0 && cases >= minCases) scores.set(model, { quality: passed / cases, latencyMs: latencyMs / cases })
  }
  return scores
}

/** In these the order of the steps is their part: stages of a pipeline, and the judge of a panel. */
const byPart: ReadonlySet<Strategy> = new Set(["pipeline", "fusion", "debate"])

export const reorders = (strategy: Strategy): boolean => !byPart.has(strategy)

/**
 * The best first, by quality x qualityWeight + (fastest of them / latency) x latencyWeight; equal ones stay as they were. A
 * target without a score keeps its place: it moves neither down nor up.
 */
export const reordered = (
  order: ReadonlyArray<Candidate>, scores: ReadonlyMap<string, ModelScore>, { latencyWeight, qualityWeight }: Pick<EvalRules, "latencyWeight" | "qualityWeight">
): ReadonlyArray<Candidate> => {
  if (scores.size === 0 || order.length < 2) return order
  const places: Array<number> = []
  const known: Array<{ readonly candidate: Candidate; readonly score: ModelScore }> = []
  for (const [place, candidate] of order.entries()) {
    const score = scores.get(candidate.target.publicModel)
    if (score === undefined) continue
    places.push(place)
    known.push({ candidate, score })
  }
  if (known.length < 2) return order
  const fastest = Math.min(...known.map(({ score }) => score.latencyMs))
  const value = ({ latencyMs, quality }: ModelScore): number => quality * qualityWeight + (latencyMs <= 0 ? 1 : fastest / latencyMs) * latencyWeight
  const sorted = known.map(({ candidate, score }) => ({ candidate, value: value(score) })).sort((a, b) => b.value - a.value)
  const result = order.slice()
  for (const [i, { candidate }] of sorted.entries()) result[places[i] as number] = candidate
  return result
}
