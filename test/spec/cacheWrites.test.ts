/** What is written to a vendor's prompt cache for an hour costs more than what is kept for five minutes: each has its own price. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { messages } from "#test/support/lab.ts"

const price = { input: 4, output: 20, cached: 0.4, cache_creation: 5, cache_creation_1h: 8 }
/** 100 fresh, 50 read, 600 written, of which 400 for an hour; 10 out. */
const usage = {
  input_tokens: 100, cache_read_input_tokens: 50, cache_creation_input_tokens: 600,
  cache_creation: { ephemeral_5m_input_tokens: 200, ephemeral_1h_input_tokens: 400 }, output_tokens: 10
}
const costUsd = (100 * 4 + 50 * 0.4 + 200 * 5 + 400 * 8 + 10 * 20) / 1e6

const event = (type: string, fields: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`

/** The last counts of a stream are totals, and may leave the split out. */
const streamed = (model: string): string =>
  event("message_start", { message: { id: "m", type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage: { ...usage, output_tokens: 1 } } })
  + event("content_block_start", { index: 0, content_block: { type: "text", text: "" } })
  + event("content_block_delta", { index: 0, delta: { type: "text_delta", text: "yes" } })
  + event("content_block_stop", { index: 0 })
  + event("message_delta", {
    delta: { stop_reason: "end_turn", stop_sequence: null },
    usage: { input_tokens: 100, cache_read_input_tokens: 50, cache_creation_input_tokens: 600, output_tokens: 10 }
  })
  + event("message_stop", {})

const server = NodeHttp.createServer((request, response) => {
  const parts: Array<Buffer> = []
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () => {
    const { model, stream } = JSON.parse(Buffer.concat(parts).toString("utf8")) as { model: string; stream?: boolean }
    if (stream === true) response.writeHead(200, { "content-type": "text/event-stream" }).end(streamed(model))
    else {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({
        id: "m", type: "message", role: "assistant", model, content: [{ type: "text", text: "yes" }], stop_reason: "end_turn", stop_sequence: null, usage
      }))
    }
  })
})

let gateway: InProcess
let provider: string
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  gateway = await inProcess()
  provider = await gateway.operator.createNode({ prefix: "writer", type: "anthropic-compatible", baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` })
  await gateway.operator.createConnection({ provider, apiKey: "k" })
})
afterAll(async () => {
  await gateway.close()
  server.close()
  server.closeAllConnections()
})

describe("tokens written to a prompt cache for an hour", () => {
  const faces = {
    messages: "/v1/messages", "chat-completions": "/v1/chat/completions"
  } as const
  it.each((Object.keys(faces) as ReadonlyArray<keyof typeof faces>).flatMap((face) => [false, true].map((stream) => [face, stream] as const)))(
    "cost their own price for a client of %s, stream %s", async (face, stream) => {
      const model = `${face}-${stream}`
      await gateway.operator.price(provider, model, price)
      const reply = await Http.send(gateway.url, { path: faces[face], body: { model: `writer/${model}`, messages, max_tokens: 64, stream } })
      expect(reply.status, reply.text).toBe(200)
      if (!stream) expect(Number(reply.headers["x-gateway-response-cost"])).toBeCloseTo(costUsd, 10)
      const [row] = await gateway.rows(reply.headers["x-gateway-request-id"])
      expect(row).toMatchObject({ tokensIn: 750, tokensCacheRead: 50, tokensCacheCreation: 600, tokensOut: 10 })
      expect(row!.costUsd).toBeCloseTo(costUsd, 10)
    }
  )

  it("have the vendor's price by default, and that of all writing once an operator sets this one", async () => {
    const shown = async () => (await gateway.operator.call<Record<string, Record<string, unknown>>>("GET", "/api/pricing"))["anthropic"]?.["claude-haiku-4-5"]
    expect(await shown()).toMatchObject({ input: 1, cache_creation: 1.25, cache_creation_1h: 2 })
    await gateway.operator.price("anthropic", "claude-haiku-4-5", { cache_creation: 1 })
    expect(await shown()).not.toHaveProperty("cache_creation_1h")
    await gateway.operator.price("anthropic", "claude-haiku-4-5", { cache_creation_1h: 1.5 })
    expect(await shown()).toMatchObject({ cache_creation: 1, cache_creation_1h: 1.5 })
  })
})
