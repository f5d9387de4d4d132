import { describe, expect, it } from "vitest"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import { start } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"
import { SlowReader } from "./support/SlowReader.ts"

/** The native timeout is 10 s, checked every 4 s. */
const CUT_MILLIS = 16_000
/** Long enough that a native timeout would have struck. */
const QUIET_MILLIS = 16_500

const pause = (millis: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, millis))

// These wait for real time, because the timers are native; all of them wait at once.
describe("native timeouts", () => {
  it("cut silent clients, and spare quiet responses, slow uploads, stalled readers and those that caught up", { timeout: 180_000 }, async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("POST", "/", (exchange) => exchange.readBody(1_000_000, (body, failure) => {
      if (body !== null) exchange.respond(200, [], String(body.length))
      else if (failure !== "aborted") exchange.respond(408, [], failure!)
    }))
    frontEnd.direct("GET", "/quiet", (exchange) => {
      exchange.start(200, [])
      exchange.write(Buffer.from("first "))
      setTimeout(() => exchange.end("last"), QUIET_MILLIS)
    })
    frontEnd.direct("GET", "/silent", (exchange) => void setTimeout(() => exchange.respond(200, [], "late"), QUIET_MILLIS))
    let stalled: Exchange | undefined
    frontEnd.direct("GET", "/stalled", (exchange) => {
      stalled = exchange
      exchange.start(200, [])
      let left = 12_000_000
      const go = () => {
        while (left > 0) {
          left -= 100_000
          if (!exchange.write(Buffer.alloc(100_000))) return
        }
        exchange.end()
      }
      exchange.onDrain(go)
      go()
    })
    // Once the client was behind; when it has caught up, the upstream thinks for long.
    frontEnd.direct("GET", "/recovered", (exchange) => {
      exchange.start(200, [])
      let written = 0
      const go = () => {
        written += 10_000
        if (exchange.write(Buffer.alloc(10_000))) return void setImmediate(go)
        exchange.onDrain(() => void setTimeout(() => exchange.end(`|${written}`), QUIET_MILLIS))
      }
      go()
    })

    const cut = async (name: string, bytes: string, drip?: string) => {
      const client = await RawClient.connect(port)
      const begun = performance.now()
      client.send(bytes)
      const timer = setInterval(() => drip !== undefined && client.socket.writable && client.send(drip), 500)
      while (!client.ended && performance.now() - begun < CUT_MILLIS) await pause(100)
      clearInterval(timer)
      return [name, client.ended]
    }
    const get = async (path: string) => {
      const client = await RawClient.connect(port)
      client.get(path)
      await pause(QUIET_MILLIS)
      return (await client.response()).body.toString()
    }
    const upload = async () => {
      const client = await RawClient.connect(port)
      client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 3200\r\n\r\n")
      for (let n = 0; n < 32; n++) {
        await pause(500)
        client.send("x".repeat(100))
      }
      return (await client.response()).body.toString()
    }
    const recover = async () => {
      const client = await RawClient.connect(port)
      client.socket.pause()
      client.get("/recovered")
      await pause(1_000)
      client.socket.resume()
      await pause(QUIET_MILLIS)
      const { body } = await client.response()
      const mark = body.lastIndexOf("|")
      return Number(body.subarray(mark + 1)) === mark
    }
    const stall = async () => {
      const reader = await SlowReader.get(port, "/stalled")
      await pause(QUIET_MILLIS)
      expect(stalled!.pendingBytes).toBeGreaterThan(0)
      await reader.read()
      return reader.bytes
    }
    const results = await Promise.all([
      cut("nothing sent", ""),
      cut("half a head", "GET / HTTP/1.1\r\nHo"),
      cut("a head that drips", "GET / HTTP/1.1\r\nHost: test\r\n", "X-A: b\r\n"),
      cut("half a body", "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\nhalf"),
      cut("no body at all", "POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 100\r\n\r\n"),
      get("/quiet"),
      get("/silent"),
      upload(),
      recover(),
      stall()
    ])
    expect(results).toEqual([
      ["nothing sent", true],
      ["half a head", true],
      ["a head that drips", true],
      ["half a body", true],
      ["no body at all", true],
      "first last",
      "late",
      "3200",
      true,
      12_000_000
    ])
  })
})
