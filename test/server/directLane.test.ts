import { describe, expect, it } from "vitest"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import { latch, start } from "./support/harness.ts"
import { RawClient } from "./support/RawClient.ts"

describe("direct routes", () => {
  it("are matched by exact, case-sensitive, undecoded path and method", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("GET", "/v1/models", (exchange) => exchange.respond(200, [], "direct"))
    const client = await RawClient.connect(port)
    const ask = async (line: string) => {
      client.send(`${line} HTTP/1.1\r\nHost: test\r\n\r\n`)
      return (await client.response(line.startsWith("HEAD"))).status
    }
    expect(await ask("GET /v1/models")).toBe(200)
    expect(await ask("GET /v1/models?limit=1")).toBe(200)
    for (const unknown of ["/v1/Models", "//v1/models", "/v1//models", "/v1/models/", "/v1/%6dodels", "/v1/x/../models"]) {
      expect([unknown, await ask(`GET ${unknown}`)]).toEqual([unknown, 404])
    }
    expect(await ask("POST /v1/models")).toBe(404)
    expect(await ask("HEAD /v1/models")).toBe(404)
  })

  it("see method, path, query, headers and address as the client sent them", async () => {
    const { frontEnd, port } = await start()
    let seen: unknown
    frontEnd.direct("GET", "/a", (exchange) => {
      seen = {
        method: exchange.method,
        path: exchange.path,
        query: exchange.query,
        address: exchange.remoteAddress,
        one: exchange.header("x-one"),
        twice: exchange.header("x-twice"),
        none: exchange.header("x-none"),
        headers: exchange.headers
      }
      exchange.respond(200, ["X-Reply", "yes", "Set-Cookie", "a=1", "Set-Cookie", "b=2"], "ok")
    })
    const client = await RawClient.connect(port)
    client.get("/a?b=%20c&d", "X-One: 1\r\nX-Twice: a\r\nx-twice: b\r\n")
    const response = await client.response()
    expect(response.headers).toMatchObject({ "x-reply": "yes", "set-cookie": "a=1\nb=2", "content-length": "2" })
    expect(response.headers).not.toHaveProperty("uwebsockets")
    expect(seen).toEqual({
      method: "GET",
      path: "/a",
      query: "b=%20c&d",
      address: "127.0.0.1",
      one: "1",
      twice: "a, b",
      none: undefined,
      headers: ["host", "test", "x-one", "1", "x-twice", "a", "x-twice", "b"]
    })
  })

  it("answer three requests that came in one segment", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("GET", "/n", (exchange) => exchange.respond(200, [], exchange.query))
    const client = await RawClient.connect(port)
    client.send(["1", "2", "3"].map((n) => `GET /n?${n} HTTP/1.1\r\nHost: test\r\n\r\n`).join(""))
    const bodies = [await client.response(), await client.response(), await client.response()]
    expect(bodies.map((response) => response.body.toString())).toEqual(["1", "2", "3"])
  })

  it("answer three requests with bodies that came in one segment", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("POST", "/echo", (exchange) => exchange.readBody(100, (body) => exchange.respond(200, [], body ?? "")))
    const client = await RawClient.connect(port)
    client.send(["1", "2", "3"].map((n) => `POST /echo HTTP/1.1\r\nHost: test\r\nContent-Length: 1\r\n\r\n${n}`).join(""))
    const bodies = [await client.response(), await client.response(), await client.response()]
    expect(bodies.map((response) => response.body.toString())).toEqual(["1", "2", "3"])
  })

  it("send what is answered in one turn at its end, but nothing of an exchange that was closed meanwhile", async () => {
    const { frontEnd, port } = await start()
    const waiting: Array<Exchange> = []
    const arrived = latch()
    frontEnd.direct("GET", "/n", (exchange) => {
      exchange.onAbort(() => {})
      if (waiting.push(exchange) === 3) arrived.open(undefined)
    })
    const clients = [await RawClient.connect(port), await RawClient.connect(port), await RawClient.connect(port)]
    for (const [n, client] of clients.entries()) client.get(`/n?${n}`)
    await arrived.promise
    for (const exchange of waiting) exchange.respond(200, [], exchange.query)
    expect(waiting.map((exchange) => exchange.closed)).toEqual([true, true, true])
    expect(frontEnd.liveExchanges).toBe(3)
    waiting.find(({ query }) => query === "1")?.close()
    expect((await clients[0]!.response()).body.toString()).toBe("0")
    expect((await clients[2]!.response()).body.toString()).toBe("2")
    await clients[1]!.closed()
    expect(clients[1]!.received.length).toBe(0)
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it("send a response that waits for the end of its turn when a shutdown's deadline comes in that turn", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("GET", "/n", (exchange) => void setImmediate(() => {
      exchange.respond(200, [], "given")
      Reflect.apply(Reflect.get(exchange, "stop") as () => void, exchange, [])
    }))
    const client = await RawClient.connect(port)
    client.get("/n")
    expect((await client.response()).body.toString()).toBe("given")
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it("cut the connection of a response that cannot be sent at the end of its turn, and no other", async () => {
    const { defects, frontEnd, port } = await start()
    const waiting: Array<Exchange> = []
    const arrived = latch()
    frontEnd.direct("GET", "/n", (exchange) => {
      exchange.onAbort(() => {})
      if (waiting.push(exchange) === 2) arrived.open(undefined)
    })
    const clients = [await RawClient.connect(port), await RawClient.connect(port)]
    for (const [n, client] of clients.entries()) client.get(`/n?${n}`)
    await arrived.promise
    const broken = waiting.find(({ query }) => query === "0")!
    Reflect.set(broken, "writeWhole", () => {
      throw new Error("a defect of sending")
    })
    for (const exchange of [broken, ...waiting.filter((exchange) => exchange !== broken)]) exchange.respond(200, [], exchange.query)
    expect((await clients[1]!.response()).body.toString()).toBe("1")
    await clients[0]!.closed()
    expect(defects.map(String)).toEqual(["Error: a defect of sending"])
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it("keep the connection for hundreds of requests in turn", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("GET", "/n", (exchange) => void setImmediate(() => exchange.respond(200, [], exchange.query)))
    const client = await RawClient.connect(port)
    for (let n = 0; n < 300; n++) {
      client.get(`/n?${n}`)
      expect((await client.response()).body.toString()).toBe(String(n))
    }
    expect(frontEnd.connections).toBe(1)
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it("send only the length for HEAD and keep the connection usable", async () => {
    const { frontEnd, port } = await start()
    const whole = (exchange: Exchange) => exchange.respond(200, [], "x".repeat(50_000))
    frontEnd.direct("HEAD", "/whole", whole)
    frontEnd.direct("GET", "/whole", whole)
    frontEnd.direct("HEAD", "/streamed", (exchange) => {
      exchange.start(200, ["X-A", "1"])
      exchange.write(Buffer.from("never sent"))
      setImmediate(() => exchange.end("nor this"))
    })
    const client = await RawClient.connect(port)
    client.send("HEAD /whole HTTP/1.1\r\nHost: test\r\n\r\n")
    expect((await client.response(true)).headers["content-length"]).toBe("50000")
    client.send("HEAD /streamed HTTP/1.1\r\nHost: test\r\n\r\n")
    expect((await client.response(true)).headers["x-a"]).toBe("1")
    client.get("/whole")
    expect((await client.response()).body.length).toBe(50_000)
  })

  it("send a body of known length with that length, in however many turns it comes, and keep the connection usable", async () => {
    const { frontEnd, port } = await start()
    const pieces = ["a", "bc".repeat(40_000), "d"]
    const length = pieces.join("").length
    const sized = (exchange: Exchange) => {
      exchange.startSized(200, ["X-A", "1"], length)
      const [piece = "", ...rest] = pieces
      exchange.write(Buffer.from(piece))
      setImmediate(() => {
        for (const one of rest) exchange.write(Buffer.from(one))
        setImmediate(() => exchange.end())
      })
    }
    frontEnd.direct("GET", "/sized", sized)
    frontEnd.direct("GET", "/none", (exchange) => {
      exchange.startSized(200, [], 0)
      setImmediate(() => exchange.end())
    })
    const client = await RawClient.connect(port)
    for (let times = 0; times < 3; times++) {
      client.get("/sized")
      const response = await client.response()
      expect([response.headers["content-length"], response.headers["transfer-encoding"], response.headers["x-a"]]).toEqual([String(length), undefined, "1"])
      expect(response.body.toString()).toBe(pieces.join(""))
      client.get("/none")
      expect((await client.response()).body.length).toBe(0)
    }
    client.send("GET /sized HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
    const last = await client.response()
    expect([last.headers["content-length"], last.headers["connection"], last.body.toString()]).toEqual([String(length), "close", pieces.join("")])
    await client.closed()
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it.each([["too few", 3], ["too many", 1]])("cut a body that has %s bytes for its length", async (_, length) => {
    const { defects, frontEnd, port } = await start()
    frontEnd.direct("GET", "/sized", (exchange) => {
      exchange.startSized(200, [], length)
      exchange.write(Buffer.from("ab"))
      setImmediate(() => exchange.end())
    })
    const client = await RawClient.connect(port)
    client.get("/sized")
    await client.closed()
    expect(defects.length).toBe(1)
  })

  it("send neither body nor length with 204 and 304", async () => {
    const { frontEnd, port } = await start()
    for (const status of [204, 304]) {
      frontEnd.direct("GET", `/${status}`, (exchange) => exchange.respond(status, ["ETag", "x"], "ignored"))
      frontEnd.direct("GET", `/${status}/streamed`, (exchange) => {
        exchange.start(status, [])
        exchange.end("ignored")
      })
    }
    const client = await RawClient.connect(port)
    for (const path of ["/204", "/304", "/204/streamed", "/304/streamed"]) {
      client.get(path)
      const response = await client.response()
      expect(String(response.status)).toBe(path.slice(1, 4))
      expect(response.headers).not.toHaveProperty("content-length")
      expect(response.headers).not.toHaveProperty("transfer-encoding")
    }
    expect(client.received.length).toBe(0)
  })

  it("send head, body and end of one turn with a length, and of several turns chunked", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("GET", "/turn", (exchange) => {
      exchange.start(200, [])
      exchange.write(Buffer.from("a"))
      exchange.write(Buffer.from("b"))
      exchange.end("c")
    })
    frontEnd.direct("GET", "/turns", (exchange) => {
      exchange.start(200, [])
      exchange.write(Buffer.from("a"))
      setImmediate(() => {
        exchange.write(Buffer.from("b"))
        exchange.write(Buffer.from("c"))
        setImmediate(() => exchange.end())
      })
    })
    const client = await RawClient.connect(port)
    client.get("/turn")
    const turn = await client.response()
    expect([turn.headers["content-length"], turn.body.toString()]).toEqual(["3", "abc"])
    client.get("/turns")
    const turns = await client.response()
    expect([turns.headers["transfer-encoding"], turns.body.toString()]).toEqual(["chunked", "abc"])
  })

  it("collect what was written in one turn into one chunk", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("GET", "/", (exchange) => {
      exchange.start(200, [])
      for (let i = 0; i < 10; i++) exchange.write(Buffer.from("0123456789"))
      setImmediate(() => exchange.end())
    })
    const client = await RawClient.connect(port)
    client.get("/")
    await client.until("the last chunk", () => client.received.includes("\r\n0\r\n\r\n"))
    expect(client.received.toString().split("\r\n\r\n").slice(1).join("|")).toBe(`64\r\n${"0123456789".repeat(10)}\r\n0|`)
  })

  it("that throw are answered with 500, and reported", async () => {
    const { defects, frontEnd, port } = await start()
    frontEnd.direct("GET", "/sync", () => {
      throw new Error("sync")
    })
    frontEnd.direct("POST", "/late", (exchange) => exchange.readBody(10, () => {
      throw new Error("late")
    }))
    const client = await RawClient.connect(port)
    client.get("/sync")
    expect((await client.response()).status).toBe(500)
    client.send("POST /late HTTP/1.1\r\nHost: test\r\nContent-Length: 2\r\n\r\n")
    client.send("hi")
    expect((await client.response()).status).toBe(500)
    expect(defects.map(String)).toEqual(["Error: sync", "Error: late"])
  })

  it("that throw after the head cut the connection instead of completing the response", async () => {
    const { frontEnd, port } = await start()
    frontEnd.direct("GET", "/", (exchange) => {
      exchange.start(200, [])
      exchange.onDrain(() => {
        throw new Error("in the pump")
      })
      exchange.write(Buffer.alloc(100_000))
    })
    const client = await RawClient.connect(port)
    client.get("/")
    await client.closed()
    expect(client.received.includes("\r\n0\r\n\r\n")).toBe(false)
  })

  it("cannot split the response with a header value, nor use an interim status", async () => {
    const { defects, frontEnd, port } = await start()
    frontEnd.direct("GET", "/split", (exchange) => exchange.respond(200, ["X-A", "1\r\nX-B: 2"], ""))
    frontEnd.direct("GET", "/interim", (exchange) => exchange.respond(102, [], ""))
    frontEnd.direct("GET", "/huge", (exchange) => exchange.respond(200, ["X-A", "1".repeat(20_000)], ""))
    const client = await RawClient.connect(port)
    for (const path of ["/split", "/interim", "/huge"]) {
      client.get(path)
      expect((await client.response()).status).toBe(500)
    }
    expect(defects.map(String)).toEqual([
      expect.stringContaining("\"X-A\" contains a line break"),
      expect.stringContaining("status 102"),
      expect.stringContaining("exceeds the limit of 12288")
    ])
  })

  it("that close cut the response, and writing afterwards does nothing", async () => {
    const { frontEnd, port } = await start()
    const after = latch<ReadonlyArray<boolean>>()
    frontEnd.direct("GET", "/", (exchange) => {
      exchange.start(200, [])
      exchange.write(Buffer.from("part"))
      setImmediate(() => {
        exchange.close()
        const taken = exchange.write(Buffer.from("x"))
        exchange.end()
        exchange.respond(200, [], "")
        exchange.close()
        after.open([exchange.closed, taken])
      })
    })
    const client = await RawClient.connect(port)
    client.get("/")
    expect(await after.promise).toEqual([true, false])
    await client.closed()
    expect(client.received.includes("4\r\npart")).toBe(true)
    expect(client.received.includes("\r\n0\r\n\r\n")).toBe(false)
  })

  it("hear of an abort once, and at once when they ask late", async () => {
    const { frontEnd, port } = await start()
    const arrived = latch<Exchange>()
    const reasons: Array<string> = []
    frontEnd.direct("GET", "/", (exchange) => {
      exchange.onAbort((reason) => reasons.push(reason))
      arrived.open(exchange)
    })
    const client = await RawClient.connect(port)
    client.get("/")
    const exchange = await arrived.promise
    client.reset()
    const late = latch<string>()
    const poll = () => exchange.closed ? exchange.onAbort(late.open) : void setImmediate(poll)
    poll()
    expect(await late.promise).toBe("client-closed")
    expect(reasons).toEqual(["client-closed"])
    expect(exchange.write(Buffer.from("x"))).toBe(false)
    expect(frontEnd.liveExchanges).toBe(0)
  })

  it("wait behind notReady until the application is served", async () => {
    const { base, frontEnd } = await start({}, null)
    frontEnd.direct("GET", "/", (exchange) => exchange.respond(200, [], ""))
    const response = await fetch(`${base}/`)
    expect([response.status, response.headers.get("retry-after")]).toEqual([503, "1"])
    expect(await response.json()).toMatchObject({ error: { code: "not_ready" } })
  })
})
