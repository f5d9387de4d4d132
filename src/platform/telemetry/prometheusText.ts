/**
 * Effect's metric registry as Prometheus text format 0.0.4. Effect's own formatter needs 20 us per line (70 ms for a hundred
 * models), which is too long for the event loop; here the label text of a series is made once.
 */
import type * as Metric from "effect/Metric"

type Snapshot = Metric.Metric.Snapshot
type Attributes = Metric.Metric.AttributeSet

/** Label text by the attribute set of a series, without braces. */
const labelTexts = new WeakMap<Attributes, string>()

const safeName = (name: string): string => name.replaceAll(/[^a-zA-Z0-9_:]/g, "_")

const escapeLabel = (value: string): string => value.replaceAll("\\", "\\\\").replaceAll("\"", "\\\"").replaceAll("\n", "\\n")

const labelsOf = (attributes: Attributes | undefined): string => {
  if (attributes === undefined) return ""
  const known = labelTexts.get(attributes)
  if (known !== undefined) return known
  const text = Object.entries(attributes)
    .filter(([name]) => name !== "unit" && name !== "time_unit")
    .map(([name, value]) => `${safeName(name).replaceAll(":", "_")}="${escapeLabel(value)}"`)
    .join(",")
  labelTexts.set(attributes, text)
  return text
}

const braced = (labels: string): string => labels === "" ? "" : `{${labels}}`

const number = (value: number | bigint): string =>
  value === Number.POSITIVE_INFINITY ? "+Inf" : value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value)

const TYPES = { Counter: "counter", Frequency: "counter", Gauge: "gauge", Histogram: "histogram", Summary: "summary" } as const

const series = (name: string, metric: Snapshot): string => {
  const labels = labelsOf(metric.attributes)
  switch (metric.type) {
    case "Counter":
      return `${name}${braced(labels)} ${number(metric.state.count)}\n`
    case "Gauge":
      return `${name}${braced(labels)} ${number(metric.state.value)}\n`
    case "Frequency": {
      let text = ""
      for (const [key, count] of metric.state.occurrences) text += `${name}{${labels === "" ? "" : `${labels},`}key="${escapeLabel(key)}"} ${count}\n`
      return text
    }
    case "Histogram": {
      const prefix = `${name}_bucket{${labels === "" ? "" : `${labels},`}le="`
      let text = ""
      for (const [bound, count] of metric.state.buckets) if (bound !== Number.POSITIVE_INFINITY) text += `${prefix}${bound}"} ${count}\n`
      return `${text}${prefix}+Inf"} ${metric.state.count}\n${name}_sum${braced(labels)} ${number(metric.state.sum)}\n${name}_count${braced(labels)} ${metric.state.count}\n`
    }
    case "Summary": {
      let text = ""
      for (const [quantile, value] of metric.state.quantiles) {
        if (value !== undefined) text += `${name}{${labels === "" ? "" : `${labels},`}quantile="${quantile}"} ${number(value)}\n`
      }
      return `${text}${name}_sum${braced(labels)} ${number(metric.state.sum)}\n${name}_count${braced(labels)} ${metric.state.count}\n`
    }
  }
}

/** Families in the order in which they were first used; the series of one family stand together. */
export const format = (snapshots: ReadonlyArray<Snapshot>): string => {
  const families = new Map<string, string>()
  for (const metric of snapshots) {
    let text = families.get(metric.id)
    const name = safeName(metric.id)
    if (text === undefined) {
      const help = metric.description === undefined ? "" : `# HELP ${name} ${metric.description.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n`
      text = `${help}# TYPE ${name} ${TYPES[metric.type]}\n`
    }
    families.set(metric.id, text + series(name, metric))
  }
  return [...families.values()].join("")
}
