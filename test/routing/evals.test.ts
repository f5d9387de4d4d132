import { describe, expect } from "vitest"
import { it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { EvalRules } from "#src/routing/ports/EvalScores.ts"
import type { EvalScore } from "#schemas/records/Eval.ts"
import * as Scoreboard from "#src/features/evals/Scoreboard.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"
import { reordered, scoresOf } from "#src/routing/evals.ts"
import { preferred } from "#src/routing/strategies/preference.ts"
import { keysOf, now, worldOf } from "#test/routing/strategies/world.ts"

const hour = 3_600_000
const rules: EvalRules = { enabled: true, maxAgeHours: 10, minCases: 2, qualityWeight: 0.85, latencyWeight: 0.15, cacheTtlMs: 1_000 }
const ran = (hoursAgo: number, models: EvalScore["models"]): EvalScore => ({ finishedAt: now - hoursAgo * hour, models })

/** Candidates k0, k1 ... of the models with these numbers. */
const candidatesOf = (models: ReadonlyArray<number>): ReadonlyArray<Candidate> =>
  worldOf(models.map((model, i) => ({ key: `k${i}`, provider: `p${model}` }))).candidates
const modelOf = (number: number): string => `p${number}/m`
const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))

describe("scores", () => {
  it("count fresh cases over all runs, and need enough of them", () => {
    const scores = scoresOf([
      ran(1, { a: { cases: 1, passed: 1, latencyMs: 100 }, few: { cases: 1, passed: 1, latencyMs: 1 } }),
      ran(9, { a: { cases: 3, passed: 1, latencyMs: 700 } }),
      ran(11, { a: { cases: 90, passed: 0, latencyMs: 0 }, old: { cases: 90, passed: 90, latencyMs: 0 } })
    ], rules, now)
    expect([...scores]).toEqual([["a", { quality: 0.5, latencyMs: 200 }]])
  })
})

describe("the order by scores", () => {
  const order = (scores: ReadonlyArray<readonly [quality: number, latencyMs: number] | null>, weights: Partial<EvalRules> = {}) =>
    keysOf(reordered(candidatesOf(scores.map((_, i) => i)), new Map(scores.flatMap((score, i) =>
      score === null ? [] : [[modelOf(i), { quality: score[0], latencyMs: score[1] }] as const])), { ...rules, ...weights }))

  it("weighs quality and speed; equal ones stay, the untested keep their places", () => {
    expect(order([[0.5, 100], [1, 900]])).toEqual(["k1", "k0"])
    expect(order([[1, 900], [0.95, 100]])).toEqual(["k1", "k0"])
    expect(order([[1, 900], [0.95, 100]], { latencyWeight: 0 })).toEqual(["k0", "k1"])
    expect(order([[1, 100], [1, 100], [1, 100]])).toEqual(["k0", "k1", "k2"])
    expect(order([null, [0, 100], null, [1, 100], null])).toEqual(["k0", "k3", "k2", "k1", "k4"])
    expect(order([[0, 100], null])).toEqual(["k0", "k1"])
  })

  it.prop("is a permutation in which the untested have not moved and the tested go down", {
    models: Schema.Array(between(0, 5)).check(Schema.isMaxLength(12)),
    scores: Schema.Array(Schema.NullOr(Schema.Struct({ quality: between(0, 100), latency: between(0, 2_000) }))).check(Schema.isMinLength(6), Schema.isMaxLength(6)),
    weights: Schema.Struct({ quality: between(0, 10), latency: between(0, 10) })
  }, ({ models, scores, weights }) => {
    const known = new Map(scores.flatMap((score, i) => score === null ? [] : [[modelOf(i), { quality: score.quality / 100, latencyMs: score.latency }] as const]))
    const given = candidatesOf(models)
    const weight = { qualityWeight: weights.quality / 10, latencyWeight: weights.latency / 10 }
    const result = reordered(given, known, weight)
    expect(result.toSorted((a, b) => a.executionKey < b.executionKey ? -1 : 1)).toEqual(given.toSorted((a, b) => a.executionKey < b.executionKey ? -1 : 1))
    for (const [i, candidate] of given.entries()) if (!known.has(candidate.target.publicModel)) expect(result[i]).toBe(candidate)
    const tested = result.flatMap(({ target }) => known.get(target.publicModel) ?? [])
    const fastest = Math.min(...tested.map(({ latencyMs }) => latencyMs))
    const values = tested.map(({ latencyMs, quality }) => quality * weight.qualityWeight + (latencyMs <= 0 ? 1 : fastest / latencyMs) * weight.latencyWeight)
    for (let i = 1; i < values.length; i++) expect(values[i]).toBeLessThanOrEqual(values[i - 1] as number)
  })
})

describe("the scoreboard", () => {
  const boardOver = (stored: Map<string, unknown>) => {
    const readings: Array<Effect.Effect<void>> = []
    const board = Scoreboard.make({ documents: { list: () => Effect.sync(() => stored) }, fork: (effect) => void readings.push(effect) })
    return { board, readings, read: () => readings.splice(0).forEach((reading) => Effect.runSync(reading)) }
  }
  const good = { cases: 2, passed: 2, latencyMs: 10 }

  it("never waits: it answers what it holds, and sees what others stored once it was read, at most once per cacheTtlMs", () => {
    const stored = new Map<string, unknown>([["r1", ran(1, { a: good })], ["bad", { what: "ever" }]])
    const { board, read, readings } = boardOver(stored)
    expect([board.of(rules, now).size, readings.length]).toEqual([0, 1])
    board.of(rules, now)
    expect(readings.length).toBe(1)
    read()
    expect([...board.of(rules, now).keys()]).toEqual(["a"])
    stored.set("r2", ran(0, { b: good }))
    expect([...board.of(rules, now + 999).keys(), readings.length]).toEqual(["a", 0])
    board.of(rules, now + 1_000)
    read()
    expect([...board.of(rules, now + 1_000).keys()]).toEqual(["a", "b"])
  })

  it("knows a run of its own node at once", () => {
    const { board } = boardOver(new Map())
    board.of(rules, now)
    board.note(ran(0, { a: good }))
    expect([...board.of(rules, now).keys()]).toEqual(["a"])
  })
})

describe("composite tiers", () => {
  const name = Schema.Literals(["t0", "t1", "t2", "t3", "constructor"])
  it.prop("whatever they say, circles too, give everybody once: the steps of the chain first, the others as listed", {
    steps: Schema.Array(between(0, 4)).check(Schema.isMaxLength(8)),
    defaultTier: name,
    tiers: Schema.Record(name, Schema.Struct({ stepId: Schema.Literals(["s0", "s1", "s2", "nobody"]), fallbackTier: Schema.NullOr(name) }))
  }, ({ defaultTier, steps, tiers }) => {
    const given = worldOf(steps.map((step, i) => ({ key: `k${i}`, step: `s${step}` }))).candidates
    const result = preferred(given, { compositeTiers: { defaultTier, tiers } })
    const chain: Array<string> = []
    const seen = new Set<string>()
    for (let at: string | null = defaultTier; at !== null && Object.hasOwn(tiers, at) && !seen.has(at); at = tiers[at as keyof typeof tiers].fallbackTier) {
      seen.add(at)
      const { stepId } = tiers[at as keyof typeof tiers]
      if (!chain.includes(stepId)) chain.push(stepId)
    }
    const expected = [...chain.flatMap((step) => given.filter(({ stepId }) => stepId === step)), ...given.filter(({ stepId }) => !chain.includes(stepId))]
    expect(keysOf(result)).toEqual(keysOf(expected))
  })
})
