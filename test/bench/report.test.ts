import { describe, expect, it } from "vitest"
import { judge } from "#bench/http/report/budgets.ts"
import { rowsOf } from "#bench/http/report/comparison.ts"
import { markdown, verdictLines } from "#bench/http/report/markdown.ts"
import { plot } from "#bench/http/report/plot.ts"
import { budgets, measurement, results } from "./fixtures.ts"

const judged = { ...results, judgements: judge(budgets, results.rows, { reference: "nginx", smoke: false }) }

describe("report", () => {
  it("shows medians with their range and the ratio of the same rounds", () => {
    const text = markdown(judged, "plot.svg")
    expect(text).toContain("| gateway | 30.0 (28.0 .. 50.0) | 2.80 (2.50 .. 3.00) |")
    expect(text).toContain("| nginx | 10.0 (10.0 .. 20.0) | 1.00 (1.00 .. 1.00) |")
    expect(text).toContain("| gateway | 1.500 | 0.500 |")
    expect(text).toContain("![Cost beside nginx](plot.svg)")
  })

  it("says what each budget's verdict is, and leaves out what was not measured", () => {
    const text = markdown(judged, "plot.svg")
    expect(text).toContain("| CPU per request, saturated (x nginx) | 2.80 | 3.00 | 3.60 | reached |")
    expect(text).not.toContain("paced streams on one core")
    expect(markdown(results, "plot.svg")).toContain("gateway was not measured")
  })

  it("names every failure in the report and on the terminal", () => {
    const failed = { ...judged, failures: [{ scenario: "slow", target: "bare", round: 2, error: "byte 7: lost\nlog" }] }
    expect(markdown(failed, "plot.svg")).toContain("- slow, bare, round 2: byte 7: lost\n")
    expect(verdictLines(failed)).toContain("FAILED slow, bare, round 2: byte 7: lost\nlog")
  })

  it("says which commit was measured, and that files differed from it", () => {
    const of = (commit: typeof results.commit): string => markdown({ ...results, commit }, "plot.svg")
    expect(of({ id: "0a1b2c3d", changed: false })).toContain("Commit 0a1b2c3d. Profile quick")
    expect(of({ id: "0a1b2c3d", changed: true })).toContain("Commit 0a1b2c3d with changes. Profile quick")
    expect(of(null)).not.toContain("Commit")
  })

  it("says which commit it was measured beside, and judges nothing there", () => {
    const beside = markdown({ ...results, baseline: { id: "4e5f6a7b", changed: false } }, "plot.svg")
    expect(beside).toContain("Commit 0a1b2c3d beside 4e5f6a7b. Profile quick")
    expect(beside).toContain("No budget is judged beside another checkout.")
  })

  it("keeps the notes of noisy rounds", () => {
    const noisy = { ...judged, measurements: [{ ...measurement("nginx", 1, {}), notes: ["other processes used 1.5 cores"] }] }
    expect(markdown(noisy, "plot.svg")).toContain("- any, nginx, round 1: other processes used 1.5 cores")
  })

  it("the plot has a panel for each metric and one bar for each target", () => {
    const svg = plot(judged)
    expect(svg.startsWith("<svg ")).toBe(true)
    expect(svg.match(/font-weight="bold"/g)).toHaveLength(2)
    expect(svg.match(/<rect /g)).toHaveLength(1 + 4)
    expect(svg).toContain("30.0 (x 2.80)")
    expect(svg).not.toContain("NaN")
  })

  it("a target's name cannot break the plot", () => {
    const rows = rowsOf([measurement("a<b>&c", 1, { "request.cpuUs": 1 })], "nginx")
    const svg = plot({ ...results, rows })
    expect(svg).toContain("a&lt;b&gt;&amp;c")
    expect(svg).not.toContain("a<b>")
  })
})
