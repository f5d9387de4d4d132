import * as zlib from "node:zlib"
import { describe, expect, it } from "vitest"
import type { UpstreamFailure } from "#actors/request/ports/Upstream.ts"
import * as Failures from "#src/platform/upstream/failures.ts"
import * as Client from "./support/client.ts"
import * as ScriptedServer from "./support/scriptedServer.ts"
import { cert, key } from "./support/selfSigned.ts"

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

const head = "HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\n"

type Expected = Pick<UpstreamFailure, "reason" | "phase" | "retry"> & { readonly bytes?: number }

const peers: ReadonlyArray<readonly [string, (peer: ScriptedServer.Peer) => void, Expected]> = [
  ["FIN before content-length bytes came", (peer) => peer.socket.end(`${head}12345`), { reason: "truncated", phase: "idle", retry: "never", bytes: 5 }],
  [
    "FIN before content-length bytes came, connection: close",
    (peer) => peer.socket.end("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 10\r\n\r\n12345"),
    { reason: "truncated", phase: "idle", retry: "never", bytes: 5 }
  ],
  ["FIN in a chunk", (peer) => peer.socket.end(`${ScriptedServer.chunkedHead}a\r\n1234`), { reason: "truncated", phase: "idle", retry: "never", bytes: 4 }],
  [
    "FIN between chunks, connection: close",
    (peer) => peer.socket.end(`${ScriptedServer.chunkedHead.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n")}4\r\n1234\r\n`),
    { reason: "truncated", phase: "idle", retry: "never", bytes: 4 }
  ],
  ["FIN after the head", (peer) => peer.socket.end(head), { reason: "truncated", phase: "idle", retry: "before-first-byte", bytes: 0 }],
  ["FIN without an answer", (peer) => peer.socket.end(), { reason: "reset", phase: "headers", retry: "before-first-byte" }],
  ["RST without an answer", (peer) => peer.reset(), { reason: "reset", phase: "headers", retry: "before-first-byte" }],
  ["FIN in the head", (peer) => peer.socket.end("HTTP/1.1 200 OK\r\nconte"), { reason: "reset", phase: "headers", retry: "before-first-byte" }],
  ["bytes that are not HTTP", (peer) => peer.write("SSH-2.0-x\r\n\r\n"), { reason: "protocol", phase: "headers", retry: "before-first-byte" }],
  ["a broken chunk size", (peer) => peer.write(`${ScriptedServer.chunkedHead}zz\r\n`), { reason: "protocol", phase: "idle", retry: "before-first-byte" }],
  [
    "two different content-lengths",
    (peer) => peer.write("HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n12"),
    { reason: "protocol", phase: "headers", retry: "before-first-byte" }
  ],
  ["a head without end", (peer) => peer.write(`HTTP/1.1 200 OK\r\nx-a: ${"a".repeat(70_000)}`), { reason: "protocol", phase: "headers", retry: "before-first-byte" }],
  ["an upgrade nobody asked for", (peer) => peer.write("HTTP/1.1 101 Switching\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n"), { reason: "protocol", phase: "headers", retry: "before-first-byte" }],
  [
    "an encoding that cannot be undone",
    (peer) => peer.write(ScriptedServer.answer("x", "content-encoding: zip\r\n")),
    { reason: "protocol", phase: "idle", retry: "before-first-byte" }
  ]
]

