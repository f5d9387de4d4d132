/** Parts of what runs lines: which lines are over, and whose turn it is for a call. */
import { assert, describe, it } from "@effect/vitest"
import * as Arbitrary from "effect/Arbitrary"
import * as Schema from "effect/Schema"
import { Progress } from "#src/features/batches/lines/Progress.ts"
import { Slots } from "#src/features/batches/run/Slots.ts"

const Order = Schema.Array(Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000 }))).check(Schema.isMaxLength(60))
const cursorAt = (place: number) => ({ line: place + 2, offset: place * 10 })

describe("the progress of a batch", () => {
  it.prop("puts the cursor behind the lines before which all are over, whatever their order", { order: Arbitrary.schema(Order), least: Arbitrary.schema(Schema.Int.check(Schema.isBetween({ minimum: 1, maximum: 9 }))) }, ({ least, order }) => {
    const progress = new Progress()
    const waiting: Array<number> = []
    const over = new Set<number>()
    let told = 0
    for (const pick of order) {
      waiting.push(progress.begin())
      if (pick % 2 === 0) continue
      const [place] = waiting.splice(pick % waiting.length, 1)
      progress.end(place!, cursorAt(place!))
      over.add(place!)
      let passed = told
      while (over.has(passed)) passed++
      const expected = passed - told >= least ? cursorAt(passed - 1) : null
      assert.deepStrictEqual(progress.take(least), expected)
      if (expected !== null) told = passed
    }
  }, { arbitrary: { size: 60 } })
})

describe("slots", () => {
  it("go to the one that waits longest, and not to one that left", () => {
    const slots = new Slots(2)
    const given: Array<string> = []
    const wait = (name: string) => slots.wait(() => void given.push(name))
    assert.isTrue(slots.take())
    wait("at once")
    assert.isFalse(slots.take())
    wait("first")
    const leave = wait("second")
    wait("third")
    leave()
    slots.give()
    slots.give()
    assert.deepStrictEqual(given, ["at once", "first", "third"])
    slots.give()
    slots.give()
    assert.deepStrictEqual([slots.take(), slots.take(), slots.take()], [true, true, false])
  })

  it("that come while one is given are not lost", () => {
    const slots = new Slots(1)
    let given = 0
    assert.isTrue(slots.take())
    for (let i = 0; i < 5; i++) {
      slots.wait(() => {
        given++
        slots.give()
      })
    }
    slots.give()
    assert.deepStrictEqual([given, slots.take(), slots.take()], [5, true, false])
  })
})
