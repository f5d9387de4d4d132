import { describe, expect, it } from "vitest"
import type { Phase } from "#actors/request/ports/Upstream.ts"
import * as Client from "./support/client.ts"
import * as ScriptedServer from "./support/scriptedServer.ts"

const tickMs = 20
/** What the sockets of a busy test machine may add to the lag of its event loop, which is measured. */
const slackMs = 300

interface Timed {
  readonly seen: Client.Recorded
  readonly tookMs: number
  /** Largest lag of the event loop meanwhile, in ms. */
  readonly lagMs: number
}

/** A native timer on the side measures what the machine itself is late. */
const watchLag = (): () => number => {
  let lag = 0
  let last = performance.now()
  const timer = setInterval(() => {
    const now = performance.now()
    lag += Math.max(0, now - last - 10)
    last = now
  }, 10)
  return () => {
    clearInterval(timer)
    return lag + Math.max(0, performance.now() - last - 10)
  }
}

const timed = async (start: () => Client.Running): Promise<Timed> => {
  const startedAt = performance.now()
  const lag = watchLag()
  const seen = await start().over
  return { seen, tookMs: performance.now() - startedAt, lagMs: lag() }
}

const expectTimeout = (result: Timed, phase: Phase, limitMs: number, retry: string) => {
  expect(result.seen.failure).toMatchObject({ reason: "timeout", phase, retry, source: phase === "queue" ? "gateway" : "upstream" })
  expect(result.seen.failure?.message).toContain(`${limitMs} ms`)
  expect(result.tookMs).toBeGreaterThanOrEqual(limitMs - 1)
  expect(result.tookMs).toBeLessThan(limitMs + 2 * tickMs + slackMs + result.lagMs)
  expect(result.seen.late).toBe(0)
}

const limits = (over: Partial<typeof Client.noTimeouts>) => ({ timeouts: { ...Client.noTimeouts, ...over } })

