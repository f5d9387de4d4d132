import * as Net from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn } from "#test/support/lab.ts"
import { CREDENTIAL, quantile, startWorld, watchLoop, type World } from "./support.ts"

const MIB = 1024 * 1024
const LIMIT = 2 * MIB

let world: World
beforeAll(async () => {
  world = await startWorld({ environment: { MAX_BODY_SIZE_BYTES: String(LIMIT), GATEWAY_SLOW_READER_TIMEOUT_MS: "1000" } })
})
afterAll(async () => {
  const { pid } = world.gateway
  expect(pid()).toBeGreaterThan(0)
  expect(world.gateway.output()).not.toContain("failed unexpectedly")
  expect(world.gateway.output()).not.toContain(CREDENTIAL)
  await world.close()
})

const post = (body: string | Uint8Array) => Http.send(world.gateway.url, { path: "/v1/chat/completions", body })

/** Runs an attack while another client keeps calling; answers the attack's result and that client's latencies. */
const beside = async <A>(attack: () => Promise<A>): Promise<{ readonly result: A; readonly latencies: ReadonlyArray<number>; readonly late: number }> => {
  const latencies: Array<number> = []
  let over = false
  const lateness = watchLoop()
  const neighbour = (async () => {
    do {
      const from = performance.now()
      expect((await Http.send(world.gateway.url, world.call({ model: "tokens-2" }))).status).toBe(200)
      latencies.push(performance.now() - from)
    } while (!over)
  })()
  const result = await attack().finally(() => {
    over = true
  })
  await neighbour
  return { result, latencies, late: lateness() }
}

/** Guard of the neighbour's slowest call beyond the machine's own lateness (ms); two busy processes beside it make a second of 0.2. */
const NEIGHBOUR_MS = 3_000

const calm = (name: string, { late, latencies }: { readonly latencies: ReadonlyArray<number>; readonly late: number }): void => {
  console.log(`${name}: neighbour p50 ${quantile(latencies, 0.5).toFixed(1)} ms, slowest ${Math.max(...latencies).toFixed(0)} ms of ${latencies.length} calls`)
  expect(Math.max(...latencies)).toBeLessThan(NEIGHBOUR_MS + 2 * late)
}

const model = "\"model\":\"lab/echo\""

