/** Entries of memories compared by vectors of a model of the gateway: embedded in the key's name, in the background, and never in a request's way. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type InProcess, inProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { eventually, type Key } from "#test/support/operator.ts"

interface Embedding {
  readonly model: string
  readonly input: ReadonlyArray<string>
}
interface Status {
  readonly embedding: { readonly source: string; readonly active: boolean; readonly queued: number; readonly paused: number; readonly last: string | null }
}

/** An upstream that embeds by topics, and keeps what it was sent. */
const embedded: Array<Embedding> = []
const told: Array<string> = []
let answers: "well" | "never" | "badly" = "well"
const topics = [/drink|oolong|sencha/, /drive|Volvo/]
const server = NodeHttp.createServer((request, response) => {
  const parts: Array<Buffer> = []
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () => {
    const body = JSON.parse(Buffer.concat(parts).toString()) as Embedding & { readonly messages: ReadonlyArray<{ readonly role: string; readonly content: string }> }
    response.setHeader("content-type", "application/json")
    if (!request.url?.endsWith("/embeddings")) {
      told.push(body.messages.find(({ role }) => role === "system")?.content ?? "")
      return response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model: body.model, choices: [{ index: 0, message: { role: "assistant", content: "Yes." }, finish_reason: "stop" }], usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } }))
    }
    embedded.push(body)
    if (answers === "never") return undefined
    const data = body.input.map((text, index) => ({ object: "embedding", index, embedding: answers === "badly" ? [] : [...topics.map((topic) => topic.test(text) ? 1 : 0), 0.1] }))
    return response.end(JSON.stringify({ object: "list", model: body.model, data, usage: { prompt_tokens: 7, total_tokens: 7 } }))
  })
})

let gateway: InProcess
let key: Key
let teaId = ""
let carId = ""
const call = <A>(method: string, path: string, body?: unknown) => gateway.operator.call<A>(method, path, body)
const put = (change: Record<string, unknown>) => call<Record<string, unknown>>("PUT", "/api/settings/memory", change)
const status = async () => (await call<Status>("GET", "/api/memory/engine-status")).embedding
const texts = (from = 0) => embedded.slice(from).flatMap(({ input }) => input).sort()
const chat = async (question: string): Promise<string> => {
  const reply = await Http.send(gateway.url, { path: "/v1/chat/completions", headers: { authorization: `Bearer ${key.key}` }, body: { model: "chat/one", messages: [{ role: "user", content: question }] } })
  expect(reply.status, reply.text).toBe(200)
  return (told.at(-1) ?? "").split("\n").at(-1) ?? ""
}
const settled = (count: number, from = 0) => eventually(async () => texts(from), (seen) => seen.length >= count, "embedding")
const indexed = (question: string, line: string) => eventually(() => chat(question), (seen) => seen === line, "an answer by vectors")
const tea = "- [factual] favourite: Favours oolong"
const car = "- [factual] garage: Volvo"

beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening))
  const baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
  gateway = await inProcess()
  key = await gateway.operator.createKey("own")
  for (const [prefix, apiType] of [["chat", "chat"], ["vectors", "embeddings"]] as const) {
    await gateway.operator.createNode({ prefix, baseUrl, apiType })
    await gateway.operator.createConnection({ provider: prefix, apiKey: "sk-upstream" })
  }
  await call("POST", "/api/provider-models", { provider: "vectors", modelId: "small", apiFormat: "embeddings", modelType: "embedding" })
  teaId = (await call<{ readonly id: string }>("POST", "/api/memory", { apiKeyId: key.id, key: "favourite", content: "Favours oolong" })).id
  carId = (await call<{ readonly id: string }>("POST", "/api/memory", { apiKeyId: key.id, key: "garage", content: "Volvo" })).id
  // One of both fits.
  await put({ memoryEnabled: true, memoryMaxTokens: 38, memoryStrategy: "semantic" })
})
afterAll(async () => {
  await gateway.close()
  server.closeAllConnections()
  server.close()
})

