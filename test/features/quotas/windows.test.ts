import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { aboveFrom, type QuotaReading, remainingAt } from "#src/routing/ports/Quotas.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import { resilienceDefaults } from "#schemas/records/ResilienceSettings.ts"
import { blockOf } from "#src/features/quotas/preflight.ts"
import { QuotaTable } from "#src/features/quotas/QuotaTable.ts"
import { readingOf, rowOf, trendOf, worthStoring } from "#src/features/quotas/ports/snapshots.ts"

const now = 1_800_000_000_000
const hour = 3_600_000

const reading = (fields: Partial<QuotaReading> = {}): QuotaReading => ({
  name: "5h", remainingPercent: 50, resetsAt: now + hour, refillsFrom: null, scope: "connection", limit: null, remaining: null, lengthMs: 5 * hour,
  seenAt: now, ...fields
})

describe("a window", () => {
  it("keeps what was seen until its reset, and is full then", () => {
    expect([0, hour - 1, hour].map((ms) => remainingAt(reading({ remainingPercent: 3 }), now + ms))).toEqual([3, 3, 100])
    expect(remainingAt(reading({ remainingPercent: 3, resetsAt: null }), now + 99 * hour)).toBe(3)
  })

  it("that fills evenly is above its cut-off long before it is full", () => {
    const bucket = reading({ remainingPercent: 0, refillsFrom: now, resetsAt: now + 100_000 })
    expect([0, 50_000, 100_000].map((ms) => remainingAt(bucket, now + ms))).toEqual([0, 50, 100])
    expect(aboveFrom(bucket, 2)).toBe(now + 2_001)
    expect(aboveFrom(reading(), 2)).toBe(now + hour)
    expect(aboveFrom(reading({ resetsAt: null }), 2)).toBeNull()
  })

  it.prop("is above its cut-off at the moment that is named, and not two ms before", [Arbitrary.schema(Schema.Struct({
    seen: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 100 })), cutoff: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 99 })),
    length: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 90_000_000 })), refills: Schema.Boolean
  }))], ([{ cutoff, length, refills, seen }]) => {
    const window = reading({ remainingPercent: seen, refillsFrom: refills ? now : null, resetsAt: now + length })
    const from = aboveFrom(window, cutoff)
    if (from === null || remainingAt(window, from) <= cutoff) return false
    return seen > cutoff || remainingAt(window, from - 2) <= cutoff
  })
})

describe("the table of readings", () => {
  it("holds the newest of each window; what is seen earlier and told later changes nothing", () => {
    const table = new QuotaTable()
    table.note("c", "m", [reading({ remainingPercent: 40, seenAt: now + 10 })])
    table.note("c", "m", [reading({ remainingPercent: 90, seenAt: now }), reading({ name: "7d", remainingPercent: 7 })])
    expect(table.windows("c", "m", now).map(({ name, remainingPercent }) => [name, remainingPercent])).toEqual([["5h", 40], ["7d", 7]])
  })

  it("keeps a model's windows from other models, and forgets what is over", () => {
    const table = new QuotaTable()
    table.note("c", "m", [reading({ name: "tokens", scope: "model", resetsAt: now + 5 }), reading()])
    expect(table.windows("c", "m", now).map(({ name }) => name)).toEqual(["5h", "tokens"])
    expect(table.windows("c", "other", now).map(({ name }) => name)).toEqual(["5h"])
    expect(table.windows("c", "m", now + 5).map(({ name }) => name)).toEqual(["5h"])
    expect(table.windows("c", "m", now + hour)).toEqual([])
    expect(table.size).toBe(0)
  })

  it("believes a window without a reset for a minute", () => {
    const table = new QuotaTable()
    table.note("c", "m", [reading({ resetsAt: null, remainingPercent: 0 })])
    expect(table.windows("c", "m", now + 59_999)).toHaveLength(1)
    expect(table.windows("c", "m", now + 60_000)).toEqual([])
  })

  it("lists the tightest first, and keeps a bounded number of models", () => {
    const table = new QuotaTable()
    for (let i = 0; i < 300; i++) table.note("c", `m${i}`, [reading({ name: "tokens", scope: "model", remainingPercent: i % 100 })])
    table.note("d", "m", [reading({ remainingPercent: 1 })])
    expect(table.held("c", now)).toHaveLength(256)
    expect(table.windows("c", "m0", now)).toEqual([])
    const percents = table.held(null, now).map((one) => one.reading.remainingPercent)
    expect(percents).toEqual([...percents].sort((a, b) => a - b))
    table.keep((id) => id === "d")
    expect(table.held(null, now)).toHaveLength(1)
  })
})

