/** What is marked for the prompt caches of vendors (promptCacheEnabled, promptCacheStrategy, alwaysPreserveClientCache), over HTTP. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

const model = "claude-haiku-4-5"
const mark = { type: "ephemeral" }

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.createConnection({ provider: "anthropic", apiKey: "sk-prompt-cache-0001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
})
afterAll(() => lab.close())

const config = (change: Record<string, unknown>) => lab.gateway.operator.call("PUT", "/api/settings/cache-config", change)
beforeEach(() => config({ promptCacheEnabled: true, promptCacheStrategy: "auto", alwaysPreserveClientCache: "auto" }))

type Body = Readonly<Record<string, unknown>>
const told = async (): Promise<Body> => (await lab.sim.entries({ model })).at(-1)?.body as Body
const pathsOf = (value: unknown, path = ""): ReadonlyArray<string> => {
  if (typeof value !== "object" || value === null) return []
  return Object.entries(value).flatMap(([name, member]) => name === "cache_control" ? [path] : pathsOf(member, path === "" ? name : `${path}.${name}`))
}
/** Where marks stand in a body, as paths. */
const marksIn = (body: unknown): ReadonlyArray<string> => [...pathsOf(body)].sort()
const long = (words: string) => `${words} ${"and much more of it ".repeat(300)}`
const user = (content: unknown) => ({ role: "user", content })
const system = { role: "system", content: long("Be kind.") }
const answer = { role: "assistant", content: "Yes." }
const tool = (description: string) => ({ type: "function", function: { name: "look", description, parameters: { type: "object", properties: {} } } })

const chat = async (messages: ReadonlyArray<unknown>, more: Record<string, unknown> = {}) => {
  const reply = await lab.chat({ model: `anthropic/${model}`, messages, ...more })
  expect(reply.status, reply.text).toBe(200)
  return await told()
}
const native = async (body: Record<string, unknown>) => {
  const reply = await Http.send(lab.gateway.url, { path: "/v1/messages", body: { model: `anthropic/${model}`, max_tokens: 50, ...body } })
  expect(reply.status, reply.text).toBe(200)
  return await told()
}

describe("a request of another format, to a vendor that caches by marks", () => {
  it("has its system prompt marked, and its end once it is under way", async () => {
    const first = await chat([system, user("Hello.")])
    expect(marksIn(first)).toEqual(["system.0"])
    expect(first["system"]).toEqual([{ type: "text", text: system.content, cache_control: mark }])
    expect(marksIn(await chat([system, user("Hello."), answer, user("And now?")]))).toEqual(["messages.2.content.0", "system.0"])
  })

  it("has its tools marked when no system prompt stands behind them, and a tool's result as its end", async () => {
    expect(marksIn(await chat([user("Hello.")], { tools: [tool("short"), { ...tool(long("Looks.")), function: { ...tool(long("Looks.")).function, name: "other" } }] }))).toEqual(["tools.1"])
    const call = { role: "assistant", content: null, tool_calls: [{ id: "c1", type: "function", function: { name: "look", arguments: "{}" } }] }
    const body = await chat([system, user("Look."), call, { role: "tool", tool_call_id: "c1", content: "seen" }], { tools: [tool("short")] })
    expect(marksIn(body)).toEqual(["messages.2.content.0", "system.0"])
  })

  it("is not marked where it is too short to be cached", async () => {
    expect(marksIn(await chat([{ role: "system", content: "Be kind." }, user("Hello."), answer, user("And now?")]))).toEqual([])
  })

  it("keeps the client's marks as they are, and then has none of ours", async () => {
    const marked = user([{ type: "text", text: "Remember this.", cache_control: { type: "ephemeral", ttl: "1h" } }])
    expect(marksIn(await chat([system, marked, answer, user("And now?")]))).toEqual(["messages.0.content.0"])
    await config({ alwaysPreserveClientCache: "always" })
    expect(marksIn(await chat([system, marked, answer, user("And now?")]))).toEqual(["messages.0.content.0", "messages.2.content.0", "system.0"])
    await config({ alwaysPreserveClientCache: "never" })
    expect(marksIn(await chat([system, marked, answer, user("And now?")]))).toEqual(["messages.2.content.0", "system.0"])
  })

  it("never has more marks than the vendor takes", async () => {
    await config({ alwaysPreserveClientCache: "always" })
    const marked = (text: string) => user([{ type: "text", text, cache_control: mark }])
    const turns = ["a", "b", "c", "d"].flatMap((text) => [marked(text), answer])
    expect(marksIn(await chat([system, ...turns, user("?")])).length).toBe(4)
    expect(marksIn(await chat([system, ...turns.slice(2), user("?")]))).toEqual(["messages.0.content.0", "messages.2.content.0", "messages.4.content.0", "system.0"])
  })

  it("follows the settings at once: system-only, manual, off", async () => {
    const messages = [system, user("Hello."), answer, user("And now?")]
    await config({ promptCacheStrategy: "system-only" })
    expect(marksIn(await chat(messages))).toEqual(["system.0"])
    await config({ promptCacheStrategy: "manual" })
    expect(marksIn(await chat(messages))).toEqual([])
    await config({ promptCacheStrategy: "auto", promptCacheEnabled: false })
    expect(marksIn(await chat(messages))).toEqual([])
  })

  it("to any other vendor has none", async () => {
    const reply = await Http.send(lab.gateway.url, { path: "/v1/messages", body: { model: "lab/unmarked", max_tokens: 50, system: system.content, messages: [user("Hello.")] } })
    expect(reply.status).toBe(200)
    expect(marksIn((await lab.sim.entries({ model: "unmarked" })).at(-1)?.body)).toEqual([])
  })
})

describe("a request in the vendor's own format", () => {
  const body = {
    system: [{ type: "text", text: "Be kind.", cache_control: mark }], tools: [{ name: "look", input_schema: { type: "object", properties: { cache_control: { type: "string" } } }, cache_control: mark }],
    messages: [
      user("Look."), { role: "assistant", content: [{ type: "tool_use", id: "t1", name: "look", input: { cache_control: "x" } }] },
      user([{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "seen", cache_control: mark }] }])
    ]
  }

  it("is the client's own, marked or not", async () => {
    expect(await native({ ...body, metadata: { user_id: "u" } })).toEqual({ model, max_tokens: 50, ...body, metadata: { user_id: "u" } })
    expect(marksIn(await native({ system: system.content, messages: [user("Hello."), answer, user("?")] }))).toEqual([])
  })

  it("loses its marks, and nothing else, with alwaysPreserveClientCache never", async () => {
    await config({ alwaysPreserveClientCache: "never" })
    const [{ cache_control: _system, ...block }] = body.system as [(typeof body.system)[0]]
    const [{ cache_control: _tool, ...look }] = body.tools as [(typeof body.tools)[0]]
    const [first, second] = body.messages
    expect(await native(body)).toEqual({
      model, max_tokens: 50, system: [block], tools: [look],
      messages: [first, second, user([{ type: "tool_result", tool_use_id: "t1", content: [{ type: "text", text: "seen" }] }])]
    })
  })
})
