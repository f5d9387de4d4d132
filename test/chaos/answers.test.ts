/** Large answers of upstreams, of the worst shapes: they do not hold the gateway's loop, and are what a client should get. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { longestMs, startPinger, turnClock } from "#test/support/loop.ts"

const MB = 1_000_000
const SIZE = 10 * MB

const filled = (head: string, item: string, tail: string, size = SIZE): Buffer => {
  const count = Math.floor((size - head.length - tail.length) / (Buffer.byteLength(item) + 1))
  return Buffer.from(`${head}${Array.from({ length: count }, () => item).join(",")}${tail}`)
}

const usage = "\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":5,\"total_tokens\":12}"
const chatHead = `{"id":"c","object":"chat.completion","created":1,"model":"m",${usage},`
const choice = (content: string, more = "") => `{"index":0,"message":{"role":"assistant","content":"${content}"${more}},"finish_reason":"stop"}`
const unknown = `${chatHead}"choices":[${choice("yes")}],"x":[`
const call = "{\"id\":\"c\",\"type\":\"function\",\"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}"
/** JSON text of a text that needs escapes in every format. */
const prose = "é\\n\\u00e9 text,"
const vector = (i: number) => `{"object":"embedding","index":${i},"embedding":[${Array.from({ length: 420 }, (_, j) => (Math.sin(i + j) / 3).toFixed(8)).join(",")}]}`
const vectors = 2_000

const chats: Readonly<Record<string, () => Buffer>> = {
  small: () => Buffer.from(`${chatHead}"choices":[${choice("yes")}]}`),
  objects: () => filled(unknown, `{"a":"${"b".repeat(42)}"}`, "]}"),
  numbers: () => filled(unknown, "12345", "]}"),
  text: () => Buffer.from(`${chatHead}"choices":[${choice(prose.repeat(SIZE / prose.length))}]}`),
  uncounted: () => Buffer.from(`{"id":"c","object":"chat.completion","created":1,"model":"m","choices":[${choice(prose.repeat(SIZE / prose.length))}]}`),
  choices: () => filled(`${chatHead}"choices":[`, choice("yes"), "]}"),
  calls: () => filled(`${chatHead}"choices":[{"index":0,"message":{"role":"assistant","content":"yes","tool_calls":[`, call, "]},\"finish_reason\":\"tool_calls\"}]}"),
  refused: () => filled("{\"error\":{\"message\":\"no such luck\",\"type\":\"server_error\",\"details\":[", "{\"a\":\"b\"}", "]}}"),
  broken: () => filled(unknown, "12345", "]")
}
const messagesHead = "{\"id\":\"m\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"stop_reason\":\"end_turn\",\"stop_sequence\":null,\"usage\":{\"input_tokens\":7,\"output_tokens\":5},"
const blocks: Readonly<Record<string, () => Buffer>> = {
  small: () => Buffer.from(`${messagesHead}"content":[{"type":"text","text":"yes"}]}`),
  objects: () => filled(`${messagesHead}"content":[{"type":"text","text":"yes"}],"x":[`, `{"a":"${"b".repeat(42)}"}`, "]}"),
  text: () => Buffer.from(`${messagesHead}"content":[{"type":"text","text":"${prose.repeat(SIZE / prose.length)}"}]}`),
  blocks: () => filled(`${messagesHead}"content":[`, "{\"type\":\"text\",\"text\":\"yes\"}", "]}")
}
const embeddings: Readonly<Record<string, () => Buffer>> = {
  vectors: () => Buffer.from(`{"object":"list","data":[${Array.from({ length: vectors }, (_, i) => vector(i)).join(",")}],"model":"m","usage":{"prompt_tokens":7,"total_tokens":7}}`)
}
const counts: Readonly<Record<string, () => Buffer>> = { empty: () => filled("{\"input_tokens\":12345,\"x\":[", "{}", "]}") }
const tables: Readonly<Record<string, Readonly<Record<string, () => Buffer>>>> = { "/v1/chat/completions": chats, "/v1/messages": blocks, "/v1/embeddings": embeddings, "/v1/messages/count_tokens": counts }