describe("a broken upstream", () => {
  it.each(peers)("%s", async (_name, script, expected) => {
    const { bytes, ...failure } = expected
    await using server = await ScriptedServer.start(({ peer }) => script(peer))
    await using client = await Client.open()
    const seen = await Client.run(client.upstream, Client.requestTo(server.origin)).over
    expect(seen.failure).toMatchObject({ ...failure, source: "upstream" })
    if (bytes !== undefined) expect(seen.bytes).toBe(bytes)
    expect(seen.failure?.message).toContain(`127.0.0.1:${server.port}`)
    await (await server.accepted(0)).closed
    expect(client.upstream.stats()[0]).toMatchObject({ running: 0, pending: 0 })
    expect(seen.late).toBe(0)
  })

  it("RST in the body", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(`${head}12345`))
    await using client = await Client.open()
    const run = Client.run(client.upstream, Client.requestTo(server.origin))
    await run.nextData()
    const peer = await server.accepted(0)
    peer.reset()
    const seen = await run.over
    // Some kernels hand an RST on as the end of the stream.
    expect(["reset", "truncated"]).toContain(seen.failure?.reason)
    expect(seen.failure).toMatchObject({ phase: "idle", retry: "never", source: "upstream" })
    const progress = { phase: "idle", sent: true, head: true, useful: true, peer: "p:1" } as const
    expect(Failures.fromError(Object.assign(new Error("x"), { code: "ECONNRESET" }), progress)).toMatchObject({ reason: "reset", retry: "never" })
  })

  it("nothing listens", async () => {
    const port = await ScriptedServer.unusedPort()
    await using client = await Client.open()
    const seen = await Client.run(client.upstream, Client.requestTo(`http://127.0.0.1:${port}`)).over
    expect(seen.failure).toMatchObject({ reason: "connect-refused", phase: "connect", retry: "safe", source: "upstream" })
  })

  it("the name does not resolve", async () => {
    await using client = await Client.open({ resolve: (_host, done) => done(Object.assign(new Error("no"), { code: "ENOTFOUND" }), []) })
    const seen = await Client.run(client.upstream, Client.requestTo("https://nowhere.test")).over
    expect(seen.failure).toMatchObject({ reason: "dns", phase: "connect", retry: "safe" })
    expect(seen.failure?.message).toContain("nowhere.test")
    expect(seen.failure?.message).toContain("ENOTFOUND")
  })

  it("a body without length that ends with the connection is complete", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.socket.end("HTTP/1.1 200 OK\r\n\r\nall of it"))
    await using client = await Client.open()
    const run = Client.run(client.upstream, Client.requestTo(server.origin))
    expect((await run.over).ended).toBe(true)
    expect(run.text()).toBe("all of it")
  })
})

describe("TLS", () => {
  it("reaches a server whose authority is configured, by name and by address, and resumes sessions", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.socket.end(ScriptedServer.answer("secret", "connection: close\r\n")), { tls: { key, cert } })
    await using client = await Client.open({ ca: [cert], resolve: (_host, done) => done(null, ["127.0.0.1"]) })
    for (const origin of [server.origin, `https://upstream.test:${server.port}`, `https://upstream.test:${server.port}`]) {
      const run = Client.run(client.upstream, Client.requestTo(origin))
      expect((await run.over).failure).toBeNull()
      expect(run.text()).toBe("secret")
    }
  })

  it("refuses an unknown authority and says what to do", async () => {
    await using server = await ScriptedServer.start(() => {}, { tls: { key, cert } })
    await using client = await Client.open()
    const seen = await Client.run(client.upstream, Client.requestTo(server.origin)).over
    expect(seen.failure).toMatchObject({ reason: "tls", phase: "connect", retry: "safe" })
    expect(seen.failure?.message).toContain("NODE_EXTRA_CA_CERTS")
  })

  it("refuses a certificate for another name", async () => {
    await using server = await ScriptedServer.start(() => {}, { tls: { key, cert } })
    await using client = await Client.open({ ca: [cert], resolve: (_host, done) => done(null, ["127.0.0.1"]) })
    const seen = await Client.run(client.upstream, Client.requestTo(`https://other.test:${server.port}`)).over
    expect(seen.failure).toMatchObject({ reason: "tls", retry: "safe" })
    expect(seen.failure?.message).toContain("another host name")
  })

  it("names plain HTTP behind an https URL, and a close during the handshake", async () => {
    await using plain = await ScriptedServer.start(() => {}, { onConnect: (peer) => peer.socket.once("data", () => peer.write("HTTP/1.1 400 Bad\r\n\r\n")) })
    await using closing = await ScriptedServer.start(() => {}, { onConnect: (peer) => peer.socket.once("data", () => peer.socket.end()) })
    await using client = await Client.open()
    const first = await Client.run(client.upstream, Client.requestTo(`https://127.0.0.1:${plain.port}`)).over
    expect(first.failure).toMatchObject({ reason: "tls", retry: "safe" })
    expect(first.failure?.message).toContain("http://")
    const second = await Client.run(client.upstream, Client.requestTo(`https://127.0.0.1:${closing.port}`)).over
    expect(second.failure).toMatchObject({ reason: "tls", retry: "safe" })
    expect(second.failure?.message).toContain("handshake")
  })
})

