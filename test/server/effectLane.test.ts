import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { ClientAbort } from "effect/http/HttpServerError"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Multipart from "effect/http/Multipart"
import * as UrlParams from "effect/http/UrlParams"
import * as Option from "effect/Option"
import * as Stream from "effect/Stream"
import { Readable } from "node:stream"
import { describe, expect, it } from "vitest"
import type { DirectBody } from "#src/platform/server/DirectBody.ts"
import { watchLate } from "#test/support/late.ts"
import { type App, eventually, latch, start } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"

const encoder = new TextEncoder()

const app = (handle: (request: HttpServerRequest) => Effect.Effect<HttpServerResponse.HttpServerResponse, unknown>): App =>
  Effect.flatMap(HttpServerRequest, handle)

const responses: Record<string, () => HttpServerResponse.HttpServerResponse> = {
  "/empty": () => HttpServerResponse.empty(),
  "/text": () => HttpServerResponse.text("héllo"),
  "/bytes": () => HttpServerResponse.uint8Array(encoder.encode("bytes")),
  "/stream": () => HttpServerResponse.stream(Stream.make(encoder.encode("a"), encoder.encode("b"))),
  "/raw": () => HttpServerResponse.raw("raw text"),
  "/web": () => HttpServerResponse.raw(new Response("web", { headers: { "x-web": "1" } })),
  "/readable": () => HttpServerResponse.raw(Readable.from([Buffer.from("read"), Buffer.from("able")])),
  "/direct": () => HttpServerResponse.raw({
    writeTo: (exchange, status, headers) => Effect.callback<void>((resume) => {
      exchange.start(status, headers)
      exchange.write(encoder.encode("by callback"))
      exchange.end()
      resume(Effect.void)
    })
  } satisfies DirectBody),
  "/form": () => {
    const form = new FormData()
    form.append("a", "1")
    return HttpServerResponse.formData(form)
  },
  "/cookies": () => HttpServerResponse.empty().pipe(HttpServerResponse.setCookieUnsafe("a", "1"), HttpServerResponse.setCookieUnsafe("b", "2")),
  "/close": () => HttpServerResponse.text("bye", { headers: { connection: "close" } }),
  "/not-modified": () => HttpServerResponse.empty({ status: 304, headers: { etag: "x" } })
}

