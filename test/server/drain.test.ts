import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpServerRequest from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { describe, expect, it } from "vitest"
import type { AbortReason, Exchange } from "#src/platform/server/Exchange.ts"
import { eventually, latch, nothingServed, start } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"

const GENEROUS = { gracefulShutdownTimeout: "10 seconds" } as const

describe("the drain", () => {
  it("lets requests under way finish, refuses new ones, and completes without waiting for the timeout", async () => {
    const finish = latch()
    const { frontEnd, port, stop } = await start(GENEROUS, Effect.as(Effect.promise(() => finish.promise), HttpServerResponse.text("finished")))
    const clients = await Promise.all(Array.from({ length: 20 }, () => RawClient.connect(port)))
    const idle = await RawClient.connect(port)
    idle.get("/")
    for (const client of clients) client.get("/")
    await eventually("all run", () => frontEnd.liveExchanges === 21)
    const spare = await RawClient.connect(port)
    const begun = performance.now()
    const stopped = stop()
    await eventually("the drain began", () => frontEnd.draining)
    spare.get("/")
    const refused = await spare.response()
    expect([refused.status, refused.headers["connection"], refused.headers["retry-after"]]).toEqual([503, "close", "1"])
    await spare.closed()
    await expect(RawClient.connect(port)).rejects.toThrow("ECONNREFUSED")
    finish.open()
    for (const client of clients) {
      const response = await client.response()
      expect([response.status, response.body.toString(), response.headers["connection"]]).toEqual([200, "finished", "close"])
      await client.closed()
    }
    await stopped
    expect(performance.now() - begun).toBeLessThan(5_000)
  })

  it("closes idle connections and is quick without work", async () => {
    const { port, stop } = await start(GENEROUS)
    const idle = await RawClient.connect(port)
    idle.get("/")
    await idle.response()
    await stop()
    await idle.closed()
  })

  it("lets the application end its live streams itself", async () => {
    const { frontEnd, port, stop } = await start(GENEROUS)
    const live = new Set<Exchange>()
    frontEnd.onDrain(() => {
      for (const exchange of live) exchange.end("event: error\n\n")
    })
    frontEnd.direct("GET", "/", (exchange) => {
      live.add(exchange)
      exchange.start(200, [])
      exchange.write(Buffer.from("data: 1\n\n"))
    })
    const client = await RawClient.connect(port)
    client.get("/")
    await client.until("the first event", () => client.received.includes("data: 1"))
    const stopped = stop()
    expect((await client.response()).body.toString()).toBe("data: 1\n\nevent: error\n\n")
    await stopped
  })

  it("interrupts what outlives the timeout: streams are cut as interrupted, unanswered requests get 503", async () => {
    const exit = latch<Exit.Exit<unknown, unknown>>()
    const stream = Stream.concat(Stream.make(new Uint8Array([65])), Stream.never).pipe(Stream.onExit((e) => Effect.sync(() => exit.open(e))))
    const { frontEnd, port, stop } = await start({ gracefulShutdownTimeout: "50 millis" }, Effect.succeed(HttpServerResponse.stream(stream)))
    const reason = latch<AbortReason>()
    frontEnd.direct("GET", "/direct", (exchange) => exchange.onAbort(reason.open))
    const streaming = await RawClient.connect(port)
    streaming.get("/")
    await streaming.until("the head", () => streaming.received.includes("1\r\nA"))
    const direct = await RawClient.connect(port)
    direct.get("/direct")
    await eventually("both run", () => frontEnd.liveExchanges === 2)
    await stop()
    const recorded = await exit.promise
    expect(Exit.isFailure(recorded) && Cause.hasInterruptsOnly(recorded.cause)).toBe(true)
    expect(await reason.promise).toBe("shutdown")
    await streaming.closed()
    expect(streaming.received.includes("\r\n0\r\n\r\n")).toBe(false)
    await direct.closed()
    const waiting = await start({ gracefulShutdownTimeout: "50 millis" }, Effect.never)
    const client = await RawClient.connect(waiting.port)
    client.get("/")
    await eventually("it runs", () => waiting.frontEnd.liveExchanges === 1)
    await waiting.stop()
    expect((await client.response()).status).toBe(503)
  })

  it("answers a request whose body is still to come when the timeout is over, on both lanes", async () => {
    const { frontEnd, port, stop } = await start(
      { gracefulShutdownTimeout: "50 millis" },
      Effect.as(Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => request.text), HttpServerResponse.text("read"))
    )
    let told: unknown = null
    const reasons: Array<AbortReason> = []
    frontEnd.direct("POST", "/direct", (exchange) => {
      exchange.onAbort((reason) => reasons.push(reason))
      exchange.readBody(1_000, (_body, failure) => {
        told = failure
      })
    })
    const clients = [await RawClient.connect(port), await RawClient.connect(port)]
    for (const [i, client] of clients.entries()) client.send(`POST ${i === 0 ? "/" : "/direct"} HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nhalf`)
    await eventually("both run", () => frontEnd.liveExchanges === 2)
    const begun = performance.now()
    await stop()
    for (const client of clients) {
      const { headers, status } = await client.response()
      expect([status, headers["connection"], headers["retry-after"]]).toEqual([503, "close", "1"])
      await client.closed()
    }
    expect([told, reasons, performance.now() - begun < 3_000]).toEqual(["aborted", ["shutdown"], true])
  })

  it("is bounded even when a request cannot be interrupted", async () => {
    const { frontEnd, port, stop } = await start({ gracefulShutdownTimeout: 0 }, Effect.uninterruptible(Effect.never))
    const client = await RawClient.connect(port)
    client.get("/")
    await eventually("it runs", () => frontEnd.liveExchanges === 1)
    const begun = performance.now()
    await stop()
    expect(performance.now() - begun).toBeLessThan(4_000)
    await client.closed()
  })

  it("under load breaks no response that was begun", async () => {
    const { frontEnd, port, stop } = await start(GENEROUS, nothingServed)
    frontEnd.direct("GET", "/", (exchange) => {
      exchange.start(200, [])
      exchange.write(Buffer.from("a".repeat(1_000)))
      setImmediate(() => exchange.end("b"))
    })
    let served = 0
    let refused = 0
    const drained = latch()
    const load = async () => {
      for (;;) {
        const client = await RawClient.connect(port).catch(() => undefined)
        if (client === undefined) return
        try {
          for (;;) {
            client.get("/")
            const response = await client.response()
            if (response.status === 503) {
              refused++
              break
            }
            expect(response.body.length).toBe(1_001)
            served++
            if (served === 500) drained.open()
          }
        } catch (error) {
          // Between two responses a connection may be closed; inside one it must not be.
          expect([client.received.length, String(error)]).toEqual([0, expect.stringContaining("closed inside a response")])
          return
        }
      }
    }
    const loads = Array.from({ length: 8 }, load)
    await drained.promise
    await stop()
    await Promise.all(loads)
    expect(served).toBeGreaterThanOrEqual(500)
    expect(refused).toBeGreaterThan(0)
    expect(frontEnd.liveExchanges).toBe(0)
  })
})
