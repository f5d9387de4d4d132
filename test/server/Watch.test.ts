/** The one timer of clients that keep the server waiting. */
import { expect, it } from "vitest"
import * as Ticker from "#actors/Ticker.ts"
import { Watch } from "#src/platform/server/Watch.ts"

it("tells of an exchange whose tick throws, looks at all others, and goes on", async () => {
  const heard: Array<string> = []
  let ticks = 0
  const watch = new Watch(1, Ticker.make((error) => heard.push(String(error))))
  watch.add({
    tick: () => {
      throw new Error("broken")
    }
  })
  await new Promise<void>((resolve) => watch.add({
    tick: () => {
      if (++ticks === 3) resolve()
    }
  }))
  watch.stop()
  expect(heard.slice(0, 2)).toEqual(["Error: broken", "Error: broken"])
})
