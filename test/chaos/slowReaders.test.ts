import { createHash } from "node:crypto"
import * as Net from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
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
  world = await startWorld()
  await world.sim.rule({ match: { model: "large*" }, script: { tokens: STREAM_BYTES / TOKEN, tokenSize: TOKEN, burst: 16 } })
})
afterAll(() => world.close())

/** The shown text of an event stream as a hash; identities and times, which differ per call, are left out. */
class ContentHash {
  private readonly hash = createHash("sha256")
  private rest = ""
  private body = false
  characters = 0
  done = false

  add(bytes: Buffer): void {
    const text = this.rest + bytes.toString("latin1")
    let from = 0
    if (!this.body) {
      const head = text.indexOf("\r\n\r\n")
      if (head < 0) {
        this.rest = text
        return
      }
      this.body = true
      from = head + 4
    }
    const end = text.lastIndexOf("\n\n")
    for (;;) {
      const at = text.indexOf("data: ", from)
      if (at < 0 || at > end) break
      const stop = text.indexOf("\n\n", at)
      const data = text.slice(at + 6, stop).replaceAll(/\r\n[0-9a-f]+\r\n/g, "")
      from = stop
      if (data === "[DONE]") this.done = true
      else {
        const content = (JSON.parse(data) as { choices?: ReadonlyArray<{ delta?: { content?: string } }> }).choices?.[0]?.delta?.content ?? ""
        this.characters += content.length
        this.hash.update(content)
      }
    }
    this.rest = text.slice(from)
  }

  digest(): string {
    return this.hash.digest("hex")
  }
}

/** A client over HTTP/1.0, whose body has no chunks, that reads nothing until told, then in sips. */
class Reader {
  readonly content = new ContentHash()
  readonly finished: Promise<void>
  private readonly socket: Net.Socket
  constructor(port: number, body: string) {
    this.socket = Net.connect({ port, host: "127.0.0.1" })
    this.socket.pause()
    this.socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    this.socket.on("error", () => undefined)
    this.finished = new Promise((resolve) => this.socket.once("close", () => resolve()))
  }

  read(): void {
    this.socket.on("data", (bytes) => this.content.add(typeof bytes === "string" ? Buffer.from(bytes) : bytes))
    this.socket.resume()
  }

  leave(): void {
    this.socket.destroy()
  }
}

describe("PROMISES 6: slow readers", () => {
  it(`${READERS} readers that stall in ${STREAM_BYTES / MIB} MB streams: memory is bounded, others are served, every byte arrives in the end`, async () => {
    const { gateway, sim } = world
    const port = Number(new URL(gateway.url).port)
    const quick = () => Http.send(gateway.url, world.call({ model: "echo" }))
    for (let i = 0; i < 20; i++) await quick()
    const before = gateway.memory()
    const readers = Array.from({ length: READERS }, (_, index) => new Reader(port, JSON.stringify({ ...world.call({ model: `large-${index}` }).body as object, stream: true })))
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
    console.log(`${READERS} stalled readers: ${(grown / MIB).toFixed(0)} MiB grown (peak ${(stalled.peak / MIB).toFixed(0)} MiB), others p50 ${quantile(latencies, 0.5).toFixed(1)} ms, p95 ${quantile(latencies, 0.95).toFixed(1)} ms`)
    expect(grown).toBeLessThan(READERS * HELD_PER_READER + SLACK)
    expect(quantile(latencies, 0.95)).toBeLessThan(250 + 2 * late)

    const reference = new Reader(Number(new URL(sim.url).port), JSON.stringify({ ...world.call({ model: "x" }).body as object, model: "large-reference", stream: true }))
    reference.read()
    await reference.finished
    const expected = reference.content.digest()
    expect(reference.content.characters).toBe(STREAM_BYTES)
    for (const reader of readers) reader.read()
    await Promise.all(readers.map((reader) => reader.finished))
    expect(readers.map((reader) => reader.content.done).every((done) => done)).toBe(true)
    expect(new Set(readers.map((reader) => reader.content.digest()))).toEqual(new Set([expected]))
    expect(gateway.memory().peak - before.resident).toBeLessThan(READERS * HELD_PER_READER + 2 * SLACK)
    await gateway.operator.settled()
    const rows = (await gateway.operator.callLogs()).filter((row) => row.model.startsWith("large-"))
    expect(rows.map((row) => row.outcome)).toEqual(readers.map(() => "completed"))
  }, full ? 600_000 : 90_000)
})
