/** The response cache over HTTP: which client is given which answer, and what is never kept. */
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { contentOf, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  for (const model of ["priced", "whole"]) await lab.gateway.operator.price(lab.node, model, { input: 1, output: 10 })
})
afterAll(() => lab.close())

const sure = { temperature: 0 }
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const cacheOf = (reply: { readonly headers: Readonly<Record<string, string>> }) => reply.headers["x-gateway-cache"]
const callsOf = async (model: string): Promise<number> => (await lab.sim.entries({ model })).length
/** Waits until the simulator has the call. */
const asked = (model: string) => eventually(() => lab.sim.entries({ model, outcome: "open" }), ({ length }) => length === 1, `the call of ${model}`)
/** A database that has just started is slow, and a look-up does not wait for it. */
const awake = async (): Promise<void> => {
  for (let i = 0; i < 3; i++) await lab.gateway.operator.call("GET", "/api/cache/entries")
}
/** Everything that was sent before has been read by the gateway. */
const arrived = async (): Promise<void> => {
  for (let i = 0; i < 2; i++) await Http.send(lab.gateway.url, { path: "/api/health/ping" })
}

describe("a hit", () => {
  it("is the stored bytes without an upstream call, says so, and costs nothing", async () => {
    const first = await lab.chat({ model: "priced", ...sure })
    expect([first.status, cacheOf(first), first.headers["x-gateway-cache-hit"]]).toEqual([200, "MISS", "false"])
    const hit = await lab.chat({ model: "priced", ...sure })
    expect(hit.bytes.equals(first.bytes)).toBe(true)
    expect(await callsOf("priced")).toBe(1)
    expect(hit.headers).toMatchObject({
      "x-gateway-cache": "HIT", "x-gateway-cache-hit": "true", "x-gateway-cache-latency": "synthetic", "x-gateway-response-cost": "0.0000000000",
      "x-gateway-cost-saved": first.headers["x-gateway-response-cost"], "x-gateway-model": "lab/priced", "x-gateway-provider": "lab",
      "x-gateway-tokens-in": first.headers["x-gateway-tokens-in"], "x-gateway-tokens-out": first.headers["x-gateway-tokens-out"], "content-type": "application/json"
    })
    expect(Number(hit.headers["x-gateway-cost-saved"])).toBeGreaterThan(0)
    expect(hit.headers["x-gateway-decision"]).toMatch(/^strategy=single; provider=lab; latency_ms=\d+$/)
    expect(hit.headers["x-gateway-request-id"]).not.toBe(first.headers["x-gateway-request-id"])
    expect(first.headers).not.toHaveProperty("x-gateway-cost-saved")
    expect(first.headers).not.toHaveProperty("x-gateway-cache-latency")
    expect(await lab.rows(hit)).toEqual([])
  })

  it("counts in the metrics and in the cache's figures", async () => {
    const metric = async () => Number(/^gateway_cache_hits_total (\d+)$/m.exec((await Http.send(lab.gateway.url, { path: "/metrics" })).text)?.[1])
    const before = await metric()
    await lab.chat({ model: "counted", ...sure })
    await lab.chat({ model: "counted", ...sure })
    expect(await metric()).toBe(before + 1)
  })

  it("comes whatever the order of members, user, and blanks", async () => {
    const first = await lab.chat({ model: "order", seed: 1, ...sure })
    const body = `{ "temperature": 0.0,  "user": "u-1", "seed":1, "messages": [{"content":"Say something to the point.","role":"user"}], "model": "lab/order" }`
    const hit = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body })
    expect([cacheOf(hit), hit.text]).toEqual(["HIT", first.text])
  })

  it("never comes for another question, without temperature 0, or for another tenant", async () => {
    const { operator } = lab.gateway
    const [a, b] = [await operator.createKey("cache-a"), await operator.createKey("cache-b")]
    await lab.chat({ model: "shape", ...sure }, bearer(a.key))
    const variants = [
      { temperature: 0.1 }, {}, { ...sure, max_tokens: 5 }, { ...sure, messages: [{ role: "user", content: "Something else." }] }, { ...sure, top_p: 0.5 },
      { ...sure, seed: 2 }, { ...sure, stop: ["x"] }, { ...sure, response_format: { type: "text" } }
    ]
    for (const variant of variants) expect(cacheOf(await lab.chat({ model: "shape", ...variant }, bearer(a.key))), JSON.stringify(variant)).toBe("MISS")
    expect(cacheOf(await lab.chat({ model: "shape", ...sure }, bearer(b.key)))).toBe("MISS")
    expect(cacheOf(await lab.chat({ model: "shape", ...sure }))).toBe("MISS")
    expect(cacheOf(await lab.chat({ model: "shape", ...sure }, bearer(a.key)))).toBe("HIT")
    expect(await callsOf("shape")).toBe(variants.length + 3)
  })

  it("stays with a key that gets another name, and not with one that gets another policy", async () => {
    const { operator } = lab.gateway
    const { id, key } = await operator.createKey("cache-before")
    await lab.chat({ model: "renamed", ...sure }, bearer(key))
    await operator.changeKey(id, { name: "cache-after" })
    expect(cacheOf(await lab.chat({ model: "renamed", ...sure }, bearer(key)))).toBe("HIT")
    await operator.changeKey(id, { blockedModels: ["lab/another"] })
    expect(cacheOf(await lab.chat({ model: "renamed", ...sure }, bearer(key)))).toBe("MISS")
  })

  it("is not given to a key that may not ask for the model any more", async () => {
    const key = await lab.gateway.operator.createKey("cache-revoked")
    await lab.chat({ model: "fenced", ...sure }, bearer(key.key))
    await lab.gateway.operator.changeKey(key.id, { blockedModels: ["lab/fenced"] })
    expect((await lab.chat({ model: "fenced", ...sure }, bearer(key.key))).status).toBe(403)
  })

  it("survives a breakdown of its provider and an edit of a combo makes the combo's answers old", async () => {
    const { operator } = lab.gateway
    const { id } = await operator.call<{ id: string }>("POST", "/api/combos", { name: "cached-combo", models: ["lab/in-combo"] })
    await lab.chat({ model: "combo/cached-combo", ...sure })
    await lab.sim.rule({ match: { model: "in-combo" }, script: { status: 500 } })
    expect(cacheOf(await lab.chat({ model: "combo/cached-combo", ...sure }))).toBe("HIT")
    await operator.call("PUT", `/api/combos/${id}`, { name: "cached-combo", models: ["lab/in-combo", "lab/in-combo-2"] })
    expect(cacheOf(await lab.chat({ model: "combo/cached-combo", ...sure }))).toBe("MISS")
  })

  it("is found in the durable tier after a restart", async () => {
    const first = await lab.chat({ model: "durable", ...sure })
    await lab.gateway.restart()
    await awake()
    const hit = await lab.chat({ model: "durable", ...sure })
    expect([cacheOf(hit), hit.text, await callsOf("durable")]).toEqual(["HIT", first.text, 1])
  })
})

