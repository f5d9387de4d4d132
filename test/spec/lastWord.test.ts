/** How answers end, and what their rows say when they end otherwise than planned. */
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { contentOf, type Lab, messages, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  const node = await operator.createNode({ prefix: "msgs", type: "anthropic-compatible", baseUrl: `${lab.sim.url}/v1` })
  await operator.createConnection({ provider: node, apiKey: "sk-messages-0000000001" })
})
afterAll(() => lab.close())

const frame = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "c1", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`

/** An upstream that says `text` in a stream and keeps its body open until the gateway cuts it. */
const openEnded = async (prefix: string, text: string) => {
  let cut = 0
  const server = http.createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(text)
    response.on("close", () => cut++)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
  const { operator } = lab.gateway
  const node = await operator.createNode({ prefix, baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` })
  await operator.createConnection({ provider: node, apiKey: "sk-open-ended-000001" })
  return { cut: () => cut, close: () => new Promise((resolve) => server.close(resolve)) }
}

const faces: ReadonlyArray<readonly [string, (model: string) => Http.Call]> = [
  ["chat", (model) => ({ path: "/v1/chat/completions", body: { model, messages, stream: true } })],
  ["messages", (model) => ({ path: "/v1/messages", body: { model, messages, stream: true, max_tokens: 900 } })],
  ["generateContent", (model) => ({ path: `/v1beta/models/${model}:streamGenerateContent?alt=sse`, body: { contents: [{ role: "user", parts: [{ text: "hi" }] }] } })]
]

describe("an upstream that has said its last word and keeps its body open", () => {
  it.each(faces)("keeps no client waiting: %s", async (name, call) => {
    const upstream = await openEnded(`open-${name.toLowerCase()}`, frame({ role: "assistant", content: "All of it." }) + frame({}, "stop") + "data: [DONE]\n\n")
    const reply = await Http.send(lab.gateway.url, call(`open-${name.toLowerCase()}/m`))
    expect([reply.status, reply.whole]).toEqual([200, true])
    expect(reply.text).toContain("All of it.")
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", status: 200, estimated: true }])
    // Its socket is given up soon, so that nothing is left behind.
    await eventually(() => Promise.resolve(upstream.cut()), (cut) => cut === 1, "the end of the wire call")
    await upstream.close()
  })
})

describe("an empty answer of a chat upstream", () => {
  it.each(faces)("is an answer in every format: %s", async (name, call) => {
    const prefix = `empty-${name.toLowerCase()}`
    const upstream = await openEnded(prefix, frame({ role: "assistant", content: "" }) + frame({}, "stop") + "data: [DONE]\n\n")
    const reply = await Http.send(lab.gateway.url, call(`${prefix}/m`))
    expect([reply.status, reply.whole]).toEqual([200, true])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", attempt: 1 }])
    await upstream.close()
  })
})

describe("tokens of an answer that did not end", () => {
  it.each(faces.slice(0, 2))("from a messages upstream are estimated, not taken from its first frame: %s", async (name, call) => {
    const model = `left-${name}`
    await lab.sim.rule({ match: { model }, script: { text: "Once upon a time there was a very long story. ".repeat(40), tokenSize: 8, hangAfter: { frames: 120 } } })
    const stream = await Http.stream(lab.gateway.url, call(`msgs/${model}`))
    await stream.until((text) => text.length > 5_000)
    stream.leave()
    const row = await eventually(() => lab.rows(stream), ([one]) => one !== undefined, "the row")
    expect(row).toMatchObject([{ outcome: "client-abort", status: 499, estimated: true }])
    expect(row[0]?.tokensOut).toBeGreaterThan(40)
    expect(row[0]?.tokensIn).toBeGreaterThan(0)
  })

  it("in full are the upstream's own count", async () => {
    const reply = await Http.send(lab.gateway.url, { path: "/v1/messages", body: { model: "msgs/tokens-7", messages, stream: true, max_tokens: 900 } })
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", tokensOut: 7, estimated: false }])
  })

  it("of a client that left before it began: its request was read, and counts", async () => {
    await lab.sim.rule({ match: { model: "silent" }, script: { neverHead: true } })
    const { request, response } = Http.open(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "lab/silent", messages } })
    response.catch(() => undefined)
    await eventually(() => lab.sim.entries({ model: "silent", outcome: "open" }), ({ length }) => length > 0, "its call")
    request.destroy()
    const logs = await eventually(() => lab.gateway.operator.callLogs(), (rows) => rows.some((row) => row.model === "silent"), "the row")
    expect(logs.find((row) => row.model === "silent")).toMatchObject({ outcome: "client-abort", estimated: true, tokensOut: 0 })
    expect(logs.find((row) => row.model === "silent")?.tokensIn).toBeGreaterThan(0)
  })
})

describe("a whole answer for a client that wanted a stream", () => {
  it("of any size arrives in full", async () => {
    const content = "0123456789abcdef".repeat(1_500_000)
    const server = http.createServer((_, response) => {
      response.writeHead(200, { "content-type": "application/json" })
      response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }] }))
    })
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
    const { operator } = lab.gateway
    const node = await operator.createNode({ prefix: "whole", baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` })
    await operator.createConnection({ provider: node, apiKey: "sk-whole-00000000001" })
    const reply = await lab.chat({ model: "whole/m", stream: true })
    expect(reply.whole).toBe(true)
    expect(contentOf(reply.text) === content).toBe(true)
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed" }])
    server.closeAllConnections()
    await new Promise((resolve) => server.close(resolve))
  }, 180_000)
})
