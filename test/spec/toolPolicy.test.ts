/** Denied tools over HTTP: found in every format and size, refused before anything is sent, or logged and passed. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let count = 0
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.call("PATCH", "/api/settings", { deniedTools: ["shell_*", "code_execution*", "computer"] })
})
afterEach(() => lab.gateway.operator.clearFlags())
afterAll(() => lab.close())

type Body = Readonly<Record<string, unknown>>
const block = () => lab.gateway.operator.setFlag("TOOL_POLICY_MODE", "block")
const asked = async (name: string) => (await lab.sim.entries({})).filter(({ model }) => model === name).length
const schema = { type: "object", properties: {} }
const chatTool = (name: string) => ({ type: "function", function: { name, parameters: schema } })
const user = [{ role: "user", content: "Hello" }]

const faces: ReadonlyArray<readonly [string, (model: string, tool: string) => { readonly path: string; readonly body: Body }]> = [
  ["chat completions", (model, tool) => ({ path: "/v1/chat/completions", body: { model, messages: user, tools: [chatTool("weather"), chatTool(tool)] } })],
  ["older functions of chat completions", (model, tool) => ({ path: "/v1/chat/completions", body: { model, messages: user, functions: [{ name: tool, parameters: schema }] } })],
  ["messages", (model, tool) => ({ path: "/v1/messages", body: { model, max_tokens: 50, messages: user, tools: [{ name: tool, input_schema: schema }] } })],
  ["responses", (model, tool) => ({ path: "/v1/responses", body: { model, input: "Hello", tools: [{ type: "namespace", name: "box", description: "d", tools: [{ type: "function", name: tool, parameters: schema }] }] } })],
  ["the local model server", (model, tool) => ({ path: "/v1/api/chat", body: { model, stream: false, messages: user, tools: [chatTool(tool)] } })],
  ["generateContent", (model, tool) => ({ path: `/v1beta/models/${encodeURIComponent(model)}:generateContent`, body: { contents: [{ role: "user", parts: [{ text: "Hello" }] }], tools: [{ functionDeclarations: [{ name: tool }] }] } })]
]
const send = ({ body, path }: { readonly path: string; readonly body: Body }) => Http.send(lab.gateway.url, { path, headers: {}, body })

describe.each(faces)("a tool in %s", (_face, say) => {
  it("that is denied is refused with 403 in the client's format, in a short body and a long one, and nothing is sent", async () => {
    await block()
    for (const filler of ["", "x".repeat(1_500_000)]) {
      const name = `policy-${++count}`
      const { body, path } = say(`lab/${name}`, "Shell_exec")
      const reply = await send({ path, body: filler === "" ? body : { metadata: { user_id: "u" }, ...body, ...Object.hasOwn(body, "input") ? { input: filler } : Object.hasOwn(body, "contents") ? { contents: [{ role: "user", parts: [{ text: filler }] }] } : { messages: [{ role: "user", content: filler }] } } })
      expect([reply.status, reply.text]).toEqual([403, expect.stringContaining("Shell_exec")])
      expect(await asked(name)).toBe(0)
    }
    expect((await send(say(`lab/policy-${++count}`, "weather"))).status).toBe(200)
  })
})

it("is found by its code, and its row of refusals names it", async () => {
  await block()
  const reply = await lab.chat({ model: `policy-${++count}`, tools: [chatTool("computer"), chatTool("shell_a"), chatTool("fine")] })
  expect([reply.status, errorIn(reply)]).toMatchObject([403, { code: "tool_denied", type: "permission_error", param: "tools", message: expect.stringContaining("computer, shell_a.") as string }])
})

it("tools that a vendor runs go by their type", async () => {
  await block()
  const body = (tool: Body) => ({ path: "/v1/responses", body: { model: `lab/policy-${++count}`, input: "Hello", tools: [tool] } })
  expect((await send(body({ type: "code_execution_20250522" }))).status).toBe(403)
  expect((await send(body({ type: "web_search" }))).status).toBe(200)
})

it("a denied tool is found among more definitions than the outline of a large body holds", async () => {
  await block()
  const name = `policy-${++count}`
  const many = Array.from({ length: 40 }, (_, i) => ({ ...chatTool(`tool_${i}`), padding: "y".repeat(40_000) }))
  const reply = await lab.chat({ model: name, tools: [chatTool("shell_first"), ...many] })
  expect([reply.status, await asked(name)]).toEqual([403, 0])
})

it("a name that is longer than any vendor takes is denied, and told in part", async () => {
  await block()
  const reply = await lab.chat({ model: `policy-${++count}`, tools: [chatTool(`a${"b".repeat(5_000)}`)] })
  expect([reply.status, reply.text.length < 1_000]).toEqual([403, true])
})

it("warn passes the request and logs it; disabled, or an empty list, does nothing", async () => {
  const ask = async () => (await lab.chat({ model: `policy-${++count}`, tools: [chatTool("shell_exec")] })).status
  expect(await ask()).toBe(200)
  await lab.gateway.operator.setFlag("TOOL_POLICY_MODE", "warn")
  expect(await ask()).toBe(200)
  const lines = await lab.gateway.operator.raw("GET", "/api/logs/console?limit=200")
  expect(lines.text).toContain("denied tools in the request")
  await block()
  expect(await ask()).toBe(403)
  await lab.gateway.operator.call("PATCH", "/api/settings", { deniedTools: [] })
  expect(await ask()).toBe(200)
  await lab.gateway.operator.call("PATCH", "/api/settings", { deniedTools: ["shell_*"] })
  expect(await ask()).toBe(403)
})
