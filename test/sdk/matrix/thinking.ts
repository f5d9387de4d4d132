/** Thoughts: shown to the client, and given back with the vendor's proof to the family that made them. */
import { expect, it } from "vitest"
import type { FamilyName } from "#schemas/wire/conversation.ts"
import type { Script } from "#src/simulator/Simulator.ts"
import type { Case, Driver } from "./Driver.ts"
import { conclusion, type Ending, proof, signedReply, thought } from "./signedReplies.ts"

const call = { name: "get_weather", arguments: { city: "Bern", days: 1 } }

/** Two of the simulator's formats sign by themselves; of the others the reply is written out. */
const scriptOf = (family: FamilyName, model: string, stream: boolean, ending: Ending): Script =>
  family === "chat-completions" || family === "responses"
    ? signedReply(family, model, stream, ending)
    : { reasoning: thought, ...(ending === "call" ? { toolCalls: [call] } : { text: conclusion }) }

/** What must reach the vendor on the second turn: exact, or the answer's id where the simulator made the proof of it. */
const expectProof = (signatures: ReadonlyArray<string>, family: FamilyName, driver: Driver, id: string, ending: Ending): void => {
  // The gateway keeps a call's signature by its id where the client's format has no field for it; other thoughts stay behind.
  const kept = family === "generateContent" && ending === "call"
  if (!driver.carriesSignatures && family !== driver.face && !kept) return expect(signatures).toEqual([])
  if (family === "chat-completions" || family === "responses") return expect(signatures).toEqual([proof])
  if (family === "local-model-server") return expect(signatures).toEqual([])
  expect(signatures.length).toBe(1)
  const made = Buffer.from(signatures[0] ?? "", "base64")
  expect(made.toString("base64")).toBe(signatures[0])
  expect(made.toString()).toContain(id)
  expect(made.toString()).not.toContain("gateway")
}

export const thinking = ({ driver, family: { thinker, ...rest }, matrix }: Case): void => {
  const family = { ...rest, thinker, stem: thinker }
  const { face } = driver

  for (const stream of [false, true]) {
    it(`thoughts are asked for and shown, ${stream ? "streamed" : "whole"}`, async () => {
      const model = await matrix().model(family, face, `thoughts-${stream}`, { reasoning: thought, text: conclusion })
      const talk = driver.open(matrix(), { model: model.id, thinking: true })
      talk.say("Why?")
      expect(await talk.ask(stream)).toMatchObject({ thinking: thought, text: conclusion })
      expect((await matrix().arrived(family, model.name))[0]?.thinks).toBe(true)
    })

    it(`a signature returns on the next turn to the family that made it, ${stream ? "streamed" : "whole"}`, async () => {
      const label = `signed-${stream}`
      const name = `${family.stem}-${label}`
      const model = await matrix().model(family, face, label, scriptOf(family.name, name, stream, "call"), { answer: "echo" })
      const talk = driver.open(matrix(), { model: model.id, thinking: true, tools: true })
      talk.say("Weather in Bern?")
      const first = await talk.ask(stream)
      expect(first.thinking).toBe(thought)
      expect(first.calls.map(({ args, name: called }) => ({ name: called, arguments: args }))).toEqual([call])
      talk.results([{ ...first.calls[0]!, text: "sunny" }])
      const second = await talk.ask(stream)
      expect(second.text).toContain("sunny")
      const [entry] = await matrix().entries(model.name)
      const seen = (await matrix().arrived(family, model.name))[1]
      expectProof(seen?.signatures ?? [], family.name, driver, entry?.id ?? "none", "call")
      if (family.name === "local-model-server" || family.name === "chat-completions") expect(seen?.thoughts).toEqual([thought])
      if (family.name === "messages" && driver.carriesSignatures) expect(seen?.thoughts).toEqual([thought])
    })

    it(`so does the signature of an answer without calls, ${stream ? "streamed" : "whole"}`, async () => {
      const label = `concluded-${stream}`
      const model = await matrix().model(family, face, label, scriptOf(family.name, `${family.stem}-${label}`, stream, "text"), { answer: "echo" })
      const talk = driver.open(matrix(), { model: model.id, thinking: true })
      talk.say("Why?")
      expect(await talk.ask(stream)).toMatchObject({ thinking: thought, text: conclusion, finish: driver.words.stop })
      talk.say("And then?")
      expect((await talk.ask(stream)).text).toBe("And then?")
      const [entry] = await matrix().entries(model.name)
      const seen = (await matrix().arrived(family, model.name))[1]
      expect(seen).toMatchObject({ user: ["Why?", "And then?"], assistant: [conclusion] })
      expectProof(seen?.signatures ?? [], family.name, driver, entry?.id ?? "none", "text")
    })
  }
}
