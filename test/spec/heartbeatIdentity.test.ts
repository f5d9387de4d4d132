/** Heartbeats in the middle of a stream, for clients that take no comments: they name the stream they stand in, as its other frames do. */
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix({ SSE_HEARTBEAT_INTERVAL_MS: "300", GATEWAY_EARLY_KEEPALIVE_MS: "300", GATEWAY_SSE_COMMENTS: "off" })
})
afterAll(() => matrix.close())

/** Silent before the first event and in the middle. */
const slow = { tokens: 3, latencyMs: 900, paceMs: 900 } as const
type Frame = Readonly<Record<string, unknown>>

const messages = [{ role: "user", content: "Say something." }]
interface Face {
  readonly name: FormatName
  readonly path: (model: string) => string
  readonly body: Frame
  /** What all frames of one stream have in common; undefined for a frame that names nothing. */
  readonly names: (frame: Frame) => unknown
  readonly isBeat: (frame: Frame) => boolean
}

const choice = (frame: Frame) => ((frame["choices"] ?? []) as ReadonlyArray<{ delta?: Frame; text?: string; finish_reason?: unknown }>)[0]
const faces: ReadonlyArray<Face> = [
  {
    name: "chat-completions", path: () => "/v1/chat/completions", body: { messages },
    names: ({ created, id, model, object }) => [id, object, created, model],
    isBeat: (frame) => JSON.stringify(choice(frame)?.delta) === "{}" && choice(frame)?.finish_reason === null
  },
  {
    name: "completions", path: () => "/v1/completions", body: { prompt: "Say something." },
    names: ({ created, id, model, object }) => [id, object, created, model],
    isBeat: (frame) => choice(frame)?.text === "" && choice(frame)?.finish_reason === null
  },
  {
    name: "responses", path: () => "/v1/responses", body: { input: "Say something." },
    names: ({ response }) => (response as Frame | undefined)?.["id"],
    isBeat: ({ sequence_number, type }) => type === "response.in_progress" && sequence_number === undefined
  },
  {
    name: "local-model-server", path: () => "/v1/api/chat", body: { messages },
    names: ({ model }) => model,
    isBeat: ({ done, message }) => done === false && (message as Frame)["content"] === "" && (message as Frame)["thinking"] === undefined
  }
]

const framesOf = (face: Face, text: string): ReadonlyArray<Frame> =>
  (face.name === "local-model-server" ? text.trim().split("\n") : Http.payloads(text).filter((data) => data !== "[DONE]")).map((data) => JSON.parse(data) as Frame)

describe.concurrent("a stream that falls silent", () => {
  it.each(faces.flatMap((face) => families.map((family) => ({ face, family, name: `${face.name} from ${family.name}` }))))("$name: every frame names the same stream", async ({ face, family }) => {
    const { id } = await matrix.model(family, face.name, `beats-${face.name}`, slow)
    const reply = await Http.send(matrix.url, { path: face.path(id), headers: { authorization: `Bearer ${matrix.key}` }, body: { model: id, stream: true, ...face.body } })
    expect(reply.status, reply.text).toBe(200)
    const frames = framesOf(face, reply.text)
    expect(frames.some((frame) => face.isBeat(frame)), reply.text).toBe(true)
    expect(face.isBeat(frames[0] as Frame)).toBe(false)
    const named = frames.map((frame) => JSON.stringify(face.names(frame))).filter((one) => one !== undefined)
    expect(new Set(named).size, reply.text).toBe(1)
    expect(reply.text).not.toMatch(/^:/m)
  })

  it("the vendor's SDK reads the streams of both of its formats", async () => {
    const openai = new OpenAI({ baseURL: `${matrix.url}/v1`, apiKey: matrix.key, maxRetries: 0 })
    for (const family of families.filter(({ name }) => name === "responses" || name === "messages" || name === "chat-completions")) {
      const chat = await matrix.model(family, "chat-completions", "beats-sdk-chat", slow)
      const completion = await openai.chat.completions.stream({ model: chat.id, messages: [{ role: "user", content: "Say something." }] }).finalChatCompletion()
      expect(completion.choices[0]?.message.content).toBeTruthy()
      const responses = await matrix.model(family, "responses", "beats-sdk-responses", slow)
      const response = await openai.responses.stream({ model: responses.id, input: "Say something." }).finalResponse()
      expect(response.output_text).not.toBe("")
    }
  }, 180_000)
})
