/** Bars with their range, one panel for each metric, as SVG without a library. */
import type { Row } from "./comparison.ts"
import { type Metric, metrics } from "./metrics.ts"
import type { Results } from "./report.ts"

const WIDTH = 760
const LABEL = 90
const VALUE = 150
const BAR = 18
const GAP = 6
const TITLE = 34
const colours: Readonly<Record<string, string>> = {
  gateway: "#2f6fde", nginx: "#4a9a5b", haproxy: "#8bb174", bare: "#b98a2f", direct: "#9a9a9a"
}

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const bar = (row: Row, metric: Metric, y: number, scale: number): string => {
  const { median, min, max } = row.measured
  const left = LABEL
  const width = Math.max(1, median * scale)
  const middle = y + BAR / 2
  const compared = metric.compare === "ratio" && row.compared !== null ? ` (x ${row.compared.median.toFixed(2)})` : ""
  return [
    `<text x="${LABEL - 8}" y="${middle + 4}" text-anchor="end">${escape(row.target)}</text>`,
    `<rect x="${left}" y="${y}" width="${width.toFixed(1)}" height="${BAR}" rx="2" fill="${colours[row.target] ?? "#7a5ea8"}"/>`,
    `<line x1="${(left + min * scale).toFixed(1)}" x2="${(left + max * scale).toFixed(1)}" y1="${middle}" y2="${middle}" stroke="#222" stroke-width="1.5"/>`,
    `<text x="${(left + Math.max(width, max * scale) + 6).toFixed(1)}" y="${middle + 4}">${median.toFixed(metric.digits)}${compared}</text>`
  ].join("\n")
}

const panel = (metric: Metric, rows: ReadonlyArray<Row>, top: number): string => {
  const largest = Math.max(...rows.map((row) => row.measured.max), 1e-9)
  const scale = (WIDTH - LABEL - VALUE) / largest
  return [
    `<text x="8" y="${top + 22}" font-weight="bold">${escape(`${metric.label}, ${metric.unit}`)}</text>`,
    ...rows.map((row, index) => bar(row, metric, top + TITLE + index * (BAR + GAP), scale))
  ].join("\n")
}

/** Panels in the order of the metric list; metrics that can be negative or are zero everywhere have none. */
export const plot = (results: Results): string => {
  const panels = metrics.flatMap((metric) => {
    const rows = results.rows.filter((row) => row.metric === metric.id)
    return rows.some((row) => row.measured.max > 0) && rows.every((row) => row.measured.min >= 0) ? [{ metric, rows }] : []
  })
  let top = 8
  const drawn = panels.map(({ metric, rows }) => {
    const text = panel(metric, rows, top)
    top += TITLE + rows.length * (BAR + GAP) + 10
    return text
  })
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${top + 8}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${top + 8}" fill="#fff"/>`,
    ...drawn,
    "</svg>",
    ""
  ].join("\n")
}
