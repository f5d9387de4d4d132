/** Words that every object of the language inherits, such as `constructor`, mean what any unknown word means, wherever a request may say a word. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  for (const [provider, path] of [["jina", "/v1"], ["elevenlabs", "/v1"], ["deepgram", "/v1"], ["gemini", "/v1beta"]] as const) {
    await lab.gateway.operator.createConnection({ provider, apiKey: `${provider}-inherited-000001`, providerSpecificData: { baseUrl: `${lab.sim.url}${path}` } })
  }
})
afterAll(() => lab.close())

const inherited = ["constructor", "toString", "__proto__", "hasOwnProperty"]
const unknown = "unheard"

type Ask = (word: string) => Http.Call
const item = (word: string, source: unknown): Http.Call => ({ path: "/v1/embeddings", body: JSON.stringify({ model: "jina/jina-embeddings-v4", input: [{ type: word, source }] }) })
const document = (word: string) => ({ inlineData: { mimeType: word, data: "AAAA" } })
const refused: ReadonlyArray<readonly [what: string, ask: Ask]> = [
  ["the type of an item of embeddings", (word) => item(word, { type: "base64", data: "AAAA", media_type: "image/png" })],
  ["the type of an item of embeddings by address", (word) => item(word, { type: "url", url: "https://media.test/a.png" })],
  ["ElevenLabs' format of speech", (word) => ({ path: "/v1/audio/speech", body: { model: "elevenlabs/eleven_v3", input: "Hi.", voice: "v", response_format: word } })],
  ["Deepgram's format of speech", (word) => ({ path: "/v1/audio/speech", body: { model: "deepgram/aura-2-thalia-en", input: "Hi.", voice: "v", response_format: word } })],
  ["ElevenLabs' format of music", (word) => ({ path: "/v1/music/generations", body: { model: "elevenlabs/music_v1", prompt: "Hi.", format: word } })]
]

describe.each(inherited)("the word %s", (word) => {
  it.each(refused)("is refused as %s", async (_, ask) => {
    const [reply, other] = [await Http.send(lab.gateway.url, ask(word)), await Http.send(lab.gateway.url, ask(unknown))]
    expect([reply.status, reply.text]).toEqual([400, other.text])
  })

  it("is a format of sound, and a type of document, as any other", async () => {
    const sound = await lab.chat({ model: "gemini/gemini-2.5-flash", messages: [{ role: "user", content: [{ type: "text", text: "Hi." }, { type: "input_audio", input_audio: { data: "AAAA", format: word } }] }] })
    expect([sound.status, (await lab.sim.entries({ model: "gemini-2.5-flash" })).at(-1)?.body]).toMatchObject([
      200, { contents: [{ parts: [{ text: "Hi." }, { inlineData: { mimeType: `audio/${word.toLowerCase()}`, data: "AAAA" } }] }] }
    ])
    await Http.send(lab.gateway.url, { path: "/v1beta/models/lab/inherited:generateContent", body: { contents: [{ role: "user", parts: [document(word)] }] } })
    expect((await lab.sim.entries({ model: "inherited" })).at(-1)?.body).toMatchObject({ messages: [{ content: [{ file: { filename: "document.bin" } }] }] })
  })

  it("is no coding of an upstream's answer", async () => {
    const asked = await Promise.all([word, unknown].map(async (coding) => {
      const model = `coded-${coding.toLowerCase()}`
      await lab.sim.rule({ match: { model }, script: { status: 200, body: { id: "x" }, headers: { "content-encoding": coding } } })
      const { status, text } = await lab.chat({ model })
      return [status, text.replaceAll(coding, unknown).replaceAll(coding.toLowerCase(), unknown)]
    }))
    expect(asked[0]).toEqual(asked[1])
  })
})
