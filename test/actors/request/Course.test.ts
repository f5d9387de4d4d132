/** The course of a request: which targets it leaves out, what it heard of their return, and what it tells the client of it. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import { once } from "#actors/request/ports/WalkPolicy.ts"
import { Course, firstBack } from "#actors/request/walk/Course.ts"
import type { WalkRules } from "#actors/request/walk/RequestState.ts"
import { notAsked } from "#actors/request/walk/Walk.ts"
import * as Errors from "#schemas/errors.ts"
import { failure, rulesOf } from "./driver.ts"

const now = 1_000_000
const world = rulesOf({
  targets: ["well", "well", "well", "well", "well", "well"], isCombo: true, lastResort: false, maxAttempts: 5, deadline: null, maxRetries: 0, maxSetRetries: 0,
  failoverBeforeRetry: true, delayMs: 0, hedgeDelayMs: null, mayQueue: false, drains: false, continues: false, stopsAtEmpty: false, sibling: false
})
const rest = (until: number | null, more: Partial<Unavailable> = {}): Unavailable => ({ reason: "connection-cooldown", until, detail: "", ...more })
/** What blocks each target. */
const rules = (blocks: ReadonlyArray<Unavailable | null>, more: Partial<WalkRules> = {}): WalkRules => {
  const blocked = (index: number, at: number): Unavailable | null => {
    const block = blocks[index] ?? null
    return block === null || (block.until !== null && at >= block.until) ? null : block
  }
  return { ...world, size: blocks.length, blocked, resting: blocked, ...more }
}
const asked = { reason: "failed", asked: true, tooLate: false, restsMs: 0 } as const
const error = (retryAfterSeconds: number | null, code: Errors.ErrorCode = "bad_gateway") => Errors.make(code, "no", retryAfterSeconds === null ? {} : { retryAfterSeconds })
const skipped = ({ skips }: Course) => skips.map(({ index }) => index)
/** Seconds that the client is told. */
const told = (course: Course, given = error(null)) => course.hinted(given, now).retryAfterSeconds

describe("the next target", () => {
  it("is the first that is free when its turn comes; the others are noted with their reasons", () => {
    const course = new Course(rules([null, rest(now + 9_000), rest(null, { reason: "breaker-open" }), null]), null)
    assert.deepStrictEqual(course.after(0, asked, now), { index: 3, delayMs: 0, repeats: false })
    assert.deepStrictEqual(course.skips, [{ index: 1, unavailable: rest(now + 9_000) }, { index: 2, unavailable: rest(null, { reason: "breaker-open" }) }])
    assert.isNull(course.after(3, asked, now))
  })

  it("may be one that is back when the pause before it is over; the longest pause counts", () => {
    const policy = { ...once, fallbackDelayMs: 40 }
    const course = new Course(rules([null, rest(now + 41), rest(now + 40), null], { policy, policyOf: () => policy }), null)
    assert.deepStrictEqual(course.after(0, { ...asked, reason: "unavailable" }, now), { index: 2, delayMs: 40, repeats: false })
    assert.deepStrictEqual(skipped(course), [1])
  })

  it("beside another is free now, whatever stands before it", () => {
    const course = new Course(rules([null, rest(now + 1), null]), null)
    assert.deepStrictEqual(course.beside(now), { index: 2, delayMs: 0, repeats: false })
    assert.isNull(course.beside(now))
    assert.deepStrictEqual(skipped(course), [1])
  })

  it("is one that failed beside another, once the others had their turn", () => {
    const policy = { ...once, maxRetries: 1 }
    const course = new Course(rules([null, null], { policy, policyOf: () => policy }), null)
    assert.strictEqual(course.beside(now)?.index, 1)
    course.note(0, asked)
    assert.deepStrictEqual(course.after(1, { ...asked, reason: "credential" }, now), { index: 0, delayMs: 0, repeats: true })
  })

  const guess = rest(now + 9_000, { soft: true })
  it.each<readonly [string, Partial<WalkRules>, Unavailable, number | null, boolean]>([
    ["a guess delays a first turn", {}, guess, null, false],
    ["a guess does not delay what is asked as the last resort", { lastResort: true }, guess, null, true],
    ["what the upstream said does", { lastResort: true }, guess, 5_000, false],
    ["until then", { lastResort: true }, guess, 0, true],
    ["more than a guess delays also the last resort", { lastResort: true }, rest(now + 9_000), null, false]
  ])("%s", (_, more, block, saidMs, free) => {
    const course = new Course(rules([null, block], more), null)
    if (saidMs !== null) course.hear(1, error(null), saidMs, now)
    assert.strictEqual(course.after(0, asked, now) !== null, free)
    assert.deepStrictEqual(skipped(course), free ? [] : [1])
  })

  it("may be repeated through a guess, not before the upstream said", () => {
    const policy = { ...once, maxRetries: 1, failoverBeforeRetry: false }
    const again = (saidMs: number | null) => {
      const course = new Course(rules([guess, null], { policy, policyOf: () => policy }), null)
      if (saidMs !== null) course.hear(0, error(null), saidMs, now)
      return course.after(0, asked, now)?.index
    }
    assert.deepStrictEqual([again(null), again(0), again(1)], [0, 0, 1])
  })

  it("may wait for its turn where it is the only one", () => {
    const policy = { ...once, maxRetries: 1 }
    const busy = rest(null, { reason: "connection-busy" })
    const after = (blocks: ReadonlyArray<Unavailable | null>) => new Course(rules(blocks, { policy, policyOf: () => policy }), null).after(0, asked, now)?.index ?? null
    assert.deepStrictEqual([after([busy]), after([rest(null, { reason: "model-busy" })]), after([busy, busy])], [0, null, null])
  })
})

