import { createHash } from "node:crypto"
import { execFile } from "node:child_process"
import { fileURLToPath } from "node:url"
import { describe, expect, it } from "vitest"
import * as Client from "./support/client.ts"
import * as ScriptedServer from "./support/scriptedServer.ts"

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

describe("a call", () => {
  it("delivers status, flat lower-case headers and the body, and sends what was asked", async () => {
    const requests: Array<ScriptedServer.RequestSeen> = []
    await using server = await ScriptedServer.start((request) => {
      requests.push(request)
      request.peer.write(ScriptedServer.answer("hello", "X-Request-Id: r1\r\nSet-Cookie: a=1\r\nSet-Cookie: b=2\r\n"))
    })
    await using client = await Client.open()
    const run = Client.run(client.upstream, Client.requestTo(server.origin, { body: new TextEncoder().encode("{\"é\":1}") }))
    const seen = await run.over
    expect(seen).toMatchObject({ status: 200, ended: true, failure: null, late: 0 })
    expect(run.text()).toBe("hello")
    expect(seen.headers).toEqual(["content-length", "5", "x-request-id", "r1", "set-cookie", "a=1", "set-cookie", "b=2"])
    const request = requests[0]
    expect(request?.head).toContain("POST /v1/x HTTP/1.1")
    expect(request?.head).toContain(`host: 127.0.0.1:${server.port}`)
    expect(request?.head).toContain("content-length: 8")
    expect(request?.head).toContain("accept-encoding: identity")
    expect(request?.head).not.toMatch(/expect/i)
    expect(request?.body.toString()).toBe("{\"é\":1}")
  })

  it("reuses the warmest socket for the next call", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("ok")))
    await using client = await Client.open()
    for (let i = 0; i < 20; i++) {
      await Client.run(client.upstream, Client.requestTo(server.origin)).over
      await turns(2)
    }
    expect(server.peers.length).toBe(1)
  })

  it("ignores informational responses, follows no redirect and passes error statuses on", async () => {
    await using server = await ScriptedServer.start(({ peer }) => {
      peer.write("HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\nHTTP/1.1 102 Processing\r\n\r\n")
      peer.write("HTTP/1.1 302 Found\r\nlocation: http://169.254.169.254/\r\ncontent-length: 2\r\n\r\nno")
    })
    await using client = await Client.open()
    const run = Client.run(client.upstream, Client.requestTo(server.origin))
    const seen = await run.over
    expect(seen).toMatchObject({ status: 302, ended: true, late: 0 })
    expect(seen.headers).toContain("location")
    expect(server.peers.length).toBe(1)
  })

  it("reports a request that cannot be written as the gateway's fault, after dispatch has returned", async () => {
    await using server = await ScriptedServer.start(() => {})
    await using client = await Client.open()
    let returned = false
    const run = Client.run(client.upstream, Client.requestTo(server.origin, { headers: ["x-a", "a\r\nx-evil: 1"] }))
    void run.over.then(() => expect(returned).toBe(true))
    returned = true
    expect((await run.over).failure).toMatchObject({ reason: "protocol", source: "gateway", retry: "never" })
    const aborted = Client.run(client.upstream, Client.requestTo(server.origin, { headers: ["x-a", "a\nb"] }))
    aborted.call.abort()
    await turns(3)
    expect(aborted.seen.failure).toBeNull()
    expect(server.peers.length).toBeLessThanOrEqual(1)
  })

  it("gives the same head and body for every split of the bytes", async () => {
    let seed = 5
    const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below
    const body = Buffer.from(Array.from({ length: 25 }, (_, i) => `data: {"n":${i},"t":"é漢😀"}\n\n`).join(""))
    const pieces = (bytes: Buffer): Array<Buffer> => {
      const out: Array<Buffer> = []
      for (let at = 0; at < bytes.length;) {
        const next = Math.min(bytes.length, at + 1 + random(random(4) === 0 ? 3 : 200))
        out.push(bytes.subarray(at, next))
        at = next
      }
      return out
    }
    await using server = await ScriptedServer.start(({ peer }) => {
      const chunks = pieces(body).map((piece) => ScriptedServer.chunk(piece))
      const all = Buffer.concat([
        Buffer.from("HTTP/1.1 103 Early Hints\r\nlink: x\r\n\r\n"),
        Buffer.from("HTTP/1.1 200 OK\r\nX-A: 1\r\ntransfer-encoding: chunked\r\n\r\n"),
        ...chunks,
        Buffer.from("0\r\nx-trailer: 1\r\n\r\n")
      ])
      void (async () => {
        for (const piece of pieces(all)) {
          await new Promise<void>((resolve) => peer.socket.write(piece, () => resolve()))
          if (random(2) === 0) await turns(1)
        }
      })()
    })
    await using client = await Client.open()
    for (let i = 0; i < 15; i++) {
      const run = Client.run(client.upstream, Client.requestTo(server.origin))
      const seen = await run.over
      expect(seen).toMatchObject({ status: 200, ended: true, late: 0 })
      expect(seen.headers).toEqual(["x-a", "1", "transfer-encoding", "chunked"])
      expect(Buffer.concat(seen.chunks).equals(body)).toBe(true)
    }
  })
})

