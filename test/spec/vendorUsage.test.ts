/** What vendors of the chat completions format count beside its own fields: each token is in the row once, at its own price, in every client's format. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { messages } from "#test/support/lab.ts"

const price = { input: 1, output: 10, cached: 0.1, cache_creation: 2, reasoning: 10 }

/** As xAI, Moonshot, OpenRouter, Alibaba and Groq send it. */
const vendors = {
  "reasoning-beside": {
    usage: { prompt_tokens: 12, completion_tokens: 1, total_tokens: 399, completion_tokens_details: { reasoning_tokens: 386 } },
    row: { tokensIn: 12, tokensOut: 387, tokensReasoning: 386, costUsd: 0.003882 }
  },
  "reasoning-only": {
    usage: { prompt_tokens: 21, completion_tokens: 0, total_tokens: 81, completion_tokens_details: { reasoning_tokens: 60 } },
    row: { tokensIn: 21, tokensOut: 60, tokensReasoning: 60, costUsd: 0.000621 }
  },
  "reasoning-within": {
    usage: { prompt_tokens: 12, completion_tokens: 400, total_tokens: 412, completion_tokens_details: { reasoning_tokens: 386 } },
    row: { tokensIn: 12, tokensOut: 400, tokensReasoning: 386, costUsd: 0.004012 }
  },
  "cached-on-top": {
    usage: { prompt_tokens: 1_336, completion_tokens: 31, total_tokens: 1_367, cached_tokens: 1_280 },
    row: { tokensIn: 1_336, tokensOut: 31, tokensCacheRead: 1_280, costUsd: 0.000494 }
  },
  "cache-write": {
    usage: { prompt_tokens: 194, completion_tokens: 2, total_tokens: 196, prompt_tokens_details: { cached_tokens: 0, cache_write_tokens: 100 } },
    row: { tokensIn: 194, tokensOut: 2, tokensCacheCreation: 100, costUsd: 0.000314 }
  },
  "cache-creation": {
    usage: { prompt_tokens: 194, completion_tokens: 2, total_tokens: 196, prompt_tokens_details: { cached_tokens: 0, cache_creation_input_tokens: 100 } },
    row: { tokensIn: 194, tokensOut: 2, tokensCacheCreation: 100, costUsd: 0.000314 }
  }
} as const

type Vendor = keyof typeof vendors
type Place = "own" | "choice" | "x_groq"

const frame = (body: object): string => `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", ...body })}\n\n`

/** The stream with its usage where the vendor puts it. */
const streamed = (usage: object, place: Place): string => {
  const last = { index: 0, delta: {}, finish_reason: "stop", ...(place === "choice" ? { usage } : {}) }
  return frame({ choices: [{ index: 0, delta: { role: "assistant", content: "yes" }, finish_reason: null }] })
    + frame({ choices: [last], ...(place === "x_groq" ? { x_groq: { id: "r", usage } } : {}) })
    + (place === "own" ? frame({ choices: [], usage }) : "")
    + "data: [DONE]\n\n"
}

const server = NodeHttp.createServer((request, response) => {
  const parts: Array<Buffer> = []
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () => {
    const { model, stream } = JSON.parse(Buffer.concat(parts).toString("utf8")) as { model: string; stream?: boolean }
    const [vendor, place] = model.split(".") as [Vendor, Place]
    const { usage } = vendors[vendor]
    if (stream === true) response.writeHead(200, { "content-type": "text/event-stream" }).end(streamed(usage, place))
    else {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify({
        id: "c", object: "chat.completion", created: 1, model, choices: [{ index: 0, message: { role: "assistant", content: "yes" }, finish_reason: "stop" }], usage
      }))
    }
  })
})

let gateway: InProcess
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  gateway = await inProcess()
  const provider = await gateway.operator.createNode({ prefix: "vendor", baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` })
  await gateway.operator.createConnection({ provider, apiKey: "k" })
  for (const vendor of Object.keys(vendors)) for (const place of ["own", "choice", "x_groq"]) await gateway.operator.price(provider, `${vendor}.${place}`, price)
})
afterAll(async () => {
  await gateway.close()
  server.close()
  server.closeAllConnections()
})

const faces = {
  "chat-completions": (model: string, stream: boolean) => ({ path: "/v1/chat/completions", body: { model, messages, stream } }),
  messages: (model: string, stream: boolean) => ({ path: "/v1/messages", body: { model, messages, max_tokens: 64, stream } }),
  responses: (model: string, stream: boolean) => ({ path: "/v1/responses", body: { model, input: "Say something.", stream } })
} as const

describe("usage of a vendor", () => {
  const places = { whole: ["own"], streamed: ["own", "choice", "x_groq"] } as const
  const cases = (Object.keys(vendors) as ReadonlyArray<Vendor>).flatMap((vendor) => (Object.keys(faces) as ReadonlyArray<keyof typeof faces>).flatMap((face) =>
    (["whole", "streamed"] as const).flatMap((way) => places[way].map((place) => [vendor, way, place, face] as const))))

  it.each(cases)("%s, %s, in %s, to %s", async (vendor, way, place, face) => {
    const reply = await Http.send(gateway.url, faces[face](`vendor/${vendor}.${place}`, way === "streamed"))
    expect(reply.status, reply.text).toBe(200)
    const [row] = await gateway.rows(reply.headers["x-gateway-request-id"])
    expect(row).toMatchObject({ outcome: "completed", estimated: false, ...vendors[vendor].row })
  })

  it("reaches a client of the same format as the vendor sent it", async () => {
    const body = { model: "vendor/reasoning-beside.own", messages, stream: true, stream_options: { include_usage: true } }
    const reply = await Http.send(gateway.url, { path: "/v1/chat/completions", body })
    expect(reply.text).toContain(JSON.stringify(vendors["reasoning-beside"].usage))
  })
})