/** An upstream whose models are the shapes of their answers; `<shape>-500` answers it with that status. */
const startUpstream = async () => {
  const made = new Map<string, Buffer>()
  const answerOf = (path: string, model: string): Buffer => {
    const [shape = ""] = model.split("-")
    const known = made.get(`${path} ${shape}`)
    if (known !== undefined) return known
    const bytes = tables[path]?.[shape]?.() ?? Buffer.from("{}")
    made.set(`${path} ${shape}`, bytes)
    return bytes
  }
  const server = NodeHttp.createServer((request, response) => {
    const chunks: Array<Buffer> = []
    request.on("data", (chunk: Buffer) => chunks.push(chunk))
    request.on("end", () => {
      const { model } = JSON.parse(Buffer.concat(chunks).toString("utf8")) as { model: string }
      const bytes = answerOf(request.url ?? "", model)
      const isChunked = model.endsWith("-chunked")
      response.writeHead(Number(model.split("-")[1]) || 200, { "content-type": "application/json", ...(isChunked ? {} : { "content-length": String(bytes.length) }) })
      response.end(bytes)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    answerOf,
    stop: () => new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  }
}

/** The same answers again: a neighbour on the host makes a turn longer now and then, the gateway's own work makes it long each time. */
const rounds = 3
/** Slowest answer to another process, ms of wall time: 50 ms on a quiet machine (GATEWAY_TEST_FULL=1). Busy processes beside it make it long; turns do not count them. */
const slowestMs = process.env["GATEWAY_TEST_FULL"] === "1" ? 50 : 1_500

const said = JSON.parse(`"${prose}"`) as string
const user = [{ role: "user", content: "hello" }]

/** Reads a place in a JSON text, which is parsed once. */
const placeIn = (text: string): Seen["at"] => {
  let whole: unknown
  return (...place) => place.reduce<unknown>((value, key) => (value as Readonly<Record<string | number, unknown>> | undefined)?.[key], whole ??= JSON.parse(text))
}

interface Seen {
  readonly sent: Buffer
  readonly reply: Http.Reply
  /** What stands at a place in the reply. */
  readonly at: (...place: ReadonlyArray<string | number>) => unknown
}

interface Way {
  readonly name: string
  /** What is asked in a round; a function where an answer is kept for the same question. */
  readonly call: Http.Call | ((round: number) => Http.Call)
  /** The upstream's path and model whose bytes are compared. */
  readonly from: readonly [path: string, model: string]
  readonly status?: number
  /** Answers of 10 MB that a call waits for at once; 1 when absent. */
  readonly answers?: number
  readonly right: (seen: Seen) => void
  /** Of the final row; null = not looked at. */
  readonly tokens?: readonly [input: number, output: number] | null
}

const chat = (model: string, more: object = {}, headers: Record<string, string> = {}): Http.Call => ({ path: "/v1/chat/completions", body: { model, messages: user, ...more }, headers })
const length = Math.floor(SIZE / prose.length) * said.length
const isWhole = (text: unknown): void => expect([typeof text, (text as string).length, (text as string).slice(0, said.length)]).toEqual(["string", length, said])
const same = ({ reply, sent }: Seen): void => expect(reply.bytes.equals(sent)).toBe(true)

const forwarded: ReadonlyArray<Way> = ["objects", "numbers", "text", "choices", "calls", "text-200-chunked", "uncounted"].map((shape) => ({
  name: `forwarded, ${shape}`, call: chat(`own/${shape}`), from: ["/v1/chat/completions", shape], right: same,
  ...(shape === "uncounted" ? { tokens: null } : {})
}))

const translated: ReadonlyArray<Way> = ["objects", "numbers", "text", "choices", "calls"].flatMap((shape): ReadonlyArray<Way> => {
  const from = ["/v1/chat/completions", shape] as const
  const textIs = (text: unknown): void => shape === "text" ? isWhole(text) : expect(text).toBe("yes")
  return [
    { name: `for messages, ${shape}`, call: { path: "/v1/messages", body: { model: `own/${shape}`, max_tokens: 9, messages: user } }, from, right: ({ at }) => textIs(at("content", 0, "text")) },
    { name: `for responses, ${shape}`, call: { path: "/v1/responses", body: { model: `own/${shape}`, input: "hello" } }, from, right: ({ at }) => textIs(at("output", 0, "content", 0, "text")) },
    {
      name: `for generateContent, ${shape}`, call: { path: `/v1beta/models/own/${shape}:generateContent`, body: { contents: [{ role: "user", parts: [{ text: "hello" }] }] } }, from,
      right: ({ at }) => textIs(at("candidates", 0, "content", "parts", 0, "text"))
    }
  ]
})

const fromMessages: ReadonlyArray<Way> = ["objects", "text", "blocks"].map((shape) => ({
  name: `from messages, ${shape}`, call: chat(`other/${shape}`), from: ["/v1/messages", shape],
  right: ({ at }) => shape === "text" ? isWhole(at("choices", 0, "message", "content")) : expect(String(at("choices", 0, "message", "content")).slice(0, 3)).toBe("yes")
}))

/** The text of a complete stream. */
const textIn = ({ text }: Http.Reply): string => {
  expect(text.endsWith("data: [DONE]\n\n")).toBe(true)
  return text.split("\n\n").filter((frame) => frame.startsWith("data: {"))
    .map((frame) => (JSON.parse(frame.slice(6)) as { choices: ReadonlyArray<{ delta?: { content?: string } }> }).choices[0]?.delta?.content ?? "").join("")
}

const replayed: ReadonlyArray<Way> = ["objects", "text"].map((shape) => ({
  name: `as a stream, ${shape}`, call: chat(`own/${shape}`, { stream: true }), from: ["/v1/chat/completions", shape],
  right: ({ reply }) => {
    if (shape === "text") isWhole(textIn(reply))
    else expect(textIn(reply)).toBe("yes")
  }
}))

const embedded: ReadonlyArray<Way> = [undefined, "float", "base64"].map((encoding) => ({
  name: `embeddings as ${encoding ?? "they come"}`, from: ["/v1/embeddings", "vectors"], tokens: [7, 0],
  call: { path: "/v1/embeddings", body: { model: "own/vectors", input: Array.from({ length: vectors }, (_, i) => `text ${i}`), ...(encoding === undefined ? {} : { encoding_format: encoding }) } },
  right: ({ at, sent }) => {
    expect([at("model"), at("data", vectors)]).toEqual(["own/vectors", undefined])
    const last = (JSON.parse(sent.toString("utf8")) as { data: ReadonlyArray<{ embedding: ReadonlyArray<number> }> }).data[vectors - 1]?.embedding ?? []
    const told = at("data", vectors - 1, "embedding")
    if (encoding === "base64") expect(Buffer.from(told as string, "base64").readFloatLE(0)).toBeCloseTo(last[0] ?? NaN, 6)
    else expect(told).toEqual(last)
  }
}))

const kept: ReadonlyArray<Way> = ["objects", "choices", "text"].flatMap((shape): ReadonlyArray<Way> => [
  { name: `for the cache, ${shape}`, call: (round) => chat(`own/${shape}`, { temperature: 0, seed: round }), from: ["/v1/chat/completions", shape], right: same, tokens: null },
  { name: `by name, ${shape}`, call: (round) => chat(`own/${shape}`, {}, { "idempotency-key": `${shape} ${round}` }), from: ["/v1/chat/completions", shape], right: same, tokens: null },
  { name: `for rules, ${shape}`, call: chat(`combo/ruled-${shape}`), from: ["/v1/chat/completions", shape], right: same }
])

const together: ReadonlyArray<Way> = [
  ...["fusion", "debate"].flatMap((strategy) => ["objects", "choices", "text"].map((shape): Way => ({
    name: `${strategy}, ${shape}`, call: chat(`combo/${strategy}-${shape}`), from: ["/v1/chat/completions", "small"], tokens: null, answers: 3,
    right: ({ at }) => expect(at("choices", 0, "message", "content")).toBe("yes")
  }))),
  {
    name: "fusion of which one answers, as a stream", call: chat("combo/fusion-alone", { stream: true }), from: ["/v1/chat/completions", "objects"], tokens: null, answers: 2,
    right: ({ reply }) => expect(textIn(reply)).toBe("yes")
  },
  {
    name: "pipeline, objects", call: chat("combo/pipeline-objects"), from: ["/v1/chat/completions", "small"], tokens: null,
    right: ({ at }) => expect(at("choices", 0, "message", "content")).toBe("yes")
  },
  {
    name: "pipeline, text", call: chat("combo/pipeline-text"), from: ["/v1/chat/completions", "small"], tokens: null, status: 502,
    right: ({ at }) => expect([at("error", "code"), at("error", "message")]).toEqual(["pipeline_step_failed", expect.stringContaining("characters")])
  }
]

const errors: ReadonlyArray<Way> = [
  { name: "an error of 10 MB", call: chat("own/refused-500"), from: ["/v1/chat/completions", "refused"], status: 500, tokens: [0, 0], right: ({ at }) => expect(at("error", "message")).toContain("500") },
  { name: "an error of 10 MB in a 200", call: chat("own/refused"), from: ["/v1/chat/completions", "refused"], status: 502, tokens: [0, 0], right: ({ at }) => expect(at("error", "message")).toBe("no such luck") },
  {
    name: "a count of 10 MB, which is estimated", call: { path: "/v1/messages/count_tokens", body: { model: "other/empty", messages: user } }, from: ["/v1/messages/count_tokens", "empty"], tokens: null,
    right: ({ at }) => expect(at("input_tokens")).toBeLessThan(100)
  },
  { name: "no JSON at its end", call: chat("own/broken"), from: ["/v1/chat/completions", "broken"], status: 502, tokens: [0, 0], right: ({ at }) => expect(at("error", "code")).toBe("upstream_invalid_response") }
]

describe("answers of 10 MB hold the loop for a moment only", () => {
  const clock = turnClock()
  let gateway: Spawned
  let upstream: Awaited<ReturnType<typeof startUpstream>>
  let pinger: ReturnType<typeof startPinger>
  beforeAll(async () => {
    upstream = await startUpstream()
    gateway = await spawned({ environment: clock.environment })
    const { operator } = gateway
    await operator.letFailuresPass()
    const own = await operator.createNode({ prefix: "own", baseUrl: upstream.url })
    await operator.createConnection({ provider: own, apiKey: "k" })
    const other = await operator.createNode({ prefix: "other", type: "anthropic-compatible", baseUrl: upstream.url })
    await operator.createConnection({ provider: other, apiKey: "k" })
    const combo = (name: string, strategy: string, models: ReadonlyArray<string>, config: object) =>
      operator.call("POST", "/api/combos", { name, strategy, models: models.map((model) => ({ kind: "model", model })), config })
    for (const shape of ["objects", "choices", "text"]) {
      for (const strategy of ["fusion", "debate"]) await combo(`${strategy}-${shape}`, strategy, [`own/${shape}`, `own/${shape}-200-chunked`, "other/objects"], { judgeModel: "own/small" })
      await combo(`pipeline-${shape}`, "pipeline", [`own/${shape}`, "own/small"], {})
      await combo(`ruled-${shape}`, "priority", [`own/${shape}`], { responseValidation: { forbiddenSubstrings: ["never said"], jsonPathPredicates: [{ path: "$.choices", condition: "nonEmpty" }] } })
    }
    await combo("fusion-alone", "fusion", ["own/objects", "own/broken"], {})
    // The threads, and what their jobs need, are there.
    expect((await Http.send(gateway.url, chat("own/small"))).status).toBe(200)
    expect((await Http.send(gateway.url, chat("own/objects"))).status).toBe(200)
    pinger = startPinger(`${gateway.url}/api/health/ping`)
  }, 180_000)
  afterAll(async () => {
    pinger.stop()
    await gateway.close()
    await upstream.stop()
  })

  const groups: ReadonlyArray<readonly [string, ReadonlyArray<Way>]> = [
    ["forwarded", forwarded], ["translated", translated], ["from another format", fromMessages], ["as a stream", replayed], ["embeddings", embedded], ["kept", kept],
    ["ensembles", together], ["errors", errors]
  ]

  it.each(groups)("%s", async (_group, ways) => {
    const tooLong: Array<string> = []
    for (const { answers = 1, call, from, name, right, status = 200, tokens = [7, 5] } of ways) {
      const sent = upstream.answerOf(...from)
      let [longest, slowest] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY]
      let reply: Http.Reply | undefined
      for (let round = 1; round <= rounds && !(longest < longestMs && slowest < slowestMs); round++) {
        await pinger.slowest()
        const replies: Array<Http.Reply> = []
        const all = () => Promise.all([1, 2, 3, 4].map(async () => replies.push(await Http.send(gateway.url, typeof call === "function" ? call(round) : call))))
        longest = Math.min(longest, await clock.longest(gateway, all, 4 * answers))
        slowest = Math.min(slowest, await pinger.slowest())
        expect([name, replies.map((one) => one.status)]).toEqual([name, replies.map(() => status)])
        reply = replies[0]
      }
      if (reply === undefined) throw new Error("nothing was asked")
      right({ sent, reply, at: placeIn(reply.text) })
      if (tokens !== null) {
        const [row] = await gateway.operator.attempts(reply.headers["x-gateway-request-id"] ?? "")
        expect([name, row?.tokensIn, row?.tokensOut]).toEqual([name, ...tokens])
      }
      console.log(`${name}: longest turn ${longest.toFixed(1)} ms, slowest answer to another process ${slowest.toFixed(0)} ms`)
      if (!(longest < longestMs && slowest < slowestMs)) tooLong.push(`${name}: ${longest.toFixed(1)} ms, ${slowest.toFixed(0)} ms`)
    }
    expect(tooLong).toEqual([])
  }, 300_000)

  it("an eval judges no answer that is too long to be read at once", async () => {
    const { operator } = gateway
    const cases = [{ id: "long", name: "long", input: { messages: user }, expected: { strategy: "contains", value: "text" } }]
    const { suite } = await operator.call<{ suite: { id: string } }>("POST", "/api/evals/suites", { name: "a suite", cases })
    const { runs } = await operator.call<{ runs: ReadonlyArray<{ results: ReadonlyArray<{ status: string; error: string | null }> }> }>(
      "POST", "/api/evals", { suiteId: suite.id, target: { type: "model", id: "own/text" } })
    expect(runs[0]?.results[0]).toMatchObject({ status: "error", error: expect.stringContaining("longer than") as unknown })
  })
})
