/** Changes of the settings of compression: what is wrong with one, and the settings with it. Pure. */
import type * as Refusal from "#schemas/api/Refusal.ts"
import { changedBy, type CompressionSettings, type RtkConfig } from "#schemas/words/Compression.ts"
import { packs } from "#src/compression/packs/index.ts"
import { filters } from "#src/compression/rtk/filters.ts"
import * as LinearRegex from "#src/routing/combos/linearRegex.ts"
import type { CompressionChange } from "./api.ts"
import * as OwnFilters from "./ownFilters.ts"

const rules = new Set(packs.flatMap((pack) => pack.rules.map(({ name }) => name)))
const filterIds = new Set(filters.map(({ id }) => id))

const unknown = (names: ReadonlyArray<string> | undefined, known: ReadonlySet<string>, field: string, list: string): ReadonlyArray<Refusal.FieldIssue> =>
  (names ?? []).flatMap((name, i) => known.has(name) ? [] : [{ field: `${field}.${i}`, message: `Unknown name ${JSON.stringify(name)}: ${list} lists them` }])

/** What stands beside a change: the operator's filters, and whether they need no examples. */
export interface Beside {
  readonly rtk: RtkConfig
  readonly trusted: boolean
}

const rtkIssues = (change: NonNullable<CompressionChange["rtkConfig"]>, { rtk, trusted }: Beside, at: string): ReadonlyArray<Refusal.FieldIssue> => {
  const { customFilters, trustProjectFilters } = change
  const known = new Set([...filterIds, ...rtk.customFilters.map(({ id }) => id)])
  const named = customFilters === undefined ? change : rtk
  return [
    ...unknown(named.enabledFilters, known, `${at}enabledFilters`, "GET /api/context/rtk/filters"),
    ...unknown(named.disabledFilters, known, `${at}disabledFilters`, "GET /api/context/rtk/filters"),
    ...customFilters === undefined && trustProjectFilters === undefined ? [] : OwnFilters.issuesOf(rtk.customFilters, at, trusted)
  ]
}

/** What a schema cannot say. `at`: where the parts stand in what was sent, with a dot. */
export const issuesOf = (
  { cavemanConfig, rtkConfig }: Pick<CompressionChange, "cavemanConfig" | "rtkConfig">, at: { readonly caveman: string; readonly rtk: string }, beside: Beside
): ReadonlyArray<Refusal.FieldIssue> => [
  ...unknown(cavemanConfig?.skipRules, rules, `${at.caveman}skipRules`, "GET /api/compression/rules"),
  ...(cavemanConfig?.preservePatterns ?? []).flatMap((pattern, i) => {
    const made = LinearRegex.compile(pattern)
    return made._tag === "Refused" ? [{ field: `${at.caveman}preservePatterns.${i}`, message: made.message }] : []
  }),
  ...LinearRegex.areTooMuch(cavemanConfig?.preservePatterns ?? [])
    ? [{ field: `${at.caveman}preservePatterns`, message: "The patterns are too large together: write fewer of them, or smaller repetitions" }]
    : [],
  ...rtkConfig === undefined ? [] : rtkIssues(rtkConfig, beside, at.rtk)
]

/** The settings with the change; fields that do not act are not among them. */
export const changed = (settings: CompressionSettings, change: CompressionChange): CompressionSettings => changedBy(settings, change)

/** Ages at which older turns are said shorter, in their order. */
export const agesIn = ({ aggressive: { thresholds: { fullSummary, light, moderate, verbatim } } }: CompressionSettings, at: string): ReadonlyArray<Refusal.FieldIssue> =>
  verbatim <= light && light <= moderate && moderate <= fullSummary ? [] : [{ field: `${at}aggressive.thresholds`, message: "Expected verbatim <= light <= moderate <= fullSummary" }]