describe("the effect lane", () => {
  it("sends every kind of response body", async () => {
    const { port } = await start({}, app((request) => Effect.sync(() => responses[request.url]!())))
    const client = await RawClient.connect(port)
    const get = async (path: string) => {
      client.get(path)
      return await client.response()
    }
    expect((await get("/empty")).status).toBe(204)
    expect((await get("/text")).body.toString()).toBe("héllo")
    expect((await get("/bytes")).headers).toMatchObject({ "content-type": "application/octet-stream", "content-length": "5" })
    expect((await get("/stream")).body.toString()).toBe("ab")
    expect((await get("/raw")).body.toString()).toBe("raw text")
    expect(await get("/web")).toMatchObject({ headers: { "x-web": "1" }, body: Buffer.from("web") })
    expect((await get("/readable")).body.toString()).toBe("readable")
    expect((await get("/direct")).body.toString()).toBe("by callback")
    const form = await get("/form")
    expect(form.headers["content-type"]).toMatch(/^multipart\/form-data; boundary=/)
    expect(form.body.toString()).toContain("name=\"a\"")
    expect((await get("/cookies")).headers["set-cookie"]).toBe("a=1\nb=2")
    expect(await get("/not-modified")).toMatchObject({ status: 304, headers: { etag: "x" } })
    client.send("HEAD /text HTTP/1.1\r\nHost: test\r\n\r\n")
    expect((await client.response(true)).headers["content-length"]).toBe("6")
    client.send("HEAD /stream HTTP/1.1\r\nHost: test\r\n\r\n")
    expect((await client.response(true)).status).toBe(200)
    expect(await get("/close")).toMatchObject({ headers: { connection: "close" } })
    await client.closed()
  })

  it("reads every kind of request", async () => {
    let seen: unknown
    const { base, port } = await start({}, app((request) =>
      Effect.gen(function*() {
        switch (request.url.split("?")[0]) {
          case "/json":
            seen = [yield* request.json, yield* request.json]
            break
          case "/form":
            seen = UrlParams.toString(yield* request.urlParamsBody)
            break
          case "/multipart":
            seen = yield* Stream.runCollect(Stream.mapEffect(request.multipartStream, (part) =>
              Multipart.isField(part)
                ? Effect.succeed(`${part.key}=${part.value}`)
                : Effect.map(part.contentEffect, (bytes) => `${part.key}:${part.name}:${bytes.length}`)))
            break
          default:
            seen = {
              url: request.url,
              originalUrl: request.originalUrl,
              method: request.method,
              cookies: request.cookies,
              header: request.headers["x-a"],
              address: Option.getOrNull(request.remoteAddress),
              modified: request.modify({ url: "/other" }).url
            }
        }
        return HttpServerResponse.empty()
      })))
    await fetch(`${base}/json`, { method: "POST", body: "{\"a\":[1]}" })
    expect(seen).toEqual([{ a: [1] }, { a: [1] }])
    await fetch(`${base}/form`, { method: "POST", body: new URLSearchParams({ a: "1 2", b: "ü" }) })
    expect(seen).toBe("a=1+2&b=%C3%BC")
    const form = new FormData()
    form.append("field", "value")
    form.append("file", new Blob(["x".repeat(300_000)]), "big.txt")
    await fetch(`${base}/multipart`, { method: "POST", body: form })
    expect(seen).toEqual(["field=value", "file:big.txt:300000"])
    await fetch(`${base}/meta?q=1`, { method: "PATCH", headers: { cookie: "a=1; b=2", "x-a": "yes" } })
    expect(seen).toEqual({
      url: "/meta?q=1",
      originalUrl: `http://127.0.0.1:${port}/meta?q=1`,
      method: "PATCH",
      cookies: { a: "1", b: "2" },
      header: "yes",
      address: "127.0.0.1",
      modified: "/other"
    })
    expect((await fetch(`${base}/json`, { method: "POST", body: "{" })).status).toBe(400)
  })

  it("interrupts the request within 50 ms of the client's reset, and records it as interrupted", async () => {
    const exit = latch<Exit.Exit<unknown, unknown>>()
    const running = latch()
    const { port } = await start({}, Effect.onExit(Effect.andThen(Effect.sync(() => running.open()), Effect.never), (e) => Effect.sync(() => exit.open(e))))
    const client = await RawClient.connect(port)
    client.get("/")
    await running.promise
    const late = watchLate()
    const reset = performance.now()
    client.reset()
    const recorded = await exit.promise
    expect(performance.now() - reset).toBeLessThan(50 + late())
    expect(Exit.isFailure(recorded) && Cause.hasInterruptsOnly(recorded.cause)).toBe(true)
    expect(Exit.isFailure(recorded) && recorded.cause.reasons.some((reason) => reason.annotations.has(ClientAbort.key))).toBe(true)
  })

  for (const flow of ["flowing", "blocked"] as const) {
    it(`ends a ${flow} stream as interrupted when its client goes, never as success`, async () => {
      const exit = latch<Exit.Exit<unknown, unknown>>()
      const begun = latch()
      const piece = flow === "blocked" ? new Uint8Array(1_000_000) : encoder.encode("x")
      const body = Stream.fromIterable(Array.from({ length: 1_000 }, () => piece)).pipe(
        Stream.rechunk(1),
        Stream.tap(() => Effect.andThen(Effect.sync(() => begun.open()), flow === "flowing" ? Effect.sleep(1) : Effect.void)),
        Stream.onExit((e) => Effect.sync(() => exit.open(e)))
      )
      const { frontEnd, port } = await start({}, Effect.sync(() => HttpServerResponse.stream(body)))
      const client = await RawClient.connect(port)
      if (flow === "blocked") client.socket.pause()
      client.get("/")
      await begun.promise
      if (flow === "flowing") await client.until("the first byte", () => client.received.includes("1\r\nx"))
      client.reset()
      const recorded = await exit.promise
      expect(Exit.isFailure(recorded) && Cause.hasInterruptsOnly(recorded.cause)).toBe(true)
      await eventually("the exchange is over", () => frontEnd.liveExchanges === 0)
    })
  }

  it("closes the request scope as interrupted when the last bytes were not taken", async () => {
    const exit = latch<Exit.Exit<unknown, unknown>>()
    const { frontEnd, port } = await start({}, Effect.as(
      Effect.addFinalizer((e) => Effect.sync(() => exit.open(e))),
      HttpServerResponse.uint8Array(new Uint8Array(20_000_000))
    ))
    const client = await RawClient.connect(port)
    client.socket.pause()
    client.get("/")
    await eventually("the response waits", () => frontEnd.liveExchanges === 1)
    client.reset()
    expect(Exit.isFailure(await exit.promise)).toBe(true)
  })

  it("answers a failure before the head with its status, and cuts the connection after it", async () => {
    const { port } = await start({}, app((request) =>
      request.url === "/before"
        ? Effect.die(new Error("before"))
        : Effect.succeed(HttpServerResponse.stream(Stream.concat(Stream.make(encoder.encode("part")), Stream.fromEffect(Effect.andThen(Effect.sleep(5), Effect.die(new Error("after")))))))))
    const client = await RawClient.connect(port)
    client.get("/before")
    expect((await client.response()).status).toBe(500)
    client.get("/after")
    await client.closed()
    expect(client.received.includes("4\r\npart")).toBe(true)
    expect(client.received.includes("\r\n0\r\n\r\n")).toBe(false)
  })

  it("gives what no direct route matches to the application", async () => {
    const { base, frontEnd } = await start({}, app((request) => Effect.succeed(HttpServerResponse.text(`effect ${request.url}`))))
    frontEnd.direct("GET", "/hot", (exchange) => exchange.respond(200, [], "direct"))
    expect(await (await fetch(`${base}/hot`)).text()).toBe("direct")
    expect(await (await fetch(`${base}/cold?x`)).text()).toBe("effect /cold?x")
    expect(await (await fetch(`${base}/hot`, { method: "DELETE" })).text()).toBe("effect /hot")
  })
})
