/** Entries of memories that a model of the gateway ranks or makes one of: in the key's name, and without harm where the model fails. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type InProcess, inProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually, type Key } from "#test/support/operator.ts"

interface Ranking {
  readonly query: string
  readonly documents: ReadonlyArray<string>
}
interface Message {
  readonly role: string
  readonly content: string
}
interface Summarized {
  readonly id: string | null
  readonly summarized: number
  readonly remaining: number
  readonly tokensBefore: number
  readonly tokensAfter: number
  readonly tokensSaved: number
}

/** An upstream that ranks what names a boat first, says what it is told to, and keeps what it was sent. */
const rankings: Array<Ranking> = []
const chats: Array<ReadonlyArray<Message>> = []
let ranks: "well" | "never" | "badly" = "well"
let says = "Yes."
let stops = "stop"
let meanwhile: () => Promise<unknown> = () => Promise.resolve()
const server = NodeHttp.createServer((request, response) => {
  const parts: Array<Buffer> = []
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () => void (async () => {
    const body = JSON.parse(Buffer.concat(parts).toString()) as Ranking & { readonly model: string; readonly messages: ReadonlyArray<Message> }
    response.setHeader("content-type", "application/json")
    if (request.url?.endsWith("/rerank") === true) {
      rankings.push(body)
      if (ranks === "never") return
      const results = body.documents.map((text, index) => ({ index, relevance_score: /boat/.test(text) ? 0.9 : 0.1 }))
      response.end(JSON.stringify({ results: ranks === "badly" ? results.slice(1) : results, meta: {} }))
      return
    }
    chats.push(body.messages)
    await meanwhile()
    response.end(JSON.stringify({
      id: "c", object: "chat.completion", created: 1, model: body.model, choices: [{ index: 0, message: { role: "assistant", content: says }, finish_reason: stops }],
      usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 }
    }))
  })())
})

let gateway: InProcess
let key: Key
const call = <A>(method: string, path: string, body?: unknown) => gateway.operator.call<A>(method, path, body)
const put = (change: Record<string, unknown>) => call<Record<string, unknown>>("PUT", "/api/settings/memory", change)
const rerank = async () => (await call<{ readonly rerank: Record<string, unknown> }>("GET", "/api/memory/engine-status")).rerank
const chat = async (question: string, as = key): Promise<string> => {
  const reply = await Http.send(gateway.url, { path: "/v1/chat/completions", headers: { authorization: `Bearer ${as.key}` }, body: { model: "chat/one", messages: [{ role: "user", content: question }] } })
  expect(reply.status, reply.text).toBe(200)
  return (chats.at(-1)?.find(({ role }) => role === "system")?.content ?? "").split("\n").at(-1) ?? ""
}
const rows = (path: string, apiKeyId: string, least: number) => eventually(
  async () => (await call<ReadonlyArray<Record<string, unknown>>>("GET", "/api/usage/call-logs?limit=200")).filter((row) => row["path"] === path && row["apiKeyId"] === apiKeyId),
  (seen) => seen.length >= least, `rows of ${path}`
)
const boat = "- [factual] weekend: A boat at the lake"
const tea = "- [factual] morning: Oolong in the day"

beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  gateway = await inProcess()
  key = await gateway.operator.createKey("own")
  for (const [prefix, apiType] of [["chat", "chat"], ["order", "rerank"]] as const) {
    await gateway.operator.createNode({ prefix, baseUrl, apiType })
    await gateway.operator.createConnection({ provider: prefix, apiKey: "sk-upstream" })
  }
  for (const [name, content] of [["weekend", "A boat at the lake"], ["morning", "Oolong in the day"]]) await call("POST", "/api/memory", { apiKeyId: key.id, key: name, content })
  // One of both fits.
  await put({ memoryEnabled: true, memoryMaxTokens: 38, memoryStrategy: "semantic" })
})
afterAll(async () => {
  await gateway.close()
  server.closeAllConnections()
  server.close()
})

