/** Some editors send `input` or `prompt` to the path of chat completions: it is read as the messages that it stands for. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { client } from "#src/wire/chatCompletions/index.ts"
import { contentOf, errorIn, type Lab, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  const id = await lab.gateway.operator.createNode({ prefix: "msg", baseUrl: `${lab.sim.url}/v1`, type: "anthropic-compatible" })
  await lab.gateway.operator.createConnection({ provider: id, apiKey: "sk-input" })
})
afterAll(() => lab.close())

const send = (body: Readonly<Record<string, unknown>>, path = "/v1/chat/completions") => Http.send(lab.gateway.url, { path, body })
/** What the upstream was sent last, without its model. */
const sent = async (model: string): Promise<unknown> => {
  const { model: _model, ...rest } = (await lab.sim.entries({ model })).at(-1)!.body as Record<string, unknown>
  return rest
}

const parameters = { type: "object", properties: { at: { type: "string" } } }
/** As an editor sends it: items, flat tools and the settings of the responses format, with members of this format between them. */
const editorBody = (said: string) => ({
  instructions: "Be brief.",
  input: [
    { role: "system", content: "You edit code." },
    { role: "user", content: [{ type: "input_text", text: said }] },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "opaque" },
    { type: "function_call", call_id: "call_1", name: "look", arguments: '{"at":"x"}' },
    { type: "function_call_output", call_id: "call_1", output: "seen" }
  ],
  tools: [{ type: "function", name: "look", description: "Looks.", parameters, strict: false }, { type: "function", function: { name: "nested", parameters } }],
  tool_choice: { type: "function", name: "look" },
  max_output_tokens: 50, text: { format: { type: "json_schema", name: "answer", schema: parameters } },
  store: false, include: ["reasoning.encrypted_content"], truncation: "auto", seed: 7, stop: ["END"]
})
const editorMessages = (said: string) => [
  { role: "system", content: "Be brief." }, { role: "system", content: "You edit code." }, { role: "user", content: said },
  { role: "assistant", content: null, tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: '{"at":"x"}' } }] },
  { role: "tool", tool_call_id: "call_1", content: "seen" }
]
const editorSent = (said: string) => ({
  messages: editorMessages(said),
  tools: [
    { type: "function", function: { name: "look", description: "Looks.", parameters, strict: false } }, { type: "function", function: { name: "nested", parameters } }
  ],
  tool_choice: { type: "function", function: { name: "look" } },
  max_tokens: 50, response_format: { type: "json_schema", json_schema: { name: "answer", schema: parameters } }, store: false, seed: 7, stop: ["END"]
})
const padding = "é\\ \"x\" ".repeat(60_000)

