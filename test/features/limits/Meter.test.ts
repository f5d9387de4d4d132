/** The pure transitions of a meter; histories of several nodes are in `histories.test.ts`. */
import { assert, describe, it } from "@effect/vitest"
import * as Blocks from "#actors/limits/Blocks.ts"
import * as Meter from "#actors/limits/Meter.ts"
import { RuleCounter } from "#actors/limits/RuleCounter.ts"
import type { BlockDraw } from "#actors/limits/ports/LimitStore.ts"

const window = { interval: "daily", minutes: 0 } as const
const terms = { leaseMs: 1_000, share: 4 }
const drawn = (meter: Meter.Meter, held: number, fields: Partial<Extract<Meter.MeterEvent, { _tag: "Drawn" }>> = {}): Meter.Meter =>
  Meter.step(meter, { _tag: "Drawn", start: meter.start, booked: 0, reported: 0, held, heldUntil: Infinity, sent: 0, ...fields }, 0)[1]
const draw = (fields: Partial<BlockDraw>): BlockDraw => ({ id: "m", end: 1, limit: 100, total: 0, reserved: 0, need: 0, want: 0, seen: null, settled: [], ...fields })

describe("blocks", () => {
  const ask = (blocks: Blocks.Blocks | null, node: string, fields: Partial<BlockDraw>, now: number) => Blocks.exchange(blocks, draw(fields), node, terms, now)

  it("an expired block is told and stays spent, until the ledger has said all of its node or the node speaks", () => {
    const [, first] = ask(null, "a", { total: 5, need: 40, want: 40, seen: new Map() }, 0)
    const [living] = ask(first, "b", { need: 100, want: 100 }, 999)
    assert.deepStrictEqual([living.held, living.unsettled], [55, []])
    const [dead, after] = ask(first, "b", { need: 100, want: 100 }, 1_000)
    assert.deepStrictEqual([dead.held, dead.unsettled], [55, [{ node: "a", amount: 40, grantedAt: 0, forMs: 0 }]])
    assert.strictEqual(ask(after, "b", { need: 100, want: 100, seen: new Map([["a", 20]]), settled: ["a"] }, 1_000)[0].held, 80)
    // Not its last word: what the ledger knows counts, and so does the block.
    assert.deepInclude(ask(after, "b", { need: 100, want: 100, seen: new Map([["a", 20]]) }, 1_000)[0], { booked: 20, held: 40 })
    const [late] = ask(after, "a", { total: 12 }, 9_000)
    assert.deepInclude(late, { booked: 12, reported: 12, held: 0 })
  })

  it("a living block is not settled, whoever says so", () => {
    const [, first] = ask(null, "a", { need: 40, want: 40, seen: new Map() }, 0)
    assert.strictEqual(ask(first, "b", { need: 100, want: 100, seen: new Map(), settled: ["a"] }, 999)[0].held, 60)
  })

  it("the most that was said of a node counts, in any order", () => {
    let blocks: Blocks.Blocks | null = null
    const said: ReadonlyArray<readonly [node: string, fields: Partial<BlockDraw>]> = [
      ["a", { total: 7, seen: new Map([["b", 10]]) }], ["b", { total: 4 }], ["a", { total: 7 }], ["a", { total: 3 }], ["b", { total: 12, seen: new Map([["a", 9]]) }]
    ]
    const booked: Array<number> = []
    for (const [node, fields] of said) {
      const [answer, next] = ask(blocks, node, fields, 0)
      booked.push(answer.booked)
      blocks = next
    }
    assert.deepStrictEqual(booked, [17, 17, 17, 17, 21])
  })

  it("what calls in flight reserved counts, whatever is left, and new ones get only what is", () => {
    const [answer, blocks] = ask(null, "a", { limit: 10, reserved: 25, need: 26, want: 26, seen: new Map([["a", 4]]) }, 0)
    assert.strictEqual(answer.held, 6)
    assert.strictEqual(ask(blocks, "b", { limit: 40, need: 40, want: 40 }, 0)[0].held, 11)
  })
})