describe("what the client is told", () => {
  it("is the earliest time that any target named, in whole seconds, at least one", () => {
    const course = new Course(rules([null, null]), null)
    assert.isNull(told(course))
    course.leaveOut(1, rest(null), now)
    assert.isNull(told(course))
    course.leaveOut(1, rest(now + 7_001), now)
    assert.strictEqual(told(course), 8)
    course.hear(0, error(9), null, now)
    assert.strictEqual(told(course), 8)
    course.hear(0, error(null), 5_001, now)
    assert.strictEqual(told(course), 6)
    course.hear(0, error(4), 1_000, now)
    assert.strictEqual(told(course), 4)
    course.hear(0, error(null), 0, now)
    assert.strictEqual(told(course), 1)
    course.leaveOut(1, rest(now - 5_000), now)
    assert.strictEqual(told(course), 1)
  })

  it("is the error's own time where that is earlier, and nothing where time does not help", () => {
    const course = new Course(rules([null]), null)
    const own = error(5)
    assert.strictEqual(course.hinted(own, now), own)
    const never = error(null, "model_not_found")
    assert.strictEqual(course.hinted(never, now), never)
    course.leaveOut(0, rest(now + 5_000), now)
    assert.strictEqual(course.hinted(own, now), own)
    assert.deepStrictEqual([told(course, error(4)), told(course, error(6)), told(course, never)], [4, 5, 5])
  })

  it.each<readonly [string, ReadonlyArray<Unavailable | null>, number]>([
    ["not before the first of its targets may be asked", [rest(now + 20_000), rest(now + 9_500)], 10],
    ["unless one may be asked at once", [rest(now + 20_000), null], 2],
    ["unless a pause is a guess", [rest(now + 20_000), rest(now + 20_000, { soft: true })], 2],
    ["unless the end of one is not known", [rest(now + 20_000), rest(null)], 2],
    ["unless one is only busy", [rest(now + 20_000), rest(now + 20_000, { reason: "model-busy" })], 2],
    ["and later where a target says so", [rest(now + 1_000)], 2]
  ])("is %s", (_, blocks, seconds) => {
    const course = new Course(rules(blocks), null)
    course.hear(0, error(2), null, now)
    assert.strictEqual(told(course), seconds)
  })

  it("is when its targets may be asked where none named a time; an error that time does not mend says nothing", () => {
    const course = new Course(rules([rest(now + 3_000)]), null)
    assert.strictEqual(told(course), 3)
    assert.isNull(told(course, error(null, "model_not_found")))
    assert.isNull(told(new Course(rules([rest(now + 3_000), rest(null)]), null)))
  })
})

describe("a failed call", () => {
  it.each<readonly [string, Partial<typeof failure>, string]>([
    ["says what its status says", {}, "unavailable"],
    ["that was refused by a rule says nothing of its target", { rejected: true }, "none"],
    ["inside a stream says what its error says", { upstreamStatus: 200, error: Errors.make("rate_limit_exceeded", "no") }, "rate-limit"],
    ["without an error says what its status says", { upstreamStatus: 429, error: null }, "rate-limit"]
  ])("%s", (_, end, reason) => {
    const failed = new Course(rules([null]), null).failed(0, { ...failure, ...end }, now)
    assert.deepStrictEqual([failed.reason, failed.asked], [reason, true])
  })

  it("was too late where its first event was", () => {
    const course = new Course(rules([null]), null)
    assert.deepStrictEqual(["first-event", "connect", null].map((phase) => course.failed(0, { ...failure, phase: phase as typeof failure.phase }, now).tooLate), [true, false, false])
  })

  it.each([[rest(now + 30), 30], [rest(null), 0], [null, 0]] as const)("rests for what is left of its pause, where a pause decides: %j", (block, restsMs) => {
    const of = (fallbackDelayMs: number) => new Course(rules([block], { policyOf: () => ({ ...once, fallbackDelayMs }) }), null).failed(0, failure, now).restsMs
    assert.deepStrictEqual([of(1), of(0)], [restsMs, 0])
  })
})

