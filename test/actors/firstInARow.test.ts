import { assert, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import { firstInARow } from "#actors/firstInARow.ts"

it.effect("of failures in a row the first one is told, and the next one after a success", () => Effect.gen(function*() {
  const outcomes = [null, "a", "b", null, null, "c", "d"]
  const told: Array<string> = []
  let at = 0
  const round = firstInARow(
    Effect.suspend(() => {
      const error = outcomes[at++] ?? null
      return error === null ? Effect.void : Effect.fail(error)
    }),
    (error) => Effect.sync(() => void told.push(error))
  )
  for (const _ of outcomes) yield* round
  assert.deepStrictEqual(told, ["a", "c"])
}))

it.effect("a loop that fails from its start tells it", () => Effect.gen(function*() {
  const told: Array<string> = []
  yield* firstInARow(Effect.fail("away"), (error) => Effect.sync(() => void told.push(error)))
  assert.deepStrictEqual(told, ["away"])
}))
