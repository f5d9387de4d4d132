/** Large bodies of the worst shapes: they neither end the process nor hold its loop. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually } from "#test/support/operator.ts"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { longestMs, startPinger, turnClock } from "#test/support/loop.ts"

const MB = 1_000_000
/** Just below the default limit of 10 MiB. */
const SIZE = 10 * MB

const filled = (head: string, item: string, tail: string, size = SIZE): Buffer => {
  const count = Math.floor((size - head.length - tail.length) / (Buffer.byteLength(item) + 1))
  return Buffer.from(`${head}${Array.from({ length: count }, () => item).join(",")}${tail}`)
}

const messages = "\"messages\":[{\"role\":\"user\",\"content\":\"hello\"}]"

/** Bodies for a model; those marked fit the bounds and reach the upstream. */
const shapes: ReadonlyArray<readonly [name: string, passes: boolean, body: (model: string, more: string) => Buffer]> = [
  ["empty objects", false, (model, more) => filled(`{"model":"${model}",${more}${messages},"x":[`, "{}", "]}")],
  ["empty lists", false, (model, more) => filled(`{"model":"${model}",${more}${messages},"x":[`, "[]", "]}")],
  ["small objects as many as may be", true, (model, more) => filled(`{"model":"${model}",${more}${messages},"x":[`, `{"a":"${"b".repeat(42)}"}`, "]}", 9.9 * MB)],
  ["numbers", true, (model, more) => filled(`{"model":"${model}",${more}${messages},"x":[`, "12345", "]}")],
  ["different texts", true, (model, more) => Buffer.from(`{"model":"${model}",${more}${messages},"x":[${Array.from({ length: 1_200_000 }, (_, i) => `"${i.toString(36)}"`).join(",")}]}`)],
  ["wide objects", true, (model, more) => filled(`{"model":"${model}",${more}${messages},"x":[`, `{${Array.from({ length: 19_000 }, (_, i) => `"${i.toString(36)}":0`).join(",")}}`, "]}")],
  ["small messages", false, (model, more) => filled(`{"model":"${model}",${more}"messages":[`, "{\"role\":\"user\",\"content\":\"\"}", "]}")],
  ["messages as many as may be", true, (model, more) => filled(`{"model":"${model}",${more}"messages":[`, `{"role":"user","content":"${"x".repeat(24)}"}`, "]}")],
  ["parts as many as may be", true, (model, more) => filled(`{"model":"${model}",${more}"messages":[{"role":"user","content":[`, `{"type":"text","text":"${"x".repeat(26)}"}`, "]}]}")],
  ["one text", true, (model, more) => filled(`{"model":"${model}",${more}"messages":[{"role":"user","content":"`, "é\\n\\u00e9 text", "\"}]}")],
  ["no JSON at its end", false, (model, more) => filled(`{"model":"${model}",${more}${messages},"x":[`, "12345", "]")]
]

/** An upstream that reads what it is sent and is silent, or answers in few words. */
const startSink = async () => {
  const answers: Readonly<Record<string, object>> = {
    "/v1/chat/completions": { id: "c", object: "chat.completion", created: 1, model: "m", choices: [{ index: 0, message: { role: "assistant", content: "yes" }, finish_reason: "stop" }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } },
    "/v1/messages": { id: "m", type: "message", role: "assistant", model: "m", content: [{ type: "text", text: "yes" }], stop_reason: "end_turn", stop_sequence: null, usage: { input_tokens: 1, output_tokens: 1 } }
  }
  const server = NodeHttp.createServer((request, response) => {
    let head = ""
    let bytes = 0
    request.on("data", (chunk: Buffer) => {
      bytes += chunk.length
      if (head.length < 4_096) head += chunk.toString("latin1", 0, 4_096)
    })
    request.on("end", () => {
      arrived.push(bytes)
      if (head.includes("\"silent\"")) return
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(answers[request.url ?? ""] ?? {}))
    })
  })
  const arrived: Array<number> = []
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    arrived,
    stop: () => new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

interface World {
  readonly gateway: Spawned
  readonly sink: Awaited<ReturnType<typeof startSink>>
  readonly close: () => Promise<void>
}

/** `own`: a node of the client's format; `other`: one of another format, to which everything is translated. */
const startWorld = async (environment: Readonly<Record<string, string>>): Promise<World> => {
  const sink = await startSink()
  const gateway = await spawned({ environment })
  await gateway.operator.letFailuresPass()
  const own = await gateway.operator.createNode({ prefix: "own", baseUrl: sink.url })
  await gateway.operator.createConnection({ provider: own, apiKey: "k" })
  const other = await gateway.operator.createNode({ prefix: "other", type: "anthropic-compatible", baseUrl: sink.url })
  await gateway.operator.createConnection({ provider: other, apiKey: "k" })
  return {
    gateway, sink,
    close: async () => {
      await gateway.close()
      await sink.stop()
    }
  }
}

const path = "/v1/chat/completions"
const small = (world: World) => Http.send(world.gateway.url, { path, body: { model: "own/m", messages: [{ role: "user", content: "hello" }] } })
const metric = async (world: World, name: string): Promise<number> =>
  Number(new RegExp(`^${name} (\\S+)$`, "m").exec((await Http.send(world.gateway.url, { path: "/metrics" })).text)?.[1] ?? NaN)

