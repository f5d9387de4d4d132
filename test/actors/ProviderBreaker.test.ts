/** Breakers trip exactly at their threshold, only for their codes, admit one probe, and end. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as ProviderBreaker from "#actors/resilience/ProviderBreaker.ts"
import { maxHintMs } from "#actors/resilience/retryHint.ts"

const settings: ProviderBreaker.BreakerRules = { degradationThreshold: 2, failureThreshold: 4, resetTimeoutMs: 1_000 }

const enter = (state: ProviderBreaker.State, now: number, model = "m") => ProviderBreaker.step(state, { _tag: "Enter", model }, settings, now)
const end = (state: ProviderBreaker.State, ticket: ProviderBreaker.Ticket, result: "ok" | "failed" | "neutral", now: number) =>
  ProviderBreaker.step(state, { _tag: "Ended", ticket, result, status: result === "failed" ? 503 : 200 }, settings, now)
const ticketOf = (reply: ProviderBreaker.BreakerReply): ProviderBreaker.Ticket => {
  assert.strictEqual(reply._tag, "Entered")
  return (reply as Extract<ProviderBreaker.BreakerReply, { _tag: "Entered" }>).ticket
}

/** One call after the other, each failing. */
const failing = (times: number, from: ProviderBreaker.State = ProviderBreaker.fresh, now = 0, model = "m"): ProviderBreaker.State => {
  let state = from
  for (let i = 0; i < times; i++) {
    const [reply, entered] = enter(state, now, model)
    state = end(entered, ticketOf(reply), "failed", now)[1]
  }
  return state
}

describe("a provider breaker", () => {
  it("is degraded at its first threshold and open at its second, not before", () => {
    assert.deepStrictEqual([0, 1, 2, 3, 4].map((times) => ProviderBreaker.phaseOf(failing(times), settings, 0)), ["closed", "closed", "degraded", "degraded", "open"])
  })

  it("counts failures in a row: an answer forgets those before it", () => {
    const [reply, entered] = enter(failing(3), 0)
    const [, state, intents] = end(entered, ticketOf(reply), "ok", 0)
    assert.deepStrictEqual([state.failures, state.only, intents], [0, null, []])
    assert.deepStrictEqual([failing(3, state), failing(4, state)].map((each) => ProviderBreaker.phaseOf(each, settings, 0)), ["degraded", "open"])
  })

  it("counts 408, 500, 502, 503, 504 and the network, and nothing else", () => {
    const counted = []
    for (let status = 100; status < 600; status++) if (ProviderBreaker.counts(status, false)) counted.push(status)
    assert.deepStrictEqual(counted, [408, 500, 502, 503, 504])
    assert.isTrue(ProviderBreaker.counts(0, true))
    assert.isFalse(ProviderBreaker.counts(0, false))
  })

  it("refuses while open and says until when", () => {
    const open = failing(4, ProviderBreaker.fresh, 50)
    assert.deepStrictEqual(enter(open, 1_049)[0], { _tag: "Refused", reason: "breaker-open", until: 1_050 })
    assert.deepStrictEqual(ProviderBreaker.refusalOf(open, "m", 1_049), { _tag: "Refused", reason: "breaker-open", until: 1_050 })
    assert.isNull(ProviderBreaker.refusalOf(open, "m", 1_050))
  })

  it("admits one probe afterwards, whose success closes and whose failure opens again", () => {
    const [reply, probing] = enter(failing(4), 1_000)
    const probe = ticketOf(reply)
    assert.isTrue(probe.probe)
    assert.strictEqual(enter(probing, 1_000)[0]._tag, "Refused")
    const [, closed, forget] = end(probing, probe, "ok", 1_001)
    assert.strictEqual(ProviderBreaker.phaseOf(closed, settings, 1_001), "closed")
    assert.strictEqual(closed.failures, 0)
    assert.deepStrictEqual(forget, ["forget"])
    const [, open, save] = end(probing, probe, "failed", 1_001)
    assert.strictEqual(open.openUntil, 2_001)
    assert.deepStrictEqual(save, ["save"])
  })

  it("a probe without a verdict gives its place back and leaves the breaker half-open", () => {
    const [reply, probing] = enter(failing(4), 1_000)
    const [, state] = end(probing, ticketOf(reply), "neutral", 1_001)
    assert.strictEqual(ProviderBreaker.phaseOf(state, settings, 1_001), "half-open")
    assert.isTrue(ticketOf(enter(state, 1_001)[0]).probe)
  })

  it("a lost probe's place is given to another, and its late word decides nothing", () => {
    const [first, probing] = enter(failing(4), 1_000)
    assert.strictEqual(enter(probing, 1_000 + ProviderBreaker.probeLeaseMs - 1)[0]._tag, "Refused")
    const [second, again] = enter(probing, 1_000 + ProviderBreaker.probeLeaseMs)
    assert.isTrue(ticketOf(second).probe)
    assert.strictEqual(end(again, ticketOf(first), "ok", 700_000)[1], again)
    assert.strictEqual(ProviderBreaker.phaseOf(end(again, ticketOf(second), "ok", 700_000)[1], settings, 700_000), "closed")
  })

  it("stragglers of an outage neither prolong it nor open the breaker again", () => {
    const [reply, before] = enter(ProviderBreaker.fresh, 0)
    const straggler = ticketOf(reply)
    const open = failing(4, before)
    assert.strictEqual(end(open, straggler, "failed", 500)[1], open)
    const [probe, probing] = enter(open, 1_000)
    const closed = end(probing, ticketOf(probe), "ok", 1_001)[1]
    assert.strictEqual(end(closed, straggler, "failed", 1_002)[1], closed)
  })

  it("opened by one model refuses that one alone, until others fail as often without an answer between", () => {
    const open = failing(4, ProviderBreaker.fresh, 50)
    assert.strictEqual(open.only, "m")
    assert.isNull(ProviderBreaker.refusalOf(open, "n", 60))
    assert.deepStrictEqual([ProviderBreaker.phaseFor(open, "n", settings, 60), ProviderBreaker.phaseFor(open, "m", settings, 60)], ["closed", "open"])
    const three = failing(3, open, 60, "n")
    assert.strictEqual(ProviderBreaker.phaseFor(three, "n", settings, 60), "degraded")
    assert.isNull(ProviderBreaker.refusalOf(three, "n", 60))
    const eased = end(three, ticketOf(enter(three, 60, "o")[0]), "ok", 60)[1]
    assert.strictEqual(failing(3, eased, 60, "n").only, "m")
    const whole = failing(4, open, 60, "n")
    assert.deepInclude(whole, { only: null, openUntil: 1_060 })
    assert.isNotNull(ProviderBreaker.refusalOf(whole, "o", 60))
    assert.deepInclude(end(open, ProviderBreaker.ticketOf(open, "n"), "ok", 60)[1], { openUntil: 1_050 }, "the answer of another model says nothing of this one")
  })

  it("opened by several refuses all of them, and an answer to a call that it let in all the same closes it", () => {
    const mixed = failing(2, failing(2, ProviderBreaker.fresh, 0, "m"), 0, "n")
    assert.isNotNull(ProviderBreaker.refusalOf(mixed, "o", 1))
    assert.strictEqual(end(mixed, ProviderBreaker.ticketOf(mixed, "o"), "failed", 1)[1], mixed)
    assert.strictEqual(ProviderBreaker.phaseOf(end(mixed, ProviderBreaker.ticketOf(mixed, "o"), "ok", 1)[1], settings, 1), "closed")
  })

  it("a reset closes it at once, and forgets its record", () => {
    const [, state, intents] = ProviderBreaker.step(failing(4), { _tag: "Reset" }, settings, 10)
    assert.strictEqual(ProviderBreaker.phaseOf(state, settings, 10), "closed")
    assert.deepStrictEqual(intents, ["forget"])
  })
})

