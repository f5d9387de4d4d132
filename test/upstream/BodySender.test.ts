/** Bodies of pieces: the same bytes on the wire as in memory, read no faster than they are taken, and released however the call ends. */
import { randomBytes } from "node:crypto"
import * as NodeHttp from "node:http"
import * as Net from "node:net"
import type { AddressInfo } from "node:net"
import { describe, expect, it } from "vitest"
import { Pieces, type Stored } from "#actors/request/ports/Body.ts"
import { eventually } from "#test/support/operator.ts"
import * as Client from "./support/client.ts"
import { answer } from "./support/scriptedServer.ts"

/** Bytes that are read in a later turn, some at a time. */
class Shelf implements Stored {
  readonly bytes: Buffer
  readonly length: number
  /** Bytes of one read. */
  readonly most: number
  reads = 0
  holds = 0
  /** What the next reads fail with. */
  failure: Error | null = null
  isGone = false

  constructor(bytes: Buffer, most = Infinity) {
    this.bytes = bytes
    this.length = bytes.length
    this.most = most
  }

  readonly read: Stored["read"] = (at, into, done) => {
    if (this.holds === 0) throw new Error("read without a hold")
    this.reads++
    setImmediate(() => {
      if (this.failure !== null) return done(this.failure, 0)
      done(null, this.bytes.copy(into, 0, at, Math.min(this.length, at + this.most)))
    })
  }

  readonly hold = (): (() => void) | null => {
    if (this.isGone) return null
    this.holds++
    return () => void this.holds--
  }
}

/** Answers each request with its length, once it is whole. */
const startCounter = async () => {
  const bodies: Array<Buffer> = []
  let connections = 0
  const server = NodeHttp.createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      bodies.push(Buffer.concat(chunks))
      response.end("ok")
    })
  }).on("connection", () => void connections++)
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    bodies,
    connections: () => connections,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

/** Sockets as they come, which nothing reads. */
const startRaw = async (onSocket: (socket: Net.Socket) => void) => {
  const sockets: Array<Net.Socket> = []
  const server = Net.createServer({ pauseOnConnect: true }, (socket) => {
    sockets.push(socket.on("error", () => undefined))
    onSocket(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    sockets,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => {
      for (const socket of sockets) socket.destroy()
      server.close(() => resolve())
    })
  }
}

const text = (value: string): Buffer => Buffer.from(value)

describe("a body of pieces", () => {
  it.each([
    ["in memory", (file: Buffer) => [text("a"), file, text("z")]],
    ["stored", (file: Buffer) => [text("head"), new Shelf(file), text("tail")]],
    ["stored twice, and read by little", (file: Buffer) => [new Shelf(file.subarray(0, 700_001)), text("between"), text(""), new Shelf(file.subarray(700_001), 999)]],
    ["nothing", () => [new Shelf(Buffer.alloc(0)), text("")]]
  ] as const)("%s arrives as it is, and its connection serves the next call", async (_name, make) => {
    const list = make(randomBytes(1_000_000))
    const whole = Buffer.concat(list.map((piece) => piece instanceof Shelf ? piece.bytes : piece))
    await using server = await startCounter()
    await using client = await Client.open()
    for (let i = 0; i < 2; i++) {
      const run = Client.run(client.upstream, Client.requestTo(server.origin, { body: new Pieces(list) }))
      expect(await run.over).toMatchObject({ status: 200, ended: true, failure: null })
    }
    expect(server.bodies.map((body) => body.equals(whole))).toEqual([true, true])
    expect(server.connections()).toBe(1)
    expect(list.map((piece) => piece instanceof Shelf ? piece.holds : 0)).toEqual(list.map(() => 0))
  })

  it("is read no faster than its reader takes it, and released when the call is cut", async () => {
    await using server = await startRaw(() => undefined)
    await using client = await Client.open()
    const shelf = new Shelf(Buffer.alloc(64_000_000))
    const run = Client.run(client.upstream, Client.requestTo(server.origin, { body: new Pieces([shelf]) }))
    let before = -1
    // Nothing more is read once the kernel is full.
    await eventually(async () => {
      const was = before
      before = shelf.reads
      for (let i = 0; i < 200; i++) await new Promise(setImmediate)
      return was === shelf.reads && shelf.reads > 0
    }, (isStill) => isStill, "the end of reading")
    expect(shelf.reads * 128 * 1024).toBeLessThan(32_000_000)
    run.call.abort()
    await eventually(() => Promise.resolve(shelf.holds), (holds) => holds === 0, "the file was released")
  })

  it("is not read on when its answer came before its end, and no other call gets its connection", async () => {
    await using server = await startRaw((socket) => socket.write(answer("no")))
    await using client = await Client.open()
    const shelf = new Shelf(Buffer.alloc(64_000_000))
    const run = Client.run(client.upstream, Client.requestTo(server.origin, { body: new Pieces([shelf]) }))
    expect(await run.over).toMatchObject({ status: 200, ended: true })
    await eventually(() => Promise.resolve(shelf.holds), (holds) => holds === 0, "the file was released")
    await Client.run(client.upstream, Client.requestTo(server.origin)).over
    expect(server.sockets.length).toBe(2)
  })

  it.each<readonly [string, (shelf: Shelf) => void]>([
    ["cannot be read", (shelf) => {
      shelf.failure = new Error("EIO: i/o error")
    }],
    ["is gone", (shelf) => {
      shelf.isGone = true
    }]
  ])("that %s is a failure of the gateway that no retry heals", async (_name, harm) => {
    await using server = await startCounter()
    await using client = await Client.open()
    const shelf = new Shelf(randomBytes(500_000))
    harm(shelf)
    const { failure } = await Client.run(client.upstream, Client.requestTo(server.origin, { body: new Pieces([text("head"), shelf]) })).over
    expect(failure).toMatchObject({ reason: "lost-body", source: "gateway", retry: "never", message: expect.stringContaining("the request's body cannot be read") })
    expect([server.bodies.length, shelf.holds]).toEqual([0, 0])
  })
})
