/** Streams whose single events have 10 MB: pictures pass without holding the gateway's loop, what no vendor sends is refused. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { longestMs, turnClock } from "#test/support/loop.ts"

const SIZE = 10_000_000
const image = Buffer.alloc(SIZE * 0.75, "\u0089PNG\r\n\u001a\n pixels", "latin1").toString("base64")

const frame = (parts: string, more: string): string =>
  `data: {"candidates":[{"index":0,"content":{"role":"model","parts":[${parts}]}${more}}],"usageMetadata":{"promptTokenCount":7,"candidatesTokenCount":5}}\n\n`
const whole = "\"finishReason\":\"STOP\""
const shapes: Readonly<Record<string, string>> = {
  picture: frame("{\"text\":\"See:\"}", "") + frame(`{"inlineData":{"mimeType":"image/png","data":"${image}"}}`, `,${whole}`),
  objects: frame("{\"text\":\"See:\"}", "") + frame("{\"text\":\"!\"}", `,"x":[${Array.from({ length: SIZE / 10 }, () => "{\"a\":\"b\"}").join(",")}],${whole}`),
  text: frame("{\"text\":\"See:\"}", "") + frame(`{"text":"${"words, ".repeat(SIZE / 7)}"}`, `,${whole}`)
}

const user = [{ role: "user", content: "draw" }]
const faces: Readonly<Record<string, (model: string) => Http.Call>> = {
  generateContent: (model) => ({ path: `/v1beta/models/gemini/${model}:streamGenerateContent?alt=sse`, body: { contents: [{ role: "user", parts: [{ text: "draw" }] }] } }),
  "chat-completions": (model) => ({ path: "/v1/chat/completions", body: { model: `gemini/${model}`, messages: user, stream: true } }),
  messages: (model) => ({ path: "/v1/messages", body: { model: `gemini/${model}`, max_tokens: 9, messages: user, stream: true } }),
  responses: (model) => ({ path: "/v1/responses", body: { model: `gemini/${model}`, input: "draw", stream: true } })
}

/** A neighbour on the host makes a turn longer now and then, the gateway's own work makes it long each time. */
const rounds = 3

describe("events of 10 MB", () => {
  const clock = turnClock()
  let gateway: Spawned
  let server: NodeHttp.Server
  beforeAll(async () => {
    server = NodeHttp.createServer((request, response) => {
      request.resume()
      const shape = /models\/(\w+):/.exec(request.url ?? "")?.[1] ?? ""
      request.on("end", () => response.writeHead(200, { "content-type": "text/event-stream" }).end(shapes[shape]))
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
    gateway = await spawned({ environment: clock.environment })
    const { operator } = gateway
    await operator.letFailuresPass()
    const { port } = server.address() as AddressInfo
    await operator.createConnection({ provider: "gemini", apiKey: "k", providerSpecificData: { baseUrl: `http://127.0.0.1:${port}/v1beta` } })
  }, 180_000)
  afterAll(async () => {
    await gateway.close()
    server.closeAllConnections()
    server.close()
  })

  const ask = async (name: string, shape: string, count: number): Promise<ReadonlyArray<Http.Reply>> => {
    const call = faces[name]?.(shape)
    if (call === undefined) throw new Error(`no face ${name}`)
    return Promise.all(Array.from({ length: count }, () => Http.send(gateway.url, call)))
  }

  it.each(Object.keys(faces))("a picture passes to a client of %s", async (name) => {
    let longest = Number.POSITIVE_INFINITY
    for (let round = 0; round < rounds && longest >= longestMs; round++) {
      let replies: ReadonlyArray<Http.Reply> = []
      longest = Math.min(longest, await clock.longest(gateway, async () => { replies = await ask(name, "picture", 4) }))
      expect(replies.map((reply) => [reply.status, reply.text.includes(image)])).toEqual(replies.map(() => [200, true]))
      const [row] = await gateway.operator.attempts(replies[0]?.headers["x-gateway-request-id"] ?? "")
      expect([row?.tokensIn, row?.tokensOut, row?.outcome]).toEqual([7, 5, "completed"])
    }
    console.log(`picture for ${name}: longest turn ${longest.toFixed(1)} ms`)
    expect(longest).toBeLessThan(longestMs)
  }, 180_000)

  it.each(["objects", "text"])("a stream of %s ends with an error", async (shape) => {
    for (const name of Object.keys(faces)) {
      let longest = Number.POSITIVE_INFINITY
      for (let round = 0; round < rounds && longest >= longestMs; round++) {
        let replies: ReadonlyArray<Http.Reply> = []
        longest = Math.min(longest, await clock.longest(gateway, async () => { replies = await ask(name, shape, 1) }))
        expect([name, replies[0]?.status, replies[0]?.text.includes("error")]).toEqual([name, 200, true])
      }
      console.log(`${shape} for ${name}: longest turn ${longest.toFixed(1)} ms`)
      expect([name, longest < longestMs]).toEqual([name, true])
    }
  }, 180_000)
})