describe("a meter", () => {
  it("learns from the store what the ledger knew of it beyond its own count, and counts on from there", () => {
    const meter = drawn(Meter.make(window, 100, 0), 30, { booked: 40, reported: 25, sent: 0 })
    assert.deepStrictEqual([meter.total, meter.reported, Meter.used(meter), Meter.available(meter, 0)], [25, 25, 40, 30])
    const [, reserved] = Meter.step(meter, { _tag: "Reserve", amount: 10 }, 0)
    const [, settled] = Meter.step(reserved, { _tag: "Settle", reservation: { start: 0, amount: 10 }, actual: 8 }, 0)
    assert.deepStrictEqual([settled.total, Meter.unreported(settled), Meter.used(settled), Meter.available(settled, 0)], [33, 8, 48, 22])
  })

  it("that gave its block back uses it no more", () => {
    const meter = Meter.step(drawn(Meter.make(window, 100, 0), 30), { _tag: "Yield" }, 0)[1]
    assert.deepStrictEqual(Meter.step(meter, { _tag: "Reserve", amount: 1 }, 0)[0], { _tag: "Refused", reason: "short" })
  })

  it("whose block has expired refuses, by the clock that it is given", () => {
    const meter = drawn(Meter.make(window, 100, 0), 30, { heldUntil: 500 })
    assert.strictEqual(Meter.step(meter, { _tag: "Reserve", amount: 1 }, 499)[0]._tag, "Reserved")
    assert.deepStrictEqual(Meter.step(meter, { _tag: "Reserve", amount: 1 }, 500)[0], { _tag: "Refused", reason: "unknown" })
  })

  it("the limit is crossed once in a window, and again in the next", () => {
    let meter = drawn(Meter.make(window, 10, 0), 10)
    const spend = () => {
      const [reply, reserved] = Meter.step(meter, { _tag: "Reserve", amount: 10 }, 0)
      assert.strictEqual(reply._tag, "Reserved")
      const [told, after] = Meter.step(reserved, { _tag: "Settle", reservation: { start: meter.start, amount: 10 }, actual: 12 }, 0)
      meter = after
      return told
    }
    assert.deepStrictEqual(spend(), { _tag: "Done", crossed: true })
    assert.deepStrictEqual(Meter.step(meter, { _tag: "Reserve", amount: 1 }, 0)[0], { _tag: "Refused", reason: "exhausted" })
    const tomorrow = 86_400_000
    meter = Meter.rolled(meter, window, tomorrow)
    assert.strictEqual(Meter.used(meter), 0)
    meter = drawn(meter, 10)
    assert.deepStrictEqual(spend(), { _tag: "Done", crossed: true })
  })

  it("a request may begin on less than it needs only while nobody else of its node is in flight", () => {
    const full = drawn(Meter.make(window, 10, 0), 10)
    const [edge, busy] = Meter.step(full, { _tag: "Reserve", amount: 25 }, 0)
    assert.deepStrictEqual(edge, { _tag: "Reserved", reservation: { start: 0, amount: 25 } })
    assert.deepStrictEqual(Meter.step(busy, { _tag: "Reserve", amount: 1 }, 0)[0], { _tag: "Refused", reason: "short" })
    const small = Meter.step(full, { _tag: "Reserve", amount: 4 }, 0)[1]
    assert.deepStrictEqual(Meter.step(small, { _tag: "Reserve", amount: 7 }, 0)[0], { _tag: "Refused", reason: "short" })
    assert.strictEqual(Meter.step(small, { _tag: "Reserve", amount: 6 }, 0)[0]._tag, "Reserved")
  })

  it("after its requests are over one may begin on the rest again, whatever it needs, and none on nothing", () => {
    for (const _tag of ["Settle", "Release"] as const) {
      let meter = drawn(Meter.make(window, 10, 0), 10)
      for (let turn = 0; turn < 3; turn++) {
        const [reply, busy] = Meter.step(meter, { _tag: "Reserve", amount: 25 }, 0)
        assert.deepStrictEqual(reply, { _tag: "Reserved", reservation: { start: 0, amount: 25 } })
        meter = Meter.step(busy, { _tag, reservation: { start: 0, amount: 25 }, actual: 3 }, 0)[1]
      }
      assert.deepStrictEqual([meter.inFlight, meter.reserved, meter.total], [0, 0, _tag === "Settle" ? 9 : 0])
    }
    const last = drawn(Meter.make(window, 10, 0), 1)
    assert.strictEqual(Meter.step(last, { _tag: "Reserve", amount: 25 }, 0)[0]._tag, "Reserved")
    assert.deepStrictEqual(Meter.step(drawn(last, 0), { _tag: "Reserve", amount: 1 }, 0)[0], { _tag: "Refused", reason: "short" })
  })

  it("reserves whole amounts, at least one, and is crossed by the last of its limit", () => {
    const meter = drawn(Meter.make(window, 10, 0), 10)
    assert.deepStrictEqual([0, -3, 1, 1.2].map((amount) => Meter.step(meter, { _tag: "Reserve", amount }, 0)[1].reserved), [1, 1, 1, 2])
    const [, busy] = Meter.step(meter, { _tag: "Reserve", amount: 10 }, 0)
    const settled = (actual: number) => Meter.step(busy, { _tag: "Settle", reservation: { start: 0, amount: 10 }, actual }, 0)[0]
    assert.deepStrictEqual([settled(9), settled(10)], [{ _tag: "Done", crossed: false }, { _tag: "Done", crossed: true }])
    assert.deepStrictEqual([-1, 0, 0.4, 0.6, 2.5].map((actual) => Meter.step(busy, { _tag: "Settle", reservation: { start: 0, amount: 10 }, actual }, 0)[1].total), [0, 0, 0, 1, 3])
    const none = Meter.make(window, 0, 0)
    const heard = (meter: Meter.Meter, booked: number) =>
      Meter.step(meter, { _tag: "Drawn", start: meter.start, booked, reported: 0, held: 0, heldUntil: Infinity, sent: 0 }, 0)[0]
    assert.deepStrictEqual(heard(none, 0), { _tag: "Done", crossed: false }, "a limit of nothing is not used up by use")
    assert.deepStrictEqual(Meter.step(none, { _tag: "Reserve", amount: 1 }, 0)[0], { _tag: "Refused", reason: "unknown" })
    assert.deepStrictEqual(heard(Meter.make(window, 1, 0), 1), { _tag: "Done", crossed: true })
  })

  it("is exhausted at its limit, and only short of what others hold before it", () => {
    const at = (booked: number) => Meter.step(drawn(Meter.make(window, 10, 0), 0, { booked }), { _tag: "Reserve", amount: 1 }, 0)[0]
    assert.deepStrictEqual([at(9), at(10), at(11)], [
      { _tag: "Refused", reason: "short" }, { _tag: "Refused", reason: "exhausted" }, { _tag: "Refused", reason: "exhausted" }
    ])
  })

  it("what the ledger knew before it began is used and reported, and none of another window", () => {
    const meter = drawn(Meter.make(window, 100, 0), 30)
    const [reply, based] = Meter.step(meter, { _tag: "Base", start: meter.start, amount: 7 }, 0)
    assert.deepStrictEqual([reply, based.total, based.reported, Meter.unreported(based)], [{ _tag: "Done", crossed: false }, meter.total + 7, meter.reported + 7, Meter.unreported(meter)])
    assert.deepStrictEqual(Meter.step(meter, { _tag: "Base", start: meter.start - 1, amount: 7 }, 0), [{ _tag: "Done", crossed: false }, meter])
    assert.deepStrictEqual(Meter.step(meter, { _tag: "Drawn", start: meter.start - 1, booked: 100, reported: 0, held: 0, heldUntil: 0, sent: 0 }, 0), [{ _tag: "Done", crossed: false }, meter])
  })

  it("a settle of yesterday's reservation changes nothing today", () => {
    const full = drawn(Meter.make(window, 10, 0), 10)
    const meter = Meter.step(full, { _tag: "Reserve", amount: 4 }, 0)[1]
    const today = Meter.rolled(meter, window, 86_400_000)
    assert.deepStrictEqual(Meter.step(today, { _tag: "Settle", reservation: { start: 0, amount: 4 }, actual: 9 }, 86_400_000), [{ _tag: "Done", crossed: false }, today])
  })
})

describe("a counter", () => {
  it("comes near its limit once in a window: from its warning on, and not when it is used up", () => {
    const counterOf = (warnAt?: number) => new RuleCounter({
      id: "r", kind: "tokens", quota: "budget", scope: "daily", within: null, window, limit: 10, ...warnAt === undefined ? {} : { warnAt }
    }, 0)
    const near = counterOf(8)
    const at = (counter: RuleCounter, booked: number) => {
      counter.meter = drawn(counter.meter, 0, { booked })
      return counter.comesNear()
    }
    assert.deepStrictEqual([7, 8, 9, 10].map((booked) => at(near, booked)), [false, true, false, false])
    near.meter = Meter.rolled(near.meter, window, 86_400_000)
    assert.deepStrictEqual([at(near, 0), at(near, 9)], [false, true], "the next window tells again")
    assert.isFalse(at(counterOf(8), 10))
    assert.isFalse(at(counterOf(), 9))
  })
})