describe("hostile bodies get a documented status quickly, and nobody else feels them", () => {
  const nested = 100_000
  const wide = (text: string, size: number) => text.repeat(Math.ceil(size / text.length))
  const bodies: ReadonlyArray<readonly [string, string | Uint8Array, ReadonlyArray<number>]> = [
    ["100,000 nested arrays", `{${model},"messages":[{"role":"user","content":${"[".repeat(nested)}${"]".repeat(nested)}}]}`, [200, 400]],
    ["100,000 nested arrays that never close", `{${model},"messages":${"[".repeat(nested)}`, [400]],
    ["100,000 nested objects", `{${model},"messages":[{"role":"user","content":"x"}],"x":${"{\"a\":".repeat(nested)}1${"}".repeat(nested)}}`, [200, 400]],
    ["30,000 messages in 1 MB", `{${model},"messages":[${Array.from({ length: 30_000 }, () => "{\"role\":\"user\",\"content\":\"\"}").join(",")}]}`, [200]],
    ["100,000 messages without a role", `{${model},"messages":[${Array.from({ length: 100_000 }, () => "{\"a\":1}").join(",")}]}`, [400]],
    ["100,000 different keys", `{${model},"messages":[{"role":"user","content":"x"}],${Array.from({ length: 100_000 }, (_, i) => `"k${i}":0`).join(",")}}`, [400]],
    ["100,000 numbers with long exponents", `{${model},"messages":[{"role":"user","content":"x"}],"n":[${wide("1e999,", 900_000)}1]}`, [200, 400]],
    ["invalid UTF-8 in a text", Buffer.concat([Buffer.from(`{${model},"messages":[{"role":"user","content":"`), Buffer.from([0xff, 0xfe, 0xc3, 0x28, 0xed, 0xa0, 0x80]), Buffer.from("\"}]}")]), [200, 400]],
    ["invalid UTF-8 in the model", Buffer.concat([Buffer.from("{\"model\":\"lab/"), Buffer.from([0xff, 0xc3, 0x28]), Buffer.from("\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}")]), [200, 400, 404]],
    ["NUL bytes between tokens", `{\u0000${model}}`, [400]],
    ["NUL escapes in texts", `{${model},"messages":[{"role":"user\\u0000","content":"a\\u0000b"}]}`, [200, 400]],
    ["a NUL in the model", "{\"model\":\"lab/a\\u0000b\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", [400]],
    ["a line break in the model", "{\"model\":\"lab/a\\r\\nx-injected: 1\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", [400]],
    ["a lone surrogate in the model", "{\"model\":\"lab/\\ud800\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", [400]],
    ["a model in another script", "{\"model\":\"lab/модель-模型\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}]}", [200]],
    ["only NUL bytes", "\u0000".repeat(1000), [400]],
    ["lone surrogates", `{${model},"messages":[{"role":"user","content":"\\ud800 \\udfff"}],"\\ud800":1}`, [200, 400]],
    ["a huge model id", `{"model":"${"m".repeat(MIB)}","messages":[{"role":"user","content":"x"}]}`, [400, 404]],
    ["a huge model id of many slashes", `{"model":"${"a/".repeat(MIB / 2)}","messages":[{"role":"user","content":"x"}]}`, [400, 404]],
    ["a huge model id under the prefix", `{"model":"lab/${"m*?".repeat(MIB / 4)}","messages":[{"role":"user","content":"x"}]}`, [400]],
    ["prototype keys", `{${model},"__proto__":{"stream":true},"constructor":{"prototype":{"x":1}},"messages":[{"role":"user","content":"x"}]}`, [200]],
    ["a byte order mark", `\ufeff{${model},"messages":[{"role":"user","content":"x"}]}`, [200, 400]],
    ["a text of 1 MB of quotes", JSON.stringify({ model: "lab/tokens-1", messages: [{ role: "user", content: "\"\\".repeat(MIB / 4) }] }), [200]]
  ]

  it.each(bodies)("%s", async (name, body, allowed) => {
    const from = performance.now()
    const run = await beside(() => post(body))
    const took = performance.now() - from
    const reply = run.result
    expect(allowed).toContain(reply.status)
    if (reply.status !== 200) expect(errorIn(reply)).toMatchObject({ message: expect.any(String), type: expect.any(String), code: expect.any(String) })
    if (reply.status === 404) expect(String(errorIn(reply)["message"]).length).toBeLessThanOrEqual(4_096)
    expect(took).toBeLessThan(10_000 + 2 * run.late)
    calm(name, run)
  })

  it("two model keys: the model that was checked is the model that is sent", async () => {
    const since = Date.now()
    const { key } = await world.gateway.operator.createKey("one model", { modelAccessMode: "restricted", allowedModels: ["lab/echo"] })
    for (const body of [
      "{\"model\":\"lab/echo\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"model\":\"lab/forbidden\"}",
      "{\"model\":\"lab/forbidden\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"model\":\"lab/echo\"}",
      "{\"model\":\"lab/forbidden\",\"messages\":[{\"role\":\"user\",\"content\":\"x\"}],\"\\u006dodel\":\"lab/echo\"}"
    ]) {
      await Http.send(world.gateway.url, { path: "/v1/chat/completions", body, headers: { authorization: `Bearer ${key}` } })
    }
    await world.gateway.operator.settled()
    const sent = await world.sim.entries({ since })
    expect(sent.length).toBeGreaterThan(0)
    expect(sent.map((entry) => entry.model)).toEqual(sent.map(() => "echo"))
  })

  it("two stream keys: what the gateway does is what the upstream was asked for", async () => {
    const reply = await post(`{"stream":true,"model":"lab/tokens-3","stream":false,"messages":[{"role":"user","content":"x"}]}`)
    const [entry] = (await world.sim.entries({ model: "tokens-3" })).slice(-1)
    expect([reply.status, entry?.stream, reply.headers["content-type"]?.startsWith("application/json")]).toEqual([200, false, true])
  })
})

/** A peer that says nothing for so long has refused the request its own way (ms). */
const silentMs = 2_000

/** Sends bytes as they are and answers what came back until the peer closed or the answer was seen. */
const raw = (bytes: string | Uint8Array, until: (text: string) => boolean = () => false): Promise<string> =>
  new Promise((resolve) => {
    let text = ""
    const socket = Net.connect({ port: Number(new URL(world.gateway.url).port), host: "127.0.0.1" })
    socket.setTimeout(silentMs, () => socket.destroy())
    socket.on("error", () => undefined)
    socket.on("data", (data) => {
      text += data.toString("latin1")
      if (until(text)) socket.destroy()
    })
    socket.once("close", () => resolve(text))
    socket.write(bytes)
  })

const statusOf = (text: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(text)?.[1] ?? 0)