describe("a chat body without messages", () => {
  const user = [{ role: "user", content: "Say hello." }]
  it.each([
    ["a text as input", { input: "Say hello." }, user],
    ["no messages, said as null", { messages: null, input: "Say hello." }, user],
    ["an empty list of messages", { messages: [], input: "Say hello." }, user],
    ["instructions", { input: "Say hello.", instructions: "Be brief." }, [{ role: "system", content: "Be brief." }, ...user]],
    ["messages as input", { input: [{ role: "user", content: [{ type: "text", text: "Say hello." }] }] }, [{ role: "user", content: [{ type: "text", text: "Say hello." }] }]],
    ["plain messages as input", { input: user }, user],
    ["a prompt", { prompt: "Say hello.", n: 1 }, user],
    ["one prompt in a list", { prompt: ["Say hello."] }, user],
    ["messages as prompt", { prompt: user }, user],
    ["input and prompt: input counts", { input: "Say hello.", prompt: null }, user]
  ])("with %s is asked as these messages, whole and streamed, of both families", async (what, body, messages) => {
    const model = `moved-${what.replaceAll(/[^a-z]/g, "-")}`
    const whole = await send({ model: `lab/${model}`, ...body })
    expect([whole.status, (JSON.parse(whole.text) as { object: string }).object]).toEqual([200, "chat.completion"])
    expect(await sent(model)).toEqual({ messages, ...("n" in body ? { n: 1 } : {}) })
    const streamed = await send({ model: `lab/${model}`, stream: true, ...body })
    expect([streamed.status, contentOf(streamed.text)]).toEqual([200, "Say hello."])
    expect((await send({ model: `msg/${model}`, ...body })).status).toBe(200)
  })

  it.each([["small", "Say hello."], ["large", padding]])("as an editor sends it, %s, has its items, tools and settings in the words of chat", async (size, said) => {
    const model = `editor-${size}`
    const reply = await send({ model: `lab/${model}`, ...editorBody(said) })
    expect([reply.status, reply.status === 200 ? "" : reply.text]).toEqual([200, ""])
    expect(await sent(model)).toEqual(editorSent(said))
    expect((await send({ model: `msg/${model}`, ...editorBody(said), stream: true })).status).toBe(200)
  })

  it("keeps settings that its target may refuse, and tools of its vendor: the target's own words say so, or the header of what was left out", async () => {
    const body = { input: "Say hello.", temperature: 0.5, reasoning: { effort: "low" }, tools: [{ type: "web_search" }, { type: "function", name: "look", parameters }] }
    const reply = await send({ model: "msg/hosted-tools", ...body })
    expect([reply.status, reply.headers["x-gateway-omitted"]]).toEqual([200, expect.stringContaining("tools.web_search")])
    const refused = await send({ model: "lab/gpt-5", ...body })
    expect(refused.status).toBe(400)
    expect((await lab.sim.entries({ model: "gpt-5" })).at(-1)?.body).toMatchObject({ temperature: 0.5, reasoning_effort: "low", tools: [{ type: "function" }, { type: "web_search" }] })
  })

  it("keeps integers that no number holds, and members of any name", () => {
    const text = '{"model":"lab/x","input":"x","__proto__":{"a":1},"x_own":9007199254740993}'
    expect(client.withMessages?.(JSON.parse(text) as Record<string, unknown>, Buffer.from(text))?.toString())
      .toBe('{"__proto__":{"a":1},"x_own":9007199254740993,"model":"lab/x","messages":[{"role":"user","content":"x"}]}')
  })

  it("is taken at every path of chat completions", async () => {
    const { id, key } = await lab.gateway.operator.createKey("editor")
    expect(id).not.toBe("")
    for (const path of [`/api/v1/editor/${key}/chat/completions`, "/v1/providers/lab/chat/completions"]) {
      const reply = await send({ model: "lab/paths", input: "Say hello." }, path)
      expect([path, reply.status]).toEqual([path, 200])
    }
  })

  it.each([
    ["nothing at all", {}, "messages"],
    ["an empty text", { input: "" }, "messages"],
    ["an empty list", { input: [] }, "messages"],
    ["an item that is none", { input: [1] }, "input[0]"],
    ["an item that lacks its output", { input: [{ type: "function_call_output", call_id: "a" }] }, "input[0].output"],
    ["several prompts", { prompt: ["a", "b"] }, "prompt"],
    ["tokens", { prompt: [1, 2] }, "prompt"],
    ["a stored prompt", { prompt: { id: "pmpt_1" } }, "prompt"],
    ["what is stored elsewhere", { input: "x", previous_response_id: "resp_1" }, "previous_response_id"],
    ["an answer in the background", { input: "x", background: true }, "background"]
  ])("with %s is refused by the member's name", async (_what, body, param) => {
    const reply = await send({ model: "lab/refused", ...body })
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, param])
  })
})

describe("a chat body with messages", () => {
  it("is forwarded as it came, whatever stands in input and prompt", async () => {
    const body = { messages: [{ role: "user", content: "Say hello." }], input: ["mine"], prompt: 5 }
    await send({ model: "lab/both", ...body })
    expect(await sent("both")).toEqual(body)
  })

  it("that are no list is refused for them", async () => {
    const reply = await send({ model: "lab/wrong", messages: "x", input: "y" })
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, "messages"])
  })
})
