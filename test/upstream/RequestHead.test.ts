import * as net from "node:net"
import { describe, expect, it } from "vitest"
import { RequestHeads, format, write } from "#src/platform/upstream/request/RequestHead.ts"
import type { RequestHead } from "#src/platform/upstream/request/RequestHead.ts"
import * as Client from "./support/client.ts"
import * as ScriptedServer from "./support/scriptedServer.ts"

const text = (head: RequestHead | string): string => typeof head === "string" ? `refused: ${head}` : head.bytes.toString("latin1")

describe("a request head", () => {
  it("is a line, the host, what the caller set, and identity", () => {
    expect(text(format("POST", "/v1/x?a=b", ["Content-Type", "text/plain", "x-a", "caf\xe9\t1", "accept-encoding", "gzip", "x-empty", ""], "h.test:81"))).toBe(
      "POST /v1/x?a=b HTTP/1.1\r\nhost: h.test:81\r\nconnection: keep-alive\r\nContent-Type: text/plain\r\nx-a: caf\xe9\t1\r\nx-empty: \r\n" +
        "accept-encoding: identity\r\n"
    )
  })

  it.each([
    ["a line break in a value", "GET", "/", ["x-a", "1\r\nx-evil: 1"]],
    ["LF in a value", "GET", "/", ["x-a", "1\nx-evil: 1"]],
    ["CR in a value", "GET", "/", ["x-a", "1\rx"]],
    ["a line break at the end of a value", "GET", "/", ["x-a", "1\n"]],
    ["NUL in a value", "GET", "/", ["x-a", "1\0"]],
    ["DEL in a value", "GET", "/", ["x-a", "1\x7f"]],
    ["a letter beyond latin-1, whose low byte is LF", "GET", "/", ["x-a", "1\u010ax-evil: 1"]],
    ["an empty name", "GET", "/", ["", "1"]],
    ["a colon in a name", "GET", "/", ["x-a:", "1"]],
    ["a blank in a name", "GET", "/", ["x a", "1"]],
    ["a line break in a name", "GET", "/", ["x-a: 1\r\nx-evil", "1"]],
    ["a line break at the end of a name", "GET", "/", ["x-a\n", "1"]],
    ["a name without value", "GET", "/", ["x-a"]],
    ["a line break in the path", "GET", "/ HTTP/1.1\r\nx-evil: 1\r\n\r\n", []],
    ["a blank in the path", "GET", "/a b", []],
    ["a high letter in the path", "GET", "/caf\xe9", []],
    ["a path that is no path", "GET", "http://other.test/", []],
    ["an empty path", "GET", "", []],
    ["a line break at the end of the path", "GET", "/a\n", []]
  ] as const)("is refused for %s", (_name, method, path, headers) => {
    expect(text(format(method, path, headers, "h.test"))).toMatch(/^refused: /)
  })

  it("leaves framing, connection and host to us", () => {
    for (const name of ["host", "connection", "keep-alive", "proxy-connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "expect", "Content-Length"]) {
      expect(text(format("POST", "/", [name, "1"], "h.test"))).toBe(`refused: the header ${name.toLowerCase()} is not the caller's to set`)
    }
    // The type says so, the wire relies on it.
    expect(text(format("GET / HTTP/1.1\r\nx: y\r\n\r\nGET" as "GET", "/", [], "h.test"))).toMatch(/^refused: /)
  })

  it("is formatted once per method, path and list, and forgotten in turn", () => {
    const heads = new RequestHeads("h.test")
    const list = ["x-a", "1"]
    const first = heads.of("GET", "/a", list)
    expect(heads.of("GET", "/a", list)).toBe(first)
    expect(text(heads.of("POST", "/a", list))).toContain("POST /a")
    expect(text(heads.of("GET", "/b", list))).toContain("GET /b")
    expect(text(heads.of("GET", "/a", ["x-a", "2"]))).toContain("x-a: 2")
    expect(heads.of("GET", "/a", ["x-a", "1"])).not.toBe(first)
    for (let i = 0; i < 100; i++) expect(text(heads.of("GET", `/${i}`, list))).toContain(`GET /${i} `)
    expect(heads.of("GET", "/a", list)).not.toBe(first)
  })
})

describe("a request on the wire", () => {
  /** What `write` puts on a socket, and in how many writes. */
  const written = (method: "GET" | "POST" | "DELETE" | "PUT", body: Uint8Array | string | null) => {
    const parts: Array<Buffer> = []
    const socket = new net.Socket()
    socket.write = (part: Uint8Array | string) => {
      parts.push(Buffer.from(part))
      return true
    }
    const head = format(method, "/", [], "h")
    if (typeof head === "string") throw new Error(head)
    write(socket, head, body)
    return { text: Buffer.concat(parts).toString(), writes: parts.length }
  }

  it("has a length whenever a body may be meant", () => {
    expect(written("GET", null).text).toMatch(/identity\r\n\r\n$/)
    expect(written("DELETE", null).text).not.toContain("content-length")
    expect(written("POST", null).text).toMatch(/\r\ncontent-length: 0\r\n\r\n$/)
    expect(written("PUT", "").text).toMatch(/\r\ncontent-length: 0\r\n\r\n$/)
    expect(written("GET", "abc").text).toMatch(/\r\ncontent-length: 3\r\n\r\nabc$/)
    expect(written("POST", "é漢😀").text).toMatch(/\r\ncontent-length: 9\r\n\r\né漢😀$/)
    expect(written("POST", "\ud800!").text).toMatch(/\r\ncontent-length: 4\r\n\r\n\ufffd!$/)
    expect(written("POST", new TextEncoder().encode("é")).text).toMatch(/\r\ncontent-length: 2\r\n\r\né$/)
  })

  it("is one write when it is small, and two when it is not", () => {
    for (const [size, writes] of [[0, 1], [10, 1], [16 * 1024, 1], [16 * 1024 + 1, 2], [300_000, 2]] as const) {
      for (const body of ["x".repeat(size), Buffer.alloc(size, "x")]) {
        const seen = written("POST", body)
        expect(seen.writes).toBe(writes)
        expect(seen.text.endsWith(`content-length: ${size}\r\n\r\n${"x".repeat(size)}`)).toBe(true)
      }
    }
  })

  it("arrives whole, large or small, text or bytes, also through a paused server", async () => {
    const bodies: Array<string> = []
    await using server = await ScriptedServer.start(({ body, peer }) => {
      bodies.push(body.toString())
      peer.write(ScriptedServer.answer("ok"))
    }, {
      onConnect: ({ socket }) => {
        socket.pause()
        setTimeout(() => socket.resume(), 20)
      }
    })
    await using client = await Client.open()
    const large = `${"0123456789".repeat(500_000)}é`
    for (const body of [large, Buffer.from(large), "small é", ""]) {
      expect((await Client.run(client.upstream, Client.requestTo(server.origin, { body })).over).failure).toBeNull()
    }
    expect(bodies.map((body) => body === large ? "large" : body)).toEqual(["large", "large", "small é", ""])
    expect(server.peers.length).toBe(1)
  })

  it("cannot carry a second request in a header, a path or a name", async () => {
    const heads: Array<string> = []
    await using server = await ScriptedServer.start(({ head, peer }) => {
      heads.push(head)
      peer.write(ScriptedServer.answer("ok"))
    })
    await using client = await Client.open()
    const evil = "\r\n\r\nGET /evil HTTP/1.1\r\n\r\n"
    for (const over of [{ headers: ["x-a", `1${evil}`] }, { headers: [`x${evil}`, "1"] }, { path: `/${evil}` }]) {
      const seen = await Client.run(client.upstream, Client.requestTo(server.origin, over)).over
      expect(seen.failure).toMatchObject({ reason: "protocol", source: "gateway", retry: "never" })
    }
    expect((await Client.run(client.upstream, Client.requestTo(server.origin)).over).ended).toBe(true)
    expect(heads.length).toBe(1)
    expect(client.upstream.stats()).toMatchObject([{ running: 0, pending: 0 }])
  })
})
