import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { mayHold, read } from "#src/features/quotas/headers.ts"

const now = Date.parse("2026-06-01T12:00:00.000Z")
const seconds = now / 1_000
const flat = (headers: Readonly<Record<string, string>>): ReadonlyArray<string> => Object.entries(headers).flat()
const windows = (headers: Readonly<Record<string, string>>) =>
  read(flat(headers), now).map(({ name, refillsFrom, remainingPercent, resetsAt, scope }) =>
    [name, remainingPercent, resetsAt === null ? null : resetsAt - now, scope, refillsFrom !== null])

describe("quota headers of vendors", () => {
  it("x-ratelimit: requests and tokens of one model, buckets with a duration until they are full", () => {
    expect(windows({
      "x-ratelimit-limit-requests": "60", "x-ratelimit-remaining-requests": "45", "x-ratelimit-reset-requests": "1m30s",
      "x-ratelimit-limit-tokens": "150000", "x-ratelimit-remaining-tokens": "149984", "x-ratelimit-reset-tokens": "6ms",
      "x-ratelimit-limit-tokens_usage_based": "1", "x-request-id": "r"
    })).toEqual([["requests", 75, 90_000, "model", true], ["tokens", 99.99, 6, "model", true]])
  })

  it("x-ratelimit with a period in the name: a fixed window, its reset in seconds", () => {
    expect(read(flat({
      "x-ratelimit-limit-requests-day": "1000", "x-ratelimit-remaining-requests-day": "750", "x-ratelimit-reset-requests-day": "3600",
      "x-ratelimit-limit-req-minute": "30", "x-ratelimit-remaining-req-minute": "0",
      "x-ratelimit-remaining-tokens-minute": "50", "x-ratelimit-limit-tokens-minute": "100", "x-ratelimit-reset-tokens-minute": "26.5"
    }), now)).toMatchObject([
      { name: "requests-day", remainingPercent: 75, limit: 1000, remaining: 750, resetsAt: now + 3_600_000, lengthMs: 86_400_000, refillsFrom: null },
      { name: "requests-minute", remainingPercent: 0, resetsAt: null, lengthMs: 60_000 },
      { name: "tokens-minute", remainingPercent: 50, resetsAt: now + 26_500 }
    ])
  })

  it("anthropic-ratelimit: four buckets with a time of day", () => {
    expect(windows({
      "anthropic-ratelimit-requests-limit": "50", "anthropic-ratelimit-requests-remaining": "49", "anthropic-ratelimit-requests-reset": "2026-06-01T12:00:01Z",
      "anthropic-ratelimit-input-tokens-limit": "40000", "anthropic-ratelimit-input-tokens-remaining": "1000",
      "anthropic-ratelimit-input-tokens-reset": "2026-06-01T12:01:00Z",
      "anthropic-ratelimit-output-tokens-remaining": "0", "anthropic-ratelimit-output-tokens-reset": "2026-06-01T12:00:30Z"
    })).toEqual([["requests", 98, 1_000, "model", true], ["input-tokens", 2.5, 60_000, "model", true], ["output-tokens", 0, 30_000, "model", true]])
  })

  it("unified windows of an account plan: a used share, an epoch, and a rejection that means nothing is left", () => {
    expect(windows({
      "anthropic-ratelimit-unified-status": "allowed", "anthropic-ratelimit-unified-reset": String(seconds + 9),
      "anthropic-ratelimit-unified-representative-claim": "five_hour", "anthropic-ratelimit-unified-fallback-percentage": "0.5",
      "anthropic-ratelimit-unified-5h-utilization": "0.42", "anthropic-ratelimit-unified-5h-reset": String(seconds + 3_600),
      "anthropic-ratelimit-unified-5h-status": "allowed",
      "anthropic-ratelimit-unified-7d-utilization": "0.94", "anthropic-ratelimit-unified-7d-reset": String(seconds + 86_400),
      "anthropic-ratelimit-unified-7d_opus-status": "rejected", "anthropic-ratelimit-unified-7d_opus-reset": String(seconds + 86_400)
    })).toEqual([
      ["5h", 58, 3_600_000, "connection", false], ["7d", 6, 86_400_000, "connection", false], ["7d_opus", 0, 86_400_000, "model", false]
    ])
  })

  it("x-codex: used percent of windows named by their length; a family of zeros is none", () => {
    expect(windows({
      "x-codex-primary-used-percent": "42.5", "x-codex-primary-window-minutes": "300", "x-codex-primary-reset-at": String(seconds + 60),
      "x-codex-secondary-used-percent": "100", "x-codex-secondary-window-minutes": "10080", "x-codex-secondary-reset-after-seconds": "120"
    })).toEqual([["5h", 57.5, 60_000, "connection", false], ["7d", 0, 120_000, "connection", false]])
    expect(windows({ "x-codex-primary-used-percent": "0", "x-codex-primary-window-minutes": "0" })).toEqual([])
  })

  it("the IETF drafts, one header each or all in one", () => {
    const expected = [["default", 25, 30_000, "connection", false]]
    expect(windows({ "ratelimit-limit": "100, 100;w=60", "ratelimit-remaining": "25", "ratelimit-reset": "30" })).toEqual(expected)
    expect(windows({ "x-ratelimit-limit": "100", "x-ratelimit-remaining": "25", "x-ratelimit-reset": String(now + 30_000) })).toEqual(expected)
    expect(windows({ ratelimit: "limit=100, remaining=25, reset=30" })).toEqual(expected)
    expect(read(flat({ "ratelimit-policy": "\"burst\";q=100;w=60, \"day\";q=1000", ratelimit: "\"burst\";r=25;t=30" }), now))
      .toMatchObject([{ name: "burst", remainingPercent: 25, resetsAt: now + 30_000, lengthMs: 60_000 }])
  })

  it("what is over, unlimited, incomplete or nonsense says nothing", () => {
    expect(windows({ "ratelimit-limit": "100", "ratelimit-remaining": "0", "ratelimit-reset": String(seconds - 1) })).toEqual([])
    expect(windows({ "ratelimit-limit": "0", "ratelimit-remaining": "0", "ratelimit-reset": "5" })).toEqual([])
    expect(windows({ "ratelimit-remaining": "7", "ratelimit-reset": "5" })).toEqual([])
    expect(windows({ "ratelimit-limit": "100", "ratelimit-remaining": "-1" })).toEqual([])
    expect(windows({ "ratelimit-limit": "100", "ratelimit-remaining": "500", "ratelimit-reset": "soon" })).toEqual([["default", 100, null, "connection", false]])
    expect(windows({ "ratelimit-limit": "100", "ratelimit-remaining": "1", "ratelimit-reset": "99999999" })).toEqual([["default", 1, 32 * 86_400_000, "connection", false]])
  })

  it("an answer without any is recognised by its names alone", () => {
    expect(mayHold(flat({ "content-type": "x-ratelimit-", "x-request-id": "1", "access-control-allow-origin": "*", "retry-after": "3" }))).toBe(false)
    for (const name of ["x-ratelimit-reset", "anthropic-ratelimit-requests-reset", "ratelimit", "x-codex-primary-reset-at"]) {
      expect(mayHold(["date", "x", name, "1"])).toBe(true)
    }
  })
})

