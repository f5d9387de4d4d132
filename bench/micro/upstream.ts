/**
 * CPU per request and per stream event of the upstream port against bare undici and node:http, over loopback to a mock in a child
 * process.
 *
 * `node bench/micro/upstream.ts [requests] [rounds]`: each client has a process of its own, rounds are interleaved, the median is
 * printed; the second table has 1,000 open streams beside the requests, the third counts paced events, each a read of its own.
 */
import { spawn } from "node:child_process"
import type { ChildProcess } from "node:child_process"
import * as http from "node:http"
import * as net from "node:net"
import { fileURLToPath } from "node:url"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Scope from "effect/Scope"
import { Pool } from "undici"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import { UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as HttpUpstream from "#src/platform/upstream/HttpUpstream.ts"
import * as AddressGuard from "#src/platform/upstream/AddressGuard.ts"

const concurrency = 64
const body = JSON.stringify({ model: "m", messages: [{ role: "user", content: "x".repeat(200) }], stream: true })
const headerList: ReadonlyArray<string> = ["content-type", "application/json", "authorization", "Bearer sk-0123456789abcdef", "accept", "*/*", "user-agent", "gateway"]
const bodyBytes = Buffer.from(body)
const timeouts = { connect: 30_000, headers: 600_000, firstEvent: 600_000, idle: 300_000, total: 900_000 }

/** Streams at once in the table of events, events per stream, and ms between two events of a stream. */
const streams = 256
const eventsPerStream = 100
const paceMs = 10

/**
 * A mock that answers every request (one segment each) with the same bytes; `/hold` gets a head and no end, `/flow` gets a stream of
 * paced events, one segment each.
 */
const serve = (): void => {
  const events = Array.from({ length: 5 }, (_, i) => `data: {"choices":[{"delta":{"content":"token ${i}"}}]}\n\n`).join("")
  const head = `HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ndate: Thu, 01 Jan 2026 00:00:00 GMT\r\nx-request-id: req_0123456789\r\n` +
    `x-ratelimit-remaining-requests: 99\r\ntransfer-encoding: chunked\r\n\r\n`
  const reply = Buffer.from(`${head}${events.length.toString(16)}\r\n${events}\r\n0\r\n\r\n`)
  const event = `data: {"id":"chatcmpl-0123456789","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"content":" token"}}]}\n\n`
  const eventChunk = Buffer.from(`${event.length.toString(16)}\r\n${event}\r\n`)
  const flow = (socket: net.Socket) => {
    socket.write(head)
    let left = eventsPerStream
    const timer = setInterval(() => {
      socket.write(left > 0 ? eventChunk : "0\r\n\r\n")
      if (--left < 0) clearInterval(timer)
    }, paceMs)
  }
  const server = net.createServer({ noDelay: true }, (socket) => {
    socket.on("data", (bytes) => {
      const path = bytes.toString("latin1", 5, 10)
      if (path === "/flow") flow(socket)
      else socket.write(path === "/hold" ? head : reply)
    })
    socket.on("error", () => {})
  })
  server.listen({ port: 0, host: "127.0.0.1", backlog: 4_096 }, () => {
    const address = server.address()
    process.send?.(typeof address === "object" && address !== null ? address.port : 0)
  })
}

type OneCall = (path: string, done: () => void) => void

/** Runs `count` calls of `path`, `atOnce` at a time; answers CPU us per call. */
const measure = (count: number, one: OneCall, path: string, atOnce: number): Promise<number> =>
  new Promise((resolve) => {
    const before = process.cpuUsage()
    let started = 0
    let finished = 0
    const next = () => {
      if (started >= count) return
      started++
      one(path, () => {
        if (++finished === count) {
          const used = process.cpuUsage(before)
          resolve((used.user + used.system) / count)
        } else next()
      })
    }
    for (let i = 0; i < atOnce; i++) next()
  })

const fail = (error: unknown): never => {
  throw error instanceof Error ? error : new Error(JSON.stringify(error))
}

const undiciCall = (pool: Pool): OneCall => (path, done) => {
  let bytes = 0
  pool.dispatch({ path, method: "POST", headers: [...headerList, "accept-encoding", "identity"], body: bodyBytes }, {
    onRequestStart: () => {},
    onResponseStart: () => {},
    onResponseData: (_controller, chunk) => {
      bytes += chunk.length
    },
    onResponseEnd: () => bytes > 0 ? done() : fail("empty"),
    onResponseError: (_controller, error) => fail(error)
  })
}

const portCall = (upstream: Upstream["Service"], origin: string): OneCall => {
  const request = { origin, method: "POST", headers: headerList, body: bodyBytes, timeouts, proxy: null } as const
  return (path, done) => {
    let bytes = 0
    const call = upstream.dispatch({ path, ...request }, {
      onHead: () => {},
      onData: (chunk) => {
        bytes += chunk.length
        call.useful()
      },
      onEnd: () => bytes > 0 ? done() : fail("empty"),
      onFailure: fail
    })
  }
}

const nodeCall = (port: number, agent: http.Agent): OneCall => (path, done) => {
  const headers = { ...Object.fromEntries(headerList.flatMap((name, i) => i % 2 === 0 ? [[name, headerList[i + 1] ?? ""]] : [])), "content-length": String(bodyBytes.length) }
  const request = http.request({ host: "127.0.0.1", port, path, method: "POST", agent, headers }, (response) => {
    response.on("data", () => {})
    response.on("end", done)
  })
  request.on("error", fail)
  request.end(bodyBytes)
}

/** One client in a process of its own: three clients in one process would share (and spoil) their inline caches and heap. */
const clientFor = async (name: string, port: number): Promise<OneCall> => {
  const origin = `http://127.0.0.1:${port}`
  if (name === "undici Pool.dispatch") {
    return undiciCall(new Pool(origin, { connections: 4096, pipelining: 1, allowH2: false, headersTimeout: 0, bodyTimeout: 0 }))
  }
  if (name === "node:http") return nodeCall(port, new http.Agent({ keepAlive: true }))
  const guard = Layer.succeed(UrlGuard, UrlGuard.of(AddressGuard.make({ policy: () => ({ local: true, private: false, guard: true }) })))
  const scope = await Effect.runPromise(Scope.make())
  const context = await Effect.runPromise(Layer.buildWithScope(HttpUpstream.layer().pipe(Layer.provide(guard)), scope))
  return portCall(Context.get(context, Upstream), origin)
}

/** `held` streams stay open on the side; then each message is a round: its number of requests in, CPU us per request out ("flow": per event). */
const work = async (name: string, port: number, held: number): Promise<void> => {
  const one = await clientFor(name, port)
  for (let i = 0; i < held; i++) one("/hold", () => {})
  process.on("message", (count) => {
    const cost = count === "flow"
      ? measure(streams, one, "/flow", streams).then((perStream) => perStream / eventsPerStream)
      : measure(Number(count), one, "/v1/x", concurrency)
    void cost.then((us) => process.send?.(us))
  })
  process.send?.("ready")
}

const script = fileURLToPath(import.meta.url)

const child = async (...args: ReadonlyArray<string>): Promise<{ readonly process: ChildProcess; readonly first: unknown }> => {
  const started = spawn(process.execPath, ["--disable-warning=ExperimentalWarning", script, ...args], { stdio: ["ignore", "inherit", "inherit", "ipc"] })
  const first = await new Promise<unknown>((resolve) => started.once("message", resolve))
  return { process: started, first }
}

const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0

const names = ["undici Pool.dispatch", "upstream port", "node:http"]

const table = async (title: string, port: number, message: number | "flow", rounds: number, held: number): Promise<void> => {
  const workers = new Map<string, ChildProcess>()
  for (const name of names) workers.set(name, (await child("work", name, String(port), String(held))).process)
  const round = (worker: ChildProcess, count: number | "flow"): Promise<number> =>
    new Promise((resolve) => {
      worker.once("message", (cost) => resolve(Number(cost)))
      worker.send(count)
    })
  const results = new Map<string, Array<number>>()
  for (const worker of workers.values()) await round(worker, 10_000)
  for (let i = 0; i < rounds; i++) {
    for (const [name, worker] of workers) results.set(name, [...results.get(name) ?? [], await round(worker, message)])
  }
  for (const worker of workers.values()) worker.kill()
  const base = median(results.get("undici Pool.dispatch") ?? [])
  console.log(title)
  for (const [name, values] of results) {
    const value = median(values)
    const spread = `${Math.min(...values).toFixed(1)}..${Math.max(...values).toFixed(1)}`
    console.log(`${name.padEnd(22)} ${value.toFixed(2).padStart(7)} us   x ${(value / base).toFixed(2)}   (${spread})`)
  }
}

const main = async (): Promise<void> => {
  const requests = Number(process.argv[2] ?? 20_000)
  const rounds = Number(process.argv[3] ?? 5)
  const each = `${rounds} x ${requests} requests, ${concurrency} at once, an SSE body of five events in one segment`
  const mock = await child("serve")
  const port = Number(mock.first)
  await table(`CPU per request, ${each}`, port, requests, rounds, 0)
  await table(`CPU per request beside 1,000 open streams, ${each}`, port, requests, rounds, 1_000)
  await table(`CPU per event, ${rounds} x ${streams} streams of ${eventsPerStream} events ${paceMs} ms apart`, port, "flow", rounds, 0)
  mock.process.kill()
}

switch (process.argv[2]) {
  case "serve":
    serve()
    break
  case "work":
    await work(process.argv[3] ?? "", Number(process.argv[4]), Number(process.argv[5]))
    break
  default:
    await main()
}
