/** Changes of the settings of compression: what is wrong with one, and the settings with it. Pure. */
import type * as Refusal from "#schemas/api/Refusal.ts"
import { changedBy, type CompressionSettings } from "#schemas/words/Compression.ts"
import { packs } from "#src/compression/packs/index.ts"
import { filters } from "#src/compression/rtk/filters.ts"
import * as LinearRegex from "#src/routing/combos/linearRegex.ts"
import type { CompressionChange } from "./api.ts"

const rules = new Set(packs.flatMap((pack) => pack.rules.map(({ name }) => name)))
const filterIds = new Set(filters.map(({ id }) => id))

const unknown = (names: ReadonlyArray<string> | undefined, known: ReadonlySet<string>, field: string, list: string): ReadonlyArray<Refusal.FieldIssue> =>
  (names ?? []).flatMap((name, i) => known.has(name) ? [] : [{ field: `${field}.${i}`, message: `Unknown name ${JSON.stringify(name)}: ${list} lists them` }])

/** What a schema cannot say. `at`: where the parts stand in what was sent, with a dot. */
export const issuesOf = ({ cavemanConfig, rtkConfig }: Pick<CompressionChange, "cavemanConfig" | "rtkConfig">, at: { readonly caveman: string; readonly rtk: string }): ReadonlyArray<Refusal.FieldIssue> => [
  ...unknown(cavemanConfig?.skipRules, rules, `${at.caveman}skipRules`, "GET /api/compression/rules"),
  ...(cavemanConfig?.preservePatterns ?? []).flatMap((pattern, i) => {
    const made = LinearRegex.compile(pattern)
    return made._tag === "Refused" ? [{ field: `${at.caveman}preservePatterns.${i}`, message: made.message }] : []
  }),
  ...unknown(rtkConfig?.enabledFilters, filterIds, `${at.rtk}enabledFilters`, "GET /api/context/rtk/filters"),
  ...unknown(rtkConfig?.disabledFilters, filterIds, `${at.rtk}disabledFilters`, "GET /api/context/rtk/filters")
]

/** The settings with the change; fields that do not act are not among them. */
export const changed = (settings: CompressionSettings, change: CompressionChange): CompressionSettings => changedBy(settings, change)

/** Ages at which older turns are said shorter, in their order. */
export const agesIn = ({ aggressive: { thresholds: { fullSummary, light, moderate, verbatim } } }: CompressionSettings, at: string): ReadonlyArray<Refusal.FieldIssue> =>
  verbatim <= light && light <= moderate && moderate <= fullSummary ? [] : [{ field: `${at}aggressive.thresholds`, message: "Expected verbatim <= light <= moderate <= fullSummary" }]