describe("a keep-alive socket that the server closes", () => {
  /** Answers the first request on a socket, and closes it when a second one comes: the race as the client sees it. */
  const racing = () =>
    ScriptedServer.start(({ index, peer }) => {
      if (index === 0) peer.write(ScriptedServer.answer(`socket ${peer.index}`))
      else peer.socket.end()
    })

  const second = async (over: Parameters<typeof Client.requestTo>[1]) => {
    await using server = await racing()
    await using client = await Client.open()
    await Client.run(client.upstream, Client.requestTo(server.origin)).over
    await turns(3)
    const run = Client.run(client.upstream, Client.requestTo(server.origin, over))
    const seen = await run.over
    return { seen, text: run.text(), sockets: server.peers.length }
  }

  it("while a GET arrives: the call is sent again on a new socket and nobody sees it", async () => {
    const { seen, sockets, text } = await second({ method: "GET", body: null })
    expect(seen).toMatchObject({ ended: true, failure: null, late: 0 })
    expect(text).toBe("socket 1")
    expect(sockets).toBe(2)
  })

  it("while a POST with an idempotency key arrives: the same", async () => {
    const { seen } = await second({ headers: ["idempotency-key", "k"] })
    expect(seen).toMatchObject({ ended: true, failure: null })
  })

  it("while a POST arrives: it may have been processed, so it is the caller's decision", async () => {
    const { seen, sockets } = await second({})
    expect(seen.failure).toMatchObject({ reason: "reset", phase: "headers", retry: "before-first-byte" })
    expect(sockets).toBe(1)
  })

  it("before a POST is sent: the close is noticed and a new socket is used", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer(`socket ${peer.index}`), ))
    await using client = await Client.open()
    await Client.run(client.upstream, Client.requestTo(server.origin)).over
    const first = await server.accepted(0)
    first.socket.end()
    await first.closed
    const run = Client.run(client.upstream, Client.requestTo(server.origin))
    expect((await run.over).failure).toBeNull()
    expect(run.text()).toBe("socket 1")
  })

  it("is sent again once at most", async () => {
    await using server = await ScriptedServer.start(({ index, peer }) => {
      if (peer.index === 0 && index === 0) peer.write(ScriptedServer.answer("ok"))
      else peer.socket.end()
    })
    await using client = await Client.open()
    await Client.run(client.upstream, Client.requestTo(server.origin)).over
    await turns(3)
    const seen = await Client.run(client.upstream, Client.requestTo(server.origin, { method: "GET", body: null })).over
    expect(seen.failure).toMatchObject({ reason: "reset", retry: "before-first-byte" })
    expect(server.peers.length).toBe(2)
  })

  it("is sent again for idempotent requests on reused sockets alone", () => {
    const stale = { method: "POST", idempotencyKey: false, reused: true }
    for (const method of ["GET", "PUT", "DELETE"]) {
      expect(Failures.maySendAgain({ ...stale, method })).toBe(true)
      expect(Failures.maySendAgain({ ...stale, method, reused: false })).toBe(false)
    }
    for (const method of ["POST", "PATCH"]) {
      expect(Failures.maySendAgain({ ...stale, method })).toBe(false)
      expect(Failures.maySendAgain({ ...stale, method, idempotencyKey: true })).toBe(true)
    }
  })
})

