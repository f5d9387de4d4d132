/** Setting usageTokenBuffer: clients are told more prompt tokens, in every format; records, headers and what is kept have the real numbers. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { converged } from "#test/support/cluster.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { errorIn } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

const BUFFER = 4_321

let matrix: Matrix
const buffer = async (usageTokenBuffer: number): Promise<void> => {
  await matrix.gateway.operator.call("PATCH", "/api/settings", { usageTokenBuffer })
  await converged(matrix.gateway)
}
beforeAll(async () => {
  matrix = await startMatrix()
  await buffer(BUFFER)
})
afterAll(() => matrix.close())

const turn = [{ role: "user", content: "Say something to the point." }]

interface Face {
  readonly name: FormatName
  readonly ask: (model: string, stream: boolean) => { readonly path: string; readonly body: Readonly<Record<string, unknown>> }
  /** Names of the prompt's tokens, and of all tokens. */
  readonly prompt: string
  readonly total: string | null
}

const faces: ReadonlyArray<Face> = [
  {
    name: "chat-completions", prompt: "prompt_tokens", total: "total_tokens",
    ask: (model, stream) => ({ path: "/v1/chat/completions", body: { model, messages: turn, ...(stream ? { stream, stream_options: { include_usage: true } } : {}) } })
  },
  {
    name: "completions", prompt: "prompt_tokens", total: "total_tokens",
    ask: (model, stream) => ({ path: "/v1/completions", body: { model, prompt: "Say something.", ...(stream ? { stream, stream_options: { include_usage: true } } : {}) } })
  },
  { name: "messages", prompt: "input_tokens", total: null, ask: (model, stream) => ({ path: "/v1/messages", body: { model, max_tokens: 50, messages: turn, stream } }) },
  { name: "responses", prompt: "input_tokens", total: "total_tokens", ask: (model, stream) => ({ path: "/v1/responses", body: { model, input: "Say something.", stream } }) },
  { name: "local-model-server", prompt: "prompt_eval_count", total: null, ask: (model, stream) => ({ path: "/v1/api/chat", body: { model, messages: turn, stream } }) },
  {
    name: "generateContent", prompt: "promptTokenCount", total: "totalTokenCount",
    ask: (model, stream) => ({ path: `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`, body: { contents: [{ role: "user", parts: [{ text: "Say something." }] }] } })
  }
]

/** The numbers of a name in a text, in their order. */
const numbersOf = (text: string, name: string): ReadonlyArray<number> => [...text.matchAll(new RegExp(`"${name}":\\s*(\\d+)`, "g"))].map(([, number]) => Number(number))

const send = (body: { readonly path: string; readonly body: unknown }) => Http.send(matrix.url, { ...body, headers: { authorization: `Bearer ${matrix.key}` } })

const rowOf = async (reply: Http.Reply) => (await matrix.rows(reply.headers["x-gateway-request-id"] ?? ""))[0]

describe.each(faces)("a client of $name", ({ ask, name, prompt, total }) => {
  it.each(families.flatMap((family) => [false, true].map((stream) => [family.name, stream ? "in a stream" : "whole", family, stream] as const)))("of %s is told more %s", async (_name, _how, family, stream) => {
    const { id } = await matrix.model(family, name, `buffer-${name}-${stream}`.toLowerCase())
    const reply = await send(ask(id, stream))
    expect(reply.status, reply.text.slice(0, 300)).toBe(200)
    const row = await eventually(() => rowOf(reply), (found) => found?.tokensIn !== undefined, "the row")
    expect(row?.tokensIn).toBeGreaterThan(0)
    expect(row?.tokensIn).toBeLessThan(BUFFER)
    expect(numbersOf(reply.text, prompt).at(-1)).toBe(BUFFER + row!.tokensIn)
    if (total !== null) expect(numbersOf(reply.text, total).at(-1)).toBe(BUFFER + row!.tokensIn + row!.tokensOut)
    if (!stream) expect(reply.headers["x-gateway-tokens-in"]).toBe(String(row!.tokensIn))
  })
})

describe("an answer that is given again", () => {
  it.each([false, true])("has the tokens once, streamed: %s", async (stream) => {
    const [family] = families
    const { id } = await matrix.model(family!, "chat-completions", `buffer-cache-${stream}`)
    const body = { model: id, messages: turn, temperature: 0, ...(stream ? { stream, stream_options: { include_usage: true } } : {}) }
    const [first, second] = [await send({ path: "/v1/chat/completions", body }), await send({ path: "/v1/chat/completions", body })]
    expect(second.headers["x-gateway-cache"]).toBe("HIT")
    expect(numbersOf(second.text, "prompt_tokens")).toEqual(numbersOf(first.text, "prompt_tokens"))
    expect(numbersOf(second.text, "prompt_tokens")[0]).toBeGreaterThan(BUFFER)
    expect(numbersOf(second.text, "prompt_tokens")[0]).toBeLessThan(2 * BUFFER)
  })

  it("has them when a stored response is read", async () => {
    const [family] = families
    const { id: model } = await matrix.model(family!, "responses", "buffer-stored")
    const reply = await send({ path: "/v1/responses", body: { model, input: "Keep it.", store: true } })
    const told = JSON.parse(reply.text) as { id: string; usage: unknown }
    const read = async () => (JSON.parse((await Http.send(matrix.url, { path: `/v1/responses/${told.id}`, headers: { authorization: `Bearer ${matrix.key}` } })).text) as { usage: { input_tokens: number } }).usage
    expect(await read()).toEqual(told.usage)
    await buffer(0)
    expect((await read()).input_tokens).toBe((told.usage as { input_tokens: number }).input_tokens - BUFFER)
    await buffer(BUFFER)
  })
})

describe("a number that is none", () => {
  it.each([-1, 50_001, 1.5, "100"])("is refused: %j", async (usageTokenBuffer) => {
    const reply = await matrix.gateway.operator.raw("PATCH", "/api/settings", { usageTokenBuffer })
    expect(reply.status).toBe(400)
    expect(JSON.stringify(errorIn(reply))).toContain("usageTokenBuffer")
  })
})