describe("30 bodies of 10 MB that are held at once, under a heap of 512 MB", () => {
  let world: World
  beforeAll(async () => {
    world = await startWorld({ NODE_OPTIONS: "--max-old-space-size=512" })
  }, 180_000)
  afterAll(() => world.close())

  it.each(["own", "other"])("end in refusals, not in the end of the process, and leave nothing behind (%s format)", async (node) => {
    const pid = world.gateway.pid()
    const held: Array<Http.Opened> = []
    const seen: Record<string, number> = {}
    const calls = Array.from({ length: 30 }, async (_, i) => {
      const [, , body] = shapes[i % shapes.length] as (typeof shapes)[number]
      const opened = await Http.stream(world.gateway.url, { path, body: body(`${node}/silent`, "\"stream\":true,") }).catch((cause: unknown) => {
        // Refused while it was still sending, and too busy to read the answer before its connection was closed.
        if (!/socket hang up|ECONNRESET|EPIPE/.test(String(cause))) throw cause
        return null
      })
      if (opened === null) return
      seen[opened.status] = (seen[opened.status] ?? 0) + 1
      if (opened.status === 503) expect(opened.headers["retry-after"]).toBe("1")
      // An open stream was told to wait: its head and a first heartbeat came.
      if (opened.status === 200) held.push(opened)
      else expect((await opened.ended).text).toContain("\"error\"")
    })
    await Promise.all(calls)
    expect(Object.keys(seen).every((status) => ["200", "400", "413", "503"].includes(status))).toBe(true)
    expect([seen["200"], seen["400"]].every((count) => count !== undefined && count > 0)).toBe(true)
    expect(await metric(world, "gateway_held_body_bytes")).toBeGreaterThan(MB)
    expect(await metric(world, "gateway_held_body_bytes")).toBeLessThanOrEqual(await metric(world, "gateway_held_body_bytes_max"))
    expect((await small(world)).status).toBe(200)
    for (const stream of held) stream.leave()
    await eventually(() => metric(world, "gateway_held_body_bytes"), (bytes) => bytes === 0, "all bodies were let go")
    expect((await small(world)).status).toBe(200)
    expect(world.gateway.pid()).toBe(pid)
    expect(world.gateway.output()).not.toContain("failed unexpectedly")
    expect(await world.gateway.operator.reconciliation()).toMatchObject({ gap: 0 })
    console.log(`${node}: ${JSON.stringify(seen)}, peak of resident memory ${(world.gateway.memory().peak / MB).toFixed(0)} MB`)
  }, 300_000)
})

/** The same bodies again: a neighbour on the host makes a turn longer now and then, the gateway's own work makes it long each time. */
const rounds = 3
/** Slowest answer to another process, ms of wall time: 50 ms on a quiet machine (GATEWAY_TEST_FULL=1). Bodies that are parsed on the loop take 1,700 ms. */
const slowestMs = process.env["GATEWAY_TEST_FULL"] === "1" ? 50 : 1_500

describe("bodies of 10 MB hold the loop for a moment only", () => {
  const clock = turnClock()
  let world: World
  let pinger: ReturnType<typeof startPinger>
  beforeAll(async () => {
    world = await startWorld(clock.environment)
    expect((await small(world)).status).toBe(200)
    pinger = startPinger(`${world.gateway.url}/api/health/ping`)
  }, 180_000)
  afterAll(async () => {
    pinger.stop()
    await world.close()
  })

  const few: ReadonlyArray<string> = ["small objects as many as may be", "parts as many as may be", "one text"]
  const ways: ReadonlyArray<readonly [name: string, model: string, more: string, headers: Record<string, string>, shapes: typeof shapes]> = [
    ["forwarded", "own/m", "", {}, shapes],
    ["translated", "other/m", "", {}, shapes],
    ["for the cache, by name", "own/m", "\"temperature\":0,", { "idempotency-key": "k" }, shapes.filter(([name]) => few.includes(name))],
    ["with an effort of our own", "other/m", "", { "x-gateway-effort": "auto" }, shapes.filter(([name]) => few.includes(name))]
  ]

  it.each(ways)("%s", async (way, model, more, headers, chosen) => {
    const tooLong: Array<string> = []
    for (const [shape, passes, body] of chosen) {
      const bytes = body(model, more)
      let [longest, slowest] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
      for (let round = 1; round <= rounds && !(longest < longestMs && slowest < slowestMs); round++) {
        const statuses: Array<number> = []
        await pinger.slowest()
        longest = Math.min(longest, await clock.longest(world.gateway, () => Promise.all([1, 2, 3, 4].map(async (i) => {
          const own = headers["idempotency-key"] === undefined ? headers : { "idempotency-key": `${shape} ${i} ${round}` }
          statuses.push((await Http.send(world.gateway.url, { path, body: bytes, headers: own })).status)
        }))))
        slowest = Math.min(slowest, await pinger.slowest())
        expect([shape, statuses]).toEqual([shape, statuses.map(() => passes ? 200 : 400)])
      }
      console.log(`${way}, ${shape}: longest turn ${longest.toFixed(1)} ms, slowest answer to another process ${slowest.toFixed(0)} ms`)
      if (!(longest < longestMs && slowest < slowestMs)) tooLong.push(`${shape}: ${longest.toFixed(1)} ms, ${slowest.toFixed(0)} ms`)
    }
    expect(tooLong).toEqual([])
  }, 300_000)

  it("nobody else waits: pings on another connection are answered meanwhile", async () => {
    let over = false
    let pings = 0
    const pinging = (async () => {
      while (!over) {
        expect((await Http.send(world.gateway.url, { path: "/api/health/ping" })).status).toBe(200)
        pings++
      }
    })()
    await Promise.all(shapes.map(([, , body]) => Http.send(world.gateway.url, { path, body: body("other/m", "") })))
    const during = pings
    over = true
    await pinging
    expect(during).toBeGreaterThan(shapes.length)
  }, 300_000)
})