describe("a rerank model", () => {
  it("is not asked while it is off, and must be one that can be called", async () => {
    expect(await chat("sailing day")).toBe(tea)
    expect(rankings).toEqual([])
    expect(await rerank()).toEqual({ enabled: false, model: null, paused: 0, last: null })
    expect((await gateway.operator.raw("PUT", "/api/settings/memory", { rerankEnabled: true })).status).toBe(400)
    await call("POST", "/api/provider-models", { provider: "order", modelId: "small", apiFormat: "rerank", modelType: "rerank" })
    expect(await put({ rerankEnabled: true })).toMatchObject({ rerankEnabled: true, rerankModel: "auto" })
    expect(await rerank()).toEqual({ enabled: true, model: "order/small", paused: 0, last: null })
  })

  it("ranks what was found, once for the turns of a conversation", async () => {
    expect(await chat("sailing day")).toBe(boat)
    expect(rankings).toEqual([expect.objectContaining({ query: "sailing day", documents: ["morning\nOolong in the day", "weekend\nA boat at the lake"] })])
    expect(await chat("sailing day")).toBe(boat)
    expect(rankings).toHaveLength(1)
    const { memories, text } = await call<{ readonly text: string; readonly memories: ReadonlyArray<{ readonly score: number }> }>("POST", "/api/memory/retrieve-preview", { apiKeyId: key.id, query: "a day out" })
    expect([text.split("\n").at(-1), memories.map(({ score }) => score)]).toEqual([boat, [0.9, 0.1]])
    expect(await rerank()).toMatchObject({ last: "ok" })
  })

  it("is called as the key itself: with a row of its own", async () => {
    expect(await rows("/v1/rerank", key.id, 2)).toHaveLength(2)
  })

  it("has no say where all fits, or where the newest are taken", async () => {
    const before = rankings.length
    await put({ memoryMaxTokens: 2_000 })
    await chat("another day")
    await put({ memoryMaxTokens: 38, memoryStrategy: "recent" })
    expect(await chat("another day")).toBe(tea)
    expect(rankings).toHaveLength(before)
    await put({ memoryStrategy: "semantic" })
  })

  it("that answers badly or late leaves the order of the strategy, and is left alone for a while", async () => {
    ranks = "badly"
    const before = rankings.length
    expect(await chat("this day")).toBe(tea)
    expect(await chat("that day")).toBe(tea)
    expect(rankings).toHaveLength(before + 1)
    expect(await rerank()).toMatchObject({ paused: 1, last: "failed" })
    // What was ranked before still decides.
    expect(await chat("sailing day")).toBe(boat)
    ranks = "never"
    const other = await gateway.operator.createKey("other")
    for (const [name, content] of [["weekend", "A boat at the lake"], ["morning", "Oolong in the day"]]) await call("POST", "/api/memory", { apiKeyId: other.id, key: name, content })
    expect(await chat("a late day", other)).toBe(tea)
    expect(rankings).toHaveLength(before + 2)
    await put({ rerankEnabled: false })
  })
})

describe("a summary", () => {
  const note = (id: string, name: string, more: Record<string, unknown> = {}) => call<{ readonly id: string }>("POST", "/api/memory", { apiKeyId: id, key: name, content: `${name} is said at some length, with words that nobody needs`, ...more })
  const summarize = (body: Record<string, unknown>) => call<Summarized>("POST", "/api/memory/summarize", { model: "chat/one", ...body })
  const list = async (id: string) => (await call<{ readonly data: ReadonlyArray<Record<string, unknown>> }>("GET", `/api/memory?apiKeyId=${id}`)).data
  const keys = async (id: string) => (await list(id)).map((entry) => entry["key"]).sort()
  const refused = async (body: Record<string, unknown>) => {
    const reply = await gateway.operator.raw("POST", "/api/memory/summarize", { model: "chat/one", ...body })
    return [reply.status, (JSON.parse(reply.text) as { error: { code: string } }).error.code]
  }

  it("takes the place of entries of one key, one session and one type; others stay", async () => {
    const { id } = await gateway.operator.createKey("summed")
    for (const name of ["first", "second", "third"]) await note(id, name)
    await note(id, "bound", { sessionId: "s" })
    await note(id, "ending", { expiresAt: "2999-01-01T00:00:00.000Z" })
    await note(id, "how", { type: "procedural" })
    const planned = await summarize({ apiKeyId: id, type: "factual", dryRun: true })
    expect(planned).toMatchObject({ id: null, summarized: 3, remaining: 0, tokensSaved: 0 })
    says = "First, second, third."
    const before = chats.length
    const done = await summarize({ apiKeyId: id, type: "factual" })
    expect(done).toMatchObject({ summarized: 3, remaining: 0, tokensBefore: planned.tokensBefore })
    expect(done.tokensSaved).toBe(done.tokensBefore - done.tokensAfter)
    expect(done.tokensSaved).toBeGreaterThan(0)
    const [asked] = chats.slice(before)
    expect(asked?.[1]?.content.split("\n").map((line) => line.split(" ")[2])).toEqual(["first:", "second:", "third:"])
    const entries = await list(id)
    expect(entries.find((entry) => entry["id"] === done.id)).toMatchObject({ content: "First, second, third.", type: "factual", sessionId: "", expiresAt: null, metadata: { summarized: 3, model: "chat/one" } })
    expect(entries.filter((entry) => entry["id"] !== done.id).map((entry) => entry["key"]).sort()).toEqual(["bound", "ending", "how"])
    expect(await rows("/v1/chat/completions", id, 1)).toHaveLength(1)
    expect(await summarize({ apiKeyId: id, type: "factual" })).toMatchObject({ id: null, summarized: 0, remaining: 1 })
  })

  it("that is none, cut, or no shorter changes nothing", async () => {
    const { id } = await gateway.operator.createKey("kept")
    for (const name of ["first", "second"]) await note(id, name)
    for (const [said, stop] of [["", "stop"], ["First, se", "length"], ["word ".repeat(200), "stop"]] as const) {
      [says, stops] = [said, stop]
      expect(await refused({ apiKeyId: id })).toEqual([502, "upstream_error"])
    }
    stops = "stop"
    expect(await refused({ apiKeyId: id, model: "nowhere/model" })).toEqual([502, "upstream_error"])
    expect(await refused({ apiKeyId: id, model: undefined })).toEqual([400, "bad_request"])
    expect(await keys(id)).toEqual(["first", "second"])
  })

  it("of entries that changed meanwhile is thrown away", async () => {
    const { id } = await gateway.operator.createKey("changed")
    await note(id, "first")
    await note(id, "second")
    says = "Both."
    meanwhile = () => note(id, "second", { content: "other words, and more of them" })
    expect(await refused({ apiKeyId: id })).toEqual([409, "MEMORY_CHANGED"])
    meanwhile = () => Promise.resolve()
    expect(await keys(id)).toEqual(["first", "second"])
  })
})
