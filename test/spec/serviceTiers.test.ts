/** What a service tier of a vendor costs: the tier that the answer names, times the standard price. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { chatLine, Client } from "#test/features/batches/support.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, messages } from "#test/support/lab.ts"

const price = { input: 2, output: 10, tiers: { flex: 0.5, priority: 2.5 } }
const factors = { default: 1, flex: 0.5, priority: 2.5, fast: 2.5, ultrafast: 1 } as const

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

const costOf = (row: { readonly tokensIn: number; readonly tokensOut: number } | undefined, factor: number): number =>
  row === undefined ? NaN : factor * (row.tokensIn * price.input + row.tokensOut * price.output) / 1e6

const callOf = (face: FormatName, model: string, tier: string, stream: boolean): Http.Call => {
  const headers = { authorization: `Bearer ${matrix.key}` }
  switch (face) {
    case "responses": return { path: "/v1/responses", headers, body: { model, input: "Say something.", service_tier: tier, stream } }
    case "messages": return { path: "/v1/messages", headers, body: { model, messages, max_tokens: 64, service_tier: tier, stream } }
    case "generateContent": return {
      path: `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`, headers,
      body: { contents: [{ role: "user", parts: [{ text: "Say something." }] }], serviceTier: tier }
    }
    default: return { path: "/v1/chat/completions", headers, body: { model, messages, service_tier: tier, stream } }
  }
}

describe("an answer that names its service tier costs what that tier costs", () => {
  const ways: ReadonlyArray<readonly [face: FormatName, family: string, tiers: ReadonlyArray<keyof typeof factors>]> = [
    ["chat-completions", "chat-completions", ["default", "flex", "priority", "fast", "ultrafast"]],
    ["messages", "chat-completions", ["flex", "priority"]],
    ["responses", "chat-completions", ["flex", "priority"]],
    ["responses", "responses", ["default", "flex", "priority", "fast"]],
    ["chat-completions", "responses", ["flex", "priority"]],
    ["generateContent", "generateContent", ["flex", "priority"]]
  ]
  it.each(ways.flatMap(([face, family, tiers]) => tiers.flatMap((tier) => [false, true].map((stream) => [face, family, tier, stream] as const))))(
    "%s to %s, %s, stream %s", async (face, name, tier, stream) => {
      const family = families.find((one) => one.name === name)!
      const model = await matrix.model(family, face, `tier-${face}-${tier}-${stream}`)
      await matrix.gateway.operator.price(matrix.providers.get(family.prefix(face))!, model.name, price)
      const reply = await Http.send(matrix.url, callOf(face, model.id, tier, stream))
      expect(reply.status, reply.text).toBe(200)
      const [row] = await matrix.rowsOf(model.name, 1)
      expect(row?.tokensOut).toBeGreaterThan(0)
      expect(row?.costUsd).toBeCloseTo(costOf(row, factors[tier]), 10)
      if (!stream) expect(Number(reply.headers["x-gateway-response-cost"])).toBeCloseTo(costOf(row, factors[tier]), 10)
    }
  )
})

describe("the tier that was served counts, not the one that was asked for", () => {
  let url = ""
  const server = NodeHttp.createServer((request, response) => {
    const parts: Array<Buffer> = []
    request.on("data", (part: Buffer) => parts.push(part))
    request.on("end", () => {
      // The model's name says what is served.
      const { model } = JSON.parse(Buffer.concat(parts).toString("utf8")) as { model: string }
      response.writeHead(200, { "content-type": "application/json" })
      if (request.url === "/v1/messages") {
        const usage = { input_tokens: 1_000, output_tokens: 100, service_tier: model }
        response.end(JSON.stringify({ id: "m", type: "message", role: "assistant", model, content: [{ type: "text", text: "yes" }], stop_reason: "end_turn", stop_sequence: null, usage }))
        return
      }
      const usage = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 }
      response.end(JSON.stringify({ id: "c", object: "chat.completion", created: 1, model, choices: [{ index: 0, message: { role: "assistant", content: "yes" }, finish_reason: "stop" }], usage, service_tier: model }))
    })
  })
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`
    const { operator } = matrix.gateway
    for (const [prefix, type] of [["served", "openai-compatible"], ["told", "anthropic-compatible"]] as const) {
      const provider = await operator.createNode({ prefix, type, baseUrl: url })
      await operator.createConnection({ provider, apiKey: "k" })
      for (const model of ["default", "standard", "flex", "priority"]) await operator.price(provider, model, price)
    }
  })
  afterAll(() => {
    server.close()
    server.closeAllConnections()
  })

  it.each([["default", "priority", 1], ["default", "flex", 1], ["flex", undefined, 0.5], ["priority", "auto", 2.5]] as const)("%s, asked for %s", async (served, asked, factor) => {
    const reply = await Http.send(matrix.url, { path: "/v1/chat/completions", body: { model: `served/${served}`, messages, ...(asked === undefined ? {} : { service_tier: asked }) } })
    expect(Number(reply.headers["x-gateway-response-cost"])).toBeCloseTo(factor * 0.003, 10)
  })

  it.each([["standard", 1], ["priority", 2.5]] as const)("%s, told in the usage of the messages format", async (served, factor) => {
    for (const path of ["/v1/messages", "/v1/chat/completions"]) {
      const reply = await Http.send(matrix.url, { path, body: { model: `told/${served}`, messages, max_tokens: 64 } })
      expect(Number(reply.headers["x-gateway-response-cost"]), path).toBeCloseTo(factor * 0.003, 10)
    }
  })
})

describe("an answer names the tier in the words of its client's format", () => {
  const ways: ReadonlyArray<readonly [face: FormatName, family: string, asked: string, told: string | undefined]> = [
    ["messages", "chat-completions", "default", "standard"], ["messages", "chat-completions", "priority", "priority"], ["messages", "chat-completions", "fast", "priority"],
    ["messages", "chat-completions", "flex", undefined], ["messages", "responses", "default", "standard"],
    ["responses", "messages", "auto", "default"], ["responses", "messages", "flex", "default"], ["responses", "local-model-server", "flex", "default"],
    ["responses", "chat-completions", "flex", "flex"], ["responses", "chat-completions", "fast", "fast"],
    ["chat-completions", "messages", "auto", "default"], ["chat-completions", "responses", "fast", "fast"]
  ]
  const told = (text: string): ReadonlyArray<string | undefined> => [...new Set([...text.matchAll(/"service_tier":\s*"(\w+)"/g)].map(([, word]) => word))]
  it.each(ways.flatMap((way) => [false, true].map((stream) => [...way, stream] as const)))("%s of %s, asked for %s: %s, stream %s", async (face, name, asked, word, stream) => {
    const model = await matrix.model(families.find((one) => one.name === name)!, face, `word-${face}-${asked}-${stream}`)
    const reply = await Http.send(matrix.url, callOf(face, model.id, asked, stream))
    expect([reply.status, told(reply.text)]).toEqual([200, word === undefined ? [] : [word]])
  })
})

it("a line of a batch that asks for flex costs half", async () => {
  const { operator } = matrix.gateway
  await operator.price(matrix.providers.get("chat")!, "tier-batch", price)
  const client = new Client(matrix.url, await operator.createKey("tier-batch"))
  const over = await client.over((await client.create([chatLine("whole", "chat/tier-batch"), chatLine("half", "chat/tier-batch", { service_tier: "flex" })])).id)
  const costs = new Map<string, number>()
  for (const { custom_id, response } of await client.answers(over.output_file_id)) {
    const [row] = await matrix.rows(response!.request_id)
    costs.set(custom_id, row!.costUsd / costOf(row, 1))
  }
  expect(costs.get("whole")).toBeCloseTo(1, 8)
  expect(costs.get("half")).toBeCloseTo(0.5, 8)
})

it("factors are kept one by one, shown, taken back, and refused where they are none", async () => {
  const { operator } = matrix.gateway
  const shown = async () => (await operator.call<Record<string, Record<string, unknown>>>("GET", "/api/pricing"))["openai"]?.["gpt-5"]
  expect(await shown()).toMatchObject({ input: 1.25, tiers: { flex: 0.5, priority: 2 } })
  await operator.price("openai", "gpt-5", { tiers: { flex: 0.4 } })
  await operator.price("openai", "gpt-5", { tiers: { priority: 3 } })
  expect(await shown()).toMatchObject({ input: 1.25, tiers: { flex: 0.4, priority: 3 } })
  const refused = await operator.raw("PATCH", "/api/pricing", { openai: { "gpt-5": { tiers: { flex: -1 } } } })
  expect([refused.status, errorIn(refused)["code"]]).toEqual([400, "bad_request"])
  await operator.call("DELETE", "/api/pricing?provider=openai&model=gpt-5")
  expect(await shown()).toMatchObject({ tiers: { flex: 0.5, priority: 2 } })
})
