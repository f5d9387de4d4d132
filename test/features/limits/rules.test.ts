/** The limits of a key as rules: which places count, in which windows, and what bounds a key without limits of its own. */
import { describe, expect, it } from "vitest"
import * as Rules from "#actors/limits/rules.ts"
import { type ApiKeyPolicy, defaultPolicy } from "#schemas/records/ApiKey.ts"
import type { TokenLimit } from "#schemas/records/Limits.ts"
import { apiKey } from "#test/suites/records.ts"

const sources: Rules.LimitSources = {
  budgets: new Map(), tokenLimits: new Map(), defaultPerDay: 0,
  providerOf: (name) => name === "ac" || name === "acme" ? "acme" : name === "my-node" ? "node-1" : null,
  nameOf: (provider) => provider === "node-1" ? "my-node" : provider
}
const of = (policy: Partial<ApiKeyPolicy>, more: Partial<Rules.LimitSources> = {}) =>
  Rules.of(apiKey({ id: "k", policy: { ...defaultPolicy, ...policy } }), { ...sources, ...more })
const limit = (fields: Partial<TokenLimit>): TokenLimit => ({
  id: "l", apiKeyId: "k", scopeType: "global", scopeValue: "", tokenLimit: 10, resetInterval: "daily", resetTime: "00:00", enabled: true, createdAt: "", updatedAt: "", ...fields
})
const places = ["acme/m", "acme/other", "node-1/m", "node-1/acme/m"]
/** The places that a limit counts. */
const counted = (fields: Partial<TokenLimit>) => {
  const { within } = Rules.ofTokenLimit(limit(fields), sources)
  return within === null ? null : places.filter((place) => {
    const slash = place.indexOf("/")
    return within({ provider: place.slice(0, slash), model: place.slice(slash + 1) })
  })
}

describe("a token limit", () => {
  it.each<[TokenLimit["scopeType"], string, ReadonlyArray<string> | null]>([
    ["global", "", null],
    ["provider", "acme", ["acme/m", "acme/other"]],
    ["provider", "ac", ["acme/m", "acme/other"]],
    ["provider", "my-node", ["node-1/m", "node-1/acme/m"]],
    ["provider", "node-1", ["node-1/m", "node-1/acme/m"]],
    ["provider", "gone", []],
    ["model", "m", ["acme/m", "node-1/m"]],
    ["model", "my-node/m", ["node-1/m"]],
    ["model", "ac/m", ["acme/m"]],
    // The bare id of one model, and the full id of another one.
    ["model", "acme/m", ["acme/m", "node-1/acme/m"]],
    ["model", "gone/m", []]
  ])("of the %s '%s' counts its places alone", (scopeType, scopeValue, expected) => {
    expect(counted({ scopeType, scopeValue })).toEqual(expected)
  })

  it("counts while it is enabled", () => {
    const limits = (enabled: boolean) => of({}, { tokenLimits: new Map([["k", [limit({ enabled })]]]) })
    expect([limits(true)?.amounts.length, limits(false)]).toEqual([1, null])
  })
})

describe("rates", () => {
  const day = 86_400_000
  it("of DEFAULT_RATE_LIMIT_PER_DAY are N a day, 5N in 7 days and 20N in 30 days, for keys without rates of their own", () => {
    expect(of({}, { defaultPerDay: 4 })?.rates.map(({ limit, windowMs }) => [limit, windowMs / day])).toEqual([[4, 1], [20, 7], [80, 30]])
    expect(of({ maxRequestsPerMinute: 9 }, { defaultPerDay: 4 })?.rates.map(({ limit, windowMs }) => [limit, windowMs])).toEqual([[9, 60_000]])
    expect(Rules.of({ ...apiKey(), isPermanent: true }, { ...sources, defaultPerDay: 4 })).toBeNull()
  })

  it("over one window are the lowest of them", () => {
    expect(of({ rateLimits: [{ limit: 7, window: 60 }, { limit: 5, window: 60 }, { limit: 3, window: 10 }], maxRequestsPerMinute: 6, maxRequestsPerDay: 0 })?.rates)
      .toEqual([{ id: "rate:60", limit: 5, windowMs: 60_000 }, { id: "rate:10", limit: 3, windowMs: 10_000 }])
  })
})

describe("money", () => {
  it("of a key's own limits is counted from 03:00 UTC, while they are enabled and above 0", () => {
    const policy = { usageLimitEnabled: true, dailyUsageLimitUsd: 1.5, weeklyUsageLimitUsd: 0 }
    expect(of(policy)?.amounts).toMatchObject([{ quota: "daily_usd", kind: "usd", limit: 15_000_000_000, window: { interval: "daily", minutes: 180 }, within: null }])
    expect(of({ ...policy, usageLimitEnabled: false })).toBeNull()
  })
})

it("a key that only its sessions bound has rules, and one that nothing bounds has none", () => {
  expect(of({ maxSessions: 1 })).toEqual({ amounts: [], rates: [], maxSessions: 1 })
  expect(of({})).toBeNull()
})
