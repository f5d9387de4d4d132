/** Responses that leave at the end of a turn. */
import { expect, it } from "vitest"
import { setImmediate as nextTurn } from "node:timers/promises"
import * as TurnEnd from "#src/platform/server/sending/TurnEnd.ts"

it("sends all that waits in its order, in spite of a defect, and what is added meanwhile at the end of the next turn", async () => {
  const seen: Array<string> = []
  const sender = (name: string, run: () => void = () => {}): TurnEnd.Sender => ({
    turnEnds: () => {
      seen.push(name)
      run()
    },
    turnFails: (error) => seen.push(`${name}: ${String(error)}`)
  })
  const late = sender("late")
  TurnEnd.add(sender("first", () => TurnEnd.add(late)))
  TurnEnd.add(sender("broken", () => {
    throw new Error("no")
  }))
  TurnEnd.add(sender("last"))
  expect(seen).toEqual([])
  await nextTurn()
  expect(seen).toEqual(["first", "broken", "broken: Error: no", "last"])
  await nextTurn()
  expect(seen).toEqual(["first", "broken", "broken: Error: no", "last", "late"])
  await nextTurn()
  expect(seen).toHaveLength(5)
})