describe("hostile connections", () => {
  it("a header bomb is refused with 431 and closed", async () => {
    const run = await beside(() => Promise.all([
      raw(`POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n${"x-bomb: ".padEnd(64 * 1024, "y")}\r\n\r\n`),
      raw(`POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n${Array.from({ length: 5_000 }, (_, i) => `x-${i}: 1\r\n`).join("")}\r\n`),
      raw(`GET /${"a".repeat(64 * 1024)} HTTP/1.1\r\nhost: localhost\r\n\r\n`)
    ]))
    for (const text of run.result) expect([0, 400, 414, 431]).toContain(statusOf(text))
    calm("header bombs", run)
  })

  it("requests that are no HTTP are refused or closed", async () => {
    const line = "POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\n"
    const requests = [
      "\u0016\u0003\u0001\u0002\u0000", "GET\r\n\r\n", `${line}content-length: -1\r\n\r\n`, `${line}content-length: abc\r\n\r\n`,
      `${line}content-length: 5\r\ncontent-length: 6\r\n\r\nhello!`, `${line}transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n`,
      `${line}transfer-encoding: chunked\r\n\r\nZZZZ\r\n`, `${line}transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n`, `${line}content-length: 99999999999999999999\r\n\r\n`
    ]
    const run = await beside(() => Promise.all(requests.map((bytes) => raw(bytes, (text) => text.includes("\r\n\r\n")))))
    for (const text of run.result) expect([0, 400, 404, 413, 505]).toContain(statusOf(text))
    calm("no HTTP", run)
  }, 180_000)

  it("a body that never arrives holds nothing up, and its socket is closed in the end", async () => {
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1000\r\n\r\n{"model":`
    const sockets = Array.from({ length: 100 }, () => {
      const socket = Net.connect({ port: Number(new URL(world.gateway.url).port), host: "127.0.0.1" })
      socket.on("error", () => undefined)
      socket.write(head)
      return socket
    })
    const run = await beside(async () => {
      await Promise.all(sockets.map((socket) => new Promise<void>((resolve) => socket.connecting ? socket.once("connect", () => resolve()) : resolve())))
      for (let i = 0; i < 10; i++) expect((await post(`{${model},"messages":[{"role":"user","content":"x"}]}`)).status).toBe(200)
      for (const socket of sockets) socket.destroy()
    })
    calm("half-sent bodies", run)
    expect(await world.gateway.operator.reconciliation()).toMatchObject({ gap: 0 })
  })

  it("a declared body above the limit is refused before it is sent", async () => {
    const text = await raw(`POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${LIMIT + 1}\r\n\r\n`, (seen) => seen.includes("payload_too_large"))
    expect(statusOf(text)).toBe(413)
  })

  it("a reader that takes nothing is cut after GATEWAY_SLOW_READER_TIMEOUT_MS, its upstream too, with a row", async () => {
    await world.sim.rule({ match: { model: "unread" }, script: { tokens: 8_000, tokenSize: 4_096, burst: 16 } })
    const body = JSON.stringify({ ...world.call({ model: "unread" }).body as object, stream: true })
    const socket = Net.connect({ port: Number(new URL(world.gateway.url).port), host: "127.0.0.1" })
    socket.on("error", () => undefined)
    socket.pause()
    socket.write(`POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`)
    const [entry] = await world.sim.ended({ model: "unread" })
    expect(entry?.outcome).toBe("client-aborted")
    await world.gateway.operator.settled()
    const rows = (await world.gateway.operator.callLogs()).filter((row) => row.model === "unread")
    expect(rows).toMatchObject([{ outcome: "client-abort", status: 499, error: "slow_reader_timeout" }])
    socket.destroy()
  }, 180_000)

  it("connections that come and go by the hundred leave nothing behind", async () => {
    const run = await beside(async () => {
      await Promise.all(Array.from({ length: 300 }, (_, index) => new Promise<void>((resolve) => {
        const socket = Net.connect({ port: Number(new URL(world.gateway.url).port), host: "127.0.0.1" })
        socket.on("error", () => undefined)
        socket.once("close", () => resolve())
        socket.once("connect", () => {
          if (index % 3 === 0) socket.write("POST /v1/chat/comp")
          if (index % 3 === 1) socket.resetAndDestroy()
          else socket.destroy()
        })
      })))
    })
    calm("short connections", run)
    await world.gateway.operator.settled()
    expect(await world.gateway.operator.reconciliation()).toMatchObject({ gap: 0, live: 0 })
  })
})
