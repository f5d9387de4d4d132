import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import * as Batch from "#actors/batch/Batch.ts"
import type { BatchState } from "#schemas/batches/Batch.ts"

const WINDOW = 1_000
const made = Batch.made(0, WINDOW)
const problem = { code: "invalid_json_line", message: "Line 1: it is broken.", line: 1, param: null }

const after = (state: BatchState, ...events: ReadonlyArray<Batch.BatchEvent>): BatchState =>
  events.reduce((now, event) => Batch.step(now, event, 10)[0], state)
const running = after(made, { _tag: "Validated", total: 3 })
const written: Batch.BatchEvent = { _tag: "Written", outputFileId: "file-out", errorFileId: null }

describe("a batch", () => {
  it("is validated, run, written and completed", () => {
    assert.deepStrictEqual(Batch.step(made, { _tag: "Turn" }, 10), [made, ["validate"]])
    assert.deepStrictEqual(Batch.step(running, { _tag: "Turn" }, 10), [running, ["run-lines"]])
    const [finalizing, intents] = Batch.step(running, { _tag: "LinesEnded", completed: 2, failed: 1 }, 20)
    assert.deepStrictEqual([finalizing.status, finalizing.finalizingAt, intents], ["finalizing", 20, ["write"]])
    const [completed, none] = Batch.step(finalizing, written, 30)
    assert.deepStrictEqual([completed.status, completed.completedAt, completed.outputFileId, none], ["completed", 30, "file-out", []])
  })

  it("with a broken input has failed before a line is run", () => {
    const failed = after(made, { _tag: "Invalid", problems: [problem] })
    assert.deepStrictEqual([failed.status, failed.failedAt, failed.problems], ["failed", 10, [problem]])
  })

  it("whose window is over while it runs fails the rest, and is expired once that is written", () => {
    const [expiring, intents] = Batch.step(after(running, { _tag: "LinesEnded", completed: 1, failed: 0 }), { _tag: "Turn" }, WINDOW)
    assert.deepStrictEqual([expiring.status, intents], ["finalizing", ["fail-rest", "write"]])
    const [rest, last] = Batch.step(expiring, { _tag: "LinesEnded", completed: 0, failed: 2 }, WINDOW)
    assert.deepStrictEqual([rest.status, rest.ending, last], ["finalizing", "expired", ["write"]])
    assert.deepStrictEqual(Batch.step(rest, written, WINDOW + 1)[0].status, "expired")
    assert.deepStrictEqual(Batch.step(made, { _tag: "Turn" }, WINDOW)[0].status, "expired")
  })

  it("that is cancelled writes what it has, and counts what still ends", () => {
    const cancelling = after(running, { _tag: "Cancel" }, { _tag: "LinesEnded", completed: 3, failed: 0 })
    assert.deepStrictEqual([cancelling.status, cancelling.completed], ["cancelling", 3])
    assert.deepStrictEqual(after(cancelling, written).status, "cancelled")
  })

  it("whose input is gone fails with what it has", () => {
    const lost = after(running, { _tag: "InputLost", problem })
    assert.deepStrictEqual([lost.status, lost.ending, lost.problems], ["finalizing", "failed", [problem]])
    assert.deepStrictEqual(after(lost, written).status, "failed")
  })
})

const Event = Schema.Union([
  Schema.Struct({ _tag: Schema.Literals(["Turn", "Cancel"]) }),
  Schema.Struct({ _tag: Schema.Literal("Validated"), total: Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 20 })) }),
  Schema.Struct({ _tag: Schema.Literal("Invalid"), problems: Schema.Tuple([Schema.Struct({ code: Schema.String, message: Schema.String, line: Schema.Null, param: Schema.Null })]) }),
  Schema.Struct({ _tag: Schema.Literal("InputLost"), problem: Schema.Struct({ code: Schema.String, message: Schema.String, line: Schema.Null, param: Schema.Null }) }),
  Schema.Struct({ _tag: Schema.Literal("LinesEnded"), completed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })), failed: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 5 })) }),
  Schema.Struct({ _tag: Schema.Literal("Written"), outputFileId: Schema.NullOr(Schema.String), errorFileId: Schema.NullOr(Schema.String) })
])
const Act = Schema.Struct({ event: Event, ms: Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 200 })) })

/** What may follow each status, beside itself. */
const follows: Readonly<Record<BatchState["status"], ReadonlyArray<BatchState["status"]>>> = {
  validating: ["in_progress", "failed", "expired", "cancelling"],
  in_progress: ["finalizing", "cancelling"],
  finalizing: ["completed", "expired", "failed"],
  cancelling: ["cancelled"],
  failed: [], completed: [], expired: [], cancelled: []
}

const timeOf = (state: BatchState): number | null => ({
  validating: state.createdAt, in_progress: state.inProgressAt, finalizing: state.finalizingAt, cancelling: state.cancellingAt,
  failed: state.failedAt, completed: state.completedAt, expired: state.expiredAt, cancelled: state.cancelledAt
})[state.status]

describe("any history of a batch", () => {
  it.prop("takes the documented ways only, dates each of them, and loses no count", { acts: Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(60))) }, ({ acts }) => {
    let state: BatchState = made
    let now = 0
    for (const { event, ms } of acts) {
      now += ms
      const [next, intents] = Batch.step(state, event, now)
      if (next.status !== state.status) assert.include(follows[state.status], next.status)
      if (Batch.isOver(state)) assert.strictEqual(next, state)
      assert.isNotNull(timeOf(next))
      assert.isAtLeast(next.completed, state.completed)
      assert.isAtLeast(next.failed, state.failed)
      assert.strictEqual(intents.length === 0, Batch.isOver(next))
      // Only files say where answers are, and only once the batch is over.
      if (next.outputFileId !== null || next.errorFileId !== null) assert.isTrue(Batch.isOver(next))
      // A runner that asks again later is told the same.
      assert.deepStrictEqual(Batch.step(next, { _tag: "Turn" }, Math.min(now, WINDOW - 1))[1], intents)
      state = next
    }
  }, { arbitrary: { size: 60 } })

  it.prop("ends when its runner does what it is told", { acts: Arbitrary.schema(Schema.Array(Act).check(Schema.isMaxLength(20))) }, ({ acts }) => {
    let state: BatchState = made
    let now = 0
    for (const { event, ms } of acts) [state] = Batch.step(state, event, now += ms)
    for (let turns = 0; turns < 10 && !Batch.isOver(state); turns++) {
      const [, [intent]] = Batch.step(state, { _tag: "Turn" }, now)
      const done: Batch.BatchEvent = intent === "validate" ? { _tag: "Validated", total: 2 }
        : intent === "write" ? written
        : { _tag: "LinesEnded", completed: Batch.waiting(state), failed: 0 }
      ;[state] = Batch.step(state, done, now)
    }
    assert.isTrue(Batch.isOver(state))
  }, { arbitrary: { size: 60 } })
})