const Name = Schema.Literals([
  "ratelimit", "ratelimit-policy", "ratelimit-limit", "ratelimit-remaining", "ratelimit-reset", "x-ratelimit-limit-requests", "x-ratelimit-remaining-requests",
  "x-ratelimit-reset-requests", "anthropic-ratelimit-unified-5h-utilization", "anthropic-ratelimit-unified-5h-reset", "anthropic-ratelimit-unified-999999h-reset",
  "x-codex-primary-used-percent", "x-codex-primary-window-minutes", "anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-limit"
])
it.prop("whatever stands in the headers, percents are 0 to 100 and resets lie ahead, at most 32 days", [
  Arbitrary.schema(Schema.Array(Schema.Struct({ name: Name, value: Schema.Union([Schema.String, Schema.Literals(["0", "1", "99", "1e9", "\"a\";r=1;t=2", "limit=1, remaining=0, reset=9", "1h2m"])]) })))
], ([headers]) => {
  for (const reading of read(headers.flatMap(({ name, value }) => [name, value]), now)) {
    if (reading.remainingPercent < 0 || reading.remainingPercent > 100) return false
    if (reading.resetsAt !== null && (reading.resetsAt <= now || reading.resetsAt > now + 32 * 86_400_000 + 1)) return false
  }
  return true
})
