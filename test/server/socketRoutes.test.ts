/** Sockets of direct routes: messages, bounds, pings, slow and silent clients, drains. */
import * as Effect from "effect/Effect"
import { once } from "node:events"
import * as net from "node:net"
import { describe, expect, it } from "vitest"
import { WebSocket } from "ws"
import type { AbortReason } from "#src/platform/server/Exchange.ts"
import type { ServerOptions } from "#src/platform/server/ServerOptions.ts"
import type { ServerSocket, SocketHandler } from "#src/platform/server/sockets/ServerSocket.ts"
import { connect } from "#test/support/webSocket.ts"
import { eventually, latch, start, type TestServer } from "./support/harness.ts"

interface Opened extends TestServer {
  readonly sockets: Array<ServerSocket>
  readonly endings: Array<AbortReason>
}

const path = "/socket"

/** A server whose route opens sockets at once. */
const serving = async (handler: (socket: ServerSocket) => Partial<SocketHandler>, options: Partial<ServerOptions> = {}, maxMessageBytes = 1_000_000): Promise<Opened> => {
  const server = await start(options)
  const sockets: Array<ServerSocket> = []
  const endings: Array<AbortReason> = []
  server.frontEnd.socket(path, (exchange, accept) => {
    if (accept === null) return exchange.respond(426, ["Content-Type", "application/json"], "{\"error\":{}}")
    accept({ maxMessageBytes }, (socket) => {
      sockets.push(socket)
      return { message: () => undefined, drained: () => undefined, leave: () => undefined, closed: (reason) => void endings.push(reason), ...handler(socket) }
    })
  })
  return { ...server, sockets, endings }
}

const echo = (socket: ServerSocket) => ({ message: (data: Buffer) => void socket.send(data) })