describe("backpressure", () => {
  it("pause stops the server, resume continues, and every byte is there", async () => {
    const size = 48 * 1024 * 1024
    const block = Buffer.alloc(64 * 1024, "0123456789abcdef")
    const stopped = ScriptedServer.latch()
    const written = { bytes: 0, drains: 0 }
    await using server = await ScriptedServer.start(({ peer }) => {
      peer.write(`HTTP/1.1 200 OK\r\ncontent-length: ${size}\r\n\r\n`)
      const pump = () => {
        while (written.bytes < size) {
          written.bytes += block.length
          if (!peer.write(block)) return peer.socket.once("drain", () => {
            written.drains++
            pump()
          })
        }
        return undefined
      }
      pump()
      stopped.open()
    })
    await using client = await Client.open()
    const hash = createHash("sha256")
    let kept = 0
    const run = Client.run(client.upstream, Client.requestTo(server.origin), {
      onHead: (call) => call().pause(),
      onData: (bytes) => {
        hash.update(bytes)
        kept += bytes.length
      }
    })
    await run.head
    await stopped.done
    // The kernel's buffers fill up; after that neither side moves, however often the loop turns.
    let before = -1
    while (before !== written.bytes) {
      before = written.bytes
      await turns(500)
    }
    expect(kept).toBeLessThanOrEqual(128 * 1024)
    expect(written.bytes).toBeLessThan(size / 2)
    run.call.resume()
    await run.nextData()
    // Pause outside of a callback: at most what is parsed already still comes.
    run.call.pause()
    const at = kept
    await turns(200)
    expect(kept - at).toBeLessThanOrEqual(128 * 1024)
    run.call.resume()
    const seen = await run.over
    expect(seen).toMatchObject({ ended: true, bytes: size, late: 0 })
    const expected = createHash("sha256")
    for (let sent = 0; sent < size; sent += block.length) expected.update(block)
    expect(hash.digest("hex")).toBe(expected.digest("hex"))
    run.call.resume()
    run.call.pause()
    run.call.abort()
    await turns(5)
    expect(seen.late).toBe(0)
  })

  it("a random pause and resume pattern, also from inside another call's callback, loses nothing", async () => {
    const body = Buffer.alloc(3 * 1024 * 1024, "xyz-")
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer(body)))
    await using client = await Client.open()
    const runs: Array<Client.Running> = []
    let seed = 3
    const random = (below: number) => (seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648) % below
    for (let i = 0; i < 8; i++) {
      runs.push(Client.run(client.upstream, Client.requestTo(server.origin), {
        onData: (_bytes, call) => {
          if (random(3) === 0) {
            call().pause()
            if (random(2) === 0) queueMicrotask(() => call().resume())
            else setImmediate(() => call().resume())
          }
          runs[random(8)]?.call.resume()
        }
      }))
    }
    for (const run of runs) {
      const seen = await run.over
      expect(seen).toMatchObject({ ended: true, bytes: body.length, late: 0 })
      expect(Buffer.concat(seen.chunks).equals(body)).toBe(true)
    }
  })
})

describe("resume", () => {
  it("of one call inside another call's callback does not enter the parser twice", async () => {
    const body = Buffer.alloc(256 * 1024, "q")
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer(body)))
    await using client = await Client.open()
    const paused = Client.run(client.upstream, Client.requestTo(server.origin), { onHead: (call) => call().pause() })
    await paused.head
    const other = Client.run(client.upstream, Client.requestTo(server.origin), { onData: () => paused.call.resume() })
    expect(await other.over).toMatchObject({ ended: true, failure: null, bytes: body.length })
    expect(await paused.over).toMatchObject({ ended: true, failure: null, bytes: body.length })
  })
})

