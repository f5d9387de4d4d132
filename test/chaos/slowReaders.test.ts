import { createHash } from "node:crypto"
import * as Http1 from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { quantile, startWorld, watchLoop, type World } from "./support.ts"

const full = process.env["GATEWAY_TEST_FULL"] === "1"
const READERS = full ? 200 : 60
const MIB = 1024 * 1024
/** More than the kernel's own buffers hold, so that the gateway itself has to wait. */
const STREAM_BYTES = (full ? 50 : 16) * MIB
const BLOCK_BYTES = 64 * 1024
/** What a stalled stream may hold in the gateway, with its share of the allocator's slack. */
const HELD_PER_READER = MIB
const SLACK = 120 * MIB

const chunk = (delta: object, finish: string | null = null) =>
  `data: ${JSON.stringify({ id: "chatcmpl-large", object: "chat.completion.chunk", created: 1, model: "large", choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`
const block = Buffer.from(chunk({ content: "0123456789abcdef".repeat(250) }).repeat(Math.round(BLOCK_BYTES / 4_160)))
const lastFrames = chunk({}, "stop") + "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":2,\"total_tokens\":3}}\n\ndata: [DONE]\n\n"

/** An upstream that repeats one block: large streams cost it no memory, and every stream has the same bytes. */
class LargeUpstream {
  sent = 0
  open = 0
  port = 0
  private readonly server = Http1.createServer((request, response) => {
    request.resume()
    this.open++
    response.once("close", () => this.open--)
    response.writeHead(200, { "content-type": "text/event-stream" })
    response.write(chunk({ role: "assistant", content: "" }))
    let left = Math.ceil(STREAM_BYTES / block.length)
    const pour = (): void => {
      while (left-- > 0) {
        this.sent += block.length
        if (!response.write(block)) {
          response.once("drain", pour)
          return
        }
      }
      response.end(lastFrames)
    }
    pour()
  })

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.server.listen(0, "127.0.0.1", resolve))
    this.port = (this.server.address() as AddressInfo).port
  }

  stop(): void {
    this.server.closeAllConnections()
    this.server.close()
  }
}

let world: World
const upstream = new LargeUpstream()
beforeAll(async () => {
  await upstream.start()
  // The same bytes in every stream: no heartbeat where the machine is slow.
  world = await startWorld({ environment: { GATEWAY_EARLY_KEEPALIVE_MS: "0", SSE_HEARTBEAT_INTERVAL_MS: "0" } })
  const { operator } = world.gateway
  await operator.createConnection({ provider: await operator.createNode({ prefix: "big", baseUrl: `http://127.0.0.1:${upstream.port}/v1` }), apiKey: "sk-large-000000000001" })
})
afterAll(async () => {
  await world.close()
  upstream.stop()
})

/** A client that has seen the head and reads nothing more until it is told to. */
class Reader {
  private readonly response: Http1.IncomingMessage
  private constructor(response: Http1.IncomingMessage) {
    this.response = response
  }

  static async open(url: string, body: object): Promise<Reader> {
    const { request, response } = Http.open(url, { path: "/v1/chat/completions", body })
    const reader = new Reader(await response)
    request.setTimeout(0)
    return reader
  }

  /** Reads to the end: how much there was, its hash, and whether it was whole. */
  read(): Promise<{ readonly bytes: number; readonly hash: string; readonly whole: boolean }> {
    const hash = createHash("sha256")
    let bytes = 0
    this.response.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      hash.update(chunk)
    })
    this.response.on("error", () => undefined)
    return new Promise((resolve) => this.response.once("close", () => resolve({ bytes, hash: hash.digest("hex"), whole: this.response.complete })))
  }
}

describe("slow readers", () => {
  it(`${READERS} readers that stall in ${STREAM_BYTES / MIB} MB streams: memory is bounded, others are served, every byte arrives in the end`, async () => {
    const { gateway } = world
    const body = (model: string) => ({ messages, stream: true, stream_options: { include_usage: true }, model })
    const quick = () => Http.send(gateway.url, world.call({ model: "echo" }))
    for (let i = 0; i < 20; i++) await quick()
    const before = gateway.memory()
    const readers = await Promise.all(Array.from({ length: READERS }, () => Reader.open(gateway.url, body("big/large"))))
    // Stalled: the upstream itself could not send on between two looks.
    let sent = -1
    await eventually(async () => {
      const now = upstream.sent
      const still = now === sent
      sent = now
      await quick()
      return still
    }, (still) => still, "the stall of every stream", 60_000)
    // Kernels differ in what their buffers hold; most of the streams must be waiting for their readers.
    expect(upstream.open).toBeGreaterThan(READERS / 2)

    const lateness = watchLoop()
    const latencies: Array<number> = []
    for (let i = 0; i < 40; i++) {
      const from = performance.now()
      expect((await quick()).status).toBe(200)
      latencies.push(performance.now() - from)
    }
    const late = lateness()
    const stalled = gateway.memory()
    const grown = stalled.resident - before.resident
    console.log(`${READERS} stalled readers: ${(grown / MIB).toFixed(0)} MiB grown over ${(before.resident / MIB).toFixed(0)} MiB, others p50 ${quantile(latencies, 0.5).toFixed(1)} ms, p95 ${quantile(latencies, 0.95).toFixed(1)} ms`)
    expect(grown).toBeLessThan(READERS * HELD_PER_READER + SLACK)
    expect(quantile(latencies, 0.95)).toBeLessThan(250 + 2 * late)

    const expected = await (await Reader.open(`http://127.0.0.1:${upstream.port}`, body("large"))).read()
    expect(expected.bytes).toBeGreaterThan(STREAM_BYTES)
    for (const read of await Promise.all(readers.map((reader) => reader.read()))) expect(read).toEqual(expected)
    expect(gateway.memory().peak - before.resident).toBeLessThan(READERS * HELD_PER_READER + 2 * SLACK)
    await gateway.operator.settled()
    const rows = (await gateway.operator.callLogs()).filter((row) => row.model === "large")
    expect(rows.map((row) => row.outcome)).toEqual(readers.map(() => "completed"))
  }, full ? 600_000 : 90_000)
})
