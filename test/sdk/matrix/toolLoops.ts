/** Tools: parallel calls, results, three turns, and a call that is forced. */
import { expect, it } from "vitest"
import { type Case, type Heard, png, type Talk, tools } from "./Driver.ts"

const hard = { city: "Zürich \"HB\"\n東京 \\ 👍", days: 2 }
const easy = { city: "Bern", days: 1 }

const named = (heard: Heard) => heard.calls.map(({ args, name }) => ({ name, args }))

export const toolLoops = ({ driver, family, matrix }: Case): void => {
  const { face, fields, words } = driver
  // Gemini 3 signs the first call of a step, and refuses it back without.
  const thoughts = family.name === "chat-completions" ? {} : { reasoning: "Step by step." }

  for (const stream of [false, true]) {
    it(`a loop of three turns, ${stream ? "streamed" : "whole"}: parallel calls, no arguments, an error and a picture as results`, async () => {
      const model = await matrix().model(family, face, `loop-${stream}`,
        { ...thoughts, toolCalls: [{ name: "get_weather", arguments: hard }, { name: "get_time", arguments: {} }], tokenSize: 3, split: { random: 3, max: 17 } },
        { ...thoughts, text: "Let me look again.", toolCalls: [{ name: "get_weather", arguments: easy }] },
        { answer: "echo" })
      const talk = driver.open(matrix(), { model: model.id, system: "Use the tools.", tools: true })
      talk.say("Weather in two cities?")
      const first = await talk.ask(stream)
      expect(first).toMatchObject({ finish: words.tools, text: "" })
      expect(named(first)).toEqual([{ name: "get_weather", args: hard }, { name: "get_time", args: {} }])
      if (driver.face !== "local-model-server") expect(new Set(first.calls.map((call) => call.id)).size).toBe(2)
      talk.results([
        { ...first.calls[0]!, text: "{\"sky\":\"clear ☀\"}" },
        { ...first.calls[1]!, text: "the clock is broken", isError: driver.resultErrors }
      ])
      const second = await talk.ask(stream)
      expect(second).toMatchObject({ finish: words.tools, text: "Let me look again." })
      expect(named(second)).toEqual([{ name: "get_weather", args: easy }])
      talk.results([{ ...second.calls[0]!, text: "a radar picture", ...(driver.resultImages ? { image: png } : {}) }])
      const third = await talk.ask(stream)
      expect(third.finish).toBe(words.stop)
      // A chat upstream takes no pictures from tools: one stands in a message of its own behind the result, and is what is echoed.
      expect(third.text).toContain(family.name === "chat-completions" && driver.resultImages ? "get_weather" : "a radar picture")

      const seen = await matrix().arrived(family, model.name)
      expect(seen.map((one) => one.tools)).toEqual([1, 2, 3].map(() => tools.map((tool) => tool.name)))
      expect(seen[1]?.calls).toEqual([{ name: "get_weather", args: hard }, { name: "get_time", args: {} }])
      expect(seen[1]?.results.map((result) => result.text)).toEqual(["{\"sky\":\"clear ☀\"}", "the clock is broken"])
      const knowsErrors = family.name === "messages" || family.name === "generateContent"
      expect(seen[1]?.results.map((result) => result.isError)).toEqual(knowsErrors ? [false, driver.resultErrors] : [null, null])
      expect(seen[2]?.calls.length).toBe(3)
      expect(seen[2]?.results.map((result) => result.text)).toEqual(["{\"sky\":\"clear ☀\"}", "the clock is broken", "a radar picture"])
      expect(seen[2]?.assistant).toContain("Let me look again.")
      // In the result where the family takes pictures there, else beside it.
      const pictures = (seen[2]?.results ?? []).reduce((sum, result) => sum + result.images, 0) + (seen[2]?.images.length ?? 0)
      expect(pictures).toBe(driver.resultImages ? 1 : 0)
      expect(seen[2]?.user[0]).toBe("Weather in two cities?")
    })
  }

  if (fields.toolChoice !== null) {
    it("a forced call is forced there too, or refused in the client's words where it cannot be", async () => {
      for (const forced of ["get_time", "required"]) {
        const model = await matrix().model(family, face, `forced-${forced}`)
        const setup = { model: model.id, tools: true, forced }
        if (family.name === "local-model-server") {
          await refused(driver, () => driver.open(matrix(), setup), fields.toolChoice ?? "")
          expect(await matrix().entries(model.name)).toEqual([])
          continue
        }
        const talk = driver.open(matrix(), setup)
        talk.say("go")
        const heard = await talk.ask(false)
        expect(heard.calls.map((call) => call.name)).toEqual([forced === "required" ? "get_weather" : "get_time"])
        expect((await matrix().arrived(family, model.name))[0]?.forced).toBe(forced)
      }
    })
  }
}

/** The request is refused before anything is sent, and the client's class of error names the field. */
export const refused = async (driver: Case["driver"], open: () => Talk, field: string): Promise<void> => {
  for (const stream of [false, true]) {
    const talk = open()
    talk.say("go")
    const error: unknown = await talk.ask(stream).then(() => null, (cause: unknown) => cause)
    expect(error).toBeInstanceOf(driver.errorClass(400))
    expect(driver.statusOf(error)).toBe(400)
    expect((error as Error).message).toContain(`Field '${field}`)
  }
}
