/** All sockets are read into one buffer: answers that come in many reads at the same time do not get each other's bytes. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"

const ANSWERS = 24
/** Several reads each. */
const textOf = (index: number) => `<${index}>`.repeat(60_000 + index)

describe("answers that are read at the same time", { timeout: 180_000 }, () => {
  let lab: Lab
  beforeAll(async () => {
    lab = await startLab()
    for (let index = 0; index < ANSWERS; index++) {
      await lab.sim.rule({ id: `r${index}`, match: { model: `m${index}` }, script: { text: textOf(index) } })
    }
  }, 180_000)
  afterAll(() => lab.close())

  it("whole", async () => {
    const replies = await Promise.all(Array.from({ length: ANSWERS }, (_, index) => lab.chat({ model: `m${index}` })))
    for (const [index, reply] of replies.entries()) {
      const { choices } = JSON.parse(reply.text) as { readonly choices: ReadonlyArray<{ readonly message: { readonly content: string } }> }
      expect(choices[0]?.message.content === textOf(index), `answer ${index}`).toBe(true)
    }
  })
})
