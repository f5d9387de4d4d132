import * as Effect from "effect/Effect"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { createHash } from "node:crypto"
import { describe, expect, it } from "vitest"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import { HIGH_WATER_BYTES } from "#src/platform/server/sending/SendQueue.ts"
import type { UwsExchange } from "#src/platform/server/uws/UwsExchange.ts"
import { type App, eventually, latch, random, start } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"
import { SlowReader } from "./support/SlowReader.ts"
import { makeCertificate } from "./support/tls.ts"

const READERS = 20
/** More than the kernel buffers of one loopback connection hold. */
const BODY_BYTES = 12_000_000
/** Chunks of awkward sizes, from a few bytes to several corks. */
const pick = random(7)
const source = Buffer.from(Array.from({ length: 300_000 }, () => pick(256)))
const chunks: Array<Uint8Array> = []
for (let total = 0; total < BODY_BYTES;) {
  const size = Math.min(BODY_BYTES - total, [1, 70, 1_400, 14_336, 14_337, 40_000, 200_000][pick(7)]!)
  const at = pick(source.length - size)
  chunks.push(source.subarray(at, at + size))
  total += size
}
const expected = createHash("sha256").update(Buffer.concat(chunks)).digest("hex")

/** Writes while it may, waits for the drain, writes on. */
const pump = (exchange: Exchange, length?: number): void => {
  let next = 0
  const go = () => {
    while (next < chunks.length) {
      if (!exchange.write(chunks[next++]!)) return
    }
    exchange.end()
  }
  exchange.onDrain(go)
  if (length === undefined) exchange.start(200, [])
  else exchange.startSized(200, [], length)
  go()
}

/** The same with borrowed bytes, from separate turns: what was relayed is overwritten at once. */
const relay = (exchange: Exchange): void => {
  const borrowed = Buffer.alloc(200_000)
  let next = 0
  const go = () => {
    while (next < chunks.length) {
      const chunk = chunks[next++]!
      borrowed.set(chunk)
      const taken = exchange.relay(borrowed.subarray(0, chunk.byteLength))
      borrowed.fill(0xee)
      if (!taken) return
    }
    exchange.end()
  }
  exchange.onDrain(go)
  exchange.start(200, [])
  setImmediate(go)
}

const streamApp: App = Effect.succeed(HttpServerResponse.stream(Stream.fromIterable(chunks).pipe(Stream.rechunk(3))))

