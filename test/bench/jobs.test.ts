import { createServer, type Server, type Socket } from "node:net"
import { afterEach, describe, expect, it } from "vitest"
import { closed } from "#bench/http/load/closed.ts"
import type { Endpoint } from "#bench/http/load/Job.ts"
import { open } from "#bench/http/load/open.ts"
import { slow } from "#bench/http/load/slow.ts"
import { answer, chunked, expectedStream } from "#bench/http/payload.ts"

const servers: Array<{ readonly server: Server; readonly sockets: Set<Socket> }> = []

afterEach(() => {
  for (const { server, sockets } of servers.splice(0)) {
    server.close()
    for (const socket of sockets) socket.destroy()
  }
})

/** A peer that calls `serve` for each request; requests of the load generator arrive whole. */
const peer = (serve: (socket: Socket, request: number) => void): Promise<Endpoint> =>
  new Promise((resolve) => {
    const sockets = new Set<Socket>()
    let requests = 0
    const server = createServer((socket) => {
      sockets.add(socket)
      socket.on("data", () => serve(socket, ++requests))
      socket.on("error", () => undefined)
    })
    servers.push({ server, sockets })
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      const port = typeof address === "object" && address !== null ? address.port : 0
      resolve({ host: "127.0.0.1", port, basePath: "/v1", modelPrefix: "", apiKey: null, pid: null })
    })
  })

const head = (length: number): string => `HTTP/1.1 200 OK\r\ncontent-length: ${length}\r\n\r\n`
const streamHead = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n"

const closedJob = (endpoint: Endpoint) =>
  closed({ kind: "closed", endpoint, script: { kind: "json" }, concurrency: 4, warmupMs: 10, measureMs: 60, deadlineMs: 3_000 })

const bulk = { kind: "bulk", events: 300 } as const

const slowJob = (endpoint: Endpoint) => slow({ kind: "slow", endpoint, script: bulk, readers: 3, stallMs: 30, deadlineMs: 5_000 })

describe("load generator", () => {
  it("counts what it has verified", async () => {
    const result = await closedJob(await peer((socket) => socket.write(head(answer.length) + answer.toString("latin1"))))
    expect(result.requests).toBeGreaterThan(10)
    expect(result.reads).toBeGreaterThanOrEqual(result.requests)
  })

  it("one wrong answer among many fails the job and says where", async () => {
    const wrong = answer.toString("latin1").replace("fox", "cat")
    const endpoint = await peer((socket, request) => socket.write(head(answer.length) + (request === 9 ? wrong : answer.toString("latin1"))))
    await expect(closedJob(endpoint)).rejects.toThrow(/expected "fox jumps/)
  })

  it("another status fails the job with the answer's text", async () => {
    const endpoint = await peer((socket) => socket.write("HTTP/1.1 429 Too Many\r\ncontent-length: 9\r\n\r\nslow down"))
    await expect(closedJob(endpoint)).rejects.toThrow("status 429: slow down")
  })

  it("a connection cut inside an answer, and one that never answers, fail the job", async () => {
    await expect(closedJob(await peer((socket) => socket.end(head(answer.length))))).rejects.toThrow(/closed/)
    const silent = await peer(() => undefined)
    await expect(
      closed({ kind: "closed", endpoint: silent, script: { kind: "json" }, concurrency: 1, warmupMs: 0, measureMs: 1_000, deadlineMs: 120 })
    ).rejects.toThrow(/not finished within 120 ms/)
  })

  it("a stall is charged to every request that was due during it", async () => {
    let until = 0
    const endpoint = await peer((socket, request) => {
      if (request === 60) until = performance.now() + 250
      const wait = until - performance.now()
      const send = (): boolean => socket.write(head(answer.length) + answer.toString("latin1"))
      if (wait > 0) setTimeout(send, wait)
      else send()
    })
    const result = await open({ kind: "open", endpoint, ratePerSecond: 200, warmupMs: 100, measureMs: 900, deadlineMs: 5_000 })
    expect(result.requests).toBe(180)
    expect(result.latencyMs.count).toBe(180)
    expect(result.latencyMs.max).toBeGreaterThan(200)
    // 250 ms at 200 requests per second: about 50 requests waited, half of them longer than 125 ms.
    expect(result.latencyMs.p90).toBeGreaterThan(80)
  })

  it("slow readers verify every byte of what they were sent", async () => {
    const body = chunked(expectedStream(bulk).bytes.toString("latin1"))
    const result = await slowJob(await peer((socket) => socket.write(`${streamHead}${body}0\r\n\r\n`)))
    expect(result.bytes).toBe(3 * expectedStream(bulk).bytes.length)
  })

  it("slow readers find one lost byte", async () => {
    const text = expectedStream(bulk).bytes.toString("latin1")
    const body = chunked(text.slice(0, 200_000) + text.slice(200_001))
    await expect(slowJob(await peer((socket) => socket.write(`${streamHead}${body}0\r\n\r\n`)))).rejects.toThrow(/expected|missing/)
  })
})
