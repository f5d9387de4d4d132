/** What is kept of a routing decision: facts, never the request behind it. */
import { describe, expect, it } from "vitest"
import { once } from "#actors/request/ports/WalkPolicy.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import * as ComboMetrics from "#src/features/combos/ComboMetrics.ts"
import { Report, viewOf } from "#src/inference/lane/RouteReport.ts"
import type { Route } from "#src/routing/Router.ts"

const nothing = { tried: 0, notes: [], skips: [] }

const combo: Combo = {
  id: "c", name: "team", description: null, models: [], strategy: "priority", config: {}, allowedProviders: [], system_message: null,
  tool_filter_regex: null, context_cache_protection: false, context_length: null, dimensions: null, isActive: true, isHidden: false,
  sortOrder: 0, createdAt: "", updatedAt: ""
}

/** A route that holds on to its request, as a real one does through `succeeded`. */
const routeOf = (tracked: boolean): Route => {
  const body = Buffer.alloc(1024)
  return {
    strategy: "priority", combo, targets: [], policy: once, tracked, lastResort: false, succeeded: () => void body.length,
    order: { order: [], skipped: [], memory: null }, config: null, refused: () => [], forbidden: () => []
  }
}

describe("a routing decision", () => {
  it("is kept as plain data: nothing in it can hold a request's body", () => {
    const report = new Report(ComboMetrics.make(), () => 1)
    viewOf(report, routeOf(true), "req-1", "team", null, "chat-completions").finished?.(false, nothing, 3)
    const kept = report.of("req-1")
    expect(kept).toMatchObject({ requestId: "req-1", combo: "team", ok: false, latencyMs: 3 })
    // A function cannot be cloned.
    expect(structuredClone(kept)).toEqual(kept)
  })

  it("counts for its combo only while metrics are wanted, and never for a client that left", () => {
    for (const [tracked, ok, requests] of [[true, true, 1], [false, true, undefined], [true, null, undefined]] as const) {
      const report = new Report(ComboMetrics.make(), () => 1)
      viewOf(report, routeOf(tracked), "req-1", "team", null, "chat-completions").finished?.(ok, nothing, 3)
      expect(report.metrics.of("team")?.requests).toBe(requests)
    }
  })
})
