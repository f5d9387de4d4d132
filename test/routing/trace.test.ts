import { describe, expect, it } from "vitest"
import type { Candidate } from "#src/routing/models/candidate.ts"
import { excludedOf, explain, maxTraceEntries } from "#src/routing/trace.ts"
import { strategies } from "#src/routing/strategies/index.ts"
import { now, worldOf } from "#test/routing/strategies/world.ts"

describe("the trace of a request", () => {
  const world = worldOf([{ key: "a" }, { key: "b" }, { key: "c" }, { key: "d", down: true }])
  const order = strategies.priority.order(world.candidates, {}, null, world.moment())
  const [a, b] = world.candidates as readonly [Candidate, Candidate]
  const named = (target: string) => ({ target, provider: "ac", model: "acme/m" })

  it("tells of every candidate what happened to it", () => {
    const trace = explain("priority", order, [{ candidate: a, status: 503, code: "upstream_error", ms: 12 }, { candidate: b, status: 200, code: null, ms: 30 }])
    expect(trace).toEqual({
      strategy: "priority",
      entries: [
        { ...named("a"), outcome: "failed", position: 1, status: 503, code: "upstream_error", ms: 12 },
        { ...named("b"), outcome: "chosen", position: 2, ms: 30 },
        { ...named("c"), outcome: "not-needed", position: 3 },
        { ...named("d"), outcome: "skipped", reason: "connection-cooldown", until: new Date(now + 1_000).toISOString(), detail: "cooling" }
      ],
      omitted: 0,
      relaxed: []
    })
    expect(JSON.parse(JSON.stringify(trace))).toEqual(trace)
  })

  it("names a target again for each attempt, and one that was asked is not told as skipped too", () => {
    const failed = { candidate: a, status: 0, code: "upstream_reset", ms: 1 }
    const entries = explain("priority", { ...order, skipped: [{ candidate: a, unavailable: { reason: "breaker-open", until: null, detail: "x" } }] }, [failed, failed]).entries
    expect(entries.map(({ outcome, target }) => `${outcome} ${target}`)).toEqual(["failed a", "failed a", "not-needed b", "not-needed c"])
  })

  it("one of the order that was left out on the way is told once, with its reason", () => {
    const until = now + 5_000
    const skipped = [...order.skipped, { candidate: b, unavailable: { reason: "limit" as const, until, detail: "limit: used up" } }]
    const { entries } = explain("priority", { ...order, skipped }, [{ candidate: a, status: 200, code: null, ms: 3 }])
    expect(entries.map(({ outcome, target }) => `${outcome} ${target}`)).toEqual(["chosen a", "not-needed c", "skipped d", "skipped b"])
    expect(entries[3]).toMatchObject({ reason: "limit", until: new Date(until).toISOString(), detail: "limit: used up" })
  })

  it("is bounded, and counts what it leaves out", () => {
    const many = worldOf(Array.from({ length: 100 }, (_, i) => ({ key: `k${i}` })))
    const trace = explain("random", strategies.random.order(many.candidates, {}, null, many.moment()), [])
    expect([trace.entries.length, trace.omitted]).toEqual([maxTraceEntries, 36])
    const long = explain("x", { order: [], memory: null, skipped: [{ candidate: a, unavailable: { reason: "inactive", until: Infinity, detail: "d".repeat(999) } }] }, [])
    expect(long.entries[0]).toMatchObject({ until: null, detail: `${"d".repeat(197)}...` })
  })

  it("shows a client no execution key and no detail", () => {
    expect(excludedOf(explain("priority", order, []))).toEqual([{ provider: "ac", model: "acme/m", reason: "connection-cooldown" }])
  })
})
