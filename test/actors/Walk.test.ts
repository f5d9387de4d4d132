import { describe, expect, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as StatusReason from "#schemas/statusReason.ts"
import { once, type WalkPolicy } from "#actors/request/ports/WalkPolicy.ts"
import { notAsked, Walk } from "#actors/request/walk/Walk.ts"

const failed = (status: number, restsMs = 0) => ({ reason: StatusReason.of(status), asked: true, tooLate: false, restsMs })
const walked = (size: number, policy: Partial<WalkPolicy>, statusOf: (index: number) => number, most = 1000): ReadonlyArray<readonly [number, number]> => {
  const walk = new Walk(size, { ...once, ...policy })
  const seen: Array<readonly [number, number]> = [[0, 0]]
  for (let at = 0; seen.length < most;) {
    const step = walk.after(at, failed(statusOf(at)))
    if (step === null) return seen
    seen.push([step.index, step.delayMs])
    at = step.index
  }
  return seen
}

describe("a walk over a plan", () => {
  it("of a single model asks every target once, without delay", () => {
    expect(walked(3, {}, () => 503)).toEqual([[0, 0], [1, 0], [2, 0]])
  })

  it("waits before the next target after 502, 503 and 504 only", () => {
    expect(walked(3, { fallbackDelayMs: 40 }, (i) => i === 0 ? 503 : 401)).toEqual([[0, 0], [1, 40], [2, 0]])
  })

  it("comes back to what may pass when the others were tried", () => {
    expect(walked(3, { maxRetries: 1, retryDelayMs: 5 }, (i) => i === 1 ? 401 : 429)).toEqual([[0, 0], [1, 0], [2, 0], [0, 5], [2, 0]])
  })

  it("repeats at once with failoverBeforeRetry off", () => {
    expect(walked(2, { maxRetries: 2, retryDelayMs: 5, failoverBeforeRetry: false }, () => 500)).toEqual([[0, 0], [0, 5], [0, 5], [1, 0], [1, 5], [1, 5]])
  })

  it("repeats the whole list", () => {
    expect(walked(2, { maxSetRetries: 1, setRetryDelayMs: 9 }, () => 401)).toEqual([[0, 0], [1, 0], [0, 9], [1, 0]])
  })

  it("does not repeat a target that was passed over or began too late", () => {
    const walk = new Walk(1, { ...once, maxRetries: 3 })
    expect(walk.after(0, { ...failed(503), asked: false })).toBeNull()
    expect(new Walk(1, { ...once, maxRetries: 3 }).after(0, { ...failed(504), tooLate: true })).toBeNull()
  })

  it("tells a repetition, of one target or of the whole list, from a first turn", () => {
    const walk = new Walk(2, { ...once, maxRetries: 1, maxSetRetries: 1 })
    expect(walk.after(0, failed(503))?.repeats).toBe(false)
    expect(walk.after(1, failed(503))).toMatchObject({ index: 0, repeats: true })
    expect(walk.after(0, failed(503))).toMatchObject({ index: 1, repeats: true })
    expect(walk.after(1, failed(401))).toMatchObject({ index: 0, repeats: true })
    expect(walk.after(0, failed(401))).toMatchObject({ index: 1, repeats: true })
    expect(new Walk(1, { ...once, maxRetries: 1, failoverBeforeRetry: false }).after(0, failed(503))?.repeats).toBe(true)
    const again = new Walk(2, { ...once, maxSetRetries: 1 })
    expect([0, 1, 0].map((index) => again.after(index, failed(401))?.repeats)).toEqual([false, true, true])
  })

  it("each target has its own retries and pauses, the whole list one number of repetitions", () => {
    const policyOf = (index: number): WalkPolicy => ({ ...once, maxRetries: index, retryDelayMs: 10 * index, fallbackDelayMs: 1 + index, maxSetRetries: 9 })
    const walk = new Walk(3, once, policyOf)
    const steps = [walk.after(0, failed(503)), walk.after(1, failed(503)), walk.after(2, failed(503)), walk.after(1, failed(503)), walk.after(2, failed(503)), walk.after(2, failed(503))]
    expect(steps.map((step) => step === null ? null : [step.index, step.delayMs])).toEqual([[1, 1], [2, 2], [1, 10], [2, 2], [2, 20], null])
  })

  it("leaves out what is dropped", () => {
    const walk = new Walk(4, once)
    walk.drop((index) => index === 1 || index === 2)
    expect(walk.after(0, failed(502))).toEqual({ index: 3, delayMs: 0, repeats: false })
  })

  it("does not wait for a target that rests for more than 5 s", () => {
    const policy = { ...once, fallbackDelayMs: 40 }
    expect(new Walk(2, policy).after(0, failed(503, 5_000))).toEqual({ index: 1, delayMs: 40, repeats: false })
    expect(new Walk(2, policy).after(0, failed(503, 5_001))).toEqual({ index: 1, delayMs: 0, repeats: false })
  })

  it("gives the next target beside one that is still asked, which may be repeated once it failed", () => {
    const walk = new Walk(3, { ...once, maxRetries: 1, retryDelayMs: 5 })
    expect(walk.beside()).toEqual({ index: 1, delayMs: 0, repeats: false })
    walk.note(0, failed(503))
    expect(walk.after(1, failed(401))).toEqual({ index: 2, delayMs: 0, repeats: false })
    expect(walk.beside()).toBeNull()
    expect(walk.after(2, failed(401))).toEqual({ index: 0, delayMs: 5, repeats: true })
    expect(walk.after(0, failed(503))).toBeNull()
  })

  it("of a target that only some failures may leave ends with any other", () => {
    const policy: WalkPolicy = { ...once, maxRetries: 1, fallsBackAfter: (reason) => reason === "rate-limit" || reason === "none" }
    expect(new Walk(2, policy).after(0, failed(503))).toBeNull()
    expect(new Walk(2, policy).after(0, failed(429))).toMatchObject({ index: 1 })
    expect(new Walk(2, { ...policy, fallsBackAfter: () => false }).after(0, notAsked)).toMatchObject({ index: 1 })
  })

  const small = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 4 }))
  const Move = Schema.Struct({
    kind: Schema.Literals(["after", "after", "beside", "note", "drop"]), index: small, status: Schema.Literals([503, 429, 401]), asked: Schema.Boolean
  })
  const make = (walk: Walk, { asked, index, kind, status }: typeof Move.Type): unknown => {
    switch (kind) {
      case "after":
        return walk.after(index, { ...failed(status), asked })
      case "beside":
        return walk.beside()
      case "note":
        return walk.note(index, failed(status))
      case "drop":
        return walk.drop((other) => other === index)
    }
  }
  it.prop("goes on in a copy as by itself, and neither changes the other", {
    moves: Arbitrary.schema(Schema.Array(Move).check(Schema.isMaxLength(16))),
    maxRetries: Arbitrary.schema(small), maxSetRetries: Arbitrary.schema(small), failoverBeforeRetry: Arbitrary.schema(Schema.Boolean)
  }, ({ moves, ...policy }) => {
    const walk = new Walk(3, { ...once, ...policy })
    const copies: Array<Walk> = []
    const steps = moves.map((move) => {
      copies.push(walk.copy())
      return make(walk, move)
    })
    // The newest first: an older copy was made before all that the newer ones do.
    for (const [from, copy] of [...copies.entries()].reverse()) {
      expect(moves.slice(from).map((move) => make(copy, move))).toEqual(steps.slice(from))
    }
  }, { arbitrary: { size: 16, runs: 500 } })

  it.prop("always ends, and within its bound", {
    size: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 6 }))),
    maxRetries: Arbitrary.schema(small), maxSetRetries: Arbitrary.schema(small), failoverBeforeRetry: Arbitrary.schema(Schema.Boolean)
  }, ({ failoverBeforeRetry, maxRetries, maxSetRetries, size }) => {
    const steps = walked(size, { maxRetries, maxSetRetries, failoverBeforeRetry }, () => 503)
    expect(steps.length).toBe(size * (1 + maxRetries) * (1 + maxSetRetries))
    for (let index = 0; index < size; index++) {
      expect(steps.filter(([one]) => one === index).length).toBe((1 + maxRetries) * (1 + maxSetRetries))
    }
  })
})