describe("slow readers", () => {
  it("on the direct lane lose nothing and hold little memory", async () => {
    const { frontEnd, port } = await start()
    const exchanges: Array<Exchange> = []
    frontEnd.direct("GET", "/", (exchange) => {
      exchanges.push(exchange)
      pump(exchange)
    })
    const before = process.memoryUsage().rss
    const readers = await Promise.all(Array.from({ length: READERS }, () => SlowReader.get(port, "/")))
    await eventually("all producers wait", () => exchanges.length === READERS && exchanges.every((exchange) => exchange.pendingBytes > 0))
    for (const exchange of exchanges) expect(exchange.pendingBytes).toBeLessThan(HIGH_WATER_BYTES + 200_000)
    expect(process.memoryUsage().rss - before).toBeLessThan(120_000_000)
    await Promise.all(readers.map((reader) => reader.read()))
    for (const reader of readers) expect([reader.bytes, reader.digest()]).toEqual([BODY_BYTES, expected])
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it("of borrowed bytes get the right bytes, and nothing is lost", async () => {
    const { cert, certFile, keyFile, remove } = makeCertificate()
    for (const tls of [undefined, { certFile, keyFile }]) {
      const { frontEnd, port } = await start(tls === undefined ? {} : { tls })
      frontEnd.direct("GET", "/", relay)
      const readers = await Promise.all(Array.from({ length: 4 }, () => SlowReader.get(port, "/", tls === undefined ? undefined : cert)))
      await Promise.all(readers.map((reader) => reader.read()))
      for (const reader of readers) expect([reader.bytes, reader.digest()]).toEqual([BODY_BYTES, expected])
      await eventually("all are over", () => frontEnd.liveExchanges === 0)
    }
    remove()
  })

  it("on the effect lane lose nothing", async () => {
    const { frontEnd, port } = await start({}, streamApp)
    const readers = await Promise.all(Array.from({ length: READERS }, () => SlowReader.get(port, "/")))
    await eventually("all requests run", () => frontEnd.liveExchanges === READERS)
    await Promise.all(readers.map((reader) => reader.read()))
    for (const reader of readers) expect([reader.bytes, reader.digest()]).toEqual([BODY_BYTES, expected])
    await eventually("all are over", () => frontEnd.liveExchanges === 0)
  })

  it("of one large whole response lose nothing, and the bytes are not copied", async () => {
    const body = Buffer.concat([...chunks, ...chunks])
    const { frontEnd, port } = await start({}, Effect.succeed(HttpServerResponse.uint8Array(body)))
    frontEnd.direct("GET", "/direct", (exchange) => exchange.respond(200, [], body))
    const before = process.memoryUsage().rss
    const readers = await Promise.all(["/direct", "/effect"].flatMap((path) => Array.from({ length: 4 }, () => SlowReader.get(port, path))))
    await eventually("all wait", () => frontEnd.liveExchanges === 8)
    expect(process.memoryUsage().rss - before).toBeLessThan(60_000_000)
    const whole = createHash("sha256").update(body).digest("hex")
    await Promise.all(readers.map((reader) => reader.read()))
    for (const reader of readers) expect([reader.bytes, reader.digest()]).toEqual([body.length, whole])
    await eventually("all are over", () => frontEnd.liveExchanges === 0)
  })

  it("of a body of known length lose nothing, on both lanes and over TLS", async () => {
    const { cert, certFile, keyFile, remove } = makeCertificate()
    const app: App = Effect.succeed(HttpServerResponse.stream(Stream.fromIterable(chunks).pipe(Stream.rechunk(3)), { contentLength: BODY_BYTES }))
    for (const tls of [undefined, { certFile, keyFile }]) {
      const { frontEnd, port } = await start(tls === undefined ? {} : { tls }, app)
      const exchanges: Array<Exchange> = []
      frontEnd.direct("GET", "/direct", (exchange) => {
        exchanges.push(exchange)
        pump(exchange, BODY_BYTES)
      })
      const readers = await Promise.all(["/direct", "/effect", "/direct", "/effect"].map((path) => SlowReader.get(port, path, tls === undefined ? undefined : cert)))
      await eventually("all producers wait", () => exchanges.length === 2 && exchanges.every((exchange) => exchange.pendingBytes > 0))
      for (const exchange of exchanges) expect(exchange.pendingBytes).toBeLessThan(HIGH_WATER_BYTES + 200_000)
      await Promise.all(readers.map((reader) => reader.read()))
      for (const reader of readers) expect([reader.length, reader.bytes, reader.digest()]).toEqual([BODY_BYTES, BODY_BYTES, expected])
      await eventually("all are over", () => frontEnd.liveExchanges === 0)
    }
    remove()
  })

  it("over TLS lose nothing, on both lanes", async () => {
    const { cert, certFile, keyFile, remove } = makeCertificate()
    const { frontEnd, port } = await start({ tls: { certFile, keyFile } }, streamApp)
    frontEnd.direct("GET", "/direct", (exchange) => pump(exchange))
    const readers = await Promise.all(["/direct", "/direct", "/effect", "/effect"].map((path) => SlowReader.get(port, path, cert)))
    await Promise.all(readers.map((reader) => reader.read()))
    for (const reader of readers) expect([reader.bytes, reader.digest()]).toEqual([BODY_BYTES, expected])
    remove()
  })

  it("of many answers on one connection lose nothing when the socket fills inside the parser's own cork", async () => {
    const { frontEnd, port } = await start()
    const exchanges = new Map<string, UwsExchange>()
    // Written in the turn of the request, where the native parser has corked the socket.
    frontEnd.direct("GET", "/", (exchange) => {
      exchanges.set(exchange.query, exchange as UwsExchange)
      exchange.start(200, [])
      exchange.write(source.subarray(0, Number(exchange.query.split("-")[0])))
      exchange.end()
    })
    // The sizes move the point at which the socket fills through the batches of one answer.
    await Promise.all(Array.from({ length: 12 }, async (_, n) => {
      const size = 24_000 + n * 1_500
      const client = await RawClient.connect(port)
      client.socket.pause()
      let asked = 0
      let answered = true
      while (answered) {
        const id = `${size}-${asked++}`
        client.get(`/?${id}`)
        await eventually("the request arrives", () => exchanges.has(id))
        answered = await eventually("it is answered", () => exchanges.get(id)!.finished, 300).then(() => true, () => false)
      }
      client.socket.resume()
      for (let at = 0; at < asked; at++) {
        const response = await client.response()
        expect([size, at, response.body.equals(source.subarray(0, size))]).toEqual([size, at, true])
      }
    }))
  })

  it("get everything that was written although the producer then falls silent", async () => {
    const { frontEnd, port } = await start()
    const stopped = latch<number>()
    frontEnd.direct("GET", "/", (exchange) => {
      exchange.start(200, [])
      let written = 0
      const go = () => {
        written++
        if (exchange.write(source.subarray(0, 10_000))) setImmediate(go)
        else stopped.open(written)
      }
      go()
    })
    const client = await RawClient.connect(port)
    client.socket.pause()
    client.get("/")
    const written = await stopped.promise
    let size = 0
    client.socket.on("data", (data: Buffer) => {
      size += data.length
    })
    client.socket.resume()
    await client.until("all chunks", () => size >= written * 10_008)
    expect(client.ended).toBe(false)
  })

  it("that never read are cut after slowReaderTimeout, on both lanes", async () => {
    const { frontEnd, port } = await start({ slowReaderTimeout: "200 millis" }, streamApp)
    const reason = latch<string>()
    const large = latch<string>()
    frontEnd.direct("GET", "/direct", (exchange) => {
      exchange.onAbort(reason.open)
      pump(exchange)
    })
    frontEnd.direct("GET", "/large", (exchange) => {
      exchange.onAbort(large.open)
      exchange.respond(200, [], Buffer.concat(chunks))
    })
    const readers = await Promise.all(["/direct", "/large", "/effect"].map((path) => SlowReader.get(port, path)))
    expect(await reason.promise).toBe("slow-reader")
    expect(await large.promise).toBe("slow-reader")
    await eventually("all are over", () => frontEnd.liveExchanges === 0)
    for (const reader of readers) await expect(reader.read()).rejects.toThrow("cut after")
  })

  it("cut the producer that ignores them at maxPendingBytes", async () => {
    const { frontEnd, port } = await start({ maxPendingBytes: 1_000_000 })
    const reason = latch<string>()
    frontEnd.direct("GET", "/", (exchange) => {
      exchange.onAbort(reason.open)
      exchange.start(200, [])
      const go = () => {
        if (exchange.closed) return
        exchange.write(source.subarray(0, 50_000))
        setImmediate(go)
      }
      go()
    })
    const reader = await SlowReader.get(port, "/")
    expect(await reason.promise).toBe("slow-reader")
    expect(frontEnd.liveExchanges).toBe(0)
    reader.socket.destroy()
  })
})
