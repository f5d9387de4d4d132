import * as Effect from "effect/Effect"
import { HttpServerRequest, MaxBodySize } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { describe, expect, it, vi } from "vitest"
import { Arrivals, TURN_BYTES } from "#src/platform/server/uws/Arrivals.ts"
import { READ_AHEAD_BYTES } from "#src/platform/server/body/BodyReader.ts"
import type { BodyFailure, Exchange } from "#src/platform/server/Exchange.ts"
import { type App, eventually, latch, random, start } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"

const original = Arrivals.prototype.came

const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex")

const echoHash = (limit: number) => (exchange: Exchange) =>
  exchange.readBody(limit, (body, failure) => {
    if (body === null) exchange.respond(413, [], failure!)
    else exchange.respond(200, [], `${body.byteLength} ${sha(body)}`)
  })

const hashApp: App = Effect.gen(function*() {
  const request = yield* HttpServerRequest
  const bytes = new Uint8Array(yield* request.arrayBuffer)
  return HttpServerResponse.text(`${bytes.byteLength} ${sha(bytes)}`)
})

const streamHashApp: App = Effect.gen(function*() {
  const request = yield* HttpServerRequest
  const hash = createHash("sha256")
  let size = 0
  yield* Stream.runForEach(request.stream, (chunk) => Effect.sync(() => {
    size += chunk.byteLength
    hash.update(chunk)
  }))
  return HttpServerResponse.text(`${size} ${hash.digest("hex")}`)
})

const chunked = (parts: ReadonlyArray<Uint8Array>): Buffer =>
  Buffer.concat([...parts.flatMap((part) => [Buffer.from(`${part.byteLength.toString(16)}\r\n`), part, Buffer.from("\r\n")]), Buffer.from("0\r\n\r\n")])

