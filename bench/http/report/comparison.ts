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
  /** The same without the rounds in which other processes took a good part of the machine. */
  readonly calm: Summary | null
}

const DISTURBED_CORES = 0.5

const find = (measurements: ReadonlyArray<Measurement>, target: string, round: number, metric: string): Measurement | undefined =>
  measurements.find((each) => each.target === target && each.round === round && metric in each.values)

interface Compared {
  readonly value: number
  readonly calm: boolean
}

const comparedValue = (
  metric: Metric,
  measurements: ReadonlyArray<Measurement>,
  reference: string,
  own: Measurement
): Compared | null => {
  const value = own.values[metric.id] ?? Number.NaN
  const calm = own.foreignCores < DISTURBED_CORES
  if (metric.compare === "value") return { value, calm }
  const other = find(measurements, metric.compare === "ratio" ? reference : "direct", own.round, metric.id)
  if (other === undefined) return null
  const base = other.values[metric.id] ?? Number.NaN
  return {
    value: metric.compare === "ratio" ? value / base : value - base,
    calm: calm && other.foreignCores < DISTURBED_CORES
  }
}

const summaryOrNull = (values: ReadonlyArray<Compared>): Summary | null =>
  values.length === 0 ? null : summarize(values.map((each) => each.value))

/** Rows in the order of the metric list, then in the order in which targets were first measured. */
export const rowsOf = (measurements: ReadonlyArray<Measurement>, reference: string): ReadonlyArray<Row> => {
  const targets = [...new Set(measurements.map((each) => each.target))]
  return metrics.flatMap((metric) =>
    targets.flatMap((target): ReadonlyArray<Row> => {
      const own = measurements.filter((each) => each.target === target && metric.id in each.values)
      if (own.length === 0) return []
      const compared = own.flatMap((each) => {
        const value = comparedValue(metric, measurements, reference, each)
        return value === null ? [] : [value]
      })
      return [{
        metric: metric.id,
        target,
        measured: summarize(own.map((each) => each.values[metric.id] ?? Number.NaN)),
        compared: summaryOrNull(compared),
        calm: summaryOrNull(compared.filter((each) => each.calm))
      }]
    })
  )
}
