import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Stream from "effect/Stream"
import { describe, expect, it } from "vitest"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import * as FramingCorpus from "./support/framingCorpus.ts"
import { eventually, start, type TestServer } from "./support/harness.ts"
import { RawClient, type RawResponse } from "./support/RawClient.ts"

const SMUGGLED = "GET /smuggled HTTP/1.1\r\nHost: gateway.test\r\n\r\n"
/** Fills the native parser's buffer, so that it gives up a head that it waits for. */
const FLOOD = SMUGGLED.repeat(600)

interface Recorded extends TestServer {
  /** `METHOD path body` of every request that a handler saw. */
  readonly seen: Array<string>
}

const LARGE = "a".repeat(100_000)

/** One lane answers from the callback of its body, the other from a fiber; `/seen` is served by it, all else by the other. */
const record = async (lane: "direct" | "effect"): Promise<Recorded> => {
  const seen: Array<string> = []
  const app = Effect.gen(function*() {
    const request = yield* HttpServerRequest
    const body = yield* request.text
    seen.push(`${request.method} ${request.url} ${body}`)
    switch (request.url) {
      case "/stream":
        return HttpServerResponse.stream(Stream.make(Buffer.from("a"), Buffer.from("b")))
      case "/large":
        return HttpServerResponse.text(LARGE)
      case "/later":
        yield* Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))
    }
    return HttpServerResponse.text(`ok ${body}`)
  })
  const server = await start({}, app)
  if (lane === "direct") {
    for (const method of ["GET", "POST"] as const) {
      server.frontEnd.direct(method, "/seen", (exchange) =>
        exchange.readBody(100_000, (body, failure) => {
          if (failure !== null) return
          const text = Buffer.from(body ?? "").toString()
          seen.push(`${method} /seen ${text}`)
          exchange.respond(200, [], `ok ${text}`)
        }))
    }
  }
  return { ...server, seen }
}

const sendRaw = (client: RawClient, text: string): void => client.send(Buffer.from(text, "latin1"))

/** Every status of an answer in what was received. */
const statuses = (client: RawClient): ReadonlyArray<string> =>
  [...client.received.toString("latin1").matchAll(/HTTP\/1\.1 (\d{3})/g)].map((found) => found[1]!)

const exchangeAlone = async (server: TestServer, text: string): Promise<RawResponse> => {
  const client = await RawClient.connect(server.port)
  sendRaw(client, text)
  return client.response().finally(() => client.destroy())
}

const isRefusal = (status: string): boolean => ["400", "431", "505"].includes(status)