describe("the preflight", () => {
  const settings = { ...resilienceDefaults.quotaPreflight, providerWindowDefaults: { acme: { "7d": 10 } } }
  const account = (fields: Partial<Connection> = {}) => ({ provider: "acme", providerSpecificData: {}, quotaWindowThresholds: null, ...fields })
  const block = (windows: ReadonlyArray<QuotaReading>, fields: Partial<Connection> = {}, at = now) => blockOf(account(fields), windows, settings, at)

  it("leaves a connection out at or below the cut-off of a window, until its reset", () => {
    expect(block([reading({ remainingPercent: 2 })])).toEqual({
      reason: "quota-exhausted", until: now + hour, detail: "Quota window 5h has 2 % left; it is cut off at 2 %."
    })
    expect(block([reading({ remainingPercent: 2.01 })])).toBeNull()
    expect(block([reading({ remainingPercent: 2 })], {}, now + hour)).toBeNull()
  })

  it("takes the connection's threshold, then the provider's default, then the general cut-off", () => {
    const weekly = reading({ name: "7d", remainingPercent: 9 })
    expect(block([weekly])).toMatchObject({ until: now + hour })
    expect(block([weekly], { quotaWindowThresholds: { "7d": 5 } })).toBeNull()
    expect(block([weekly], { quotaWindowThresholds: { "7d": null } })).not.toBeNull()
    expect(block([weekly], { provider: "other" })).toBeNull()
    expect(block([reading({ remainingPercent: 30 })], { quotaWindowThresholds: { "5h": 50 } })).not.toBeNull()
  })

  it("names the window that lasts longest, and never one without a known reset", () => {
    const both = [reading({ remainingPercent: 0 }), reading({ name: "7d", remainingPercent: 0, resetsAt: now + 9 * hour })]
    for (const windows of [both, both.toReversed()]) expect(block(windows)?.until).toBe(now + 9 * hour)
    expect(block([reading({ remainingPercent: 0, resetsAt: null })])).toBeNull()
  })

  it("passes over the windows that the account's toggles exclude", () => {
    const both = [reading({ remainingPercent: 0 }), reading({ name: "7d", remainingPercent: 0 })]
    expect(block(both, { providerSpecificData: { use5h: false } })?.detail).toContain("7d")
    expect(block(both, { providerSpecificData: { use5h: false, useWeekly: false } })).toBeNull()
  })
})

describe("snapshots", () => {
  const day = (fields: Partial<QuotaReading> = {}) => reading({ resetsAt: now + 24 * hour, ...fields })

  it("are worth a row for one percent or exhaustion; short windows for no more than one in five minutes", () => {
    expect(worthStoring(undefined, day())).toBe(true)
    expect(worthStoring(day(), day({ remainingPercent: 49.1 }))).toBe(false)
    expect(worthStoring(day(), day({ remainingPercent: 49 }))).toBe(true)
    expect(worthStoring(day({ remainingPercent: 0.5 }), day({ remainingPercent: 0 }))).toBe(true)
    const short = (ms: number, remainingPercent: number) => reading({ remainingPercent, seenAt: now + ms, resetsAt: now + ms + 60_000 })
    expect(worthStoring(short(0, 50), short(1_000, 10))).toBe(false)
    expect(worthStoring(short(0, 50), short(300_000, 10))).toBe(true)
  })

  it("bring a reading back as it was", () => {
    for (const one of [reading({ limit: 60, remaining: 30 }), reading({ scope: "model", refillsFrom: now })]) {
      expect(readingOf(rowOf("acme", { connectionId: "c", model: one.scope === "model" ? "m" : null, reading: one }))).toEqual(one)
    }
  })

  it("show where a window is heading: the newest against those before it", () => {
    const rows = (...percents: ReadonlyArray<number>) => percents.map((remainingPercentage) => ({ remainingPercentage }))
    expect([rows(), rows(5), rows(50, 60), rows(60, 50), rows(50, 51), rows(10, 50, 90)].map(trendOf))
      .toEqual([null, null, "declining", "improving", "stable", "declining"])
  })
})
