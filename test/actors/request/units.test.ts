/** What an attempt used, tokens and what is beside them: reported, expected, estimated, or nothing. */
import { assert, describe, it } from "@effect/vitest"
import type { Inbound } from "#actors/request/Inbound.ts"
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import * as RequestFacts from "#actors/request/requestFacts.ts"
import type { Outcome } from "#schemas/records/LedgerRow.ts"
import * as Units from "#schemas/records/Units.ts"

const ended: AttemptEnd = {
  outcome: "completed", error: null, retryable: false, phase: null, upstreamStatus: 200, usage: null, units: null, usageIsPartial: false, outputText: () => "",
  committed: false, opened: true, repeatable: false, rejected: false, terminated: false, tap: null, bytesOut: 0, answer: new Uint8Array(1), contentType: null, firstContentAt: null, sentAt: null, headAt: null, endedAt: 0, headers: []
}
const asked = { units: { image: 4 } }
const free = { price: null }

describe("the units of an attempt", () => {
  it("are what its answer says, else what was expected", () => {
    assert.deepStrictEqual(RequestFacts.unitsOf({ ...ended, units: { image: 3 } }, "completed", asked, free), { image: 3 })
    assert.deepStrictEqual(RequestFacts.unitsOf(ended, "completed", asked, free), { image: 4 })
    assert.deepStrictEqual(RequestFacts.unitsOf({ ...ended, units: { image: Number.NaN, second: 2 } }, "completed", asked, free), { second: 2 })
  })

  it("are none when the model did not work, or no model was asked", () => {
    const failed = { ...ended, answer: null }
    assert.isNull(RequestFacts.unitsOf(failed, "upstream-status", asked, { price: { per_request: 1 } }))
    assert.isNull(RequestFacts.unitsOf(ended, "completed", { ...asked, tokenless: true }, { price: { per_request: 1 } }))
    assert.deepStrictEqual(RequestFacts.unitsOf(failed, "client-abort", asked, free), { image: 4 })
  })

  it("count the request where it has a price", () => {
    assert.deepStrictEqual(RequestFacts.unitsOf(ended, "completed", { units: null }, { price: { per_request: 1 } }), { request: 1 })
    assert.deepStrictEqual(RequestFacts.unitsOf(ended, "completed", asked, { price: { per_request: 1 } }), { image: 4, request: 1 })
    assert.isNull(RequestFacts.unitsOf(ended, "completed", { units: null }, { price: { per_image: 1 } }))
  })

  it("are unpriced without a price for tokens or any of them", () => {
    assert.isTrue(Units.unpriced({ image: 1 }, null))
    assert.isTrue(Units.unpriced({ image: 1 }, { per_page: 1 }))
    assert.isFalse(Units.unpriced({ image: 1 }, { input: 1 }))
    assert.isFalse(Units.unpriced({ search_unit: 1, document: 9 }, { per_search_unit: 0 }))
    assert.isFalse(Units.unpriced(null, null))
  })
})