describe("a socket of a direct route", () => {
  it("echoes messages of every length, in order", async () => {
    const { base, frontEnd } = await serving(echo)
    const client = await connect(base, path)
    const texts = [1, 100, 13_000, 15_000, 70_000, 900_000].map((length) => "x".repeat(length))
    for (const text of texts) client.send({ text })
    for (const text of texts) expect((await client.next())["text"]).toBe(text)
    expect(frontEnd.liveExchanges).toBe(1)
    await client.close()
    await eventually("the socket is over", () => frontEnd.liveExchanges === 0)
  })

  it("keeps the order of what is sent inside and outside a message's turn, with borrowed bytes", async () => {
    const { base } = await serving((socket) => ({
      message: () => {
        const borrowed = Buffer.from("{\"n\":0}")
        for (let n = 0; n < 5; n++) {
          borrowed[5] = 48 + n
          socket.send(borrowed)
        }
        setTimeout(() => {
          for (let n = 5; n < 10; n++) {
            borrowed[5] = 48 + n
            socket.send(borrowed)
          }
        }, 1)
      }
    }))
    const client = await connect(base, path)
    client.send("go")
    const seen = await client.until(({ n }) => n === 9)
    expect(seen.map(({ n }) => n)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
    await client.close()
  })

  it("that is accepted later serves its first message, whatever else the process does with its memory", { timeout: 180_000 }, async () => {
    const { base, frontEnd } = await start()
    frontEnd.socket(path, (exchange, accept) => {
      exchange.onAbort(() => undefined)
      setImmediate(() => accept?.({ maxMessageBytes: 1_000_000 }, (socket) => ({
        message: (data) => void socket.send(data), drained: () => undefined, leave: () => undefined, closed: () => undefined
      })))
    })
    const pad = "p".repeat(36_000)
    for (let round = 0; round < 40; round++) {
      const clients = await Promise.all(Array.from({ length: 8 }, () => connect(base, path, { headers: { "x-pad": "h".repeat(round * 37) } })))
      for (const client of clients) client.send({ round, pad })
      for (const client of clients) expect((await client.next())["round"]).toBe(round)
      await Promise.all(clients.map((client) => client.close()))
    }
  })

  it("answers a plain GET, and other paths are not its business", async () => {
    const { base } = await serving(echo)
    expect((await fetch(`${base}${path}`)).status).toBe(426)
    expect((await refusedStatus(base, "/other"))).toBe(404)
  })

  it("ends a message that is too long with 1009", async () => {
    const { base, endings } = await serving(echo, {}, 1_000)
    const client = await connect(base, path)
    client.send("y".repeat(1_001))
    expect(await client.ended).toEqual({ code: 1009, reason: "message_too_large" })
    expect(endings).toEqual(["client-closed"])
  })

  it("pings, and closes a client that gives no sign of life with 1001", async () => {
    const options = { webSocket: { pingMillis: 20, silentMillis: 400 }, slowReaderTimeout: "40 millis" } as const
    const { base, endings } = await serving(echo, options)
    const alive = await connect(base, path)
    for (let pings = 0; pings < 5; pings++) await once(alive.ws, "ping")
    const silent = await connect(base, path, { autoPong: false })
    expect(await silent.ended).toEqual({ code: 1001, reason: "idle_timeout" })
    expect([alive.ws.readyState, endings]).toEqual([WebSocket.OPEN, ["client-closed"]])
    await alive.close()
  })

  it("tells a producer to stop, and goes on when the client has read", async () => {
    const full = latch<number>()
    const drained = latch()
    const { base, sockets } = await serving((socket) => ({
      message: () => {
        let sent = 0
        const more = (): void => {
          sent++
          if (socket.send(`{"n":${sent},"pad":"${"z".repeat(60_000)}"}`)) setImmediate(more)
          else full.open(sent)
        }
        setImmediate(more)
      },
      drained: () => drained.open()
    }))
    const client = await connect(base, path)
    client.ws.pause()
    client.send("go")
    const sent = await full.promise
    expect(sockets[0]!.pendingBytes).toBeGreaterThan(256 * 1024)
    client.ws.resume()
    await drained.promise
    for (let n = 1; n <= sent; n++) expect((await client.next())["n"]).toBe(n)
    await client.close()
  })

  it("cuts a client that does not read, and a producer that ignores that", async () => {
    const flood = (socket: ServerSocket) => ({
      message: () => {
        const more = (): void => {
          if (!socket.closed) {
            socket.send("z".repeat(60_000))
            setImmediate(more)
          }
        }
        setImmediate(more)
      }
    })
    const greedy = await serving(flood, { maxPendingBytes: 1_000_000 })
    const client = await connect(greedy.base, path)
    client.ws.pause()
    client.send("go")
    await eventually("the producer was cut", () => greedy.endings.length === 1)
    expect(greedy.endings).toEqual(["slow-reader"])
    const waiting = await serving((socket) => ({ message: () => void setImmediate(() => socket.send("z".repeat(8_000_000))) }), { slowReaderTimeout: "100 millis" })
    const slow = await connect(waiting.base, path)
    slow.ws.pause()
    slow.send("go")
    await eventually("the client was cut", () => waiting.endings.length === 1)
    expect(waiting.endings).toEqual(["slow-reader"])
  })

  it("closes with 1011 when its handler throws, and says so", async () => {
    const { base } = await serving(() => ({ message: () => { throw new Error("broken handler") } }))
    const client = await connect(base, path)
    client.send("go")
    expect(await client.ended).toEqual({ code: 1011, reason: "internal_error" })
  })

  it("leaves when a drain begins, and is closed with 1001 when it does not", async () => {
    const polite = await serving((socket) => ({ leave: () => socket.close(1001, "leaving") }), { gracefulShutdownTimeout: "5 seconds" })
    const first = await connect(polite.base, path)
    void Effect.runPromise(polite.frontEnd.drain)
    expect(await first.ended).toEqual({ code: 1001, reason: "leaving" })
    const stubborn = await serving(() => ({}), { gracefulShutdownTimeout: "50 millis" })
    const second = await connect(stubborn.base, path)
    void Effect.runPromise(stubborn.frontEnd.drain)
    expect(await second.ended).toEqual({ code: 1001, reason: "server is shutting down" })
    await eventually("its handler heard it", () => stubborn.endings.length === 1)
    expect(stubborn.endings).toEqual(["shutdown"])
  })

  it("survives every broken frame", async () => {
    const { base, frontEnd, port } = await serving(echo)
    const broken: ReadonlyArray<Buffer> = [
      // A reserved bit, a reserved opcode, a continuation of nothing, a long ping, invalid UTF-8.
      Buffer.from([0xc1, 0x80, 0, 0, 0, 0]), Buffer.from([0x83, 0x80, 0, 0, 0, 0]), Buffer.from([0x80, 0x80, 0, 0, 0, 0]),
      Buffer.concat([Buffer.from([0x89, 0xfe, 0x00, 0x80, 0, 0, 0, 0]), Buffer.alloc(128)]), Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xff, 0xfe])
    ]
    for (const frame of broken) {
      const socket = net.connect(port, "127.0.0.1")
      socket.on("error", () => undefined)
      socket.write(`GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n`)
      await once(socket, "data")
      socket.write(frame)
      await once(socket, "close")
    }
    await eventually("all are over", () => frontEnd.liveExchanges === 0)
    const client = await connect(base, path)
    client.send({ still: "served" })
    expect(await client.next()).toEqual({ still: "served" })
    await client.close()
  })
})

const refusedStatus = (base: string, at: string): Promise<number> =>
  new Promise((resolve) => {
    const ws = new WebSocket(`${base.replace(/^http/, "ws")}${at}`)
    ws.on("error", () => undefined)
    ws.once("unexpected-response", (_request, response) => resolve(response.statusCode ?? 0))
  })