describe("vectors of memories", () => {
  it("are not made while no model is named: words decide, and nothing is called", async () => {
    expect(await call("GET", "/api/settings/memory")).toMatchObject({ embeddingSource: "auto", vectorStore: "auto", rerankEnabled: false })
    await indexed("drink", car)
    expect(embedded).toEqual([])
    expect(await status()).toEqual({ source: "auto", active: false, queued: 0, paused: 0, last: null })
    const reply = await gateway.operator.raw("POST", "/api/memory/reindex", {})
    expect([reply.status, (JSON.parse(reply.text) as { error: { code: string } }).error.code]).toEqual([409, "EMBEDDING_OFF"])
  })

  it("can be made by the embedding models that can be called", async () => {
    const { embeddingSource, providers } = await call<{ readonly embeddingSource: string; readonly providers: ReadonlyArray<{ readonly id: string }> }>("GET", "/api/memory/embedding-providers")
    expect([embeddingSource, providers.find(({ id }) => id === "vectors")]).toEqual(["auto", { id: "vectors", name: "vectors", models: [{ id: "vectors/small", name: "small" }] }])
  })

  it("are made of entries in the background, of a question once, and choose what shares no word", async () => {
    expect(await put({ embeddingSource: "vectors/small" })).toMatchObject({ embeddingSource: "vectors/small" })
    await chat("drink one")
    expect(await settled(2)).toEqual(["favourite\nFavours oolong", "garage\nVolvo"])
    await indexed("drink one", tea)
    const before = embedded.length
    expect(await chat("drink one")).toBe(tea)
    expect(embedded).toHaveLength(before)
    expect(await chat("drive")).toBe(car)
    expect(texts(before)).toEqual(["drive"])
    expect(await status()).toEqual({ source: "vectors/small", active: true, queued: 0, paused: 0, last: "ok" })
    expect(await call("GET", "/api/memory/health")).toMatchObject({ working: true, embeddings: { status: "ok" }, vectorIndex: { status: "ok" } })
    const { text } = await call<{ readonly text: string }>("POST", "/api/memory/retrieve-preview", { apiKeyId: key.id, query: "drink some" })
    expect(text.endsWith(tea)).toBe(true)
  })

  it("are calls of the key: recorded and billed as its own", async () => {
    const rows = await eventually(
      () => call<ReadonlyArray<Record<string, unknown>>>("GET", "/api/usage/call-logs?limit=200"),
      (seen) => seen.filter(({ path }) => path === "/v1/embeddings").length >= embedded.length, "the rows"
    )
    const own = rows.filter(({ path }) => path === "/v1/embeddings")
    expect(new Set(own.map(({ apiKeyId }) => apiKeyId))).toEqual(new Set([key.id]))
  })

  it("are made again of a text that changed, and only of it", async () => {
    const before = embedded.length
    await call("PUT", `/api/memory/${teaId}`, { content: "Favours sencha" })
    // The newest entry, whose text is as it was.
    await call("PUT", `/api/memory/${carId}`, { content: "Volvo" })
    expect(await settled(1, before)).toEqual(["favourite\nFavours sencha"])
    await indexed("drink one", "- [factual] favourite: Favours sencha")
    expect(texts(before)).toEqual(["favourite\nFavours sencha"])
  })

  it("of another model are stale: all are made by the new one; a reindex makes them new", async () => {
    const before = embedded.length
    await put({ embeddingSource: "vectors/large" })
    await chat("drink two")
    await eventually(() => Promise.resolve(embedded.slice(before).filter(({ input }) => input.length === 2).map(({ model }) => model)), (seen) => seen.length === 1, "a new vector of each")
    await indexed("drink two", "- [factual] favourite: Favours sencha")
    const again = embedded.length
    expect(await call("POST", "/api/memory/reindex", { apiKeyId: key.id })).toEqual({ success: true, model: "vectors/large", removed: 2, queued: 1 })
    expect(await settled(2, again)).toEqual(["favourite\nFavours sencha", "garage\nVolvo"])
    await indexed("drink two", "- [factual] favourite: Favours sencha")
    expect(await call("POST", "/api/memory/reindex", {})).toMatchObject({ removed: 2, queued: 1 })
    await indexed("drink two", "- [factual] favourite: Favours sencha")
  })

  it("that do not come in time leave the choice to words, and the next requests do not wait", async () => {
    answers = "never"
    const before = embedded.length
    const began = performance.now()
    expect(await chat("drink three")).toBe(car)
    expect(performance.now() - began).toBeGreaterThan(900)
    expect(await chat("drink four")).toBe(car)
    expect(embedded).toHaveLength(before + 1)
    // What is known already still decides.
    expect(await chat("drink two")).toBe("- [factual] favourite: Favours sencha")
    expect(await status()).toMatchObject({ paused: 1, last: "failed" })
    expect(await call("GET", "/api/memory/health")).toMatchObject({ working: true, embeddings: { status: "failed" } })
  })

  it("that are none leave it to words, too; a reindex ends the pause", async () => {
    answers = "badly"
    expect(await call("POST", "/api/memory/reindex", { apiKeyId: key.id })).toMatchObject({ queued: 1 })
    await eventually(status, ({ last, paused, queued }) => queued === 0 && paused === 1 && last === "failed", "a failure")
    await indexed("drink two", car)
    answers = "well"
    await call("POST", "/api/memory/reindex", { apiKeyId: key.id })
    await indexed("drink two", "- [factual] favourite: Favours sencha")
  })
})
