/**
 * Rounds to a table: every metric of every target as a median with its range, and the same compared inside each round,
 * because only targets measured side by side on a shared machine can be compared.
 */
import { type Measurement, type Metric, metrics } from "./metrics.ts"
import { summarize, type Summary } from "./statistics.ts"

export interface Row {
  readonly metric: string
  readonly target: string
  /** The measured values. */
  readonly measured: Summary
  /** Ratio to the reference, difference to the direct path, or the value itself; null where the other side is missing. */
  readonly compared: Summary | null
}

const valueIn = (measurements: ReadonlyArray<Measurement>, target: string, round: number, metric: string): number | undefined =>
  measurements.find((each) => each.target === target && each.round === round && metric in each.values)?.values[metric]

const comparedValue = (
  metric: Metric,
  measurements: ReadonlyArray<Measurement>,
  reference: string,
  round: number,
  value: number
): number | undefined => {
  if (metric.compare === "value") return value
  const base = valueIn(measurements, metric.compare === "ratio" ? reference : "direct", round, metric.id)
  if (base === undefined) return undefined
  return metric.compare === "ratio" ? value / base : value - base
}

/** Rows in the order of the metric list, then in the order in which targets were first measured. */
export const rowsOf = (measurements: ReadonlyArray<Measurement>, reference: string): ReadonlyArray<Row> => {
  const targets = [...new Set(measurements.map((each) => each.target))]
  return metrics.flatMap((metric) =>
    targets.flatMap((target): ReadonlyArray<Row> => {
      const own = measurements.filter((each) => each.target === target && metric.id in each.values)
      if (own.length === 0) return []
      const compared = own.flatMap((each) => {
        const value = comparedValue(metric, measurements, reference, each.round, each.values[metric.id] ?? Number.NaN)
        return value === undefined ? [] : [value]
      })
      return [{
        metric: metric.id,
        target,
        measured: summarize(own.map((each) => each.values[metric.id] ?? Number.NaN)),
        compared: compared.length === 0 ? null : summarize(compared)
      }]
    })
  )
}
