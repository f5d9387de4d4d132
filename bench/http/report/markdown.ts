/** The report as text: what was run, what was measured, what was kept. */
import type { Verdict } from "./budgets.ts"
import type { Row } from "./comparison.ts"
import { type Metric, metricOf, metrics } from "./metrics.ts"
import { tiers, tierTitles } from "#bench/http/tiers/tiers.ts"
import type { Checkout, Results } from "./report.ts"
import type { Summary } from "./statistics.ts"

const number = (value: number, digits: number): string => Number.isFinite(value) ? value.toFixed(digits) : "-"

const range = (summary: Summary, digits: number): string =>
  summary.rounds === 1
    ? number(summary.median, digits)
    : `${number(summary.median, digits)} (${number(summary.min, digits)} .. ${number(summary.max, digits)})`

const digitsOf = (metric: Metric): number => metric.compare === "ratio" ? 2 : metric.digits

const comparedTitle = (metric: Metric, reference: string): string | null => {
  if (metric.compare === "ratio") return `x ${reference}`
  return metric.compare === "added" ? "added to direct" : null
}

const metricTable = (metric: Metric, rows: ReadonlyArray<Row>, reference: string): ReadonlyArray<string> => {
  const title = comparedTitle(metric, reference)
  const tail = title === null ? ["", ""] : [` ${title} |`, "---:|"]
  return [
    `### ${metric.label} (${metric.unit})`,
    "",
    `| target | ${metric.unit} |${tail[0]}`,
    `|---|---:|${tail[1]}`,
    ...rows.map((row) => {
      const compared = title === null ? "" : ` ${row.compared === null ? "-" : range(row.compared, digitsOf(metric))} |`
      return `| ${row.target} | ${range(row.measured, metric.digits)} |${compared}`
    }),
    ""
  ]
}

/** One line per tier of the request: what it costs, and what it allocates. */
export const tierTable = (rows: ReadonlyArray<Row>): ReadonlyArray<string> => {
  const cell = (metric: string): string => {
    const row = rows.find((each) => each.metric === metric)
    return row === undefined ? "-" : range(row.measured, metricOf(metric).digits)
  }
  if (!rows.some((row) => row.metric === "tiers.us")) return []
  return [
    "### Tiers of a small request",
    "",
    "| tier | CPU (us) | allocated (bytes) |",
    "|---|---:|---:|",
    ...tiers.map((tier) => `| ${tierTitles[tier]} | ${cell(`tiers.${tier}.us`)} | ${cell(`tiers.${tier}.bytes`)} |`),
    `| all, main thread | ${cell("tiers.us")} | ${cell("tiers.bytes")} |`,
    ""
  ]
}

const isTier = (metric: string): boolean => metric.startsWith("tiers.")

const judgementTable = (results: Results): ReadonlyArray<string> => {
  const measured = results.judgements.filter((each) => each.verdict !== "not measured")
  if (results.baseline !== undefined) return ["No budget is judged beside another checkout.", ""]
  if (measured.length === 0) return [`No budget could be judged: ${results.subject} was not measured.`, ""]
  return [
    `| metric of ${results.subject} | value | reach | guard | verdict |`,
    "|---|---:|---:|---:|---|",
    ...measured.map((each) => {
      const metric = metricOf(each.metric)
      const digits = digitsOf(metric)
      const unit = comparedTitle(metric, results.reference) ?? metric.unit
      const guard = each.guard === null ? "-" : number(each.guard, digits)
      return `| ${metric.label} (${unit}) | ${number(each.value ?? Number.NaN, digits)} | ${number(each.reach, digits)} | ${guard} | ${each.verdict} |`
    }),
    ""
  ]
}

const notesOf = (results: Results): ReadonlyArray<string> => {
  const notes = results.measurements.flatMap((each) => each.notes.map((note) => `- ${each.scenario}, ${each.target}, round ${each.round}: ${note}`))
  return notes.length === 0 ? [] : ["## Notes", "", ...notes, ""]
}

const mark = (verdict: Verdict): string => {
  if (verdict === "beyond guard") return "BEYOND"
  return verdict === "beyond guard in some rounds" || verdict === "disturbed" ? "noisy " : "ok    "
}

/** Lines for the terminal: failures first, then what the budgets say. */
export const verdictLines = (results: Results): ReadonlyArray<string> => [
  "",
  ...results.failures.map((each) => `FAILED ${each.scenario}, ${each.target}, round ${each.round}: ${each.error}`),
  ...tierTable(results.rows),
  ...results.rows.filter((row) => !isTier(row.metric)).flatMap((row) => {
    const metric = metricOf(row.metric)
    const title = comparedTitle(metric, results.reference)
    const compared = title === null || row.compared === null ? "" : `   ${title}: ${range(row.compared, digitsOf(metric))}`
    return [`${metric.id.padEnd(20)} ${row.target.padEnd(10)} ${range(row.measured, metric.digits).padEnd(28)} ${metric.unit.padEnd(8)}${compared}`]
  }),
  "",
  ...results.judgements.filter((each) => each.verdict !== "not measured").map((each) =>
    `${mark(each.verdict)} ${each.metric.padEnd(20)} ${
      number(each.value ?? Number.NaN, 3)
    } (reach ${each.reach}, guard ${each.guard === null ? "none" : Number(each.guard.toFixed(3))}): ${each.verdict}`
  )
]

const named = ({ changed, id }: NonNullable<Checkout>): string => `${id}${changed ? " with changes" : ""}`

export const markdown = (results: Results, plotFile: string): string => {
  const { machine, sizes } = results
  return [
    `# Benchmark of ${results.startedAt.slice(0, 16).replace("T", " ")} UTC`,
    "",
    `${machine.cpu}, ${machine.cores} cores, ${machine.memoryGb} GB, Node ${machine.node}` +
      `${machine.nginx === null ? "" : `, nginx ${machine.nginx}`}${machine.haproxy === null ? "" : `, haproxy ${machine.haproxy}`}. ` +
      (machine.pinned ? "Target on one core, mock and load generator on another. " : "Processes were not pinned to cores. ") +
      (results.commit === null ? "" : `Commit ${named(results.commit)}${results.baseline == null ? "" : ` beside ${named(results.baseline)}`}. `) +
      `Profile ${results.profile}: ${results.rounds ?? "few"} interleaved rounds of ${sizes.measureMs / 1_000} s, ${results.seconds} s in all. ` +
      (results.records === "postgres" ? "Records on a Postgres server. " : "Records embedded, charged to the target. ") +
      "Median (smallest .. largest round). Differences under 20 % are noise.",
    "",
    `![Cost beside ${results.reference}](${plotFile})`,
    "",
    "## Budgets",
    "",
    ...judgementTable(results),
    ...(results.failures.length === 0 ? [] : [
      "## Failures",
      "",
      ...results.failures.map((each) => `- ${each.scenario}, ${each.target}, round ${each.round}: ${each.error.split("\n", 1)[0] ?? ""}`),
      ""
    ]),
    "## Scenarios",
    "",
    ...results.scenarios.map((each) => `- **${each.id}**: ${each.title}`),
    "",
    "## Measurements",
    "",
    ...tierTable(results.rows),
    ...metrics.filter((metric) => !isTier(metric.id)).flatMap((metric) => {
      const rows = results.rows.filter((row) => row.metric === metric.id)
      return rows.length === 0 ? [] : metricTable(metric, rows, results.reference)
    }),
    ...notesOf(results)
  ].join("\n")
}
