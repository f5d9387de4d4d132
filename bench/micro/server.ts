/**
 * CPU per request of the front end's lanes against the bare native server, on this machine:
 * `node bench/micro/server.ts [requests per round] [rounds]`. The load comes from a child process over kept-alive
 * connections, so that only the server's own CPU is counted; rounds are interleaved and the median is printed.
 */
import * as Effect from "effect/Effect"
import { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"
import { fork } from "node:child_process"
import * as Net from "node:net"
import { LISTEN_EXCLUSIVE, makeApp, native } from "#src/platform/server/uws/native.ts"
import * as UwsHttpServer from "#src/platform/server/uws/UwsHttpServer.ts"

const CONNECTIONS = 16
const BODY = JSON.stringify({ model: "provider/some-model", messages: [{ role: "user", content: "hello ".repeat(60) }], stream: true })
const HEADERS = [
  "Host: localhost", "User-Agent: bench/1.0", "Accept: */*", "Accept-Encoding: gzip, deflate", "Connection: keep-alive",
  "Authorization: Bearer sk-0123456789abcdef0123456789abcdef", "Content-Type: application/json", "X-Request-Id: 0123456789"
].join("\r\n")
const ANSWER = JSON.stringify({ id: "x", object: "chat.completion", choices: [{ index: 0, message: { role: "assistant", content: "hi" } }] })
const JSON_TYPE = ["Content-Type", "application/json"]

interface Load {
  readonly port: number
  readonly method: string
  readonly path: string
  readonly requests: number
}

/** The child: sends the next request when a response of the known size is complete. */
const load = ({ method, path, port, requests }: Load): Promise<void> => {
  const body = method === "POST" ? BODY : ""
  const length = method === "POST" ? `Content-Length: ${Buffer.byteLength(body)}\r\n` : ""
  const request = Buffer.from(`${method} ${path} HTTP/1.1\r\n${HEADERS}\r\n${length}\r\n${body}`)
  let sent = 0
  const one = () => new Promise<void>((resolve, reject) => {
    const socket = Net.connect({ port, host: "127.0.0.1", noDelay: true })
    let size = 0
    let have = 0
    const next = () => {
      if (sent++ >= requests) {
        socket.destroy()
        return resolve()
      }
      socket.write(request)
    }
    socket.on("connect", next)
    socket.on("error", reject)
    socket.on("data", (data: Buffer) => {
      have += data.length
      if (size === 0) {
        const text = data.toString("latin1")
        const end = text.indexOf("\r\n\r\n")
        const fixed = /content-length: (\d+)/i.exec(text)
        if (fixed !== null) size = end + 4 + Number(fixed[1])
        else if (text.endsWith("\r\n0\r\n\r\n")) size = have
      }
      if (size === 0 || have < size) return
      have -= size
      next()
    })
  })
  return Promise.all(Array.from({ length: CONNECTIONS }, one)).then(() => {})
}

if (process.send !== undefined) {
  process.on("message", (job: Load) => void load(job).then(() => process.send!("done")))
} else {
  const requests = Number(process.argv[2] ?? 20_000)
  const rounds = Number(process.argv[3] ?? 5)

  const bare = makeApp(undefined)
  bare.any("/*", (res) => {
    res.end(ANSWER)
  })
  bare.any("/copy", (res, req) => {
    const head: Array<string> = []
    req.getCaseSensitiveMethod()
    req.getUrl()
    req.getQuery()
    req.forEach((name, value) => head.push(name, value))
    res.onAborted(() => {})
    res.cork(() => {
      res.writeStatus("200 OK")
      res.writeHeader("Content-Type", "application/json")
      res.end(ANSWER)
    })
  })
  const barePort = await new Promise<number>((resolve, reject) => {
    bare.listen("127.0.0.1", 0, LISTEN_EXCLUSIVE, (socket) => socket === false ? reject(new Error("no port")) : resolve(native.us_socket_local_port(socket)))
  })

  const scope = Scope.makeUnsafe()
  const made = await Effect.runPromise(Scope.provide(UwsHttpServer.make({ port: 0 }), scope))
  const text = Effect.succeed(HttpServerResponse.text(ANSWER, { contentType: "application/json" }))
  const answerBytes = Buffer.from(ANSWER)
  await Effect.runPromise(Scope.provide(
    made.server.serve(Effect.flatMap(HttpServerRequest, (request) => {
      switch (request.url) {
        case "/text":
          return text
        case "/json":
          return Effect.flatMap(request.json, () => text)
        default:
          return Effect.succeed(HttpServerResponse.stream(Stream.make(answerBytes)))
      }
    })),
    scope
  ))
  const { direct } = made.frontEnd
  direct("GET", "/direct", (exchange) => exchange.respond(200, JSON_TYPE, ANSWER))
  direct("POST", "/direct", (exchange) => exchange.readBody(1_000_000, (body) => {
    JSON.parse((body as Buffer).toString())
    exchange.respond(200, JSON_TYPE, ANSWER)
  }))
  direct("POST", "/direct/stream", (exchange) => exchange.readBody(1_000_000, (body) => {
    JSON.parse((body as Buffer).toString())
    exchange.onAbort(() => {})
    setImmediate(() => {
      exchange.start(200, JSON_TYPE)
      exchange.write(answerBytes)
      setImmediate(() => exchange.end())
    })
  }))

  const port = made.frontEnd.port
  const cases: ReadonlyArray<readonly [string, Omit<Load, "requests">]> = [
    ["bare native, answer only", { port: barePort, method: "GET", path: "/" }],
    ["bare native, head copied", { port: barePort, method: "GET", path: "/copy" }],
    ["direct lane", { port, method: "GET", path: "/direct" }],
    ["direct lane, JSON body", { port, method: "POST", path: "/direct" }],
    ["direct lane, JSON body, two-turn stream", { port, method: "POST", path: "/direct/stream" }],
    ["effect lane", { port, method: "GET", path: "/text" }],
    ["effect lane, JSON body", { port, method: "POST", path: "/json" }],
    ["effect lane, Stream", { port, method: "GET", path: "/stream" }]
  ]

  const child = fork(new URL(import.meta.url), { execArgv: ["--disable-warning=ExperimentalWarning"] })
  const run = (job: Load): Promise<number> =>
    new Promise((resolve) => {
      const before = process.cpuUsage()
      child.once("message", () => {
        const used = process.cpuUsage(before)
        resolve((used.user + used.system) / job.requests)
      })
      child.send(job)
    })

  const results = cases.map((): Array<number> => [])
  for (let round = -1; round < rounds; round++) {
    for (const [index, [, job]] of cases.entries()) {
      const micros = await run({ ...job, requests: round < 0 ? Math.ceil(requests / 2) : requests })
      if (round >= 0) results[index]!.push(micros)
    }
  }
  child.kill()
  const median = (values: ReadonlyArray<number>): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!
  const floor = median(results[0]!)
  for (const [index, [name]] of cases.entries()) {
    const micros = median(results[index]!)
    console.log(`${name.padEnd(42)} ${micros.toFixed(1).padStart(6)} us/request  +${(micros - floor).toFixed(1)}`)
  }
  process.exit(0)
}
