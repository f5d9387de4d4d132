/** When the daily quota of a node begins anew, and which refusals speak of it. */
import { assert, describe, it } from "@effect/vitest"
import * as Schema from "effect/Schema"
import * as DailyReset from "#actors/resilience/DailyReset.ts"

const MINUTE = 60_000
const HOUR = 60 * MINUTE

const resetOf = (zone: string | null, hour: number | null): DailyReset.DailyReset => {
  const reset = DailyReset.of({ dailyQuotaResetTimezone: zone, dailyQuotaResetHour: hour })
  if (reset === null) throw new Error(`no reset for ${zone}`)
  return reset
}
const nextAfter = (zone: string, hour: number, now: string) => new Date(DailyReset.nextAfter(resetOf(zone, hour), Date.parse(now))).toISOString()

/** What a clock on the wall shows, as one number that grows with day and time. */
const wallIn = (zone: string): (at: number) => number => {
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone: zone, hourCycle: "h23", year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric"
  })
  return (at) => {
    const parts = new Map(format.formatToParts(at).map(({ type, value }) => [type, Number(value)]))
    const part = (name: Intl.DateTimeFormatPartTypes) => parts.get(name) ?? 0
    return Date.UTC(part("year"), part("month") - 1, part("day"), part("hour"), part("minute"), part("second"))
  }
}

/** The first quarter of an hour after `now` at which the wall's clock reaches the hour for the first time on its day. */
const slowNextAfter = (zone: string, hour: number, now: number): number => {
  const wall = wallIn(zone)
  const mark = (at: number): number => Math.floor((wall(at) - hour * HOUR) / (24 * HOUR))
  const quarter = 15 * MINUTE
  let at = Math.floor(now / quarter) * quarter
  // Where clocks are set back the hour comes a second time: what it was highest before counts.
  let highest = mark(at)
  for (let before = at - 3 * HOUR; before < at; before += quarter) highest = Math.max(highest, mark(before))
  for (;;) {
    at += quarter
    if (mark(at) > highest) return at
  }
}

describe("the next reset", () => {
  const zones = ["Europe/Berlin", "America/Los_Angeles", "America/St_Johns", "Australia/Lord_Howe", "Asia/Kathmandu", "America/Sao_Paulo", "Africa/Cairo", "UTC"] as const
  // Shortly before the switches of two northern and southern years.
  const starts = ["2011-03-26", "2011-10-29", "2018-11-03", "2024-03-09", "2024-03-30", "2024-04-25", "2024-10-05", "2024-10-26", "2024-11-02"] as const
  it.prop("is the first moment after now at which the day's hour is reached, also where clocks are changed", [
    Schema.Literals(zones), Schema.Literals(starts), Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 23 })),
    Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 72 * 60 * 60_000 }))
  ], ([zone, start, hour, after]) => {
    const now = Date.parse(start) + after
    const next = DailyReset.nextAfter(resetOf(zone, hour), now)
    assert.isAbove(next, now)
    assert.strictEqual(new Date(next).toISOString(), new Date(slowNextAfter(zone, hour, now)).toISOString(), `${zone} ${hour} after ${new Date(now).toISOString()}`)
  }, { arbitrary: { runs: 300 } })

  it("is at the hour of the wall's clock: the moment moves with summer time", () => {
    assert.strictEqual(nextAfter("Europe/Berlin", 3, "2024-03-29T12:00:00Z"), "2024-03-30T02:00:00.000Z")
    assert.strictEqual(nextAfter("Europe/Berlin", 3, "2024-03-31T12:00:00Z"), "2024-04-01T01:00:00.000Z")
    // 02:00 to 03:00 is skipped, and an hour that comes twice counts once.
    assert.strictEqual(nextAfter("Europe/Berlin", 2, "2024-03-30T12:00:00Z"), "2024-03-31T01:00:00.000Z")
    assert.strictEqual(nextAfter("Europe/Berlin", 2, "2024-10-26T12:00:00Z"), "2024-10-27T00:00:00.000Z")
    assert.strictEqual(nextAfter("Europe/Berlin", 2, "2024-10-27T00:30:00Z"), "2024-10-28T01:00:00.000Z")
  })

  it("is tomorrow's at the moment of the reset", () => {
    assert.strictEqual(nextAfter("UTC", 0, "2024-05-01T00:00:00Z"), "2024-05-02T00:00:00.000Z")
  })

  it("is UTC's without a zone, and midnight without an hour; a node that says neither has none", () => {
    assert.strictEqual(new Date(DailyReset.nextAfter(resetOf(null, 7), Date.parse("2024-05-01T08:00:00Z"))).toISOString(), "2024-05-02T07:00:00.000Z")
    assert.strictEqual(new Date(DailyReset.nextAfter(resetOf("Asia/Tokyo", null), Date.parse("2024-05-01T08:00:00Z"))).toISOString(), "2024-05-01T15:00:00.000Z")
    assert.isNull(DailyReset.of({ dailyQuotaResetTimezone: null, dailyQuotaResetHour: null }))
    assert.isNull(DailyReset.of({ dailyQuotaResetTimezone: "Nowhere/At_All", dailyQuotaResetHour: 1 }))
  })
})

describe("a spent daily quota", () => {
  const spent = (message: string, status = 429, model = "m") => DailyReset.isSpent({ message, status }, model)

  it("is what an upstream calls so", () => {
    for (const message of [
      "You have exceeded your daily quota", "Rate limit reached for model `m` on requests per day (RPD): Limit 1000, Used 1000", "Rate limit exceeded: free-models-per-day",
      "Quota exceeded for metric: generate_requests, limit: GenerateRequestsPerDayPerProjectPerModel", "You have used today's quota", "Please try again tomorrow",
      "daily_limit_exceeded", "The token limit of this account is daily and spent"
    ]) for (const status of [402, 403, 429]) assert.isTrue(spent(message, status), message)
  })

  it("is not a limit of another length, nor a word of another refusal", () => {
    for (const message of ["Rate limit reached on tokens per minute (TPM)", "quota exceeded for this month", "Too many requests", "", "10 requests per minute reached; the daily limit is 500", "x".repeat(2_000) + " daily quota"]) assert.isFalse(spent(message), message)
    for (const status of [0, 400, 401, 404, 422, 500, 503]) assert.isFalse(spent("daily quota exceeded", status), String(status))
  })

  it("is not a model that is called so", () => {
    assert.isFalse(spent("No access to model daily-quota", 403, "daily-quota"))
    // The other half of the words may stand around the model.
    assert.isFalse(spent("Rate limit reached for foo-daily", 429, "foo-daily"))
    assert.isFalse(spent("The quota of x-per-day is spent", 429, "x-per-day"))
    assert.isFalse(spent("Rate limit reached for `m` on requests per min (RPM): Limit 3; the daily limit is 1000"))
  })
})