describe("abort", () => {
  const maxLatencyMs = 50

  /** Latency in ms until the server saw the close. */
  const expectGone = async (peer: ScriptedServer.Peer, run: Client.Running): Promise<number> => {
    const startedAt = performance.now()
    run.call.abort()
    run.call.abort()
    await peer.closed
    const tookMs = performance.now() - startedAt
    await turns(5)
    expect(run.seen).toMatchObject({ ended: false, failure: null, late: 0 })
    return tookMs
  }

  it("while waiting for the head closes the socket at once and calls nothing back", async () => {
    const asked: Array<ScriptedServer.Latch> = Array.from({ length: 10 }, () => ScriptedServer.latch())
    await using server = await ScriptedServer.start(({ peer }) => asked[peer.index]?.open())
    await using client = await Client.open()
    const latencies: Array<number> = []
    for (const [index, latch] of asked.entries()) {
      const run = Client.run(client.upstream, Client.requestTo(server.origin))
      await latch.done
      latencies.push(await expectGone(await server.accepted(index), run))
    }
    // Both ends share a busy test machine: the median is the gateway's, the worst is the machine's.
    expect(latencies.toSorted((a, b) => a - b)[5]).toBeLessThan(maxLatencyMs)
    expect(client.upstream.stats()[0]).toMatchObject({ running: 0, pending: 0 })
  })

  it("while connecting, while streaming and while paused does the same", async () => {
    await using server = await ScriptedServer.start(({ peer }) => {
      peer.write(ScriptedServer.chunkedHead)
      peer.write(ScriptedServer.chunk("data: 1\n\n"))
    })
    await using client = await Client.open()
    const connecting = Client.run(client.upstream, Client.requestTo(`https://127.0.0.1:${server.port}`))
    await expectGone(await server.accepted(0), connecting)
    const streaming = Client.run(client.upstream, Client.requestTo(server.origin))
    await streaming.nextData()
    await expectGone(await server.accepted(1), streaming)
    const paused = Client.run(client.upstream, Client.requestTo(server.origin), { onHead: (call) => call().pause() })
    await paused.head
    await expectGone(await server.accepted(2), paused)
  })

  it("inside a callback is safe, and no other callback follows", async () => {
    await using server = await ScriptedServer.start(({ peer }) => {
      peer.write(Buffer.concat([Buffer.from(ScriptedServer.chunkedHead), ScriptedServer.chunk("a"), ScriptedServer.chunk("b"), ScriptedServer.chunk("c"), Buffer.from(ScriptedServer.lastChunk)]))
    })
    await using client = await Client.open()
    const atHead = Client.run(client.upstream, Client.requestTo(server.origin), { onHead: (call) => call().abort() })
    await (await server.accepted(0)).closed
    expect(atHead.seen).toMatchObject({ status: 200, bytes: 0, ended: false, failure: null, late: 0 })
    const atData = Client.run(client.upstream, Client.requestTo(server.origin), { onData: (_bytes, call) => call().abort() })
    await (await server.accepted(1)).closed
    // Chunks of one read are handed over in one call; nothing follows it.
    expect(atData.seen).toMatchObject({ bytes: 3, ended: false, failure: null, late: 0 })
    expect(atData.seen.chunks.length).toBe(1)
    const atEnd = Client.run(client.upstream, Client.requestTo(server.origin), { onEnd: () => atEnd.call.abort() })
    await atEnd.over
    const after = Client.run(client.upstream, Client.requestTo(server.origin))
    expect((await after.over).ended).toBe(true)
  })

  it("of a queued call gives up its place alone", async () => {
    await using server = await ScriptedServer.start(({ peer, index }) => {
      if (index > 0) peer.write(ScriptedServer.answer("second"))
      else void go.done.then(() => peer.write(ScriptedServer.answer("first")))
    })
    const go = ScriptedServer.latch()
    await using client = await Client.open({ connections: 1 })
    const first = Client.run(client.upstream, Client.requestTo(server.origin))
    const dropped = Client.run(client.upstream, Client.requestTo(server.origin))
    const second = Client.run(client.upstream, Client.requestTo(server.origin))
    dropped.call.abort()
    expect(client.upstream.stats()[0]).toMatchObject({ running: 1, pending: 1 })
    go.open()
    expect((await first.over).ended).toBe(true)
    expect((await second.over).ended).toBe(true)
    expect(second.text()).toBe("second")
    expect(dropped.seen).toMatchObject({ status: 0, ended: false, failure: null })
  })
})

