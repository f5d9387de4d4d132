/** Requests a day, tokens a minute and tokens a day of a connection: never above but for what calls in flight use more, and open again. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Volume from "#actors/resilience/Volume.ts"

const between = (minimum: number, maximum: number) => Schema.Int.check(Schema.isBetween({ minimum, maximum }))
const rules = Arbitrary.schema(Schema.Struct({ requestsPerDay: between(0, 12), tokensPerMinute: between(0, 5_000), tokensPerDay: between(0, 20_000) }))
/** A call that comes after a pause, uses tokens, and is settled when so many others have begun. */
const calls = Arbitrary.schema(Schema.Array(Schema.Struct({ pauseMs: between(0, 20_000_000), tokens: between(0, 3_000), open: between(0, 3) })).check(Schema.isMaxLength(80)))
const nodes = Arbitrary.schema(between(1, 7))

type Call = { readonly pauseMs: number; readonly tokens: number; readonly open: number }
interface Settled {
  readonly at: number
  readonly tokens: number
}

const begin = 1_700_000_000_000
const sum = (settled: ReadonlyArray<Settled>, now: number, ms: number, of: (one: Settled) => number) =>
  settled.filter(({ at }) => at > now - ms && at <= now).reduce((total, one) => total + of(one), 0)

/** Begins what is admitted; `each` sees every question with what was really used and what is in flight. */
const play = (limits: Volume.VolumeRules, asked: ReadonlyArray<Call>, each: (full: Volume.Full | null, now: number, settled: ReadonlyArray<Settled>, inFlight: number, state: Volume.State) => void) => {
  let state = Volume.idle
  let now = begin
  const settled: Array<Settled> = []
  let running: Array<{ readonly tokens: number; left: number }> = []
  const settle = () => {
    for (const { tokens } of running.filter(({ left }) => left <= 0)) {
      settled.push({ at: now, tokens })
      state = Volume.spent(state, tokens, now)
    }
    running = running.filter(({ left }) => left > 0)
  }
  for (const { open, pauseMs, tokens } of asked) {
    now += pauseMs
    settle()
    const full = Volume.fullOf(state, limits, running.length, now)
    each(full, now, settled, running.length, state)
    for (const one of running) one.left--
    if (full === null) running.push({ tokens, left: open })
  }
}

describe("volume", () => {
  it.prop("no day begins with more calls than the limit, those in flight among them", { rules, calls }, ({ calls, rules }) => {
    if (rules.requestsPerDay === 0) return
    play(rules, calls, (full, now, settled, inFlight) => {
      if (full === null) assert.isBelow(sum(settled, now, Volume.dayMs, () => 1) + inFlight, rules.requestsPerDay)
    })
  }, { arbitrary: { size: 100 } })

  it.prop("no call begins while the tokens of the minute or the day reach their limit", { rules, calls }, ({ calls, rules }) => {
    play(rules, calls, (full, now, settled) => {
      if (full !== null) return
      if (rules.tokensPerMinute > 0) assert.isBelow(sum(settled, now, Volume.minuteMs, ({ tokens }) => tokens), rules.tokensPerMinute)
      if (rules.tokensPerDay > 0) assert.isBelow(sum(settled, now, Volume.dayMs, ({ tokens }) => tokens), rules.tokensPerDay)
    })
  }, { arbitrary: { size: 100 } })

  it.prop("what is used of a window and a sixtieth, and reserved, is all that keeps a call out", { rules, calls }, ({ calls, rules }) => {
    play(rules, calls, (full, now, settled, inFlight, state) => {
      const reserved = Math.ceil(inFlight * state.perCall)
      const within = (limit: number, ms: number, more: number, of: (one: Settled) => number) => limit === 0 || sum(settled, now, ms * 61 / 60, of) + more < limit
      if (within(rules.requestsPerDay, Volume.dayMs, inFlight, () => 1) && within(rules.tokensPerDay, Volume.dayMs, reserved, ({ tokens }) => tokens)
        && within(rules.tokensPerMinute, Volume.minuteMs, reserved, ({ tokens }) => tokens)) assert.isNull(full)
    })
  }, { arbitrary: { size: 100 } })

  it.prop("the end that it names is the end: not before it, and within a day", { rules, calls }, ({ calls, rules }) => {
    play(rules, calls, (full, now, _settled, _inFlight, state) => {
      const alone = Volume.fullOf(state, rules, 0, now)
      if (full !== null && full.until === null) assert.isNull(alone)
      if (alone === null || alone.until === null) return assert.isNull(alone)
      assert.isAbove(alone.until, now)
      assert.isAtMost(alone.until, now + Volume.dayMs)
      assert.isNull(Volume.fullOf(state, rules, 0, alone.until))
      assert.isNotNull(Volume.fullOf(state, rules, 0, alone.until - 1))
    })
  }, { arbitrary: { size: 100 } })

  it.prop("the parts of all nodes are the whole day, but for the rounding of each", { calls, nodes }, ({ calls, nodes }) => {
    const slots = calls.map(({ open, tokens }, at): Volume.DaySlot => ({ begin: begin + at * Volume.daySlotMs, last: begin + at * Volume.daySlotMs + 5, requests: open, tokens }))
    const now = begin + calls.length * Volume.daySlotMs
    const state = Volume.read(Volume.spent(Volume.idle, 1_000, now), slots.slice(-60), nodes)
    for (const [window, of] of [[state.dayRequests, "requests"], [state.dayTokens, "tokens"]] as const) {
      const whole = slots.slice(-60).reduce((total, slot) => total + slot[of], 0)
      const part = window.slots.reduce((total, [, count]) => total + count, 0)
      assert.strictEqual(part, Math.ceil(whole / nodes))
    }
    assert.strictEqual(state.minuteTokens.slots.length, 1)
  }, { arbitrary: { size: 100 } })

  it("a call in flight counts as one request and as the tokens of a usual call", () => {
    const limits = { requestsPerDay: 0, tokensPerMinute: 1_500, tokensPerDay: 0 }
    assert.isNull(Volume.fullOf(Volume.idle, limits, 1, begin))
    assert.deepStrictEqual(Volume.fullOf(Volume.idle, limits, 2, begin), { until: null, limit: 1_500, unit: "tokens a minute" })
    assert.deepStrictEqual(Volume.fullOf(Volume.idle, { ...limits, requestsPerDay: 2 }, 2, begin), { until: null, limit: 2, unit: "requests a day" })
    const small = [10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10, 10].reduce((state, tokens) => Volume.spent(state, tokens, begin - Volume.minuteMs), Volume.idle)
    assert.isBelow(small.perCall, 25)
    assert.isNull(Volume.fullOf(small, limits, 50, begin))
  })
})
