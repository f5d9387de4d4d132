/** Thoughts of tool calls, for providers that refuse a call which comes back without them: on one node, and on two that share a Redis. */
import Anthropic from "@anthropic-ai/sdk"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { startSharing } from "#test/support/cluster.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import { eventually } from "#test/support/operator.ts"
import { canStartRedis } from "#test/support/redis.ts"

/** The simulator refuses its past calls without `reasoning_content`, as the vendor does. */
const deepseek = { ...families.find(({ name }) => name === "chat-completions")!, stem: "deepseek-v4-pro" }
const question = "What is there?"
const calling = { reasoning: "I should look.", toolCalls: [{ name: "look", arguments: { at: "door" } }] }
const answering = { text: "A cat." }
const tools: Array<OpenAI.Chat.ChatCompletionTool> = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: { at: { type: "string" } } } } }]

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

/** Without a key: nobody's. */
const openai = (url: string, key: string | null) =>
  new OpenAI({ baseURL: `${url}/v1`, apiKey: key ?? "none", maxRetries: 0, ...(key === null ? { defaultHeaders: { authorization: null } } : {}) })
type Call = { readonly id: string; readonly type: "function"; readonly function: { readonly name: string; readonly arguments: string } }

/** The first turn, and what a client keeps of it that knows the standard fields only. */
const firstTurn = async (url: string, model: string, stream: boolean, key: string | null): Promise<ReadonlyArray<Call>> => {
  const asked = { model, messages: [{ role: "user" as const, content: question }], tools }
  const calls = stream
    ? (await openai(url, key).chat.completions.stream({ ...asked, stream: true }).finalChatCompletion()).choices[0]?.message.tool_calls
    : (await openai(url, key).chat.completions.create(asked)).choices[0]?.message.tool_calls
  return (calls ?? []).flatMap((call) => call.type === "function" ? [{ id: call.id, type: call.type, function: { name: call.function.name, arguments: call.function.arguments } }] : [])
}

const secondTurn = async (url: string, model: string, calls: ReadonlyArray<Call>, key: string | null, content = question) =>
  openai(url, key).chat.completions.create({
    model, tools,
    messages: [
      { role: "user", content }, { role: "assistant", content: null, tool_calls: [...calls] }, ...calls.map(({ id }) => ({ role: "tool" as const, tool_call_id: id, content: "A cat." }))
    ]
  })

/** What the model was told that it had thought, in the newest request that reached it; null = nothing was said. */
const told = async (name: string): Promise<unknown> => {
  const body = (await matrix.entries(name)).at(-1)?.body as { readonly messages: ReadonlyArray<Record<string, unknown>> }
  const turn = body.messages.find(({ role }) => role === "assistant")
  return turn === undefined || !Object.hasOwn(turn, "reasoning_content") ? null : turn["reasoning_content"]
}

const management = async (method: string, query = ""): Promise<Record<string, unknown>> => await matrix.gateway.operator.call(method, `/api/cache/reasoning${query}`) as Record<string, unknown>

describe("a call of a model that wants its thoughts back", () => {
  it.each([["whole", false], ["streamed", true]])("returns with them through a client that drops them, %s", async (label, stream) => {
    const { id, name } = await matrix.model(deepseek, "chat-completions", `loop-${label}`, calling, answering)
    const calls = await firstTurn(matrix.url, id, stream, matrix.key)
    expect(calls.map((call) => call.function.name)).toEqual(["look"])
    const reply = await secondTurn(matrix.url, id, calls, matrix.key)
    expect([reply.choices[0]?.message.content, await told(name)]).toEqual(["A cat.", "I should look."])
  })

  it("returns with them in a long conversation, and beside the gateway's own words", async () => {
    const { id, name } = await matrix.model(deepseek, "chat-completions", "long", calling, answering, answering)
    const calls = await firstTurn(matrix.url, id, false, matrix.key)
    await secondTurn(matrix.url, id, calls, matrix.key, `${question} ${"word ".repeat(80_000)}`)
    expect(await told(name)).toBe("I should look.")
    await matrix.gateway.operator.call("PUT", "/api/settings/system-prompt", { enabled: true, prefixPrompt: "Be brief.", suffixPrompt: "" })
    try {
      await secondTurn(matrix.url, id, calls, matrix.key)
      expect(await told(name)).toBe("I should look.")
      const said = (await matrix.entries(name)).at(-1)?.body as { readonly messages: ReadonlyArray<unknown> }
      expect(said.messages[0]).toEqual({ role: "system", content: "Be brief." })
    } finally {
      await matrix.gateway.operator.call("PUT", "/api/settings/system-prompt", { enabled: false, prefixPrompt: "", suffixPrompt: "" })
    }
  })

  it("returns with them through a client of another format that drops them", async () => {
    const { id, name } = await matrix.model(deepseek, "messages", "messages", calling, answering)
    const client = new Anthropic({ baseURL: matrix.url, apiKey: matrix.key, maxRetries: 0 })
    const asked = { model: id, max_tokens: 1_000, tools: [{ name: "look", input_schema: { type: "object" as const } }] }
    const first = await client.messages.stream({ ...asked, messages: [{ role: "user", content: question }] }).finalMessage()
    const used = first.content.flatMap((block) => block.type === "tool_use" ? [block] : [])
    expect(used.map((block) => block.name)).toEqual(["look"])
    await client.messages.create({
      ...asked,
      messages: [
        { role: "user", content: question }, { role: "assistant", content: used },
        { role: "user", content: used.map((block) => ({ type: "tool_result" as const, tool_use_id: block.id, content: "A cat." })) }
      ]
    })
    expect(await told(name)).toBe("I should look.")
  })

  it("returns with an empty text where nothing is known: another key's call, or another model's", async () => {
    const { id, name } = await matrix.model(deepseek, "chat-completions", "tenants", calling, answering, answering, answering)
    const other = await matrix.gateway.operator.createKey("other")
    const calls = await firstTurn(matrix.url, id, false, matrix.key)
    expect((await secondTurn(matrix.url, id, calls, other.key)).choices[0]?.message.content).toBe("A cat.")
    expect(await told(name)).toBe("")
    await secondTurn(matrix.url, id, [{ id: "call_elsewhere", type: "function", function: { name: "look", arguments: "{}" } }], matrix.key)
    expect(await told(name)).toBe("")
    await secondTurn(matrix.url, id, calls, matrix.key)
    expect(await told(name)).toBe("I should look.")
  })

  it("does not get them for a model that does not ask: its bytes pass", async () => {
    const { id } = await matrix.model(deepseek, "chat-completions", "source", calling)
    const calls = await firstTurn(matrix.url, id, false, matrix.key)
    for (const stem of ["gpt-5.1", "qwen3-max"]) {
      const plain = await matrix.model({ ...deepseek, stem }, "chat-completions", "plain", answering)
      await secondTurn(matrix.url, plain.id, calls, matrix.key)
      expect(await told(plain.name), stem).toBe(null)
    }
  })
})

