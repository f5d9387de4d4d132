/** The results of one run, and the three files that keep them. */
import { mkdirSync, writeFileSync } from "node:fs"
import { join } from "node:path"
import type { Judgement } from "./budgets.ts"
import type { Row } from "./comparison.ts"
import { markdown } from "./markdown.ts"
import type { Failure, Measurement } from "./metrics.ts"
import { plot } from "./plot.ts"
import { root } from "#bench/http/servers/processes.ts"
import type { Sizes } from "#bench/http/Scenario.ts"

/** A commit, and whether files differed from it; null where there is no repository. */
export type Checkout = { readonly id: string; readonly changed: boolean } | null

export interface Results {
  readonly startedAt: string
  /** What was measured. */
  readonly commit: Checkout
  /** The other checkout that it was measured beside; absent when there was none. */
  readonly baseline?: Checkout
  readonly seconds: number
  readonly profile: string
  readonly rounds: number | null
  readonly tickMs: number
  readonly sizes: Sizes
  readonly machine: {
    readonly cpu: string
    readonly cores: number
    readonly memoryGb: number
    readonly pinned: boolean
    readonly node: string
    readonly nginx: string | null
    readonly haproxy: string | null
  }
  readonly reference: string
  readonly subject: string
  /** Where the subject kept its records: in its own process, or on a server that is not charged to it. */
  readonly records: "embedded" | "postgres"
  readonly scenarios: ReadonlyArray<{ readonly id: string; readonly title: string }>
  readonly rows: ReadonlyArray<Row>
  readonly judgements: ReadonlyArray<Judgement>
  readonly failures: ReadonlyArray<Failure>
  readonly measurements: ReadonlyArray<Measurement>
}

/** Writes `bench/reports/<date>-<time>.{json,md,svg}` and answers the path of the Markdown file inside the project. */
export const writeReport = (results: Results): string => {
  const directory = join(root, "bench", "reports")
  mkdirSync(directory, { recursive: true })
  const name = results.startedAt.slice(0, 16).replace("T", "-").replace(":", "")
  writeFileSync(join(directory, `${name}.json`), `${JSON.stringify(results, null, 2)}\n`)
  writeFileSync(join(directory, `${name}.svg`), plot(results))
  writeFileSync(join(directory, `${name}.md`), markdown(results, `${name}.svg`))
  return `bench/reports/${name}.md`
}