describe("the pool", () => {
  it("bounds the sockets of an origin and serves everyone", async () => {
    let open = 0
    let most = 0
    await using server = await ScriptedServer.start(({ peer }) => setImmediate(() => peer.write(ScriptedServer.answer("ok"))), {
      onConnect: (peer) => {
        most = Math.max(most, ++open)
        void peer.closed.then(() => open--)
      }
    })
    await using client = await Client.open({ connections: 20 })
    const runs = Array.from({ length: 1_000 }, () => Client.run(client.upstream, Client.requestTo(server.origin)))
    expect(client.upstream.stats()[0]).toMatchObject({ running: 20, pending: 980 })
    for (const run of runs) expect((await run.over).failure).toBeNull()
    expect(most).toBeLessThanOrEqual(20)
    expect(client.upstream.stats()[0]).toMatchObject({ running: 0, pending: 0 })
  })

  it("bounds its queue", async () => {
    await using server = await ScriptedServer.start(() => {})
    await using client = await Client.open({ connections: 1, maxQueued: 1 })
    Client.run(client.upstream, Client.requestTo(server.origin))
    Client.run(client.upstream, Client.requestTo(server.origin))
    const third = Client.run(client.upstream, Client.requestTo(server.origin))
    expect((await third.over).failure).toMatchObject({ reason: "timeout", phase: "queue", source: "gateway", retry: "safe" })
  })

  it("replaces a dead socket for those who wait", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.index === 0 ? peer.reset() : peer.write(ScriptedServer.answer("ok")))
    await using client = await Client.open({ connections: 1 })
    const first = Client.run(client.upstream, Client.requestTo(server.origin))
    const second = Client.run(client.upstream, Client.requestTo(server.origin))
    expect((await first.over).failure).toMatchObject({ reason: "reset" })
    expect((await second.over).ended).toBe(true)
  })

  it("forgets the longest idle origin above its cap and closes that one's sockets", async () => {
    await using one = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("1")))
    await using two = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("2")))
    await using client = await Client.open({ maxPools: 1 })
    await Client.run(client.upstream, Client.requestTo(one.origin)).over
    await turns(2)
    await Client.run(client.upstream, Client.requestTo(two.origin)).over
    await (await one.accepted(0)).closed
    expect(client.upstream.stats().map((row) => row.origin)).toEqual([two.origin])
  })

  it("ends idle sockets after the keep-alive time", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("1")))
    await using client = await Client.open({ keepAliveMs: 50 })
    await Client.run(client.upstream, Client.requestTo(server.origin)).over
    await (await server.accepted(0)).closed
  })

  it("at scope end fails live calls once, closes every socket and refuses new calls", async () => {
    const asked = ScriptedServer.latch()
    const idle = ScriptedServer.latch()
    await using server = await ScriptedServer.start(({ head, peer }) => {
      if (head.includes("/idle ")) return void idle.done.then(() => peer.write(ScriptedServer.answer("idle")))
      peer.write(ScriptedServer.chunkedHead)
      asked.open()
    })
    const client = await Client.open({ keepAliveMs: 3_600_000 })
    // Three sockets: two for the calls that follow, one that stays idle.
    const before = Array.from({ length: 3 }, () => Client.run(client.upstream, Client.requestTo(server.origin, { path: "/idle" })))
    idle.open()
    for (const run of before) expect((await run.over).ended).toBe(true)
    const live = Client.run(client.upstream, Client.requestTo(server.origin))
    const other = Client.run(client.upstream, Client.requestTo(server.origin))
    await asked.done
    await client.close()
    expect((await live.over).failure).toMatchObject({ reason: "aborted", source: "gateway" })
    expect((await other.over).failure).toMatchObject({ reason: "aborted", source: "gateway" })
    for (const peer of server.peers) await peer.closed
    const late = Client.run(client.upstream, Client.requestTo(server.origin))
    expect((await late.over).failure).toMatchObject({ reason: "aborted", source: "gateway" })
    expect(live.seen.late + other.seen.late).toBe(0)
  })

  it("keeps no process alive: with an idle socket and an open scope the process ends by itself", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("bye")))
    const probe = fileURLToPath(new URL("support/exitProbe.ts", import.meta.url))
    const output = await new Promise<string>((resolve, reject) => {
      execFile(process.execPath, ["--disable-warning=ExperimentalWarning", probe, server.origin], { timeout: 60_000 }, (error, stdout) => {
        if (error !== null) reject(error)
        else resolve(stdout)
      })
    })
    const [text, lingeredMs] = output.split(" ")
    expect(text).toBe("bye")
    expect(Number(lingeredMs)).toBeLessThan(500)
  })
})
