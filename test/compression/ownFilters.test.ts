/** An operator's filters for output: what is refused, what they do, and that their time grows with the output alone. */
import { describe, expect, it } from "vitest"
import { compressionDefaults, type RtkConfig } from "#schemas/words/Compression.ts"
import type { OutputFilter } from "#schemas/words/OutputFilter.ts"
import * as Filters from "#src/compression/rtk/filters.ts"
import * as Rtk from "#src/compression/rtk/rtk.ts"
import * as Change from "#src/features/compression/change.ts"
import * as OwnFilters from "#src/features/compression/ownFilters.ts"
import { steadyGrowthOf } from "#test/support/late.ts"

const filter: OutputFilter = {
  id: "our-build", label: "our build", description: "", category: "build", priority: 10, match: { outputTypes: [], commands: ["make all"], patterns: ["^BUILD "] },
  rules: { includePatterns: [], dropPatterns: ["^compiled .*$"], collapsePatterns: ["^linked"], deduplicate: true, maxLines: 0, headLines: 0, tailLines: 0 },
  preserve: { errorPatterns: ["oops"], summaryPatterns: ["^done"] },
  tests: [{ name: "drops", command: "make all", input: "BUILD x\ncompiled a\ncompiled oops\ndone", expected: "BUILD x\ncompiled oops\ndone" }]
}
const configOf = (customFilters: ReadonlyArray<OutputFilter>, customFiltersEnabled = true): RtkConfig => ({ ...compressionDefaults.rtkConfig, customFilters, customFiltersEnabled })
const fieldsOf = (change: Partial<OutputFilter>, trusted = false) => OwnFilters.issuesOf([{ ...filter, ...change }], "", trusted).map(({ field }) => field)

describe("an operator's filters", () => {
  it("are asked first, the one with the most words before those of a higher priority, while they are switched on", () => {
    const of = (command: string, config: RtkConfig) => Filters.filterOf(command, "x", config)?.id ?? null
    const wide = { ...filter, id: "wide", priority: 99, match: { ...filter.match, commands: ["make", "git status"] } }
    expect(of("cd a && make all 2>&1", configOf([wide, filter]))).toBe("our-build")
    expect(of("make other", configOf([wide, filter]))).toBe("wide")
    expect(of("git status", configOf([wide]))).toBe("wide")
    expect(of("git status", configOf([wide], false))).toBe("git-status")
    expect(of("git log", configOf([wide]))).toBe("git-log")
    expect(Filters.filterOf("make all", "{\"a\": 1}", configOf([filter]))).toBeNull()
    expect(Filters.detected("BUILD x", configOf([filter]))?.id).toBe("our-build")
    // Where it would take long, the gateway's own ones are asked.
    expect(Filters.filterOf("git status", "x".repeat(300_000), configOf([wide]))?.id).toBe("git-status")
  })

  it.each([
    [{}, []], [{ id: "git-status" }, ["customFilters.0.id"]], [{ match: { ...filter.match, commands: ["make all", "cat"] } }, ["customFilters.0.match.commands.1"]],
    [{ match: { ...filter.match, commands: ["make all", "git diff"] } }, ["customFilters.0.match.commands.1"]], [{ rules: { ...filter.rules, dropPatterns: ["(a)\\1"] } }, ["customFilters.0.rules.dropPatterns.0"]],
    [{ rules: { ...filter.rules, maxLines: 5 } }, ["customFilters.0.rules.maxLines"]]
  ] as const)("with %j have the issues %j, even where they are trusted", (change, fields) => {
    expect([fieldsOf(change), fieldsOf(change, true)]).toEqual([fields, fields])
  })

  it.each([
    [{ tests: [] }, ["customFilters.0.tests"]], [{ tests: [{ ...filter.tests[0] as OutputFilter["tests"][number], expected: "BUILD x" }] }, ["customFilters.0.tests.0.expected"]],
    [{ tests: [{ ...filter.tests[0] as OutputFilter["tests"][number], command: "make other" }] }, ["customFilters.0.tests.0.command"]]
  ])("whose examples do not hold are taken where they are trusted alone: %j", (change, fields) => {
    expect([fieldsOf(change), fieldsOf(change, true)]).toEqual([fields, []])
  })

  it("whose patterns would hold up other requests together are refused, as are such patterns of lines that stay", () => {
    const wide = ["(a?){150}", "(b?){150}"]
    const both = (dropPatterns: ReadonlyArray<string>, errorPatterns: ReadonlyArray<string>) =>
      fieldsOf({ rules: { ...filter.rules, dropPatterns }, preserve: { ...filter.preserve, errorPatterns }, tests: [] }, true)
    expect([both(wide, []), both(wide, ["(c?){150}", "(d?){150}"])]).toEqual([[], ["customFilters.0"]])
    const kept = (preservePatterns: ReadonlyArray<string>) =>
      Change.issuesOf({ cavemanConfig: { preservePatterns } }, { caveman: "", rtk: "" }, { rtk: configOf([]), trusted: false }).map(({ field }) => field)
    expect([kept(wide), kept([...wide, ...wide])]).toEqual([[], ["preservePatterns"]])
  })

  it("have ids of their own", () => {
    expect(OwnFilters.issuesOf([filter, filter], "rtkConfig.", false).map(({ field }) => field)).toEqual(["rtkConfig.customFilters.0.id", "rtkConfig.customFilters.1.id"].slice(1))
  })

  it.each(["a", "compiled ", "\n", "linked\n"])("take time that grows with the length of an output of %j alone", (one) => {
    const hostile = { ...filter, rules: { ...filter.rules, dropPatterns: ["^(a|a)*$", "(a*)*b", ".*.*.*x$"] } }
    const config = configOf([hostile])
    const work = (length: number): void => {
      Rtk.shorten(one.repeat(Math.ceil(length / one.length)).slice(0, length), hostile, { config, intensity: "standard" })
    }
    work(2_000)
    // Quadratic time would be 16 times as much.
    expect(steadyGrowthOf(work, 10_000, 4, 9)).toBeLessThan(9)
  })
})
