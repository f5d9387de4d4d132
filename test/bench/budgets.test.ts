import { readFileSync } from "node:fs"
import { join } from "node:path"
import { describe, expect, it } from "vitest"
import { judge, parseBudgets, type Verdict } from "#bench/http/report/budgets.ts"
import { rowsOf } from "#bench/http/report/comparison.ts"
import type { Measurement } from "#bench/http/report/metrics.ts"
import { budgets, disturbed, measurement, measurements } from "./fixtures.ts"

const verdicts = (measured: ReadonlyArray<Measurement>, reference = "nginx", smoke = false): Readonly<Record<string, Verdict>> =>
  Object.fromEntries(judge(budgets, rowsOf(measured, reference), { reference, smoke }).map((each) => [each.metric, each.verdict]))

const ratios = (...values: ReadonlyArray<number>): ReadonlyArray<Measurement> =>
  values.flatMap((value, index) => [
    measurement("nginx", index + 1, { "request.cpuUs": 10 }),
    measurement("gateway", index + 1, { "request.cpuUs": value * 10 })
  ])

describe("budgets", () => {
  it("ratios are taken inside each round, then their median is judged", () => {
    const [request] = judge(budgets, rowsOf(measurements, "nginx"), { reference: "nginx", smoke: false })
    expect(request).toEqual({ metric: "request.cpuUs", value: 2.8, reach: 3, guard: 3.6, verdict: "reached" })
  })

  it("latency is judged by what was added to the direct path", () => {
    expect(verdicts(measurements)["latency.p99Ms"]).toBe("next reached")
  })

  it("latency of disturbed rounds is not judged: calm rounds decide, and without any nothing is broken", () => {
    const round = (number: number, added: number) => [
      measurement("direct", number, { "latency.p99Ms": 1 }), measurement("gateway", number, { "latency.p99Ms": 1 + added })
    ]
    const noisy = round(1, 90).map(disturbed)
    expect(verdicts([...noisy, ...round(2, 0.5)])["latency.p99Ms"]).toBe("next reached")
    expect(verdicts([...noisy, ...round(2, 50)])["latency.p99Ms"]).toBe("beyond guard")
    expect(verdicts(noisy)["latency.p99Ms"]).toBe("disturbed")
    expect(verdicts(ratios(9).map(disturbed))["request.cpuUs"]).toBe("beyond guard")
  })

  it("each step of the ladder has its verdict", () => {
    expect(verdicts(ratios(1.9))["request.cpuUs"]).toBe("next reached")
    expect(verdicts(ratios(3))["request.cpuUs"]).toBe("reached")
    expect(verdicts(ratios(3.3))["request.cpuUs"]).toBe("within guard")
    expect(verdicts(ratios(3.7, 3.8, 4))["request.cpuUs"]).toBe("beyond guard")
  })

  it("one round within the guard makes a broken guard noise", () => {
    expect(verdicts(ratios(3.5, 3.8, 4))["request.cpuUs"]).toBe("beyond guard in some rounds")
  })

  it("a lower bound is broken from below", () => {
    const streams = (value: number) => [measurement("gateway", 1, { "capacity.streams": value })]
    expect(verdicts(streams(500))["capacity.streams"]).toBe("beyond guard")
    expect(verdicts(streams(700))["capacity.streams"]).toBe("within guard")
    expect(verdicts(streams(1_200))["capacity.streams"]).toBe("next reached")
    expect(verdicts(streams(500), "nginx", true)["capacity.streams"]).toBe("within guard")
  })

  it("a smoke run gives what is measured by the clock more room than ratios", () => {
    const added = (ms: number) => [measurement("direct", 1, { "latency.p99Ms": 1 }), measurement("gateway", 1, { "latency.p99Ms": 1 + ms })]
    expect(verdicts(added(19), "nginx", true)["latency.p99Ms"]).toBe("within guard")
    expect(verdicts(added(21), "nginx", true)["latency.p99Ms"]).toBe("beyond guard")
  })

  it("a smoke run widens the guards only", () => {
    expect(verdicts(ratios(5.3), "nginx", true)["request.cpuUs"]).toBe("within guard")
    expect(verdicts(ratios(5.5), "nginx", true)["request.cpuUs"]).toBe("beyond guard")
  })

  it("against the stand-in a ratio is converted, and a metric without a factor is not judged", () => {
    const measured = [measurement("bare", 1, { "request.cpuUs": 20 }), measurement("gateway", 1, { "request.cpuUs": 30 })]
    const [request] = judge(budgets, rowsOf(measured, "bare"), { reference: "bare", smoke: false })
    expect(request?.value).toBe(3)
    const unknown = { ...budgets, fallback: { reference: "bare", timesReference: {} } }
    const [unjudged] = judge(unknown, rowsOf(measured, "bare"), { reference: "bare", smoke: false })
    expect(unjudged?.verdict).toBe("not measured")
  })

  it("what was not measured, or has no guard, breaks nothing", () => {
    expect(verdicts([])).toEqual({
      "request.cpuUs": "not measured", "latency.p99Ms": "not measured", "capacity.streams": "not measured", "slow.peakMb": "not measured"
    })
    expect(verdicts([measurement("gateway", 1, { "slow.peakMb": 900 })])["slow.peakMb"]).toBe("within guard")
    expect(verdicts([measurement("gateway", 1, { "request.cpuUs": 900 })])["request.cpuUs"]).toBe("not measured")
  })

  it("the committed budgets are well-formed, and each is at least as wide as the ambition before it", () => {
    const committed = parseBudgets(readFileSync(join(import.meta.dirname, "../../bench/budgets.json"), "utf8"))
    expect(committed.subject).toBe("gateway")
    for (const { metric, bound, reach, then, guard } of committed.budgets) {
      const ladder = [then, reach, guard].filter((each) => each !== null)
      const ordered = [...ladder].sort((a, b) => bound === "atMost" ? a - b : b - a)
      expect(ladder, metric).toEqual(ordered)
    }
  })

  it("a wrong budget file is refused by name", () => {
    const wrong = (budget: object): string => JSON.stringify({ ...budgets, budgets: [budget] })
    expect(() => parseBudgets(wrong({ metric: "no.such" }))).toThrow(/no\.such is not declared/)
    expect(() => parseBudgets(wrong({ metric: "request.cpuUs", bound: "about" }))).toThrow(/atMost or atLeast/)
    expect(() => parseBudgets(wrong({ metric: "request.cpuUs", bound: "atMost", reach: 1, then: null, guard: "3" }))).toThrow(/guard/)
  })
})