describe.each(["direct", "effect"] as const)("request framing on the %s lane", (lane) => {
  it("refuses every invalid head with an answer, and no handler sees it", async () => {
    const server = await record(lane)
    const answered = await Promise.all(FramingCorpus.refusedHeads.map(async ({ bytes, name }) => {
      const client = await RawClient.connect(server.port)
      sendRaw(client, bytes)
      await client.until(`${name}: an answer`, () => statuses(client).length > 0)
      await client.closed()
      return [name, statuses(client).every(isRefusal) ? "refused" : statuses(client)]
    }))
    expect(answered).toEqual(FramingCorpus.refusedHeads.map(({ name }) => [name, "refused"]))
    expect(server.seen).toEqual([])
  })

  it("serves nothing that stands behind an invalid head, and closes", async () => {
    const server = await record(lane)
    for (const { bytes, name } of [...FramingCorpus.refusedHeads, ...FramingCorpus.unreadableHeads]) {
      const client = await RawClient.connect(server.port)
      sendRaw(client, bytes + FLOOD)
      await client.until(`${name}: the end`, () => client.ended)
      expect([name, server.seen, statuses(client).filter((status) => !isRefusal(status))]).toEqual([name, [], []])
    }
  })

  it("refuses an invalid head however it is split", async () => {
    const server = await record(lane)
    for (const { bytes } of FramingCorpus.refusedHeads.filter((message) => message.bytes.length < 200)) {
      const cuts = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1).filter((cut) => cut % 5 === bytes.length % 5)
      await Promise.all(cuts.map(async (cut) => {
        const client = await RawClient.connect(server.port)
        await client.sent(Buffer.from(bytes.slice(0, cut), "latin1"))
        await client.sent(Buffer.from(bytes.slice(cut) + FLOOD, "latin1"))
        await client.closed()
      }))
    }
    expect(server.seen).toEqual([])
  })

  it("refuses a chunked body that it finds invalid, and what stands behind it", async () => {
    const server = await record(lane)
    for (const { bytes, name } of FramingCorpus.refusedChunks) {
      const client = await RawClient.connect(server.port)
      sendRaw(client, bytes + FLOOD)
      await client.closed()
      expect([name, server.seen]).toEqual([name, []])
    }
  })

  it("serves nothing behind a chunked body, whatever its decoder took for valid", async () => {
    const server = await record(lane)
    for (const { bytes, name } of [...FramingCorpus.lenientChunks, ...FramingCorpus.validChunks]) {
      server.seen.length = 0
      const together = await RawClient.connect(server.port)
      sendRaw(together, bytes + SMUGGLED)
      await together.closed()
      const later = await RawClient.connect(server.port)
      sendRaw(later, bytes)
      const answer = await later.response()
      sendRaw(later, SMUGGLED)
      await later.closed()
      expect([name, answer.status, answer.headers["connection"]]).toEqual([name, 200, "close"])
      expect([name, server.seen.filter((line) => !line.startsWith("POST /seen"))]).toEqual([name, []])
      expect([name, server.seen.length <= 2]).toEqual([name, true])
    }
  })

  it("serves each valid request once, and the next one on its connection", async () => {
    const server = await record(lane)
    for (const { bytes, name } of FramingCorpus.valid) {
      server.seen.length = 0
      const client = await RawClient.connect(server.port)
      for (let turn = 1; turn <= 2; turn++) {
        sendRaw(client, bytes)
        expect([name, (await client.response()).status]).toEqual([name, 200])
        expect([name, server.seen.length]).toEqual([name, turn])
      }
      client.destroy()
    }
    for (const { bytes, name } of FramingCorpus.validChunks) {
      const answer = await exchangeAlone(server, bytes)
      expect([name, answer.body.toString()]).toEqual([name, "ok hello"])
    }
  })

  it("reads a valid request the same however it is split", async () => {
    const server = await record(lane)
    for (const { bytes, name } of [...FramingCorpus.valid, ...FramingCorpus.validChunks].filter((message) => message.bytes.length < 200)) {
      const whole = (await exchangeAlone(server, bytes)).body.toString()
      const cuts = Array.from({ length: bytes.length - 1 }, (_, index) => index + 1)
      const answers = await Promise.all(cuts.map(async (cut) => {
        const client = await RawClient.connect(server.port)
        await client.sent(Buffer.from(bytes.slice(0, cut), "latin1"))
        await client.sent(Buffer.from(bytes.slice(cut), "latin1"))
        return (await client.response().finally(() => client.destroy())).body.toString()
      }))
      expect([name, new Set(answers)]).toEqual([name, new Set([whole])])
    }
  })

  it("refuses what it does not support without a handler", async () => {
    const server = await record(lane)
    for (const { bytes, name } of FramingCorpus.unsupported) {
      const client = await RawClient.connect(server.port)
      sendRaw(client, bytes + FLOOD)
      await client.until(`${name}: the end`, () => client.ended)
    }
    expect(server.seen).toEqual([])
  })
})

