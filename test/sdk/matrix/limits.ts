/** Why answers end: a limit, a stop sequence, a filter. */
import { expect, it } from "vitest"
import type { Case } from "./Driver.ts"
import { refused } from "./toolLoops.ts"

export const limits = ({ driver, family, matrix }: Case): void => {
  const { face, fields, words } = driver

  it("a limit of tokens arrives and is named as the reason", async () => {
    for (const stream of [false, true]) {
      const model = await matrix().model(family, face, `limit-${stream}`, { tokens: 60 })
      const talk = driver.open(matrix(), { model: model.id, maxTokens: 20 })
      talk.say("much")
      const heard = await talk.ask(stream)
      expect(heard.finish).toBe(words.length)
      expect(heard.usage?.output).toBe(20)
      expect((await matrix().arrived(family, model.name))[0]?.maxTokens).toBe(20)
    }
  })

  const { stop } = fields
  if (stop !== null) {
    it("a stop sequence arrives and ends the text, or is refused where the family has none", async () => {
      for (const stream of [false, true]) {
        const model = await matrix().model(family, face, `stop-${stream}`, { text: "one two STOP three" })
        const setup = { model: model.id, stop: ["STOP", "§"] }
        if (family.name === "responses") {
          await refused(driver, () => driver.open(matrix(), setup), stop)
          expect(await matrix().entries(model.name)).toEqual([])
          continue
        }
        const talk = driver.open(matrix(), setup)
        talk.say("count")
        expect(await talk.ask(stream)).toMatchObject({ text: "one two ", finish: words.stop })
        expect((await matrix().arrived(family, model.name))[0]?.stop).toEqual(["STOP", "§"])
      }
    })
  }

  // A local model server has no word for it.
  if (family.name !== "local-model-server") {
    it("an answer that a filter cut says so", async () => {
      for (const stream of [false, true]) {
        const model = await matrix().model(family, face, `filter-${stream}`, { text: "I would", finishReason: "content_filter" })
        const talk = driver.open(matrix(), { model: model.id })
        talk.say("bad words")
        expect(await talk.ask(stream)).toMatchObject({ text: "I would", finish: words.filter })
      }
    })
  }

  // The other families refuse with a reason alone.
  if (family.name === "chat-completions" || family.name === "responses") {
    it("a refusal in words is one in the client's format, or the text where it has none", async () => {
      for (const stream of [false, true]) {
        const model = await matrix().model(family, face, `refusal-${stream}`, { text: "I cannot help.", finishReason: "refusal" })
        const talk = driver.open(matrix(), { model: model.id })
        talk.say("bad words")
        const { finish, refusal, text } = await talk.ask(stream)
        expect({ finish, refusal, text }).toEqual({
          finish: words.refusal, refusal: words.refusesInWords ? "I cannot help." : "", text: words.refusesInWords ? "" : "I cannot help."
        })
      }
    })
  }
}