describe("what is kept", () => {
  it("is listed without its text, counted, and forgotten by call, by provider, and at once", async () => {
    await management("DELETE")
    const before = (await management("GET"))["stats"] as { readonly hits: number; readonly misses: number }
    const { id, name } = await matrix.model(deepseek, "chat-completions", "listed", calling, answering, answering, calling, calling)
    const [call] = await firstTurn(matrix.url, id, false, matrix.key)
    await secondTurn(matrix.url, id, [call!], matrix.key)
    const listed = await management("GET")
    expect(listed).toEqual({
      stats: { entries: 1, characters: 14, hits: before.hits + 1, misses: before.misses, byProvider: { chat: 1 } },
      entries: [{ tool_call_id: call?.id, provider: "chat", model: name, char_count: 14, expires_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string }]
    })
    expect(JSON.stringify(listed)).not.toContain("I should look")
    for (const query of ["?provider=gemini", "?model=none", "?offset=1"]) expect((await management("GET", query))["entries"], query).toEqual([])
    expect(await management("DELETE", "?toolCallId=call_none")).toEqual({ ok: true, cleared: 0, scope: "toolCallId" })
    expect(await management("DELETE", `?toolCallId=${call?.id}`)).toEqual({ ok: true, cleared: 1, scope: "toolCallId" })
    await secondTurn(matrix.url, id, [call!], matrix.key)
    expect(await told(name)).toBe("")
    expect((await management("GET"))["stats"]).toMatchObject({ entries: 0, misses: before.misses + 1 })
    for (const [query, scope] of [["?provider=chat", "provider"], ["", "all"]] as const) {
      await firstTurn(matrix.url, id, false, matrix.key)
      expect(await management("DELETE", query)).toEqual({ ok: true, cleared: 1, scope })
    }
  })

  it("is for operators, and a query that names two things is refused", async () => {
    for (const method of ["GET", "DELETE"]) {
      const reply = await fetch(`${matrix.url}/api/cache/reasoning`, { method, headers: { authorization: `Bearer ${matrix.key}` } })
      expect([method, reply.status]).toEqual([method, 403])
    }
    await expect(management("DELETE", "?toolCallId=a&provider=chat")).rejects.toThrow(/Name a toolCallId or a provider/)
    await expect(management("GET", "?limit=201")).rejects.toThrow(/400/)
  })
})

describe.skipIf(!canStartRedis())("over nodes that share a Redis", () => {
  it("a call that one node answered with returns with its thoughts through the other, and all nodes forget", async () => {
    await using sharing = await startSharing({ provider: "deepseek", apiKey: "canary-deepseek-0123456789", providerSpecificData: { baseUrl: `${matrix.sim.url}/v1` } })
    const { one, two } = sharing
    const { name } = await matrix.model(deepseek, "chat-completions", "nodes", calling, answering)
    const id = `deepseek/${name}`
    const [call] = await firstTurn(one.url, id, true, null)
    // The other node hears of it beside the answer.
    await eventually(async () => {
      await secondTurn(two.url, id, [call!], null)
      return told(name)
    }, (text) => text === "I should look.", "the thoughts on the other node")
    expect(await two.operator.call("DELETE", "/api/cache/reasoning?provider=deepseek")).toEqual({ ok: true, cleared: 1, scope: "provider" })
    await eventually(() => one.operator.call("GET", "/api/cache/reasoning"), (kept) => (kept as { entries: ReadonlyArray<unknown> }).entries.length === 0, "nothing on the first node")
  }, 300_000)
})
