/** The setting logToolSources: the log says which tools a conversation offers, and who runs them, in every format and size. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

type Body = Readonly<Record<string, unknown>>

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ environment: { LOG_LEVEL: "info" } })
  await lab.gateway.operator.call("PATCH", "/api/settings", { logToolSources: true })
})
afterAll(() => lab.close())

const schema = { type: "object", properties: {} }
const chatTool = (name: string) => ({ type: "function", function: { name, parameters: schema } })
const MCP = "mcp__github__open_issue"
const model = "lab/sources"
const messages = (text: string) => [{ role: "user", content: text }]
/** The lines about a request. */
const linesOf = async (reply: Http.Reply): Promise<ReadonlyArray<string>> => {
  const { lines } = await lab.gateway.operator.call<{ lines: ReadonlyArray<string> }>("GET", "/api/logs/console?limit=500")
  const id = reply.headers["x-gateway-request-id"] ?? "no request id"
  return lines.filter((line) => line.includes(`tools of the request ${id}: `))
}
const send = (path: string, body: Body, headers: Readonly<Record<string, string>> = {}) => Http.send(lab.gateway.url, { path, headers, body })

const faces: ReadonlyArray<readonly [string, string, (text: string) => Body, ReadonlyArray<string>]> = [
  ["chat completions", "/v1/chat/completions", (text) => ({ model, messages: messages(text), tools: [chatTool("weather"), chatTool(MCP)] }), ["weather", "github/open_issue"]],
  ["older functions of chat completions", "/v1/chat/completions", (text) => ({ model, messages: messages(text), functions: [{ name: "weather", parameters: schema }] }), ["weather"]],
  ["messages", "/v1/messages", (text) => ({
    model, max_tokens: 50, messages: messages(text), tools: [{ name: "weather", input_schema: schema }, { name: MCP, input_schema: schema }, { type: "web_search_20250305", name: "web_search" }]
  }), ["weather", "github/open_issue", "web_search_20250305"]],
  ["responses", "/v1/responses", (text) => ({
    model, input: text, tools: [{ type: "function", name: "weather", parameters: schema }, { type: "namespace", name: "box", description: "d", tools: [{ type: "function", name: "boxed", parameters: schema }] }]
  }), ["weather", "boxed"]],
  ["the local model server", "/v1/api/chat", (text) => ({ model, stream: false, messages: messages(text), tools: [chatTool("weather")] }), ["weather"]],
  ["generate-content", `/v1beta/models/${encodeURIComponent(model)}:generateContent`, (text) => ({
    contents: [{ role: "user", parts: [{ text }] }], tools: [{ functionDeclarations: [{ name: "weather" }] }, { googleSearch: {} }]
  }), ["weather", "googleSearch"]]
]

describe("the tools of a conversation", () => {
  it.each(faces)("are told in %s, in a short body and a long one", async (_name, path, body, names) => {
    for (const text of ["Hello", "Hello. ".repeat(45_000)]) {
      const reply = await send(path, body(text))
      const [line = "", ...more] = await linesOf(reply)
      expect(more, reply.text.slice(0, 300)).toEqual([])
      expect(line).toContain(`: ${names.length}`)
      for (const name of names) expect(line).toContain(name)
    }
  })

  it("are told by who runs them", async () => {
    const reply = await send("/v1/messages", { model, max_tokens: 50, messages: messages("Hello"), tools: [{ name: "weather", input_schema: schema }, { name: MCP, input_schema: schema }, { type: "web_search_20250305", name: "web_search" }] })
    const [line = ""] = await linesOf(reply)
    expect(line).toContain(JSON.stringify({ client: ["weather"], vendor: ["web_search_20250305"], mcp: ["github/open_issue"], apiKeyId: null }))
  })

  it("are a bounded line, however many they are and however long their names", async () => {
    const reply = await send("/v1/chat/completions", { model, messages: messages("Hello"), tools: Array.from({ length: 60 }, (_, i) => chatTool(`t${i}_${"x".repeat(40)}`)) })
    const [line = ""] = await linesOf(reply)
    expect(line).toContain(": 60")
    expect([line.includes("t39_"), line.includes("t40_")]).toEqual([true, false])
  })

  it("are not told where there are none, of keys with noLog, and while the setting is off", async () => {
    const { key } = await lab.gateway.operator.createKey("silent", { noLog: true })
    const tools = [chatTool("weather")]
    const replies = [await lab.chat({ model: "sources" }), await lab.chat({ model: "sources", tools }, { authorization: `Bearer ${key}` })]
    await lab.gateway.operator.call("PATCH", "/api/settings", { logToolSources: false })
    replies.push(await lab.chat({ model: "sources", tools }))
    for (const reply of replies) expect([reply.status, await linesOf(reply)]).toEqual([200, []])
    await lab.gateway.operator.call("PATCH", "/api/settings", { logToolSources: true })
    expect(await linesOf(await lab.chat({ model: "sources", tools }))).toHaveLength(1)
  })
})
