/** A prompt is given up once its answer streams: however its target was chosen, a stream holds none of it. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import * as v8 from "node:v8"
import * as vm from "node:vm"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

v8.setFlagsFromString("--expose-gc")
const collect = vm.runInNewContext("gc") as () => void

const held = async (): Promise<number> => {
  collect()
  // What an ended turn still had is free in the next one.
  await new Promise((resolve) => setImmediate(resolve))
  collect()
  return process.memoryUsage().arrayBuffers
}

const STREAMS = 60
/** Above what is kept for the tokenizer, below what threads of their own read. */
const PROMPT_BYTES = 200_000
/** Prompts are held by all streams or by none; the collector may be late with a few. */
const MOST_SHARE = 0.5

/** Reads what it is sent, keeps nothing, and begins a stream that it never ends. */
const upstream = NodeHttp.createServer((request, response) => {
  request.resume().on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(`data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices: [{ index: 0, delta: { content: "so" }, finish_reason: null }] })}\n\n`)
  })
})

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await new Promise<void>((resolve) => upstream.listen(0, "127.0.0.1", resolve))
  const node = await lab.gateway.operator.createNode({ prefix: "begun", baseUrl: `http://127.0.0.1:${(upstream.address() as AddressInfo).port}/v1` })
  await lab.gateway.operator.createConnection({ provider: node, apiKey: "sk-begun-upstream" })
})
afterAll(async () => {
  await lab.close()
  upstream.closeAllConnections()
  upstream.close()
})

const messagesOf = (bytes: number) => [{ role: "user", content: "word ".repeat(bytes / 5) }]
const combo = async (strategy: string): Promise<string> => {
  await lab.gateway.operator.call("POST", "/api/combos", { name: `prompts-${strategy}`, strategy, models: [{ kind: "model", model: "begun/m" }] })
  return `combo/prompts-${strategy}`
}
const settings = (patch: Readonly<Record<string, unknown>>) => lab.gateway.operator.call("PATCH", "/api/settings", patch)

interface Way {
  readonly bytes?: number
  readonly headers?: () => Readonly<Record<string, string>>
  readonly path?: string
  readonly model?: () => Promise<string>
}

let repeats = 0
const ways: ReadonlyArray<readonly [name: string, way: Way]> = [
  ["a model", {}],
  ["a model, where threads of their own read them", { bytes: 1_000_000 }],
  ["a model of another format", { path: "/v1/messages" }],
  ["a model of another format, where threads of their own read them", { path: "/v1/messages", bytes: 1_000_000 }],
  ["a model, each with its key of repetition", { headers: () => ({ "idempotency-key": `once-${++repeats}` }) }],
  ["a combo of strategy priority", { model: () => combo("priority") }],
  ["a combo, where threads of their own read them", { bytes: 1_000_000, model: () => Promise.resolve("combo/prompts-priority") }],
  ["a combo of strategy round-robin", { model: () => combo("round-robin") }],
  ["a combo of strategy least-used", { model: () => combo("least-used") }],
  ["a model whose connections take turns", { model: async () => {
    await settings({ fallbackStrategy: "round-robin" })
    return "begun/m"
  } }],
  ["a model whose sessions keep their connection", { model: async () => {
    await settings({ fallbackStrategy: "fill-first", sessionAffinityTtlMs: 60_000 })
    return "begun/m"
  } }]
]

describe("open streams with long prompts", () => {
  it.each(ways)("hold none of them, through %s", async (_, { bytes = PROMPT_BYTES, headers, model: modelOf, path = "/v1/chat/completions" }) => {
    const model = modelOf === undefined ? "begun/m" : await modelOf()
    const messages = messagesOf(bytes)
    const open = async (): Promise<Http.Opened> => {
      const opened = await Http.stream(lab.gateway.url, { path, headers: { "x-session-id": "s", ...headers?.() }, body: { model, messages, max_tokens: 9, stream: true } })
      expect(opened.status).toBe(200)
      return opened
    }
    const first = await open()
    const before = await held()
    const opened = await Promise.all(Array.from({ length: STREAMS }, open))
    const more = await held() - before
    for (const stream of [first, ...opened]) stream.leave()
    expect(more).toBeLessThan(MOST_SHARE * STREAMS * bytes)
  })
})