const Act = Schema.Union([
  Schema.Struct({ act: Schema.Literal("enter"), wait: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 700 })) }),
  Schema.Struct({
    act: Schema.Literal("end"), which: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 20 })),
    result: Schema.Literals(["ok", "failed", "neutral", "failed", "failed"])
  }),
  Schema.Struct({ act: Schema.Literal("reset") })
])

describe("any history of calls", () => {
  it.prop("keeps to a plain model of the breaker", { acts: Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(120))) }, ({ acts }) => {
    let now = 0
    let state = ProviderBreaker.fresh
    const running: Array<ProviderBreaker.Ticket> = []
    // The model: failures in a row of this era, and when it opened.
    let row = 0
    let opened: number | null = null
    let probe: ProviderBreaker.Ticket | null = null
    let era = 0
    for (const act of acts) {
      if (act.act === "enter") {
        now += act.wait
        const [reply, next] = enter(state, now)
        state = next
        if (reply._tag === "Entered") {
          running.push(reply.ticket)
          assert.strictEqual(reply.ticket.probe, opened !== null)
          if (opened !== null) {
            assert.isAtLeast(now, opened + settings.resetTimeoutMs)
            assert.isNull(probe, "one probe at a time")
            probe = reply.ticket
          }
        } else {
          assert.isNotNull(opened, "a closed breaker refuses nobody")
          // Always ends: after the timeout only a running probe keeps others out.
          if (now >= (opened as number) + settings.resetTimeoutMs) assert.isNotNull(probe)
        }
      } else if (act.act === "end") {
        const ticket = running.splice(act.which % Math.max(1, running.length), 1)[0]
        if (ticket === undefined) continue
        const until = state.openUntil
        state = end(state, ticket, act.result, now)[1]
        if (until !== null && state.openUntil !== null) assert.isAtLeast(state.openUntil, until, "never shortened")
        if (ticket === probe) {
          probe = null
          if (act.result === "ok") {
            opened = null
            row = 0
            era++
          } else if (act.result === "failed") {
            opened = now
            era++
          }
        } else if (opened === null && ticket.era === era) {
          if (act.result === "ok") row = 0
          if (act.result === "failed" && ++row >= settings.failureThreshold) {
            opened = now
            era++
          }
        }
      } else {
        state = ProviderBreaker.step(state, { _tag: "Reset" }, settings, now)[1]
        opened = null
        probe = null
        row = 0
        era++
      }
      const expected = opened !== null
        ? now < opened + settings.resetTimeoutMs ? "open" : "half-open"
        : row >= settings.degradationThreshold ? "degraded" : "closed"
      assert.strictEqual(ProviderBreaker.phaseOf(state, settings, now), expected)
    }
  }, { arbitrary: { size: 120 } })

  describe("that is open for one model", () => {
    const [early, closed] = enter(ProviderBreaker.fresh, 0)
    const open = failing(4, closed)
    const own = ProviderBreaker.ticketOf(open, "m")
    const other = ProviderBreaker.ticketOf(open, "other")

    it("hears nothing of the same model's other calls, however often they fail, nor of calls from before", () => {
      assert.strictEqual(open.only, "m")
      for (const result of ["failed", "ok", "neutral"] as const) {
        let state = open
        for (let times = 0; times < 2 * settings.failureThreshold; times++) state = end(state, own, result, 5)[1]
        assert.strictEqual(state, open, result)
        assert.strictEqual(end(open, ticketOf(early), result, 5)[1], open, `${result} of a call from before`)
      }
    })

    it("opens for all when another model fails so often in a row, too", () => {
      const states = [open]
      for (let times = 0; times < settings.failureThreshold; times++) states.push(end(states.at(-1) as ProviderBreaker.State, other, "failed", 500)[1])
      assert.deepStrictEqual(states.map((state) => ProviderBreaker.phaseFor(state, "other", settings, 500)), ["closed", "closed", "degraded", "degraded", "open"])
      assert.deepStrictEqual(states.map(({ only, openUntil }) => [only, openUntil]), [["m", 1_000], ["m", 1_000], ["m", 1_000], ["m", 1_000], [null, 1_500]])
      const answered = end(states[3] as ProviderBreaker.State, other, "ok", 500)[1]
      assert.deepStrictEqual([answered.others, answered.only, answered.openUntil], [0, "m", 1_000])
      assert.strictEqual(end(open, other, "ok", 500)[1], open)
    })

    it("is degraded for every model while it is closed", () => {
      assert.deepStrictEqual(["m", "other"].map((model) => ProviderBreaker.phaseFor(failing(2), model, settings, 0)), ["degraded", "degraded"])
    })
  })

  it("a probe decides once: its second word, and that of one that was given up, change nothing", () => {
    const [reply, probing] = enter(failing(4), 1_000)
    const probe = ticketOf(reply)
    const [, undecided] = end(probing, probe, "neutral", 1_001)
    for (const result of ["ok", "failed", "neutral"] as const) assert.strictEqual(end(undecided, probe, result, 1_002)[1], undecided, result)
    const [next, again] = enter(undecided, 1_002)
    assert.isTrue(ticketOf(next).probe)
    const [successor, replaced] = enter(again, 1_000_000)
    assert.notStrictEqual(ticketOf(successor).era, probe.era, "the lost probe's place is given away")
    for (const result of ["ok", "failed"] as const) assert.strictEqual(end(replaced, ticketOf(next), result, 1_000_001)[1], replaced, result)
    const [, shut] = end(replaced, ticketOf(successor), "failed", 1_000_001)
    const [, closed] = end(replaced, ticketOf(successor), "ok", 1_000_001)
    for (const state of [shut, closed]) {
      for (const late of [probe, ticketOf(next), ticketOf(successor)]) assert.strictEqual(end(state, late, "failed", 1_000_002)[1], state)
    }
  })

  const Hold = Schema.Struct({ holdMs: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 2 * maxHintMs })), now: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 })) })
  it.prop("stays open until the end that the upstream named, and never shorter than its own time", { hold: Arbitrary.schema(Hold) }, ({ hold: { holdMs, now } }) => {
    const [reply, entered] = enter(failing(3, ProviderBreaker.fresh, now), now)
    const [, state] = ProviderBreaker.step(entered, { _tag: "Ended", ticket: ticketOf(reply), result: "failed", status: 429, holdMs }, settings, now)
    assert.strictEqual(state.openUntil, now + Math.min(maxHintMs, Math.max(settings.resetTimeoutMs, holdMs)))
  })
})
