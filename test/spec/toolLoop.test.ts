/** Tools that the gateway runs for a model: turns, rows, rights, limits, formats, the client's own tools and a client that leaves. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type ServersLab, startServers } from "#test/features/mcpServers/lab.ts"
import * as Http from "#test/support/http.ts"
import { contentOf } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

const STEPS = 3
let lab: ServersLab
let key: string
let count = 0

interface ToolCall { readonly name: string; readonly arguments: string | Readonly<Record<string, string | number>> }

/** A model that calls these tools in its first answers, one list each, and then says what the tool answered. */
const model = async (...turns: ReadonlyArray<ReadonlyArray<ToolCall>>): Promise<string> => {
  const name = `loop-${++count}`
  for (const toolCalls of turns) await lab.sim.rule({ match: { model: name }, times: 1, script: { toolCalls } })
  return name
}
const echo = (text: string): ToolCall => ({ name: "web__echo", arguments: { text } })
const bodies = async (name: string) => (await lab.sim.entries({})).filter((entry) => entry.model === name).map(({ body }) => body as Record<string, unknown>)
const listIn = <A>(body: Readonly<Record<string, unknown>> | undefined, member: string): ReadonlyArray<A> => (body?.[member] ?? []) as ReadonlyArray<A>
const toldTo = (body: Readonly<Record<string, unknown>> | undefined) =>
  listIn<{ readonly role: string; readonly content: string }>(body, "messages").filter(({ role }) => role === "tool").map(({ content }) => content)
const chat = (name: string, more: Record<string, unknown> = {}, headers: Record<string, string> = {}) => Http.send(lab.gateway.url, {
  path: "/v1/chat/completions", headers: { authorization: `Bearer ${key}`, "x-gateway-tools": "web", ...headers },
  body: { model: `lab/${name}`, messages: [{ role: "user", content: "Use a tool." }], ...more }
})
const rowsOf = async (reply: Http.Reply) => [...await lab.gateway.rows(reply.headers["x-gateway-request-id"] ?? "none")].sort((a, b) => a.attempt - b.attempt)

beforeAll(async () => {
  lab = await startServers({ environment: { GATEWAY_TOOL_LOOP_STEPS: String(STEPS) } })
  const { id } = await lab.add({ name: "web", url: lab.tools.url, timeoutMs: 2_000 })
  await lab.stands(id, "connected")
  key = await lab.keyWith({ allowedMcpTools: ["web"] })
  await lab.gateway.operator.letFailuresPass()
})
afterAll(() => lab.close())

it("is refused while its flag is off, and the header says so", async () => {
  const reply = await chat(await model())
  expect([reply.status, reply.text]).toEqual([400, expect.stringContaining("SERVER_OWNED_TOOL_LOOP_ENABLED")])
  await lab.gateway.operator.setFlag("SERVER_OWNED_TOOL_LOOP_ENABLED", "true")
  expect((await chat(await model())).status).toBe(200)
})

