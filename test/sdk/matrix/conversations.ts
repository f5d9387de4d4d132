/** Text, streams, pictures, structured answers and what the ledger says of them. */
import { expect, it } from "vitest"
import { cost } from "#src/platform/accounting/cost.ts"
import { type Case, png, schema } from "./Driver.ts"
import { PRICE } from "#test/support/families.ts"

const system = "Answer in the user's language."
const question = "Grüezi, 世界! 👋 What is \"new\"?"

/** What a family reports of the scripted usage: not every one has a word for everything. */
const reported = { promptTokens: 100, cachedTokens: 40, cacheWriteTokens: 10, completionTokens: 30, reasoningTokens: 10 }

export const conversations = ({ driver, family, matrix }: Case): void => {
  const { face, words } = driver

  it("a whole answer: system prompt and question arrive, text, reason and usage come back", async () => {
    const model = await matrix().model(family, face, `plain`)
    const talk = driver.open(matrix(), { model: model.id, system })
    talk.say(question)
    const heard = await talk.ask(false)
    expect(heard).toMatchObject({ text: question, finish: words.stop, calls: [], thinking: "" })
    const [seen] = await matrix().arrived(family, model.name)
    expect(seen).toMatchObject({ system, user: [question], assistant: [], images: [], tools: [] })
    const [entry] = await matrix().entries(model.name)
    expect(heard.usage).toMatchObject({ input: entry?.promptTokens, output: entry?.tokensSent })
  })

  it("a stream gives the same text in pieces, and the client's own accumulator the same answer", async () => {
    const model = await matrix().model(family, face, `stream`, { answer: "echo", split: { random: 5, max: 40 } })
    const whole = driver.open(matrix(), { model: model.id, system })
    whole.say(question)
    const expected = await whole.ask(false)
    const talk = driver.open(matrix(), { model: model.id, system })
    talk.say(question)
    const pieces: Array<string> = []
    const heard = await talk.ask(true, (piece) => pieces.push(piece))
    expect(pieces.length).toBeGreaterThan(1)
    expect(pieces.join("")).toBe(question)
    expect(heard).toEqual(expected)
  })

  it("a second question carries the first answer", async () => {
    for (const stream of [false, true]) {
      const model = await matrix().model(family, face, `second-${stream}`)
      const talk = driver.open(matrix(), { model: model.id, system })
      talk.say("first")
      await talk.ask(stream)
      talk.say("second")
      expect((await talk.ask(stream)).text).toBe("second")
      expect((await matrix().arrived(family, model.name))[1]).toMatchObject({ system, user: ["first", "second"], assistant: ["first"] })
    }
  })

  it("the ledger's row says both formats, the tokens as the vendor reported them, and their cost", async () => {
    for (const stream of [false, true]) {
      const model = await matrix().model(family, face, `ledger-${stream}`, { text: "some words", reasoning: "aha", usage: reported })
      const prefix = family.prefix(face)
      await matrix().price(prefix, model.name)
      const talk = driver.open(matrix(), { model: model.id })
      talk.say("count me")
      const heard = await talk.ask(stream)
      const [row] = await matrix().rowsOf(model.name, 1)
      const cacheRead = family.name === "local-model-server" ? 0 : reported.cachedTokens
      const reasoning = family.name === "local-model-server" || family.name === "messages" ? 0 : reported.reasoningTokens
      const cacheCreation = family.name === "generateContent" || family.name === "local-model-server" ? 0 : reported.cacheWriteTokens
      expect(row).toMatchObject({
        sourceFormat: face, targetFormat: family.name, provider: matrix().providers.get(prefix), requestedModel: model.id, stream, outcome: "completed",
        status: 200, final: true, attempt: 1, estimated: false, tokensIn: 100, tokensOut: 30, tokensCacheRead: cacheRead, tokensCacheCreation: cacheCreation,
        tokensReasoning: reasoning
      })
      // (100 - cached) x 1 + cached x 0.1 + 30 x 10 USD per million.
      expect(row?.costUsd).toBe(cacheRead === 0 ? 0.0004 : 0.000364)
      expect(row?.costUsd).toBe(cost(row!, PRICE))
      expect(row?.requestId).toBe(talk.header("x-gateway-request-id"))
      expect(heard.usage).toEqual({ input: 100, cached: driver.reportsCached ? cacheRead : null, output: 30 })
    }
  })

  it("a picture arrives with its bytes", async () => {
    const model = await matrix().model(family, face, `picture`)
    const talk = driver.open(matrix(), { model: model.id })
    talk.say("What is this?", png)
    expect((await talk.ask(false)).text).toBe("What is this?")
    expect((await matrix().arrived(family, model.name))[0]).toMatchObject({ images: [png], user: ["What is this?"] })
  })

  it("a schema arrives as it is, the JSON comes back", async () => {
    for (const stream of [false, true]) {
      const model = await matrix().model(family, face, `json-${stream}`, { text: "{\"city\":\"Bern\",\"days\":3}" })
      const talk = driver.open(matrix(), { model: model.id, structured: true })
      talk.say("Where?")
      const heard = await talk.ask(stream)
      expect(JSON.parse(heard.text)).toEqual({ city: "Bern", days: 3 })
      expect((await matrix().arrived(family, model.name))[0]?.schema).toEqual(schema)
    }
  })

  it("a field without a word there is left out, and the client is told", async () => {
    const model = await matrix().model(family, face, `hint`)
    const { extra, field, omittedFor } = driver.hint
    for (const stream of [false, true]) {
      const talk = driver.open(matrix(), { model: model.id, extra })
      talk.say("hello")
      expect((await talk.ask(stream)).text).toBe("hello")
      const omitted = talk.header("x-gateway-omitted").split(", ").filter((name) => name !== "" && !name.startsWith("max_tokens "))
      expect(omitted).toEqual(omittedFor.includes(family.name) ? [field] : [])
    }
  })
}