describe("the tokens of an attempt", () => {
  const prompt = "p".repeat(30)
  const inbound = { promptText: () => prompt } as unknown as Inbound
  /** A token per character. */
  const accounting = { cost: () => 0, estimate: (text: string) => text.length }
  const most = 1_000_000_000
  const counts = (input: number, output: number, cacheRead = 0, cacheCreation = 0, reasoning = 0) => ({ input, output, cacheRead, cacheCreation, reasoning })
  const none = counts(0, 0)
  const said = (text: string) => () => text
  const failed = { ...ended, answer: null }
  const rows: ReadonlyArray<readonly [name: string, end: Partial<AttemptEnd>, outcome: Outcome, usage: typeof none, estimated: boolean]> = [
    ["are what the upstream counted", { usage: counts(7, 5, 2, 1, 3), outputText: said("hi") }, "completed", counts(7, 5, 2, 1, 3), false],
    ["are none of a call that failed before it worked", { ...failed, outputText: said("") }, "upstream-status", none, false],
    ["are counted of a call that failed", { ...failed, usage: counts(7, 0) }, "upstream-status", counts(7, 0), false],
    ["are estimated when nobody counted", { outputText: said("hello") }, "completed", counts(30, 5), true],
    ["are estimated when zeros were counted", { usage: none, outputText: said("hello") }, "completed", counts(30, 5), true],
    ["are estimated of a stream that had begun", { ...failed, committed: true, outputText: said("hello") }, "upstream-reset", counts(30, 5), true],
    ["are estimated of an answer that was refused", { ...failed, rejected: true, outputText: said("hello") }, "policy", counts(30, 5), true],
    ["are estimated of a call whose client left", failed, "client-abort", counts(30, 0), true],
    ["are none of one whose client left before it began", { ...failed, opened: false }, "client-abort", none, false],
    ["are estimated of a call that was cut at work", { ...failed, sentAt: 5 }, "policy", counts(30, 0), true],
    ["are none of a call that was cut before it was sent", { ...failed, sentAt: null }, "policy", none, false],
    ["are none of a call whose upstream broke, sent or not", { ...failed, sentAt: 5 }, "upstream-reset", none, false],
    ["of a part are the larger of count and estimate", { usage: counts(9, 2), usageIsPartial: true, outputText: said("hello") }, "client-abort", counts(9, 5), true],
    ["of a part keep a count above the estimate", { usage: counts(9, 8), usageIsPartial: true, outputText: said("hello") }, "client-abort", counts(9, 8), true],
    ["have the prompt estimated where only the answer was counted", { usage: counts(0, 8), outputText: said("hello") }, "completed", counts(30, 8), true],
    ["have the answer estimated where only the prompt was counted", { usage: counts(7, 0), outputText: said("hello") }, "completed", counts(7, 5), true],
    ["have no answer where there is none", { usage: counts(7, 0), outputText: said("") }, "completed", counts(7, 0), false],
    ["believe one token of a short answer", { usage: counts(7, 1), outputText: said("x".repeat(64)) }, "completed", counts(7, 1), false],
    ["do not believe one token of a long answer", { usage: counts(7, 1), outputText: said("x".repeat(65)) }, "completed", counts(7, 65), true],
    ["believe two tokens of a long answer", { usage: counts(7, 2), outputText: said("x".repeat(65)) }, "completed", counts(7, 2), false],
    ["count a prompt that was read from a cache", { usage: counts(0, 0, 4), outputText: said("") }, "completed", counts(0, 0, 4), false],
    ["count a prompt that was written to a cache", { usage: counts(0, 0, 0, 4), outputText: said("") }, "completed", counts(0, 0, 0, 4), false],
    ["are as many as a call may have", { usage: counts(most, most, most, most, most) }, "completed", counts(most, most, most, most, most), false],
    ...[most + 1, -1, Number.NaN].flatMap((no): ReadonlyArray<readonly [string, Partial<AttemptEnd>, Outcome, typeof none, boolean]> => [
      [`are estimated instead of an input of ${no}`, { usage: counts(no, 5), outputText: said("hello") }, "completed", counts(30, 5), true],
      [`are estimated instead of an output of ${no}`, { usage: counts(7, no), outputText: said("hello") }, "completed", counts(7, 5), true],
      [`are without a cache of ${no}`, { usage: counts(7, 5, no, no, no) }, "completed", counts(7, 5), false],
      [`are without reasoning of ${no}`, { usage: counts(7, 5, 1, 1, no) }, "completed", counts(7, 5, 1, 1), false],
      [`are without what is written to a cache of ${no}`, { usage: counts(7, 5, 1, no) }, "completed", counts(7, 5, 1), false],
      [`are estimated when all is ${no}`, { usage: counts(no, no, 3), outputText: said("hello") }, "completed", counts(30, 5), true]
    ])
  ]
  it.each(rows)("%s", (_, end, outcome, usage, estimated) => {
    assert.deepStrictEqual(RequestFacts.usageOf({ ...ended, ...end }, outcome, inbound, accounting), { usage, estimated })
  })

  it("are none where no model is asked", () => {
    assert.deepStrictEqual(RequestFacts.usageOf({ ...ended, usage: counts(7, 5) }, "completed", { ...inbound, tokenless: true }, accounting), { usage: none, estimated: false })
  })
})

describe("the deadlines of an attempt", () => {
  const timeouts = { connect: 1, headers: 50, firstEvent: 60, idle: 7, total: 1_000 }
  const of = (over: Partial<typeof timeouts>, targetTimeoutMs: number | null, attempts: number, now = 400) =>
    RequestFacts.timeoutsOf({ ...timeouts, ...over }, { targetTimeoutMs } as Parameters<typeof RequestFacts.timeoutsOf>[1], attempts, 100, now)

  it("share one total, of which later attempts have the rest, and one ms at least", () => {
    assert.deepStrictEqual(of({}, null, 1), timeouts)
    assert.deepStrictEqual(of({}, null, 2), { ...timeouts, total: 700 })
    assert.deepStrictEqual([1_099, 1_100, 5_000].map((now) => of({}, null, 2, now).total), [1, 1, 1])
    assert.deepStrictEqual(of({ total: 0 }, null, 2), { ...timeouts, total: 0 })
  })

  it("begin within those of the target, where that has its own", () => {
    assert.deepStrictEqual(of({}, 55, 1), { ...timeouts, headers: 50, firstEvent: 55, total: 700 })
    assert.deepStrictEqual(of({ headers: 0, firstEvent: 0, total: 0 }, 55, 1), { ...timeouts, headers: 55, firstEvent: 55, total: 0 })
  })
})
