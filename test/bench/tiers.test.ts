import { describe, expect, it } from "vitest"
import { allocationSites, bytesByTier, cpuByTier, tierOf, tiers, tierTitles, total } from "#bench/http/tiers/tiers.ts"
import { tierTable } from "#bench/http/report/markdown.ts"
import { root } from "#bench/http/servers/processes.ts"

const frame = (functionName: string, place: string) => ({ functionName, url: place === "" ? "" : `file://${root}/${place}` })
const router = frame("plan", "src/routing/Router.ts")
const node = frame("write", "node_modules/x/index.js")

describe("tiers", () => {
  it("a function belongs to the tier of its source; Node's, Effect's and native ones to none", () => {
    expect(tierOf(router)).toBe("plan")
    expect(tierOf(frame("f", "src/platform/server/responseHead.ts"))).toBe("headers")
    expect(tierOf(frame("f", "src/platform/server/uws/UwsExchange.ts"))).toBe("socket")
    expect(tierOf(frame("f", "src/platform/accounting/journal/Journal.ts"))).toBe("journal")
    expect(tierOf(frame("f", "actors/request/Request.ts"))).toBe("actor")
    expect(tierOf(node)).toBeNull()
    expect(tierOf({ functionName: "emit", url: "node:events" })).toBeNull()
    expect(tierOf(frame("(garbage collector)", ""))).toBe("collector")
  })

  it("samples are charged to the nearest tier on their stack; waiting and the probe are charged to none", () => {
    const shares = cpuByTier({
      nodes: [
        { id: 1, callFrame: frame("(root)", ""), children: [2, 4, 5, 6] },
        { id: 2, callFrame: router, children: [3] },
        { id: 3, callFrame: node },
        { id: 4, callFrame: frame("(idle)", "") },
        { id: 5, callFrame: frame("post", "bench/http/tiers/Probe.ts"), children: [7] },
        { id: 6, callFrame: node },
        { id: 7, callFrame: node }
      ],
      samples: [2, 3, 4, 5, 6, 7],
      timeDeltas: [1, 2, 4, 8, 16, 32]
    })
    expect([shares.plan, shares.rest, total(shares)]).toEqual([3, 16, 19])
  })

  it("allocations are charged alike, and summed by function", () => {
    const leaf = (bytes: number) => ({ callFrame: { ...node, lineNumber: 4 }, selfSize: bytes, children: [] })
    const top = {
      callFrame: frame("(root)", ""), selfSize: 0,
      children: [{ callFrame: { ...router, lineNumber: 9 }, selfSize: 100, children: [leaf(30)] }, leaf(7), { callFrame: frame("f", "bench/http/tiers/Probe.ts"), selfSize: 1_000, children: [] }]
    }
    const bytes = bytesByTier(top)
    expect([bytes.plan, bytes.rest]).toEqual([130, 7])
    expect(allocationSites(top).slice(0, 2)).toEqual([{ where: "plan src/routing/Router.ts:10", bytes: 100 }, { where: "write x/index.js:5", bytes: 37 }])
  })

  it("the report has one table with a line for each tier, and none where nothing was measured", () => {
    const summary = { median: 12, min: 10, max: 14, rounds: 3 }
    const rows = ["tiers.us", "tiers.bytes", "tiers.plan.us", "tiers.plan.bytes"].map((metric) => ({ metric, target: "gateway", measured: summary, compared: null, calm: null }))
    const lines = tierTable(rows)
    expect(lines).toContain("| model resolution and plan | 12.0 (10.0 .. 14.0) | 12 (10 .. 14) |")
    expect(lines.filter((line) => line.startsWith("| ") && !line.startsWith("| tier"))).toHaveLength(tiers.length + 1)
    for (const tier of tiers) expect(lines.some((line) => line.startsWith(`| ${tierTitles[tier]} |`))).toBe(true)
    expect(tierTable([])).toEqual([])
  })
})
