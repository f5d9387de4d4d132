/** Integers that no number holds are found wherever they stand in an event. */
import { expect, it } from "vitest"
import * as LongIntegers from "#src/wire/longIntegers/longIntegers.ts"

const mark = '"functionCall"'
const eventOf = (pad: number, digits: string): string => `{${mark}:"${"x".repeat(pad)}","args":{"id":${digits}}}`

it.each(["9007199254740993", "1234567890123456789", "123456789012345678901234567890"])("%s keeps its digits behind any number of characters", (digits) => {
  for (let pad = 0; pad < 40; pad++) {
    const event = eventOf(pad, digits)
    expect(JSON.stringify(LongIntegers.parseEvent(event, mark)), `${pad}`).toBe(event)
  }
})

it.each(["12", "9007199254740991", "1e30", "0.12345678901234567890"])("%s is what JSON.parse makes of it", (value) => {
  const event = eventOf(3, "12").replaceAll("12", value)
  expect(LongIntegers.parseEvent(event, mark)).toEqual(JSON.parse(event))
})

it("an event without a call, and a broken one, are read as usual", () => {
  expect(LongIntegers.parseEvent('{"id":1234567890123456789}', mark)).toEqual({ id: 1_234_567_890_123_456_800 })
  expect(LongIntegers.parseEvent(`{${mark}:1234567890123456789`, mark)).toBeNull()
})
