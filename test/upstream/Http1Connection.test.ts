import { execFile } from "node:child_process"
import { randomBytes } from "node:crypto"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"
import { describe, expect, it } from "vitest"
import type { UpstreamFailure } from "#actors/request/ports/Upstream.ts"
import * as Client from "./support/client.ts"
import * as Proxies from "./support/proxies.ts"
import * as ScriptedServer from "./support/scriptedServer.ts"
import { cert, key } from "./support/selfSigned.ts"

const turns = async (count: number): Promise<void> => {
  for (let i = 0; i < count; i++) await new Promise(setImmediate)
}

const stream = (...texts: ReadonlyArray<string>): Buffer => Buffer.concat([Buffer.from(ScriptedServer.chunkedHead), ...texts.map((text) => ScriptedServer.chunk(text))])

describe("what arrives", () => {
  it("in one read is one call of onData", async () => {
    const go = ScriptedServer.latch()
    await using server = await ScriptedServer.start(({ peer }) => {
      peer.write(Buffer.concat([stream("data: a\n\n", "data: b\n\n"), ScriptedServer.chunk("data: c\n\n")]))
      void go.done.then(() => peer.write(Buffer.concat([ScriptedServer.chunk("data: D\n\n"), Buffer.from(ScriptedServer.lastChunk)])))
    })
    await using client = await Client.open()
    const run = Client.run(client.upstream, Client.requestTo(server.origin))
    await run.nextData()
    go.open()
    const seen = await run.over
    expect(seen.chunks.map((bytes) => Buffer.from(bytes).toString())).toEqual(["data: a\n\ndata: b\n\ndata: c\n\n", "data: D\n\n"])
  })

  it("interleaved on many sockets and through TLS and tunnels stays apart", async () => {
    const body = (index: number) => Buffer.alloc(300_000, `<${index}>`)
    const script: ScriptedServer.Script = ({ head, peer }) => peer.write(ScriptedServer.answer(body(Number(/GET \/(\d+)/.exec(head)?.[1]))))
    await using plain = await ScriptedServer.start(script)
    await using secure = await ScriptedServer.start(script, { tls: { key, cert } })
    await using proxy = await Proxies.http({ to: plain })
    await using client = await Client.open({ ca: [cert] })
    const runs = Array.from({ length: 30 }, (_, index) => {
      const request = { method: "GET", body: null, path: `/${index}` } as const
      if (index % 3 === 0) return Client.run(client.upstream, Client.requestTo(plain.origin, request))
      if (index % 3 === 1) return Client.run(client.upstream, Client.requestTo(secure.origin, request))
      return Client.run(client.upstream, Client.requestTo(plain.origin, { ...request, proxy: Client.proxyAt(`http://127.0.0.1:${proxy.port}`) }))
    })
    for (const [index, run] of runs.entries()) {
      const seen = await run.over
      expect(seen.failure).toBeNull()
      expect(Buffer.concat(seen.chunks).equals(body(index))).toBe(true)
    }
  })

  it("compressed on many sockets stays apart until it is decoded", async () => {
    const body = (index: number) => randomBytes(100_000).fill(`<${index}>`, 0, 20_000)
    const bodies = Array.from({ length: 12 }, (_, index) => body(index))
    await using server = await ScriptedServer.start(({ head, peer }) =>
      peer.write(ScriptedServer.answer(gzipSync(bodies[Number(/GET \/(\d+)/.exec(head)?.[1])] ?? ""), "content-encoding: gzip\r\n")))
    await using client = await Client.open()
    const runs = bodies.map((_, index) => Client.run(client.upstream, Client.requestTo(server.origin, { method: "GET", body: null, path: `/${index}` })))
    for (const [index, run] of runs.entries()) expect(Buffer.concat((await run.over).chunks).equals(bodies[index] ?? Buffer.alloc(0))).toBe(true)
  })

  it("and waits for a paused receiver stays as it was, whatever else is read meanwhile", async () => {
    const body = (index: number) => Buffer.alloc(20_000, `<${index}>`)
    await using server = await ScriptedServer.start(({ head, peer }) => peer.write(ScriptedServer.answer(body(Number(/GET \/(\d+)/.exec(head)?.[1])))))
    await using client = await Client.open()
    const get = (index: number) => Client.requestTo(server.origin, { method: "GET", body: null, path: `/${index}` })
    const waiting = Client.run(client.upstream, get(1), { onHead: (call) => call().pause() })
    await waiting.head
    for (let index = 2; index < 12; index++) await Client.run(client.upstream, get(index)).over
    waiting.call.resume()
    expect(Buffer.concat((await waiting.over).chunks).equals(body(1))).toBe(true)
  })

  it("is not told while the receiver pauses, whatever was read already", async () => {
    await using server = await ScriptedServer.start(({ index, peer }) => {
      peer.write(index === 0 ? Buffer.concat([stream("one"), Buffer.from(ScriptedServer.lastChunk)]) : ScriptedServer.answer("again"))
    })
    await using secure = await ScriptedServer.start(({ peer }) => peer.socket.end(Buffer.concat([stream("x".repeat(50_000)), Buffer.from(ScriptedServer.lastChunk)])), { tls: { key, cert } })
    await using client = await Client.open({ ca: [cert] })
    for (const [origin, length] of [[server.origin, 3], [secure.origin, 50_000]] as const) {
      const run = Client.run(client.upstream, Client.requestTo(origin), { onHead: (call) => call().pause() })
      await run.head
      await turns(50)
      expect(run.seen).toMatchObject({ bytes: 0, ended: false, failure: null })
      run.call.resume()
      expect(await run.over).toMatchObject({ bytes: length, ended: true, late: 0 })
    }
    const after = Client.run(client.upstream, Client.requestTo(server.origin))
    await after.over
    expect(after.text()).toBe("again")
    expect(server.peers.length).toBe(1)
  })

  it("comes after the callback that is running, also when that one pauses and resumes", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(Buffer.concat([stream("one"), Buffer.from(ScriptedServer.lastChunk)])))
    await using client = await Client.open()
    const order: Array<string> = []
    const around = (name: string) => (call: () => Client.Running["call"]) => {
      call().pause()
      call().resume()
      order.push(name)
    }
    await Client.run(client.upstream, Client.requestTo(server.origin), {
      onHead: around("head"),
      onData: (_bytes, call) => around("data")(call),
      onEnd: () => order.push("end")
    }).over
    expect(order).toEqual(["head", "data", "end"])
  })

  it("on an idle socket costs the socket, never the next call", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer(`socket ${peer.index}`)))
    await using client = await Client.open({ keepAliveMs: 3_600_000 })
    await Client.run(client.upstream, Client.requestTo(server.origin)).over
    const first = await server.accepted(0)
    first.write(ScriptedServer.answer("poison"))
    await first.closed
    const run = Client.run(client.upstream, Client.requestTo(server.origin))
    await run.over
    expect(run.text()).toBe("socket 1")
  })

  it("behind the end of a response costs the socket, never the response", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(Buffer.concat([ScriptedServer.answer(`socket ${peer.index}`), ScriptedServer.answer("poison")])))
    await using client = await Client.open({ keepAliveMs: 3_600_000 })
    for (const index of [0, 1]) {
      const run = Client.run(client.upstream, Client.requestTo(server.origin))
      expect((await run.over).failure).toBeNull()
      expect(run.text()).toBe(`socket ${index}`)
      await (await server.accepted(index)).closed
    }
  })
})