describe("requests behind each other", () => {
  const post = "POST /seen HTTP/1.1\r\nHost: gateway.test\r\nContent-Length: 5\r\n\r\nhello"
  const get = "GET /seen HTTP/1.1\r\nHost: gateway.test\r\n\r\n"

  it.each([["GET GET", get + get, 2], ["POST GET", post + get, 2], ["GET POST POST", get + post + post, 3]])(
    "answers %s in order when each is answered in its turn",
    async (_, bytes, count) => {
      const server = await record("direct")
      const client = await RawClient.connect(server.port)
      sendRaw(client, bytes)
      const bodies: Array<string> = []
      for (let i = 0; i < count; i++) bodies.push((await client.response()).body.toString())
      expect(bodies).toEqual(server.seen.map((line) => line.startsWith("POST") ? "ok hello" : "ok "))
      expect(server.seen.length).toBe(count)
    }
  )

  it("closes a connection whose client does not wait for an answer that takes its time, and never serves the second", async () => {
    const server = await record("effect")
    const client = await RawClient.connect(server.port)
    sendRaw(client, `GET /later HTTP/1.1\r\nHost: gateway.test\r\n\r\n${SMUGGLED}`)
    await client.closed()
    expect(server.seen.filter((line) => line.includes("smuggled"))).toEqual([])
  })

  describe("while the first answer is on its way", () => {
    /** Of known length, and far more than sockets hold. */
    const whole = Buffer.alloc(40_000_000, "w")
    const head = (path: string, identity: string) => `GET ${path} HTTP/1.1\r\nHost: gateway.test\r\nAuthorization: Bearer ${identity}\r\n\r\n`

    /** Records whose requests were served and how they ended. */
    const watched = async () => {
      const server = await start()
      const identities: Array<string> = []
      const aborts: Array<string> = []
      const began = (exchange: Exchange): void => {
        identities.push(`${exchange.path} ${exchange.header("authorization")}`)
        exchange.onAbort((reason) => aborts.push(reason))
      }
      server.frontEnd.direct("GET", "/silent", began)
      server.frontEnd.direct("GET", "/stream", (exchange) => {
        began(exchange)
        exchange.start(200, ["Content-Type", "text/plain"])
        exchange.relay(Buffer.from("begun"))
      })
      server.frontEnd.direct("GET", "/whole", (exchange) => {
        began(exchange)
        exchange.respond(200, [], whole)
      })
      server.frontEnd.direct("GET", "/second", (exchange) => {
        began(exchange)
        exchange.respond(200, [], "second")
      })
      return { ...server, identities, aborts }
    }

    it.each([
      ["/silent", "with", ""], ["/silent", "after", ""], ["/stream", "with", "begun"], ["/stream", "after", "begun"], ["/whole", "with", "www"], ["/whole", "after", "www"]
    ] as const)("a second request closes the connection and is served to nobody: %s, sent %s the first", async (path, when, begun) => {
      const server = await watched()
      const client = await RawClient.connect(server.port)
      if (when === "with") client.send(head(path, "one") + head("/second", "two"))
      else {
        client.send(head(path, "one"))
        await eventually("the first began", () => server.identities.length === 1 && client.received.includes(begun))
        client.socket.pause()
        client.send(head("/second", "two"))
        client.socket.resume()
      }
      await client.closed()
      // One request was begun, under its own name; its end is told as the client's, and nothing of it goes on.
      expect(server.identities).toEqual([`${path} Bearer one`])
      expect([server.frontEnd.liveExchanges, server.frontEnd.heldBodies.bytes]).toEqual([0, 0])
      expect(server.aborts).toEqual(["client-closed"])
      // What came of the answer is no whole answer to a client that reads its framing: it knows that it has to ask again.
      const said = client.received.toString("latin1")
      expect(statuses(client).length).toBe(begun === "" || said === "" ? 0 : 1)
      expect(said).not.toContain("second")
      const [, length] = /content-length: (\d+)/i.exec(said) ?? []
      if (length === undefined) expect(said.endsWith("0\r\n\r\n")).toBe(false)
      else expect(client.received.length - said.indexOf("\r\n\r\n") - 4).toBeLessThan(Number(length))
      // Others are served, and so is a client that waits.
      const patient = await RawClient.connect(server.port)
      for (const identity of ["three", "four"]) {
        patient.send(head("/second", identity))
        expect((await patient.response()).body.toString()).toBe("second")
      }
      expect(server.identities.slice(1)).toEqual(["/second Bearer three", "/second Bearer four"])
    })
  })

  const closing = "Host: gateway.test\r\nConnection: close\r\n\r\n"
  it.each(["GET /seen", "HEAD /seen", "GET /stream", "HEAD /stream", "GET /large", "GET /later"])(
    "serves nothing behind a request that closes its connection: %s",
    async (line) => {
      for (const lane of ["direct", "effect"] as const) {
        const server = await record(lane)
        const together = await RawClient.connect(server.port)
        sendRaw(together, `${line} HTTP/1.1\r\n${closing}${SMUGGLED}`)
        await together.closed()
        const alone = await RawClient.connect(server.port)
        sendRaw(alone, `${line} HTTP/1.1\r\n${closing}`)
        expect((await alone.response(line.startsWith("HEAD"))).status).toBe(200)
        sendRaw(alone, SMUGGLED)
        await alone.closed()
        expect(server.seen.filter((entry) => entry.includes("smuggled"))).toEqual([])
      }
    }
  )

  it.each(["/seen", "/stream", "/large", "/later"])("serves nothing behind a chunked request, however %s is answered", async (path) => {
    const server = await record("effect")
    const chunked = `POST ${path} HTTP/1.1\r\nHost: gateway.test\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n`
    const client = await RawClient.connect(server.port)
    sendRaw(client, chunked)
    const answer = await client.response()
    expect([answer.status, answer.headers["connection"]]).toEqual([200, "close"])
    expect(answer.body.length).toBe({ "/stream": 2, "/large": LARGE.length }[path] ?? "ok hello".length)
    sendRaw(client, SMUGGLED)
    // The answer to a request on another connection comes after the bytes behind the first would have been read.
    for (let i = 0; i < 3; i++) await exchangeAlone(server, get)
    expect(server.seen.filter((entry) => entry.includes("smuggled"))).toEqual([])
  })

  it("refuses an upgrade with a body", async () => {
    const server = await record("effect")
    const answer = await exchangeAlone(
      server,
      "GET /seen HTTP/1.1\r\nHost: gateway.test\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" +
        "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nContent-Length: 5\r\n\r\nhello"
    )
    expect(answer.status).toBe(400)
    expect(server.seen).toEqual([])
  })
})