describe("a compressed body although identity was asked for", () => {
  const text = "data: {\"delta\":\"é漢😀\"}\n\n".repeat(2_000)
  const encodings: ReadonlyArray<readonly [string, Buffer]> = [
    ["gzip", zlib.gzipSync(text)],
    ["GZIP", zlib.gzipSync(text)],
    ["br", zlib.brotliCompressSync(text)],
    ["deflate", zlib.deflateSync(text)],
    ["deflate", zlib.deflateRawSync(text)],
    ["zstd", zlib.zstdCompressSync(text)]
  ]

  it.each(encodings)("%s is decoded, split at every kind of place, and the head says identity", async (encoding, body) => {
    await using server = await ScriptedServer.start(({ peer }) => {
      peer.write(`HTTP/1.1 200 OK\r\ncontent-encoding: ${encoding}\r\nx-a: 1\r\ntransfer-encoding: chunked\r\n\r\n`)
      for (let at = 0; at < body.length; at += 7) peer.write(ScriptedServer.chunk(body.subarray(at, at + 7)))
      peer.write(ScriptedServer.lastChunk)
    })
    await using client = await Client.open()
    const run = Client.run(client.upstream, Client.requestTo(server.origin), {
      onData: (_bytes, call) => {
        call().pause()
        setImmediate(() => call().resume())
      }
    })
    const seen = await run.over
    expect(seen).toMatchObject({ ended: true, failure: null, late: 0 })
    expect(seen.headers).toEqual(["x-a", "1", "transfer-encoding", "chunked"])
    expect(run.text()).toBe(text)
  })

  it("an empty body needs no decoder, identity is no encoding, and each event comes out as it went in", async () => {
    const deflater = zlib.createGzip()
    await using server = await ScriptedServer.start(({ head: requestHead, peer }) => {
      if (requestHead.startsWith("GET /empty")) return void peer.write(ScriptedServer.answer("", "content-encoding: gzip\r\n"))
      if (requestHead.startsWith("GET /identity")) return void peer.write(ScriptedServer.answer("plain", "content-encoding: identity\r\n"))
      peer.write("HTTP/1.1 200 OK\r\ncontent-encoding: gzip\r\ntransfer-encoding: chunked\r\n\r\n")
      deflater.on("data", (bytes: Buffer) => peer.write(ScriptedServer.chunk(bytes)))
      deflater.write("data: first\n\n")
      deflater.flush()
    })
    await using client = await Client.open()
    const get = (path: string) => Client.run(client.upstream, Client.requestTo(server.origin, { method: "GET", body: null, path }))
    expect(await get("/empty").over).toMatchObject({ ended: true, bytes: 0 })
    expect(await get("/identity").over).toMatchObject({ ended: true, bytes: 5 })
    const stream = get("/stream")
    expect(Buffer.from(await stream.nextData()).toString()).toBe("data: first\n\n")
    stream.call.abort()
    deflater.destroy()
  })

  it("a bomb is refused, a cut body is truncated, garbage is a protocol failure", async () => {
    const bomb = zlib.gzipSync(Buffer.alloc(64 * 1024 * 1024))
    const bodies: Readonly<Record<string, Buffer>> = { "/bomb": bomb, "/cut": zlib.gzipSync(text).subarray(0, 60), "/garbage": Buffer.from("not gzip at all") }
    await using server = await ScriptedServer.start(({ head: requestHead, peer }) => {
      peer.write(ScriptedServer.answer(bodies[requestHead.split(" ")[1] ?? ""] ?? Buffer.alloc(0), "content-encoding: gzip\r\n"))
    })
    await using client = await Client.open()
    const get = (path: string) => Client.run(client.upstream, Client.requestTo(server.origin, { method: "GET", body: null, path })).over
    const seen = await get("/bomb")
    expect(seen.failure).toMatchObject({ reason: "protocol" })
    expect(seen.failure?.message).toContain("bomb")
    expect(seen.bytes).toBeLessThan(17 * 1024 * 1024)
    expect((await get("/cut")).failure).toMatchObject({ reason: "truncated" })
    expect((await get("/garbage")).failure).toMatchObject({ reason: "protocol" })
    expect(client.upstream.stats()[0]).toMatchObject({ running: 0, pending: 0 })
  })
})