describe("streams", () => {
  it("a streamed answer is kept as the whole answer that it is, and given whole or as a stream", async () => {
    await lab.sim.rule({ match: { model: "spoken" }, script: { text: "several words, häß 😀 \"quoted\"\nand lines", split: { every: 7 } } })
    const first = await lab.chat({ model: "spoken", stream: true, ...sure })
    const text = contentOf(first.text)
    const whole = await lab.chat({ model: "spoken", ...sure })
    const answer = JSON.parse(whole.text) as OpenAI.ChatCompletion
    expect([cacheOf(whole), answer.object, answer.choices[0]?.message.content, answer.choices[0]?.finish_reason]).toEqual(["HIT", "chat.completion", text, "stop"])
    expect(answer.usage?.completion_tokens).toBe(Number(whole.headers["x-gateway-tokens-out"]))
    expect(Number(whole.headers["x-gateway-tokens-out"])).toBeGreaterThan(0)
    const again = await lab.chat({ model: "spoken", stream: true, ...sure })
    expect([cacheOf(again), again.headers["x-gateway-cache-latency"], again.headers["content-type"]]).toEqual(["HIT", "synthetic", "text/event-stream"])
    expect([contentOf(again.text), again.text.trimEnd().endsWith("data: [DONE]"), again.text.includes("\"usage\":{")]).toEqual([text, true, false])
    const counted = await lab.chat({ model: "spoken", stream: true, stream_options: { include_usage: true }, ...sure })
    expect([cacheOf(counted), counted.text.includes(`"completion_tokens":${answer.usage?.completion_tokens}`)]).toEqual(["HIT", true])
    expect(await callsOf("spoken")).toBe(1)
  })

  it("the vendor's client reads hits of both kinds", async () => {
    const openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: (await lab.gateway.operator.createKey("cache-sdk")).key, maxRetries: 0 })
    const ask = { model: "lab/sdk-cache", temperature: 0, messages: [{ role: "user", content: "one two three" }] } as const
    const spoken = async (): Promise<string> => {
      let text = ""
      for await (const chunk of await openai.chat.completions.create({ ...ask, messages: [...ask.messages], stream: true })) text += chunk.choices[0]?.delta.content ?? ""
      return text
    }
    const { data, response } = await openai.chat.completions.create({ ...ask, messages: [...ask.messages] }).withResponse()
    expect([data.choices[0]?.message.content, response.headers.get("x-gateway-cache")]).toEqual(["one two three", "MISS"])
    const hit = await openai.chat.completions.create({ ...ask, messages: [...ask.messages] }).withResponse()
    expect([hit.data, hit.response.headers.get("x-gateway-cache")]).toEqual([data, "HIT"])
    expect(await spoken()).toBe("one two three")
    expect(await callsOf("sdk-cache")).toBe(1)
  })

  const user = { role: "user", content: "four words of text" }
  const faces = [
    { name: "messages", path: () => "/v1/messages", body: { max_tokens: 50, temperature: 0, messages: [user] } },
    { name: "responses", path: () => "/v1/responses", body: { temperature: 0, input: "four words of text" } },
    {
      name: "generateContent", path: (model: string, stream: boolean) => `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
      body: { generationConfig: { temperature: 0 }, contents: [{ role: "user", parts: [{ text: "four words of text" }] }] }
    },
    { name: "local model server", path: () => "/v1/api/chat", body: { options: { temperature: 0 }, messages: [user] } }
  ]
  it.each(faces)("$name: asked as a stream, kept whole; asked whole, given as a stream", async ({ body, name, path }) => {
    const ask = (model: string, stream: boolean) =>
      Http.send(lab.gateway.url, { path: path(model, stream), body: name === "generateContent" ? body : { ...body, model, stream } })
    for (const firstStreams of [true, false]) {
      const model = `lab/face-${name.replaceAll(" ", "-")}-${firstStreams}`
      const first = await ask(model, firstStreams)
      expect([first.status, first.text.includes("word")]).toEqual([200, true])
      const [streamed, whole] = [await ask(model, true), await ask(model, false)]
      expect([cacheOf(streamed), cacheOf(whole), whole.status]).toEqual(["HIT", "HIT", 200])
      expect(whole.text).toContain("four words of text")
      expect(streamed.headers["content-type"]).toMatch(/event-stream|ndjson/)
      if (name === "messages") expect(streamed.text).toContain("event: message_stop")
      if (name === "responses") expect(streamed.text).toContain("event: response.completed")
      if (name === "local model server") expect(streamed.text).toContain("\"done\":true")
      expect(await callsOf(model.slice(4))).toBe(1)
    }
  })
})

describe("bypass", () => {
  it.each([{ "x-gateway-no-cache": "true" }, { "cache-control": "max-age=0, no-cache" }])("%j skips the look-up; the answer is kept all the same", async (headers) => {
    const model = `bypass-${Object.keys(headers)[0]}`
    const replies = [await lab.chat({ model, ...sure }, headers), await lab.chat({ model, ...sure }, headers), await lab.chat({ model, ...sure })]
    expect(replies.map(cacheOf)).toEqual(["MISS", "MISS", "HIT"])
    expect(replies[2]?.text).toBe(replies[1]?.text)
    expect(await callsOf(model)).toBe(2)
  })

  it("cacheDefaultMode bypass of a key does the same; Cache-Control: no-store keeps nothing", async () => {
    const key = await lab.gateway.operator.createKey("cache-bypass", { cacheDefaultMode: "bypass" })
    const replies = [await lab.chat({ model: "mode", ...sure }, bearer(key.key)), await lab.chat({ model: "mode", ...sure }, bearer(key.key))]
    expect(replies.map(cacheOf)).toEqual(["MISS", "MISS"])
    await lab.chat({ model: "no-store", ...sure }, { "cache-control": "no-store" })
    expect(cacheOf(await lab.chat({ model: "no-store", ...sure }))).toBe("MISS")
  })
})

describe("never kept", () => {
  const cases: ReadonlyArray<readonly [name: string, status: number, script: Record<string, unknown>, more: Record<string, unknown>]> = [
    ["an error", 500, { status: 500 }, {}],
    ["a filtered answer", 200, { finishReason: "content_filter" }, {}],
    ["a filtered stream", 200, { finishReason: "content_filter" }, { stream: true }],
    ["a tool call", 200, { answer: "tools", toolCalls: [{ name: "f", arguments: {} }] }, { tools: [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }] }],
    ["an empty answer", 200, { text: "" }, {}],
    ["a large answer", 200, { text: "many words ".repeat(25_000) }, {}],
    ["a large stream", 200, { text: `${"w".repeat(2_000)} `.repeat(140) }, { stream: true }],
    ["a stream that broke off", 200, { text: "a b c d e f g h", resetAfter: { frames: 4 } }, { stream: true }],
    ["a stream with an error in it", 200, { text: "a b c d e f g h", malformed: [{ kind: "error", at: 4 }] }, { stream: true }]
  ]
  it.each(cases)("%s", async (name, status, script, more) => {
    const model = name.replaceAll(" ", "-")
    await lab.sim.rule({ match: { model }, script })
    expect((await lab.chat({ model, ...more, ...sure })).status).toBe(status)
    const before = await callsOf(model)
    const second = await lab.chat({ model, ...more, ...sure })
    expect([second.status, cacheOf(second)]).not.toEqual([status, "HIT"])
    expect(await callsOf(model)).toBeGreaterThan(before)
  })

  it("an answer that ran into its limit is complete, and kept", async () => {
    await lab.sim.rule({ match: { model: "length" }, script: { finishReason: "length" } })
    await lab.chat({ model: "length", ...sure })
    expect(cacheOf(await lab.chat({ model: "length", ...sure }))).toBe("HIT")
  })

  it("an answer of a noLog key, and one whose client left", async () => {
    const quiet = await lab.gateway.operator.createKey("cache-quiet", { noLog: true })
    await lab.chat({ model: "quiet", ...sure }, bearer(quiet.key))
    expect(cacheOf(await lab.chat({ model: "quiet", ...sure }, bearer(quiet.key)))).toBe("MISS")
    await lab.sim.rule({ match: { model: "left" }, times: 1, script: { text: "a b c d e f g h", paceMs: 200 } })
    const open = await lab.stream({ model: "left", ...sure })
    await open.until((text) => text.includes("data:"))
    open.leave()
    await lab.sim.ended({ model: "left" })
    expect(cacheOf(await lab.chat({ model: "left", ...sure }))).toBe("MISS")
  })
})

describe("equal misses at the same time", () => {
  it("fifty make one upstream call and get one answer", async () => {
    await lab.sim.rule({ match: { model: "herd" }, script: { text: "one for all", latencyMs: 300 } })
    const replies = await Promise.all(Array.from({ length: 50 }, () => lab.chat({ model: "herd", ...sure })))
    expect(await callsOf("herd")).toBe(1)
    const texts = replies.map((reply) => (JSON.parse(reply.text) as OpenAI.ChatCompletion).choices[0]?.message.content)
    expect(new Set(texts)).toEqual(new Set(["one for all"]))
    expect(replies.filter((reply) => cacheOf(reply) === "HIT").length).toBe(49)
  })

  it("streams share an answer that is nearly there", async () => {
    await lab.sim.rule({ match: { model: "flock" }, script: { text: "one for all" } })
    const replies = await Promise.all(Array.from({ length: 10 }, () => lab.chat({ model: "flock", stream: true, ...sure })))
    expect(await callsOf("flock")).toBe(1)
    expect(new Set(replies.map(({ text }) => contentOf(text)))).toEqual(new Set(["one for all"]))
  })

  it("a stream does not wait for the end of a long one: it goes alone", async () => {
    await lab.sim.rule({ match: { model: "long" }, script: { tokens: 1_000, paceMs: 100 } })
    const spoken = (text: string) => text.includes("content")
    const first = await lab.stream({ model: "long", ...sure })
    await first.until(spoken)
    const second = await lab.stream({ model: "long", ...sure })
    expect(await second.until(spoken)).toContain("content")
    expect((await lab.sim.entries({ model: "long", outcome: "open" })).length).toBe(2)
    second.leave()
    first.leave()
  })

  it("when the first fails only its caller hears so, and the next one calls", async () => {
    await lab.sim.rule({ match: { model: "unlucky" }, times: 1, script: { status: 500, latencyMs: 300 } })
    await lab.sim.rule({ match: { model: "unlucky" }, script: { text: "fine", latencyMs: 50 } })
    const first = lab.chat({ model: "unlucky", ...sure })
    await asked("unlucky")
    const others = await Promise.all(Array.from({ length: 5 }, () => lab.chat({ model: "unlucky", ...sure })))
    expect((await first).status).toBe(500)
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect(await callsOf("unlucky")).toBe(2)
  })

  it("when the first brings what is not kept, nobody waits for nobody", async () => {
    await lab.sim.rule({ match: { model: "tooling" }, script: { toolCalls: [{ name: "f", arguments: {} }], latencyMs: 200 } })
    const tools = [{ type: "function", function: { name: "f", parameters: { type: "object", properties: {} } } }]
    const replies = await Promise.all(Array.from({ length: 4 }, () => lab.chat({ model: "tooling", tools, ...sure })))
    expect(replies.map((reply) => [reply.status, cacheOf(reply)])).toEqual(Array.from({ length: 4 }, () => [200, "MISS"]))
    expect(await callsOf("tooling")).toBe(4)
  })

  it("the first one's client may leave: the call goes on for those who wait, and ends when the last has left", async () => {
    await lab.sim.rule({ match: { model: "deserted" }, script: { text: "a b c d", latencyMs: 600 } })
    const first = Http.open(lab.gateway.url, lab.call({ model: "deserted", ...sure }))
    await asked("deserted")
    const second = lab.chat({ model: "deserted", ...sure })
    await arrived()
    first.request.destroy()
    expect([cacheOf(await second), await callsOf("deserted")]).toEqual(["HIT", 1])

    await lab.sim.rule({ match: { model: "forsaken" }, script: { neverHead: true } })
    const calls = [Http.open(lab.gateway.url, lab.call({ model: "forsaken", ...sure }))]
    await asked("forsaken")
    calls.push(Http.open(lab.gateway.url, lab.call({ model: "forsaken", ...sure })))
    await arrived()
    for (const { request } of calls) request.destroy()
    const [entry] = await lab.sim.ended({ model: "forsaken" })
    expect([entry?.abortedAt === null, await callsOf("forsaken")]).toEqual([false, 1])
  })
})

describe("disconnectPolicy drain-to-cache", () => {
  it("a call whose client left is finished for the cache", async () => {
    const key = await lab.gateway.operator.createKey("cache-drain", { disconnectPolicy: "drain-to-cache" })
    await lab.sim.rule({ match: { model: "drained" }, times: 1, script: { text: "a b c d e f g h", paceMs: 30 } })
    const open = await lab.stream({ model: "drained", ...sure }, bearer(key.key))
    await open.until((text) => text.includes("data:"))
    open.leave()
    const [entry] = await lab.sim.ended({ model: "drained" })
    expect(entry?.abortedAt).toBeNull()
    const hit = await lab.chat({ model: "drained", ...sure }, bearer(key.key))
    expect([cacheOf(hit), (JSON.parse(hit.text) as OpenAI.ChatCompletion).choices[0]?.message.content]).toEqual(["HIT", "a b c d e f g h"])
  })
})

describe("the management API", () => {
  const get = <A>(path: string) => lab.gateway.operator.call<A>("GET", path)
  interface Page {
    readonly entries: ReadonlyArray<{ signature: string; model: string; hit_count: number; tokens_saved: number; created_at: string; expires_at: string }>
    readonly pagination: Record<string, number>
  }

  it("shows, searches and removes what is stored; a removed answer is asked for again", async () => {
    const { operator } = lab.gateway
    expect(await operator.call("DELETE", "/api/cache")).toMatchObject({ ok: true, scope: "all" })
    for (const model of ["kept-1", "kept-2", "kept-3"]) await lab.chat({ model, ...sure })
    await lab.chat({ model: "kept-1", ...sure })
    const page = await get<Page>("/api/cache/entries?limit=2&sortBy=hit_count")
    expect(page.pagination).toEqual({ page: 1, limit: 2, total: 3, totalPages: 2 })
    expect([page.entries[0]?.model, page.entries[0]?.hit_count]).toEqual(["lab/kept-1", 1])
    expect(page.entries[0]?.tokens_saved).toBeGreaterThan(0)
    expect(page.entries[0]?.signature).toMatch(/^anonymous\.[0-9a-f]{64}$/)
    expect((await get<Page>("/api/cache/entries?search=KEPT-2")).entries.map(({ model }) => model)).toEqual(["lab/kept-2"])
    expect(await operator.call("DELETE", "/api/cache?model=lab/kept-1")).toEqual({ ok: true, invalidated: 1, scope: "model" })
    expect(cacheOf(await lab.chat({ model: "kept-1", ...sure }))).toBe("MISS")
    const { entries: [entry] } = await get<Page>("/api/cache/entries?model=lab/kept-2")
    expect(await operator.call("DELETE", `/api/cache/entries?signature=${entry?.signature}`)).toEqual({ ok: true, deleted: 1 })
    expect(cacheOf(await lab.chat({ model: "kept-2", ...sure }))).toBe("MISS")
    expect(await operator.call("DELETE", "/api/cache?staleMs=3600000")).toEqual({ ok: true, invalidated: 0, scope: "stale" })
    expect(await operator.call("DELETE", "/api/cache?staleMs=0")).toEqual({ ok: true, invalidated: 3, scope: "stale" })
    expect(cacheOf(await lab.chat({ model: "kept-3", ...sure }))).toBe("MISS")
    for (const path of ["/api/cache/entries", "/api/cache/entries?model=a&signature=b", "/api/cache?model=a&staleMs=1"]) {
      expect((await operator.raw("DELETE", path)).status, path).toBe(400)
    }
  })

  it("GET /api/cache and /api/cache/stats have the documented shapes; DELETE stats clears", async () => {
    const { operator } = lab.gateway
    await operator.call("DELETE", "/api/cache/stats")
    await lab.chat({ model: "stat", ...sure })
    await lab.chat({ model: "stat", ...sure }, { "idempotency-key": "stat-key" })
    await operator.settled()
    const overview = await get<Record<string, Record<string, unknown>>>("/api/cache?trendHours=2")
    expect(Object.keys(overview).sort()).toEqual(["config", "idempotency", "promptCache", "semanticCache", "trend"])
    expect(overview["semanticCache"]).toMatchObject({ memoryEntries: 1, dbEntries: 1, hitRate: expect.stringMatching(/^\d+(\.\d)?%$/) as string })
    expect(overview["idempotency"]).toEqual({ activeKeys: 1, windowMs: 5000 })
    expect(overview["config"]).toEqual({ semanticCacheEnabled: true })
    expect(overview["promptCache"]).toMatchObject({ byStrategy: {}, totalRequests: expect.any(Number) as number })
    expect(overview["trend"]).toEqual(expect.arrayContaining([expect.objectContaining({ hour: expect.stringMatching(/:00:00\.000Z$/) as string })]))
    expect(await get("/api/cache/stats")).toMatchObject({ semanticCache: { memorySize: 1, memoryMaxSize: 100, dbSize: 1 }, idempotency: { activeKeys: 1, windowMs: 5000 } })
    expect(await operator.call("DELETE", "/api/cache/stats")).toMatchObject({ success: true, message: expect.any(String) as string })
    expect(await get("/api/cache/stats")).toMatchObject({ semanticCache: { memorySize: 0, dbSize: 0 } })
  })

  it("cache-config: defaults, changes that act at once, and refusals", async () => {
    const { operator } = lab.gateway
    const path = "/api/settings/cache-config"
    expect(await get(path)).toEqual({
      semanticCacheEnabled: true, semanticCacheMaxSize: 100, semanticCacheTTL: 1_800_000, promptCacheEnabled: true, promptCacheStrategy: "auto",
      alwaysPreserveClientCache: "auto", idempotencyWindowMs: 5000
    })
    await lab.chat({ model: "switch", ...sure })
    expect(await operator.call("PUT", path, { semanticCacheEnabled: false })).toMatchObject({ semanticCacheEnabled: false, semanticCacheMaxSize: 100 })
    expect(cacheOf(await lab.chat({ model: "switch", ...sure }))).toBe("MISS")
    await operator.call("PUT", path, { semanticCacheEnabled: true })
    expect(cacheOf(await lab.chat({ model: "switch", ...sure }))).toBe("HIT")
    await operator.call("PUT", path, { semanticCacheTTL: 1000 })
    await lab.chat({ model: "short-lived", ...sure })
    await eventually(() => lab.chat({ model: "short-lived", ...sure }), (reply) => cacheOf(reply) === "MISS", "the end of the answer's time")
    await operator.call("PUT", path, { semanticCacheTTL: 1_800_000 })
    for (const wrong of [{}, { semanticCacheTTL: -1 }, { promptCacheStrategy: "sometimes" }, { unknown: 1 }]) {
      expect((await operator.raw("PUT", path, wrong)).status, JSON.stringify(wrong)).toBe(400)
    }
  })

  it("cache-metrics count what the vendors' prompt caches did, from a reset on", async () => {
    const { operator } = lab.gateway
    await operator.call("DELETE", "/api/settings/cache-metrics")
    await lab.sim.rule({ match: { model: "vendor-cache" }, script: { usage: { promptTokens: 100, cachedTokens: 60 } } })
    await lab.chat({ model: "vendor-cache" })
    await operator.settled()
    expect(await get("/api/settings/cache-metrics")).toMatchObject({
      totalRequests: 1, requestsWithCacheControl: 1, totalInputTokens: 100, totalCachedTokens: 60, tokensSaved: 60, since: expect.any(String) as string
    })
  })
})

it("an answer of binary-looking text comes back byte by byte from the durable tier", async () => {
  const text = Buffer.from("nul \u0000 tab \t emoji 👩‍👩‍👧 lone".concat("\\ud800"), "utf8").toString("utf8")
  await lab.sim.rule({ match: { model: "bytes" }, script: { text } })
  const first = await lab.chat({ model: "bytes", ...sure })
  await lab.gateway.restart()
  await awake()
  const hit = await lab.chat({ model: "bytes", ...sure })
  expect([cacheOf(hit), hit.bytes.equals(first.bytes)]).toEqual(["HIT", true])
})