describe("request bodies", () => {
  it("arrive whole however head and body are cut into segments, on both lanes", async () => {
    const servers = {
      direct: await start(),
      effect: await start({}, hashApp),
      stream: await start({}, streamHashApp)
    }
    servers.direct.frontEnd.direct("POST", "/", echoHash(1_000_000))
    for (const [lane, { port }] of Object.entries(servers)) {
      for (let seed = 1; seed <= 12; seed++) {
        const pick = random(seed)
        const body = Buffer.from(Array.from({ length: pick(4_000) }, () => pick(256)))
        const parts: Array<Buffer> = []
        for (let at = 0; at < body.length;) {
          const size = 1 + pick(900)
          parts.push(body.subarray(at, at + size))
          at += size
        }
        const framed = pick(2) === 0
        const wire = Buffer.concat([
          Buffer.from(`POST / HTTP/1.1\r\nHost: test\r\n${framed ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`}\r\n\r\n`),
          framed ? chunked(parts) : body
        ])
        const client = await RawClient.connect(port)
        for (let at = 0; at < wire.length;) {
          const size = 1 + pick(at < 80 ? 30 : 1_200)
          await client.sent(wire.subarray(at, at + size))
          if (pick(3) === 0) await new Promise((resolve) => setImmediate(resolve))
          at += size
        }
        const response = await client.response()
        expect([lane, seed, response.body.toString()]).toEqual([lane, seed, `${body.length} ${sha(body)}`])
        client.destroy()
      }
    }
  })

  it("of several megabytes arrive whole, on both lanes", async () => {
    const body = Buffer.alloc(9_000_000, "some bytes ")
    for (const app of [hashApp, streamHashApp]) {
      const { base, frontEnd } = await start({}, app)
      frontEnd.direct("POST", "/direct", echoHash(10_000_000))
      for (const path of ["/direct", "/effect"]) {
        const response = await fetch(base + path, { method: "POST", body })
        expect(await response.text()).toBe(`${body.length} ${sha(body)}`)
      }
    }
  })

  it("of several megabytes that come at once arrive whole, and a turn of the loop is not given to all of them", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("POST", "/", echoHash(10_000_000))
    const bodies = Array.from({ length: 6 }, (_, i) => Buffer.alloc(7_000_000 + i, `some bytes of ${i} `))
    /** Bytes that came to the server since the last turn, at most. */
    let most = 0
    let turn = 0
    const came = vi.spyOn(Arrivals.prototype, "came").mockImplementation(function(this: Arrivals, reading, bytes) {
      if (turn === 0) setImmediate(() => { turn = 0 })
      turn += bytes
      most = Math.max(most, turn)
      original.call(this, reading, bytes)
    })
    const answers = await Promise.all(bodies.map(async (body, i) => {
      const client = await RawClient.connect(port)
      const isChunked = i % 2 === 1
      client.send(`POST / HTTP/1.1\r\nHost: test\r\n${isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${body.length}`}\r\n\r\n`)
      await client.sent(isChunked ? chunked([body.subarray(0, 100_000), body.subarray(100_000, 3_000_000), body.subarray(3_000_000)]) : body)
      const { body: said } = await client.response()
      client.destroy()
      return said.toString()
    }))
    came.mockRestore()
    expect(answers).toEqual(bodies.map((body) => `${body.length} ${sha(body)}`))
    expect(most).toBeGreaterThan(0)
    // The turn is full, and then one socket is read until it is empty.
    expect(most).toBeLessThanOrEqual(TURN_BYTES + 7_100_000)
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it("that are cut while they wait for their turn are forgotten", async () => {
    const { frontEnd, port } = await start()
    const failures: Array<BodyFailure | null> = []
    frontEnd.direct("POST", "/", (exchange) => exchange.readBody(10_000_000, (body, failure) => {
      if (body === null) failures.push(failure)
      else exchange.respond(200, [], String(body.byteLength))
    }))
    const clients = await Promise.all(Array.from({ length: 4 }, () => RawClient.connect(port)))
    await Promise.all(clients.map(async (client) => {
      client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 9000000\r\n\r\n")
      await client.sent(Buffer.alloc(6_000_000))
      client.destroy()
    }))
    await eventually("all four were forgotten", () => failures.length === 4)
    expect(failures).toEqual(["aborted", "aborted", "aborted", "aborted"])
    expect([frontEnd.liveExchanges, frontEnd.heldBodies.bytes]).toEqual([0, 0])
  })

  it("that came before they were asked for: a client that leaves is noticed, and an answer may take longer than the native timeout of 10 s", async () => {
    const { frontEnd, port } = await start()
    const left = latch()
    const waiting = new Map<string, Exchange>()
    for (const path of ["/leaves", "/waits"]) {
      frontEnd.direct("POST", path, (exchange) => {
        exchange.onAbort(() => path === "/leaves" && left.open())
        waiting.set(path, exchange)
      })
    }
    const [early, late] = [Buffer.alloc(READ_AHEAD_BYTES - 10_000, "some bytes "), Buffer.alloc(20_000, "more bytes ")]
    const [leaver, waiter] = await Promise.all(["/leaves", "/waits"].map(async (path) => {
      const client = await RawClient.connect(port)
      client.send(`POST ${path} HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n`)
      client.send(chunked([early]).subarray(0, -"0\r\n\r\n".length))
      return client
    })) as [RawClient, RawClient]
    await eventually("their first parts are kept", () => frontEnd.heldBodies.bytes === 2 * early.length)
    // One read brings what pauses the socket, and the end.
    for (const client of [leaver, waiter]) client.send(chunked([late, late]))
    await eventually("both bodies are kept", () => frontEnd.heldBodies.bytes === 2 * (early.length + 2 * late.length))
    for (const exchange of waiting.values()) {
      const read = await new Promise<number>((resolve) => exchange.readBody(1_000_000, (bytes) => resolve(bytes?.byteLength ?? -1)))
      expect(read).toBe(early.length + 2 * late.length)
    }
    leaver.destroy()
    await left.promise
    setTimeout(() => waiting.get("/waits")!.respond(200, [], "at last"), 14_500)
    expect((await waiter.response()).body.toString()).toBe("at last")
    waiter.destroy()
  }, 180_000)

  it("declared above the limit fail before the first byte, and the connection serves on", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("POST", "/", echoHash(1_000))
    const client = await RawClient.connect(port)
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1001\r\n\r\n")
    const refused = await client.response()
    expect([refused.status, refused.body.toString()]).toEqual([413, "too-large"])
    client.send(Buffer.alloc(1001))
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 1000\r\n\r\n")
    client.send(Buffer.alloc(1000))
    expect((await client.response()).body.toString()).toMatch(/^1000 /)
  })

  it("counted above the limit are answered when they have been read, and the connection closes", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("POST", "/", echoHash(1_000))
    const client = await RawClient.connect(port)
    client.send("POST / HTTP/1.1\r\nHost: test\r\nTransfer-Encoding: chunked\r\n\r\n")
    client.send("3e8\r\n" + "x".repeat(1000) + "\r\n1\r\nx\r\n")
    client.send("5\r\nxxxxx\r\n0\r\n\r\n")
    const refused = await client.response()
    expect([refused.status, refused.headers["connection"]]).toEqual([413, "close"])
    await client.closed()
  })

  const refusals: ReadonlyArray<readonly [string, string, (body: Buffer) => ReadonlyArray<Uint8Array>]> = [
    ["declared", "Content-Length: 6000000", (body) => [body]],
    ["counted", "Transfer-Encoding: chunked", (body) => [chunked([body.subarray(0, 3_000_000), body.subarray(3_000_000)])]],
    ["nobody asked for", "Content-Length: 6000000\r\nX-Unread: 1", (body) => [body]]
  ]
  it.each(refusals)("that are refused are read to their end where the client closes after the answer, so that it sees one: %s", async (_, framing, parts) => {
    const { frontEnd, port } = await start()
    const read = echoHash(1_000)
    frontEnd.direct("POST", "/", (exchange) =>
      exchange.header("x-unread") === undefined ? read(exchange) : setImmediate(() => exchange.respond(413, [], "too-large")))
    const client = await RawClient.connect(port)
    // A client that writes all of its body before it reads, as most of the simple ones do.
    client.socket.pause()
    client.send(`POST / HTTP/1.1\r\nHost: test\r\nConnection: close\r\n${framing}\r\n\r\n`)
    for (const part of parts(Buffer.alloc(6_000_000, "x"))) await client.sent(part)
    client.socket.resume()
    const refused = await client.response()
    expect([refused.status, refused.body.toString()]).toEqual([413, "too-large"])
    await client.closed()
    expect(client.error).toBeUndefined()
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it("that are refused and never end are answered all the same where the client closes", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("POST", "/", echoHash(1_000))
    const client = await RawClient.connect(port)
    client.send("POST / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: 2000\r\n\r\nhalf")
    expect((await client.response()).status).toBe(413)
    await client.closed()
    // And a client that goes while its body is dropped leaves nothing behind.
    const gone = await RawClient.connect(port)
    await gone.sent("POST / HTTP/1.1\r\nHost: test\r\nConnection: close\r\nContent-Length: 2000\r\n\r\nhalf")
    await eventually("the request arrives", () => frontEnd.liveExchanges === 1)
    gone.reset()
    await eventually("the exchange is over", () => frontEnd.liveExchanges === 0)
  })

  it("above the limit of the effect lane are 413 by effect's own error", async () => {
    const { base } = await start({ maxBodyBytes: 100 }, hashApp)
    const limited = await start({}, Effect.provideService(hashApp, MaxBodySize, 100 as never))
    for (const url of [base, limited.base]) {
      const response = await fetch(url, { method: "POST", body: "x".repeat(101) })
      expect(response.status).toBe(413)
      await response.body?.cancel()
    }
  })

  it("are kept for a handler that asks late, and pause the socket when they are large", async () => {
    const asked = latch()
    const { frontEnd, port } = await start({}, Effect.andThen(Effect.promise(() => asked.promise), hashApp))
    const body = Buffer.alloc(12_000_000, "late ")
    const client = await RawClient.connect(port)
    client.send(`POST / HTTP/1.1\r\nHost: test\r\nContent-Length: ${body.length}\r\n\r\n`)
    client.send(body)
    await eventually("the request arrives", () => frontEnd.liveExchanges === 1)
    // The rest stays in the kernel: the client cannot get rid of it until somebody reads.
    let last = -1
    let turns = 0
    await eventually("the client is stuck", () => {
      turns = client.socket.writableLength > 0 && client.socket.writableLength === last ? turns + 1 : 0
      last = client.socket.writableLength
      return turns === 100
    })
    asked.open()
    expect((await client.response()).body.toString()).toBe(`${body.length} ${sha(body)}`)
  })

  it("that nobody reads do not disturb the next request", async () => {
    const { port } = await start({}, Effect.succeed(HttpServerResponse.text("ignored")))
    const client = await RawClient.connect(port)
    for (let i = 0; i < 3; i++) {
      client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 5\r\n\r\nhel")
      expect((await client.response()).body.toString()).toBe("ignored")
      await client.sent("lo")
    }
  })

  it("are asked for with 100 Continue", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("POST", "/", echoHash(100))
    const client = await RawClient.connect(port)
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\nExpect: 100-continue\r\n\r\n")
    expect((await client.response()).status).toBe(100)
    client.send("hi")
    expect((await client.response()).body.toString()).toMatch(/^2 /)
  })

  it("that end with the client are aborted: the reader hears it once", async () => {
    const { frontEnd, port } = await start()
    const heard = latch<[Uint8Array | null, BodyFailure | null]>()
    frontEnd.direct("POST", "/", (exchange) => exchange.readBody(100, (body, failure) => heard.open([body, failure])))
    const client = await RawClient.connect(port)
    await client.sent("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf")
    await eventually("the request arrives", () => frontEnd.liveExchanges === 1)
    client.reset()
    expect(await heard.promise).toEqual([null, "aborted"])
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it("that do not arrive within bodyTimeout are a timeout that the route can answer", async () => {
    const { frontEnd, port } = await start({ bodyTimeout: "150 millis" })
    frontEnd.direct("POST", "/", (exchange) =>
      exchange.readBody(100, (_, failure) => exchange.respond(failure === "timeout" ? 408 : 200, [], failure ?? "")))
    const client = await RawClient.connect(port)
    client.send("POST / HTTP/1.1\r\nHost: test\r\nContent-Length: 10\r\n\r\nhalf")
    expect((await client.response()).status).toBe(408)
  })

  it("of a contradictory length are refused and the connection is closed", async () => {
    const { port } = await start()
    for (const lengths of ["Content-Length: 5\r\nContent-Length: 6", "Content-Length: -1", "Content-Length: 5x", "Content-Length: 5\r\nTransfer-Encoding: chunked"]) {
      const client = await RawClient.connect(port)
      client.send(`POST / HTTP/1.1\r\nHost: test\r\n${lengths}\r\n\r\nhello`)
      await client.closed()
      expect([lengths, client.received.toString("latin1").slice(0, 12)]).toEqual([lengths, "HTTP/1.1 400"])
    }
  })
})