describe("targets that are left out with another", () => {
  const order = (course: Course) => {
    const left: Array<number> = []
    for (let step = course.after(0, notAsked, now); step !== null; step = course.after(step.index, notAsked, now)) left.push(step.index)
    return left
  }
  const blocks = [null, null, null, null, null, null]

  it("are those of the same model, but for one where recovery asks a sibling, once", () => {
    const left = (sibling: boolean, times = 1) => {
      const course = new Course(rules(blocks, { recovery: { ...world.recovery, sibling } }), null)
      for (let time = 0; time < times; time++) course.leaveSiblings(0)
      return order(course)
    }
    assert.deepStrictEqual([left(false), left(true), left(true, 2)], [[1, 3, 5], [1, 2, 3, 5], [1, 3, 5]])
  })

  it("are those behind the same way out", () => {
    const course = new Course(rules(blocks), null)
    course.leaveEgress(0)
    assert.deepStrictEqual(order(course), [1, 2, 4, 5])
  })
})

describe("the first target that is back", () => {
  it.each<readonly [string, ReadonlyArray<Unavailable | null>, number | null]>([
    ["is the one with the earliest time", [rest(now + 3), rest(now + 1), rest(now + 2, { reason: "model-cooldown" })], 1],
    ["is the first of two at one time", [rest(now + 3), rest(now + 3)], 0],
    ["has a time", [rest(null), rest(now + 1)], 1],
    ["is none where no time is known", [rest(null)], null],
    ["is none where one may be asked", [rest(now + 1), null], null],
    ["is none where a pause is a guess", [rest(now + 1), rest(now + 1, { soft: true })], null],
    ["is none where one waits for something else", [rest(now + 1), rest(now + 1, { reason: "breaker-open" })], null]
  ])("%s", (_, blocks, index) => {
    assert.strictEqual(firstBack(rules(blocks), now)?.index ?? null, index)
  })
})

describe("a copy of a course", () => {
  const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 3 }))
  const Move = Schema.Struct({ kind: Schema.Literals(["after", "beside", "note", "hear", "leaveOut", "leaveSiblings", "leaveEgress"]), index: small, waits: small })
  const blocks = [null, rest(now + 2_000, { soft: true }), rest(now + 3_000), null, null]
  const make = (course: Course, { index, kind, waits }: typeof Move.Type): unknown => {
    const seen = () => [told(course, error(9)), skipped(course)]
    switch (kind) {
      case "after":
        return [course.after(index, asked, now + 1_000 * waits), seen()]
      case "beside":
        return [course.beside(now + 1_000 * waits), seen()]
      case "note":
        return [course.note(index, asked), seen()]
      case "hear":
        return [course.hear(index, error(waits === 3 ? 8 : null), 1_500 * waits, now), seen()]
      case "leaveOut":
        return [course.leaveOut(index, rest(now + 5_000 + waits * 1_000), now), seen()]
      case "leaveSiblings":
        return [course.leaveSiblings(index), seen()]
      case "leaveEgress":
        return [course.leaveEgress(index), seen()]
    }
  }

  it.prop("goes on as the course itself, and neither changes the other", {
    moves: Arbitrary.schema(Schema.Array(Move).check(Schema.isMaxLength(14))), lastResort: Arbitrary.schema(Schema.Boolean), sibling: Arbitrary.schema(Schema.Boolean)
  }, ({ lastResort, moves, sibling }) => {
    const policy = { ...once, maxRetries: 1, maxSetRetries: 1 }
    const given = rules(blocks, { policy, policyOf: () => policy, lastResort, recovery: { ...world.recovery, sibling } })
    const course = new Course(given, null)
    const copies: Array<Course> = []
    const steps = moves.map((move) => {
      copies.push(new Course(given, course))
      return make(course, move)
    })
    // The newest first: an older copy was made before all that the newer ones do.
    for (const [from, copy] of [...copies.entries()].reverse()) {
      assert.deepStrictEqual(moves.slice(from).map((move) => make(copy, move)), steps.slice(from))
    }
  }, { arbitrary: { size: 14, runs: 500 } })
})