describe("a socket", () => {
  it("is free for the call that onEnd makes", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("ok")))
    await using client = await Client.open()
    let second: Client.Running | null = null
    await Client.run(client.upstream, Client.requestTo(server.origin), {
      onEnd: () => {
        second = Client.run(client.upstream, Client.requestTo(server.origin))
      }
    }).over
    expect(await (second as Client.Running | null)?.over).toMatchObject({ ended: true, bytes: 2 })
    expect(server.peers.length).toBe(1)
  })

  it("that is used again keeps the process alive until the answer is there", async () => {
    await using server = await ScriptedServer.start(({ index, peer }) => {
      if (index === 0) peer.write(ScriptedServer.answer("first"))
      else setTimeout(() => peer.write(ScriptedServer.answer("second")), 300)
    })
    const probe = fileURLToPath(new URL("support/reuseProbe.ts", import.meta.url))
    const output = await new Promise<string>((resolve, reject) => {
      execFile(process.execPath, ["--disable-warning=ExperimentalWarning", probe, server.origin], { timeout: 60_000 }, (error, stdout) => {
        if (error !== null) reject(error)
        else resolve(stdout)
      })
    })
    expect(output).toBe("first second")
    expect(server.peers.length).toBe(1)
  })

  it.each([
    ["connection: close", ScriptedServer.answer("ok", "connection: close\r\n")],
    ["HTTP/1.0", Buffer.from("HTTP/1.0 200 OK\r\ncontent-length: 2\r\n\r\nok")],
    ["a keep-alive time within the margin", ScriptedServer.answer("ok", "keep-alive: timeout=1\r\n")]
  ])("is closed after %s", async (_name, bytes) => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(bytes))
    await using client = await Client.open({ keepAliveMs: 3_600_000 })
    for (const index of [0, 1]) {
      expect(await Client.run(client.upstream, Client.requestTo(server.origin)).over).toMatchObject({ ended: true, bytes: 2 })
      await (await server.accepted(index)).closed
    }
  })

  it("is kept as long as the server says, not as long as we would", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("ok", peer.index === 0 ? "keep-alive: timeout=60\r\n" : "")))
    await using client = await Client.open({ keepAliveMs: 40, tickMs: 10 })
    await Client.run(client.upstream, Client.requestTo(server.origin)).over
    // The clock is another socket of the pool that lives for our own time.
    const both = [0, 1].map(() => Client.run(client.upstream, Client.requestTo(server.origin)))
    for (const run of both) await run.over
    await (await server.accepted(1)).closed
    const last = Client.run(client.upstream, Client.requestTo(server.origin))
    await last.over
    expect(server.peers.length).toBe(2)
  })

  it("whose request is still on its way when the answer is there is not used again", async () => {
    await using server = await ScriptedServer.start(() => {}, {
      onConnect: (peer) =>
        peer.socket.once("data", () => {
          peer.socket.pause()
          peer.write(ScriptedServer.answer("enough"))
        })
    })
    await using client = await Client.open()
    const run = Client.run(client.upstream, Client.requestTo(server.origin, { body: Buffer.alloc(30_000_000) }))
    expect(await run.over).toMatchObject({ ended: true, bytes: 6 })
    const first = await server.accepted(0)
    first.socket.resume()
    await first.closed
    expect(first.received.length).toBeLessThan(30_000_000)
    expect(client.upstream.stats()[0]).toMatchObject({ running: 0, pending: 0 })
  })

  it("that carried a broken answer is not tried again for a GET", async () => {
    await using server = await ScriptedServer.start(({ index, peer }) => peer.write(index === 0 ? ScriptedServer.answer("ok") : "nonsense\r\n\r\n"))
    await using client = await Client.open()
    const get = () => Client.run(client.upstream, Client.requestTo(server.origin, { method: "GET", body: null })).over
    expect((await get()).ended).toBe(true)
    expect((await get()).failure).toMatchObject({ reason: "protocol" })
    expect(server.peers.length).toBe(1)
  })

  it("that closes within the head of a GET is not stale: the server was at work", async () => {
    await using server = await ScriptedServer.start(({ index, peer }) => index === 0 ? peer.write(ScriptedServer.answer("ok")) : peer.socket.end("HTTP/1.1 200 OK\r\nx"))
    await using client = await Client.open()
    const get = () => Client.run(client.upstream, Client.requestTo(server.origin, { method: "GET", body: null })).over
    expect((await get()).ended).toBe(true)
    expect((await get()).failure).toMatchObject({ reason: "reset", retry: "before-first-byte" })
    expect(server.peers.length).toBe(1)
  })
})

