import { describe, expect, it } from "vitest"
import * as RetryHint from "#actors/resilience/retryHint.ts"
import { cpuMs } from "#test/support/late.ts"

const now = Date.parse("2026-01-01T00:00:00Z")

const cases: ReadonlyArray<readonly [string, number, ReadonlyArray<string>, string, RetryHint.Hint | null]> = [
  ["seconds", 429, ["retry-after", "7"], "", { delayMs: 7_000, source: "retry-after" }],
  ["seconds with blanks", 503, ["retry-after", " 120 "], "", { delayMs: 120_000, source: "retry-after" }],
  ["zero seconds", 429, ["retry-after", "0"], "", { delayMs: 0, source: "retry-after" }],
  ["an HTTP date", 503, ["retry-after", "Thu, 01 Jan 2026 00:00:30 GMT"], "", { delayMs: 30_000, source: "retry-after" }],
  ["an asctime date, which is GMT", 503, ["retry-after", "Thu Jan  1 00:00:30 2026"], "", { delayMs: 30_000, source: "retry-after" }],
  ["a date in the past", 503, ["retry-after", "Thu, 01 Jan 2025 00:00:30 GMT"], "", { delayMs: 0, source: "retry-after" }],
  ["more than a day is cut to 24 h", 429, ["retry-after", "999999"], "", { delayMs: RetryHint.maxHintMs, source: "retry-after" }],
  ["ms of the vendor SDKs", 429, ["retry-after-ms", "250", "retry-after", "9"], "", { delayMs: 250, source: "retry-after" }],
  ["nonsense falls through to the body", 429, ["retry-after", "soon"], "Please try again in 20s.", { delayMs: 20_000, source: "body" }],
  ["a negative number is no hint", 429, ["retry-after", "-5"], "", null],
  ["retry-after beats a reset header", 429, ["x-ratelimit-reset-requests", "1h", "retry-after", "2"], "", { delayMs: 2_000, source: "retry-after" }],
  ["duration of a reset header", 429, ["x-ratelimit-reset-requests", "6m0s"], "", { delayMs: 360_000, source: "reset-header" }],
  ["ms of a reset header", 429, ["x-ratelimit-reset-tokens", "850ms"], "", { delayMs: 850, source: "reset-header" }],
  ["ISO date of a reset header", 429, ["anthropic-ratelimit-requests-reset", "2026-01-01T00:01:00Z"], "", { delayMs: 60_000, source: "reset-header" }],
  ["epoch seconds", 429, ["x-ratelimit-reset", String(now / 1_000 + 45)], "", { delayMs: 45_000, source: "reset-header" }],
  ["epoch ms", 429, ["x-ratelimit-reset", String(now + 45_000)], "", { delayMs: 45_000, source: "reset-header" }],
  [
    "the empty quota decides, not the one with something left",
    429,
    ["x-ratelimit-remaining-requests", "50", "x-ratelimit-reset-requests", "1s", "x-ratelimit-remaining-tokens", "0", "x-ratelimit-reset-tokens", "40s"],
    "",
    { delayMs: 40_000, source: "reset-header" }
  ],
  ["reset headers of a 200 or 400 mean nothing", 400, ["x-ratelimit-reset-requests", "6m0s"], "", null],
  ["reset in the body in h/m/s", 403, [], "Quota exhausted. Your quota will reset after 2h10m5s.", { delayMs: 7_805_000, source: "body" }],
  ["retryDelay of a detail", 429, [], "{\"details\":[{\"retryDelay\": \"34.5s\"}]}", { delayMs: 34_500, source: "body" }],
  ["words", 429, [], "Rate limited: please wait for 2 minutes, 5 seconds", { delayMs: 125_000, source: "body" }],
  ["a plain number of seconds on 429", 429, [], "retry in 15", { delayMs: 15_000, source: "body" }],
  ["a plain number elsewhere is no hint", 500, [], "retry in 15", null],
  ["no hint", 429, [], "{\"error\":\"slow down\"}", null]
]

describe("a retry hint", () => {
  it.each(cases)("%s", (_name, status, headers, body, expected) => {
    expect(RetryHint.parse(status, headers, body, now)).toEqual(expected)
  })

  it.each<[string, Readonly<Record<string, unknown>>, number | null]>([
    ["RetryInfo among the details", { details: [null, "x", { reason: "RATE_LIMIT" }, { retryDelay: "soon" }, { retryDelay: "34.5s" }] }, 34_500],
    ["resets_in_seconds", { resets_in_seconds: 90, resets_at: now / 1_000 + 5 }, 90_000],
    ["resets_at in seconds", { resets_at: now / 1_000 + 30 }, 30_000],
    ["resets_at in milliseconds", { resets_at: now + 30_000 }, 30_000],
    ["a number that is no time", { resets_at: 30, resets_in_seconds: -1 }, null],
    ["text where a number belongs", { resets_in_seconds: "90", details: "34s" }, null]
  ])("reads an error object: %s", (_name, document, delayMs) => {
    expect(RetryHint.parse(429, [], "", now, document)?.delayMs ?? null).toBe(delayMs)
  })

  it("is always between 0 and 24 h, whatever the header says", () => {
    let seed = 7
    const random = () => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) / 2_147_483_648
    const alphabet = "0123456789.smhd -:,TZGMThuJan"
    for (let i = 0; i < 20_000; i++) {
      const text = Array.from({ length: Math.floor(random() * 14) }, () => alphabet[Math.floor(random() * alphabet.length)] ?? "").join("")
      const hint = RetryHint.parse(429, ["retry-after", text, "x-ratelimit-reset", text], `retry in ${text}`, now)
      if (hint !== null && !(hint.delayMs >= 0 && hint.delayMs <= RetryHint.maxHintMs)) throw new Error(`${text} gave ${hint.delayMs}`)
    }
  })

  it("reads a hostile body in linear time", () => {
    expect(cpuMs(() => {
      RetryHint.parse(429, [], `retry in ${"1s ".repeat(100_000)}`, now)
      RetryHint.parse(429, [], `try again in ${"9".repeat(100_000)}`, now)
      RetryHint.parse(429, [], `reset in ${"1 ".repeat(50_000)}`, now)
    })).toBeLessThan(500)
    const blanks = " ".repeat(100_000)
    expect(cpuMs(() => {
      for (const words of ["wait", "retry", "try again", "retry your request", "reset", "wait in", "wait 1"]) RetryHint.parse(429, [], `${words}${blanks}`, now)
    })).toBeLessThan(100)
  })
})