describe("with the flag on", () => {
  it("a call of a server's tool is run and the model asked again: each turn has its row, one of them final, and the tool its audit row", async () => {
    const name = await model([echo("first")], [echo("second"), { name: "web__sum", arguments: { a: 1, b: 2 } }])
    const reply = await chat(name)
    expect([reply.status, JSON.parse(reply.text)]).toMatchObject([200, { choices: [{ finish_reason: "stop", message: { content: expect.stringContaining("The tool answered:") as string } }] }])
    const [first, second, third, ...more] = await bodies(name)
    expect(more).toEqual([])
    const tools = listIn<{ readonly function: { readonly name: string; readonly parameters: unknown } }>(first, "tools")
    expect(tools.find((tool) => tool.function.name === "web__echo")?.function.parameters).toMatchObject({ required: ["text"], additionalProperties: false })
    expect(second?.["messages"]).toMatchObject([{ role: "user" }, { role: "assistant", tool_calls: [{ function: { name: "web__echo" } }] }, { role: "tool", content: "You said: first" }])
    expect(toldTo(third)).toEqual(["You said: first", "You said: second", "3"])
    const rows = await rowsOf(reply)
    expect(rows.map(({ attempt, final, outcome }) => [attempt, final, outcome])).toEqual([[1, false, "completed"], [2, false, "completed"], [3, true, "completed"]])
    expect((await lab.audit("?tool=web__sum&limit=1"))[0]).toMatchObject({ success: true, apiKeyId: expect.any(String) as string })
  })

  it("nothing changes for a request without the header", async () => {
    const name = await model([echo("x")])
    const reply = await Http.send(lab.gateway.url, {
      path: "/v1/chat/completions", headers: { authorization: `Bearer ${key}` }, body: { model: `lab/${name}`, messages: [{ role: "user", content: "Hi" }] }
    })
    expect(JSON.parse(reply.text)).toMatchObject({ choices: [{ finish_reason: "tool_calls" }] })
    expect((await bodies(name))[0]?.["tools"]).toBeUndefined()
  })

  it.each([false, true])("serves every format; stream: %s", async (stream) => {
    const question = "Use a tool."
    const asks: ReadonlyArray<readonly [string, (model: string) => unknown]> = [
      ["/v1/chat/completions", (id) => ({ model: id, stream, messages: [{ role: "user", content: question }] })],
      ["/v1/messages", (id) => ({ model: id, stream, max_tokens: 100, messages: [{ role: "user", content: question }] })],
      ["/v1/responses", (id) => ({ model: id, stream, input: question })],
      ["/v1/completions", (id) => ({ model: id, stream, prompt: question })],
      ["/v1/api/chat", (id) => ({ model: id, stream, messages: [{ role: "user", content: question }] })],
      [`/v1beta/models/MODEL:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`, () => ({ contents: [{ role: "user", parts: [{ text: question }] }] })]
    ]
    for (const [path, body] of asks) {
      const name = await model([echo("formats")])
      const reply = await Http.send(lab.gateway.url, {
        path: path.replace("MODEL", encodeURIComponent(`lab/${name}`)), headers: { authorization: `Bearer ${key}`, "x-gateway-tools": "web__echo" }, body: body(`lab/${name}`)
      })
      expect(reply.status, `${path}: ${reply.text}`).toBe(200)
      expect((await bodies(name)).length, path).toBe(2)
      expect(reply.text, path).not.toContain("web__echo")
      expect(stream ? reply.text.replaceAll(/[^a-z]/gi, "") : reply.text, path).toMatch(stream ? /You.*said.*formats/ : /You said: formats/)
    }
  })

  it("a call of the client's own tool goes to the client, without the gateway's calls beside it; a name that the client uses is the client's", async () => {
    const own = (name: string) => ({ type: "function", function: { name, parameters: { type: "object", properties: {} } } })
    const name = await model([{ name: "local_time", arguments: {} }, echo("beside")])
    const reply = await chat(name, { tools: [own("local_time")] })
    const { choices: [choice] } = JSON.parse(reply.text) as { choices: ReadonlyArray<{ finish_reason: string; message: { tool_calls: ReadonlyArray<{ function: { name: string } }> } }> }
    expect([choice?.finish_reason, choice?.message.tool_calls.map((one) => one.function.name)]).toEqual(["tool_calls", ["local_time"]])
    const taken = await model([echo("mine")])
    const handed = await chat(taken, { tools: [own("web__echo")] })
    expect(JSON.parse(handed.text)).toMatchObject({ choices: [{ message: { tool_calls: [{ function: { name: "web__echo" } }] } }] })
    expect((await bodies(taken)).length).toBe(1)
  })

  it("a tool that fails, is late, is unknown or was called with nonsense is told to the model as an error", async () => {
    const name = await model([
      { name: "web__refuses", arguments: {} }, { name: "web__held", arguments: {} }, { name: "web__breaks", arguments: {} }, { name: "web__echo", arguments: "no object" }
    ])
    const reply = await chat(name)
    expect(reply.status).toBe(200)
    expect(toldTo((await bodies(name))[1])).toEqual(["I do not want to", expect.stringContaining("server_timeout"), expect.stringContaining("server_error"), expect.stringContaining("not a JSON object")])
  })

  it("ends after its turns: the last answer is asked for without tools, and streamed as it comes", async () => {
    const name = `loop-${++count}`
    await lab.sim.rule({ match: { model: name }, times: STEPS, script: { toolCalls: [echo("again")] } })
    const reply = await chat(name, { stream: true })
    const asked = await bodies(name)
    const turns = Array.from({ length: STEPS })
    expect([reply.status, asked.map((body) => body["tool_choice"] ?? null), asked.map((body) => body["stream"] === true)])
      .toEqual([200, [...turns.map(() => null), "none"], [...turns.map(() => false), true]])
    expect(contentOf(reply.text)).toContain("The tool answered:")
    expect((await rowsOf(reply)).map(({ final }) => final)).toEqual([...Array.from({ length: STEPS }, () => false), true])
  })

  it("a key has the tools of its own list, of those that the header names; none is an error", async () => {
    const some = await lab.keyWith({ allowedMcpTools: ["web__sum"] })
    const name = await model()
    const reply = await chat(name, {}, { authorization: `Bearer ${some}`, "x-gateway-tools": "*" })
    expect(reply.status).toBe(200)
    expect(listIn<{ readonly function: { readonly name: string } }>((await bodies(name))[0], "tools").map((tool) => tool.function.name)).toEqual(["web__sum"])
    const none = await chat(await model(), {}, { authorization: `Bearer ${await lab.keyWith({})}` })
    expect([none.status, none.text]).toEqual([400, expect.stringContaining("allowedMcpTools")])
    expect((await chat(await model(), {}, { "x-gateway-tools": "other" })).status).toBe(400)
    expect((await chat(await model(), { n: 2 })).status).toBe(400)
  })

  it("a budget that its turns do not fit ends the request before a second turn", async () => {
    const name = await model([echo("costly")])
    const { nodes } = await lab.gateway.operator.call<{ nodes: ReadonlyArray<{ id: string; prefix: string }> }>("GET", "/api/provider-nodes")
    await lab.gateway.operator.price(nodes.find(({ prefix }) => prefix === "lab")?.id ?? "", name, { input: 100_000, output: 100_000 })
    const poor = await lab.keyWith({ allowedMcpTools: ["web"], usageLimitEnabled: true, dailyUsageLimitUsd: 0.01 })
    const reply = await chat(name, { max_tokens: 1 }, { authorization: `Bearer ${poor}` })
    expect([reply.status >= 400 && reply.status < 500, (await bodies(name)).length <= 1], reply.text).toEqual([true, true])
  })

  it("a client that leaves while a tool runs cancels it at its server, and nothing more is asked", async () => {
    const name = await model([{ name: "web__held", arguments: {} }])
    const before = lab.tools.heard.filter(({ rpc }) => rpc === "notifications/cancelled").length
    const calls = () => lab.tools.heard.filter(({ params }) => params["name"] === "held").length
    const called = calls()
    const { request, response } = Http.open(lab.gateway.url, {
      path: "/v1/chat/completions", headers: { authorization: `Bearer ${key}`, "x-gateway-tools": "web" },
      body: { model: `lab/${name}`, stream: true, messages: [{ role: "user", content: "Hold." }] }
    })
    response.catch(() => undefined)
    await eventually(async () => calls(), (now) => now > called, "the call of the tool")
    request.destroy()
    await eventually(async () => lab.tools.heard.filter(({ rpc }) => rpc === "notifications/cancelled").length, (now) => now > before, "the cancellation")
    await eventually(() => lab.gateway.operator.reconciliation(), ({ live }) => live === 0, "the end of the request")
    expect((await bodies(name)).length).toBe(1)
  })
})