describe("a receiver that throws", () => {
  const boom = () => {
    throw new Error("boom")
  }

  it.each(["onHead", "onData"] as const)("in %s ends its call, its socket and nothing else", async (place) => {
    await using server = await ScriptedServer.start(({ head, peer }) => {
      peer.write(head.includes("/other") ? ScriptedServer.answer("fine") : stream("data: 1\n\n"))
    })
    await using client = await Client.open()
    const seen = await Client.run(client.upstream, Client.requestTo(server.origin), { [place]: boom }).over
    expect(seen).toMatchObject({ ended: false, late: 0, failure: { reason: "protocol", source: "gateway" } })
    expect(seen.failure?.message).toContain("boom")
    await (await server.accepted(0)).closed
    expect(client.upstream.stats()[0]).toMatchObject({ running: 0, pending: 0 })
    expect((await Client.run(client.upstream, Client.requestTo(server.origin, { path: "/other" })).over).ended).toBe(true)
  })

  it("in onEnd has had its answer: the socket lives on", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write(ScriptedServer.answer("ok")))
    await using client = await Client.open()
    const run = Client.run(client.upstream, Client.requestTo(server.origin), { onEnd: boom })
    while (!run.seen.ended) await turns(1)
    expect(run.seen).toMatchObject({ failure: null, late: 0 })
    expect((await Client.run(client.upstream, Client.requestTo(server.origin)).over).ended).toBe(true)
    expect(server.peers.length).toBe(1)
  })

  it("in onFailure, also of a refused call, harms nobody", async () => {
    await using server = await ScriptedServer.start(({ head, peer }) => {
      if (head.includes("/cut")) peer.reset()
      else peer.write(ScriptedServer.answer("ok"))
    })
    await using client = await Client.open()
    const told: Array<UpstreamFailure> = []
    const handler = {
      onHead: () => {},
      onData: () => {},
      onEnd: () => {},
      onFailure: (failure: UpstreamFailure) => {
        told.push(failure)
        boom()
      }
    }
    client.upstream.dispatch(Client.requestTo(server.origin, { path: "/cut" }), handler)
    client.upstream.dispatch(Client.requestTo(server.origin, { headers: ["x", "\n"] }), handler)
    while (told.length < 2) await turns(1)
    expect((await Client.run(client.upstream, Client.requestTo(server.origin)).over).ended).toBe(true)
    expect(client.upstream.stats()[0]).toMatchObject({ running: 0, pending: 0 })
  })
})
