import { createHash } from "node:crypto"
import type { IncomingMessage } from "node:http"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { quantile, startWorld, watchLoop, type World } from "./support.ts"

const full = process.env["GATEWAY_TEST_FULL"] === "1"
const READERS = full ? 200 : 24
const MIB = 1024 * 1024
/** More than the kernel's own buffers hold, so that the gateway itself has to wait. */
const STREAM_BYTES = (full ? 50 : 12) * MIB
const TOKEN = 4_096
/** What a stalled stream may hold in the gateway (PROMISES 6), with its share of the allocator's slack. */
const HELD_PER_READER = MIB
const SLACK = 120 * MIB

let world: World
beforeAll(async () => {
  // Equal requests share their frames: the streams of all readers cost this process one copy.
  world = await startWorld({}, { shareReplies: true, models: { large: { tokens: STREAM_BYTES / TOKEN, tokenSize: TOKEN, burst: 16 } } })
})
afterAll(() => world.close())

/** A client that has seen the head and reads nothing more until it is told to. */
class Reader {
  private readonly response: IncomingMessage
  private constructor(response: IncomingMessage) {
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

describe("PROMISES 6: slow readers", () => {
  it(`${READERS} readers that stall in ${STREAM_BYTES / MIB} MB streams: memory is bounded, others are served, every byte arrives in the end`, async () => {
    const { gateway, sim } = world
    const body = (model: string) => ({ messages, stream: true, stream_options: { include_usage: true }, model })
    const quick = () => Http.send(gateway.url, world.call({ model: "echo" }))
    for (let i = 0; i < 20; i++) await quick()
    const before = gateway.memory()
    const readers = await Promise.all(Array.from({ length: READERS }, () => Reader.open(gateway.url, body("lab/large"))))
    await sim.ended({ outcome: "open" }, READERS)

    // Stalled: the simulator itself could not send on between two looks.
    let sent = -1
    await eventually(async () => {
      const now = (await sim.entries({ outcome: "open" })).reduce((sum, entry) => sum + entry.bytesSent, 0)
      const still = now === sent
      sent = now
      await quick()
      return still
    }, (still) => still, "the stall of every stream", 60_000)
    expect((await sim.entries({ outcome: "open" })).length).toBe(READERS)

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

    const expected = await (await Reader.open(sim.url, body("large"))).read()
    expect(expected.bytes).toBeGreaterThan(STREAM_BYTES)
    for (const read of await Promise.all(readers.map((reader) => reader.read()))) expect(read).toEqual(expected)
    expect(gateway.memory().peak - before.resident).toBeLessThan(READERS * HELD_PER_READER + 2 * SLACK)
    await gateway.operator.settled()
    const rows = (await gateway.operator.callLogs()).filter((row) => row.model === "large")
    expect(rows.map((row) => row.outcome)).toEqual(readers.map(() => "completed"))
  }, full ? 600_000 : 90_000)
})
