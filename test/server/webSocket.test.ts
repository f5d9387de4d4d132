import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Socket from "effect/socket/Socket"
import { once } from "node:events"
import { describe, expect, it } from "vitest"
import { WebSocket } from "ws"
import { type App, eventually, latch, start } from "./support/harness.ts"

type Handle = (reader: Socket.Reader, writer: Socket.Writer) => Effect.Effect<unknown, unknown>

const upgraded = (handle: Handle): App =>
  Effect.scoped(Effect.gen(function*() {
    const request = yield* HttpServerRequest
    const socket = yield* request.upgrade
    const reader = yield* socket.reader
    const writer = yield* socket.writer
    yield* handle(reader, writer)
    return HttpServerResponse.empty()
  }))

const echo: Handle = (reader, writer) => Effect.forever(Effect.flatMap(reader.pull, writer.writeAll))

const connect = async (port: number): Promise<WebSocket> => {
  const ws = new WebSocket(`ws://127.0.0.1:${port}/live`)
  await once(ws, "open")
  return ws
}

const nextMessage = async (ws: WebSocket): Promise<string | Buffer> => {
  const [data, isBinary] = await once(ws, "message") as [Buffer, boolean]
  return isBinary ? data : data.toString()
}

describe("WebSocket upgrades", () => {
  it("echo text, bytes and big messages", async () => {
    const { frontEnd, port } = await start({}, upgraded(echo))
    const ws = await connect(port)
    expect(frontEnd.liveExchanges).toBe(1)
    ws.send("héllo")
    expect(await nextMessage(ws)).toBe("héllo")
    ws.send(Buffer.from([0, 255]))
    expect(await nextMessage(ws)).toEqual(Buffer.from([0, 255]))
    const big = Buffer.alloc(5_000_000, "big ")
    ws.send(big)
    expect(big.equals(await nextMessage(ws) as Buffer)).toBe(true)
    ws.close(1000)
    await eventually("the socket is over", () => frontEnd.liveExchanges === 0)
  })

  it("tell the handler the client's close code and reason", async () => {
    const exit = latch<Exit.Exit<unknown, unknown>>()
    const { port } = await start({}, upgraded((reader) => Effect.onExit(Effect.forever(reader.pull), (e) => Effect.sync(() => exit.open(e)))))
    const ws = await connect(port)
    ws.close(4001, "enough")
    const recorded = await exit.promise
    const error = Exit.isFailure(recorded) ? Cause.squash(recorded.cause) : undefined
    expect(Socket.isSocketError(error) && error.reason).toMatchObject({ _tag: "SocketCloseError", code: 4001, closeReason: "enough" })
  })

  it("interrupt the handler when the connection breaks", async () => {
    const exit = latch<Exit.Exit<unknown, unknown>>()
    const { frontEnd, port } = await start({}, upgraded(() => Effect.onExit(Effect.never, (e) => Effect.sync(() => exit.open(e)))))
    const ws = await connect(port)
    ws.terminate()
    const recorded = await exit.promise
    expect(Exit.isFailure(recorded) && Cause.hasInterruptsOnly(recorded.cause)).toBe(true)
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it("close with 1000 after the handler, 1011 after its failure, and the code it chooses", async () => {
    for (const [handle, code, reason] of [
      [() => Effect.void, 1000, ""],
      [() => Effect.die(new Error("broken")), 1011, ""],
      [(_, writer) => writer.write(new Socket.CloseEvent(4002, "policy")), 4002, "policy"]
    ] satisfies ReadonlyArray<[Handle, number, string]>) {
      const { port } = await start({}, upgraded(handle))
      const ws = await connect(port)
      const [seen, text] = await once(ws, "close") as [number, Buffer]
      expect([seen, text.toString()]).toEqual([code, reason])
    }
  })

  it("make a writer wait for a client that does not read, and lose nothing", async () => {
    const MESSAGES = 400
    let written = 0
    const { port } = await start({}, upgraded((_, writer) => Effect.gen(function*() {
      for (let n = 0; n < MESSAGES; n++) {
        yield* writer.write(Buffer.alloc(50_000, n % 256))
        written++
      }
      yield* writer.write("done")
      yield* Effect.never
    })))
    const ws = new WebSocket(`ws://127.0.0.1:${port}/live`)
    const sizes: Array<number> = []
    const done = latch()
    ws.on("message", (data: Buffer, isBinary: boolean) => {
      if (!isBinary) return done.open()
      if (data[0] !== sizes.length % 256 || data[data.length - 1] !== data[0]) throw new Error(`message ${sizes.length} is not whole`)
      sizes.push(data.length)
    })
    ws.on("open", () => ws.pause())
    let last = -1
    await eventually("the writer is stuck", () => {
      const stuck = written > 50 && written === last
      last = written
      return stuck
    })
    expect(written).toBeLessThan(MESSAGES)
    ws.resume()
    await done.promise
    expect(sizes).toEqual(Array.from({ length: MESSAGES }, () => 50_000))
    ws.terminate()
  })

  it("close a client whose messages are too large or are not read fast enough", async () => {
    const { port } = await start({ webSocket: { maxPayloadBytes: 1_000, maxUnreadBytes: 10_000 } }, upgraded(() => Effect.never))
    const large = await connect(port)
    large.on("error", () => {})
    large.send("x".repeat(1_001))
    const [largeCode] = await once(large, "close") as [number]
    expect([1006, 1009]).toContain(largeCode)
    const fast = await connect(port)
    for (let n = 0; n < 20; n++) fast.send("x".repeat(1_000))
    const [fastCode] = await once(fast, "close") as [number]
    expect(fastCode).toBe(1013)
  })

  it("are refused with the handler's own response when it does not upgrade", async () => {
    const { frontEnd, port } = await start({}, Effect.succeed(HttpServerResponse.text("no", { status: 403 })))
    const ws = new WebSocket(`ws://127.0.0.1:${port}/live`)
    const [, response] = await once(ws, "unexpected-response") as [unknown, { readonly statusCode: number; readonly resume: () => void }]
    expect(response.statusCode).toBe(403)
    response.resume()
    ws.on("error", () => {})
    ws.terminate()
    await eventually("it is over", () => frontEnd.liveExchanges === 0)
  })

  it("fail for a request that is not an upgrade", async () => {
    const { base } = await start({}, upgraded(echo))
    expect((await fetch(base)).status).toBe(400)
  })

  it("may come late, after the handler waited", async () => {
    const go = latch()
    const { frontEnd, port } = await start({}, Effect.andThen(Effect.promise(() => go.promise), upgraded(echo)))
    const ws = new WebSocket(`ws://127.0.0.1:${port}/live`)
    await eventually("the request arrives", () => frontEnd.liveExchanges === 1)
    go.open()
    await once(ws, "open")
    ws.send("late")
    expect(await nextMessage(ws)).toBe("late")
    ws.terminate()
  })

  it("are closed with 1001 when the server stops", async () => {
    const { port, stop } = await start({ gracefulShutdownTimeout: 0 }, upgraded(echo))
    const ws = await connect(port)
    const closed = once(ws, "close") as Promise<[number]>
    await stop()
    expect((await closed)[0]).toBe(1001)
  })
})