describe("each phase ends on time and frees its socket", () => {
  it("connect: TCP is up but the TLS handshake is never answered", async () => {
    await using server = await ScriptedServer.start(() => {})
    await using client = await Client.open({ tickMs })
    const run = () => Client.run(client.upstream, Client.requestTo(`https://127.0.0.1:${server.port}`, limits({ connect: 150 })))
    const result = await timed(run)
    expectTimeout(result, "connect", 150, "safe")
    await (await server.accepted(0)).closed
    expect(client.upstream.stats()[0]).toMatchObject({ running: 0, pending: 0 })
  })

  it("connect: the name is never resolved", async () => {
    await using client = await Client.open({ tickMs, resolve: () => {} })
    expectTimeout(await timed(() => Client.run(client.upstream, Client.requestTo("http://slow.test:9", limits({ connect: 120 })))), "connect", 120, "safe")
  })

  it("queue: no socket gets free, and the queued call is forgotten", async () => {
    await using server = await ScriptedServer.start(() => {})
    await using client = await Client.open({ tickMs, connections: 1 })
    const holder = Client.run(client.upstream, Client.requestTo(server.origin))
    await server.accepted(0)
    const queue = () => {
      const queued = Client.run(client.upstream, Client.requestTo(server.origin, limits({ connect: 120 })))
      expect(client.upstream.stats()).toEqual([{ origin: server.origin, running: 1, pending: 1 }])
      return queued
    }
    expectTimeout(await timed(queue), "queue", 120, "safe")
    expect(client.upstream.stats()).toEqual([{ origin: server.origin, running: 1, pending: 0 }])
    holder.call.abort()
    await (await server.accepted(0)).closed
    expect(server.peers.length).toBe(1)
  })

  it("headers: the request is read but no head comes", async () => {
    await using server = await ScriptedServer.start(() => {})
    await using client = await Client.open({ tickMs })
    const run = () => Client.run(client.upstream, Client.requestTo(server.origin, limits({ connect: 5_000, headers: 150 })))
    expectTimeout(await timed(run), "headers", 150, "before-first-byte")
    await (await server.accepted(0)).closed
  })

  it("headers: half a head is no head", async () => {
    await using server = await ScriptedServer.start(({ peer }) => peer.write("HTTP/1.1 200 OK\r\ncontent-ty"))
    await using client = await Client.open({ tickMs })
    expectTimeout(await timed(() => Client.run(client.upstream, Client.requestTo(server.origin, limits({ headers: 120 })))), "headers", 120, "before-first-byte")
    await (await server.accepted(0)).closed
  })

  it("first-event: pings do not count", async () => {
    let ping: ReturnType<typeof setInterval> | undefined
    await using server = await ScriptedServer.start(({ peer }) => {
      peer.write(ScriptedServer.chunkedHead)
      ping = setInterval(() => peer.write(ScriptedServer.chunk(": ping\n\n")), 20)
    })
    await using client = await Client.open({ tickMs })
    const run = Client.run(client.upstream, Client.requestTo(server.origin, limits({ headers: 5_000, firstEvent: 200 })))
    await run.head
    const result = await timed(() => run)
    clearInterval(ping)
    expect(result.seen.chunks.length).toBeGreaterThan(0)
    expectTimeout({ ...result, tookMs: Math.max(result.tookMs, 199) }, "first-event", 200, "before-first-byte")
    await (await server.accepted(0)).closed
  })

  it("idle: counts from the last useful event", async () => {
    const peers: Array<ScriptedServer.Peer> = []
    await using server = await ScriptedServer.start(({ peer }) => {
      peers.push(peer)
      peer.write(ScriptedServer.chunkedHead)
      let sent = 0
      const timer = setInterval(() => {
        peer.write(ScriptedServer.chunk("data: x\n\n"))
        if (++sent === 8) clearInterval(timer)
      }, 40)
    })
    await using client = await Client.open({ tickMs })
    let lastAt = 0
    const run = Client.run(client.upstream, Client.requestTo(server.origin, limits({ firstEvent: 5_000, idle: 150 })), {
      onData: (_bytes, call) => {
        lastAt = performance.now()
        call().useful()
      }
    })
    const { lagMs, seen } = await timed(() => run)
    expect(seen.chunks.length).toBe(8)
    expectTimeout({ seen, lagMs, tookMs: performance.now() - lastAt }, "idle", 150, "never")
    await peers[0]?.closed
  })

  it("total: a stream that never stops is cut", async () => {
    let timer: ReturnType<typeof setInterval> | undefined
    await using server = await ScriptedServer.start(({ peer }) => {
      peer.write(ScriptedServer.chunkedHead)
      timer = setInterval(() => peer.write(ScriptedServer.chunk("data: x\n\n")), 10)
    })
    await using client = await Client.open({ tickMs })
    const run = () => Client.run(client.upstream, Client.requestTo(server.origin, limits({ idle: 5_000, total: 250 })), {
      onData: (_bytes, call) => call().useful()
    })
    const result = await timed(run)
    clearInterval(timer)
    expectTimeout(result, "total", 250, "never")
    await (await server.accepted(0)).closed
  })

  it("a paused receiver is not the upstream's silence, and the clock starts again on resume", async () => {
    await using server = await ScriptedServer.start(({ peer }) => {
      peer.write(ScriptedServer.chunkedHead)
      peer.write(ScriptedServer.chunk("data: x\n\n"))
    })
    await using client = await Client.open({ tickMs })
    let pausedAt = 0
    const run = Client.run(client.upstream, Client.requestTo(server.origin, limits({ firstEvent: 100, idle: 100 })), {
      onData: (_bytes, call) => {
        call().useful()
        call().pause()
        pausedAt = performance.now()
      }
    })
    await run.nextData()
    // A second call with a longer limit is the clock: when it has timed out, the first one must still live.
    const clock = Client.run(client.upstream, Client.requestTo(server.origin, limits({ firstEvent: 400 })))
    await clock.over
    expect(run.seen.failure).toBeNull()
    expect(performance.now() - pausedAt).toBeGreaterThan(390)
    const resumedAt = performance.now()
    run.call.resume()
    const { lagMs, seen } = await timed(() => run)
    expectTimeout({ seen, lagMs, tookMs: performance.now() - resumedAt }, "idle", 100, "never")
  })

  it("bytes that arrived while the loop was stalled count before anything is called late", async () => {
    const asked = ScriptedServer.latch()
    const go = ScriptedServer.latch()
    await using server = await ScriptedServer.start(({ peer }) => {
      asked.open()
      void go.done.then(() => peer.write(ScriptedServer.answer("in time")))
    })
    await using client = await Client.open({ tickMs })
    const run = Client.run(client.upstream, Client.requestTo(server.origin, limits({ headers: 150 })))
    await asked.done
    go.open()
    // The reply is written in the next microtask, the loop then stalls past the deadline before it can read.
    await Promise.resolve()
    const until = performance.now() + 250
    while (performance.now() < until);
    expect((await run.over).failure).toBeNull()
    expect(run.text()).toBe("in time")
  })
})
