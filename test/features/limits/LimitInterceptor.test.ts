/** What one request reserves of a key's limits, how its calls are settled, and how it is refused. */
import { assert, describe, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { KeyLimits } from "#actors/limits/KeyLimits.ts"
import { LimitInterceptor } from "#actors/limits/LimitInterceptor.ts"
import { LimitStoreDown } from "#actors/limits/ports/LimitStore.ts"
import type { LimitQuestion } from "#actors/limits/ports/Limits.ts"
import type { AmountRule } from "#actors/limits/rules.ts"
import type { CallRefusal } from "#actors/request/ports/Interceptor.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as MemoryLimitStore from "#src/features/limits/MemoryLimitStore.ts"
import { target as targetOf } from "#test/features/resilience/support.ts"
import { connection, ledgerRow } from "#test/suites/records.ts"

const now = 1_000_000
const day = 86_400_000
const question: LimitQuestion = { session: null, promptTokens: 10, maxOutputTokens: 20, units: null, free: false }
const rule = (id: string, limit: number, more: Partial<AmountRule> = {}): AmountRule =>
  ({ id, kind: "tokens", quota: "token_limit", scope: "global", within: null, window: { interval: "daily", minutes: 0 }, limit, ...more })
const usd = (id: string, limit: number, more: Partial<AmountRule> = {}): AmountRule => rule(id, limit, { kind: "usd", quota: "budget", scope: "daily", ...more })

const target = (more: Partial<Target> = {}, id = "one"): Target => targetOf(connection({ id }), { model: "m", ...more })
const free = target({ model: "free" })

/** One node; `costs` in USD per token that is sent and received. */
const world = (rules: ReadonlyArray<AmountRule>, costs: readonly [input: number, output: number] = [0, 0], shared = false) => {
  const store = MemoryLimitStore.make({ node: "n", now: () => now, shared })
  const state = { down: false, failures: [] as Array<string> }
  const limits = new KeyLimits({
    store: { ...store, exchange: (draws) => state.down ? Effect.fail(new LimitStoreDown({ message: "gone" })) : store.exchange(draws) },
    ledger: { journal: () => undefined, used: () => Effect.succeed([]), settled: Effect.void, requests: () => Effect.succeed([]) },
    now: () => now, steady: () => now, nodeId: "n", begun: Effect.void, crossed: () => {}
  }, "key", { amounts: rules, rates: [], maxSessions: 0 })
  const request = (ask: Partial<LimitQuestion> = {}) => {
    const interceptor = new LimitInterceptor(limits, { ...question, ...ask }, {
      accounting: { cost: ({ model }, { input, output }) => model === "free" ? 0 : input * costs[0] + output * costs[1] },
      now: () => now, steady: () => now, failed: (key, message) => void state.failures.push(`${key}: ${message}`)
    })
    const call = (of: Target): CallRefusal | null => {
      const leave = interceptor.beforeAttempt(of)
      return Effect.isEffect(leave) ? Effect.runSync(leave) : leave
    }
    const settle = (id: string, of: Target, tokensIn = 0, tokensOut = 0, costUsd = 0) => interceptor.attemptSettled(ledgerRow({
      attemptId: id, provider: of.provider, model: of.model, connectionId: of.connection?.id ?? null, tokensIn, tokensOut, costUsd
    }))
    return { call, settle, unused: (of: Target) => interceptor.unused(of), close: () => interceptor.closed() }
  }
  return { limits, request, state, reserved: () => limits.counters.map(({ meter }) => meter.reserved), used: () => limits.counters.map(({ meter }) => meter.total) }
}

describe("what a call reserves", () => {
  const most = 1e15
  const elsewhere = rule("there", most, { within: ({ provider }) => provider === "elsewhere" })
  const here = rule("here", most, { within: ({ provider }) => provider === target().provider })
  const rows: ReadonlyArray<readonly [name: string, ask: Partial<LimitQuestion>, of: Target, costs: readonly [number, number], reserved: ReadonlyArray<number>]> = [
    ["is the prompt and the client's cap, where the rule holds", {}, target(), [0, 0], [30, 30, 0, 1]],
    ["is the model's cap where that is lower", {}, target({ maxOutputTokens: 15 }), [0, 0], [25, 25, 0, 1]],
    ["is the model's cap without one of the client", { maxOutputTokens: null }, target({ maxOutputTokens: 99 }), [0, 0], [109, 109, 0, 1]],
    ["is a usual answer without any cap", { maxOutputTokens: null }, target(), [0, 0], [4_106, 4_106, 0, 1]],
    ["is money in whole units, rounded up", {}, target(), [1e-11, 1.2e-10], [30, 30, 0, 25]],
    ["is one at least", { promptTokens: 0, maxOutputTokens: 0 }, target(), [0, 0], [1, 1, 0, 1]]
  ]
  it.each(rows)("%s", (_, ask, of, costs, reserved) => {
    const { request, reserved: held } = world([rule("all", most), here, elsewhere, usd("money", most)], costs)
    assert.isNull(request(ask).call(of))
    assert.deepStrictEqual(held(), reserved)
  })

  it("is twice the longest answer of late, which is slowly forgotten", () => {
    const { limits, request, reserved } = world([rule("all", most)])
    const after = (tokensOut: number) => {
      const one = request({ maxOutputTokens: null })
      assert.isNull(one.call(target()))
      const [held] = reserved()
      one.settle("a", target(), 1, tokensOut)
      return held
    }
    assert.deepStrictEqual([after(5_000), after(100), after(100), after(6_000), after(0)], [4_106, 10_010, 9_810, 9_614, 12_010])
    assert.strictEqual(limits.largestAnswer, 5_880)
  })

  it("of a request that must cost nothing is no money, and only what is free is called", () => {
    const { request, reserved } = world([rule("all", most), usd("money", most)], [1, 1])
    const one = request({ free: true })
    const refused = one.call(target())
    assert.deepStrictEqual([refused?.error.code, refused?.final, refused?.skip], ["budget_exceeded", false, { reason: "limit", until: null, detail: `limit: ${refused?.error.message}` }])
    assert.deepStrictEqual(reserved(), [0, 0])
    assert.isNull(one.call(free))
    assert.deepStrictEqual(reserved(), [30, 0])
  })
})

describe("a call that is settled", () => {
  const calls = [target({}, "one"), target({}, "two"), target({ model: "other" }, "one"), target({ provider: "elsewhere" }, "one")]
  const caps = [10, 100, 1_000, 2_000]
  it.each(calls.map((of, at) => [at, of] as const))("gives back its own reservation, beside others of the same request: %i", (at, of) => {
    const { request, reserved, used } = world([rule("all", 1e6)])
    const one = request({ maxOutputTokens: null })
    for (const [index, to] of calls.entries()) assert.isNull(one.call({ ...to, maxOutputTokens: caps[index] ?? 0 }))
    const all = 4 * question.promptTokens + 3_110
    assert.deepStrictEqual(reserved(), [all])
    one.settle("x", target({}, "three"), 5, 5)
    assert.deepStrictEqual(reserved(), [all], "a call that was never made has none")
    one.settle("a", of, 7, 5)
    assert.deepStrictEqual([reserved(), used()], [[all - question.promptTokens - (caps[at] ?? 0)], [12]])
    one.close()
    assert.deepStrictEqual([reserved(), used()], [[0], [12]])
  })

  it("books its tokens, both ways, and its cost", () => {
    const { request, used } = world([rule("all", 1e6), usd("money", 1e12)], [0, 0])
    const one = request()
    assert.isNull(one.call(target()))
    one.settle("a", target(), 7, 5, 0.25)
    assert.deepStrictEqual(used(), [12, 0.25e10])
  })
})

describe("a call that is not made after all", () => {
  it("gives back what it reserved at once, and nothing of another", () => {
    const { request, reserved } = world([rule("all", 1e6)])
    const one = request({ maxOutputTokens: null })
    const [here, there] = [target({ maxOutputTokens: 100 }), target({ maxOutputTokens: 1_000 }, "two")]
    for (const to of [here, there, here]) assert.isNull(one.call(to))
    assert.deepStrictEqual(reserved(), [110 + 1_010 + 110])
    one.unused(here)
    assert.deepStrictEqual(reserved(), [110 + 1_010])
    one.unused(target({}, "three"))
    assert.deepStrictEqual(reserved(), [110 + 1_010])
    one.settle("a", here, 1, 1)
    one.unused(there)
    assert.deepStrictEqual(reserved(), [0])
  })
})

describe("a call over a limit", () => {
  const scoped: Partial<AmountRule> = { within: () => true, scope: "model:m" }
  /** `spent` by an earlier request, `held` by one that runs. */
  const rows: ReadonlyArray<readonly [name: string, rules: ReadonlyArray<AmountRule>, spent: number, held: boolean, code: string, final: boolean, until: number]> = [
    ["of tokens that are used up is refused to the end, for every target", [rule("all", 50)], 50, false, "token_limit_exceeded", true, day],
    ["of one model's tokens may have another target", [rule("one", 50, scoped)], 50, false, "token_limit_exceeded", false, day],
    ["of money that is used up is refused to the end, for every target", [usd("money", 50)], 50, false, "budget_exceeded", true, day],
    ["of tokens that others hold may come soon, for no target before", [rule("all", 50)], 0, true, "token_limit_exceeded", true, now + 1_000],
    ["of money that others hold may have a cheaper target", [usd("money", 50)], 0, true, "budget_exceeded", false, now + 1_000],
    ["of two is told by what lasts longer, the second", [rule("day", 50), rule("month", 50, { window: { interval: "monthly", minutes: 0 } })], 50, false, "token_limit_exceeded", true, 31 * day],
    ["of two is told by what lasts longer, the first", [rule("month", 50, { window: { interval: "monthly", minutes: 0 } }), rule("day", 50)], 50, false, "token_limit_exceeded", true, 31 * day],
    ["is final when one of its rules is", [rule("one", 50, scoped), rule("all", 50)], 50, false, "token_limit_exceeded", true, day],
    ["is final when one of its rules is, in any order", [rule("all", 50), rule("one", 50, scoped)], 50, false, "token_limit_exceeded", true, day]
  ]
  it.each(rows)("%s", (_, rules, spent, held, code, final, until) => {
    // The rule of plenty reserves first: all of them or none.
    const { request, reserved } = world([rule("plenty", 1e9), ...rules], [1e-10, 1e-10])
    const one = request()
    assert.isNull(one.call(target()))
    if (!held) one.settle("a", target(), spent, 0, spent / 1e10)
    const before = reserved()
    const refused = request().call(target())
    assert.deepStrictEqual([refused?.error.code, refused?.final, refused?.skip], [code, final, { reason: "limit", until, detail: `limit: ${refused?.error.message}` }])
    assert.strictEqual(refused?.error.retryAfterSeconds, Math.ceil((until - now) / 1_000))
    assert.deepStrictEqual(reserved(), before, "a refused call holds nothing")
  })

  it("is refused as unknown while the store is away, whether it was never asked or has too little here", () => {
    const { request, state } = world([rule("all", 100)], [0, 0], true)
    state.down = true
    const first = request().call(target())
    assert.deepStrictEqual([first?.error.code, first?.final, first?.skip?.until], ["service_unavailable", true, now + 1_000])
    assert.deepStrictEqual(state.failures, ["key: gone"])
    state.down = false
    assert.isNull(request().call(target()))
    state.down = true
    assert.strictEqual(request({ promptTokens: 60 }).call(target())?.error.code, "service_unavailable")
    assert.lengthOf(state.failures, 2)
    state.down = false
    assert.strictEqual(request({ promptTokens: 60 }).call(target())?.error.code, "token_limit_exceeded")
  })
})
