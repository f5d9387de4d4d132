import * as fs from "node:fs"
import * as Result from "effect/Result"
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest"
import { localModelServer } from "#src/simulator/formats/localModelServer/localModelServer.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { raw } from "./rawClient.ts"

let sim: Sim
beforeAll(async () => {
  sim = await startSim()
})
afterAll(() => sim.stop())
afterEach(() => sim.reset())

const ask = (over: Record<string, unknown>, headers: Record<string, string> = {}) =>
  raw(sim.port, { model: "echo", messages: [{ role: "user", content: "hello brave new world" }], ...over }, { path: "/api/chat", headers })
const refusal = async (over: Record<string, unknown>) => {
  const reply = await ask(over)
  return `${reply.status} ${(JSON.parse(reply.body.toString()) as { error: string }).error}`
}
const user = (over: object) => ({ messages: [{ role: "user", content: "hi", ...over }] })
const tool = (parameters: object) => ({ tools: [{ type: "function", function: { name: "f", parameters } }] })

describe("a local model server", () => {
  test("refuses what its typed decoder cannot read", async () => {
    expect(await Promise.all([
      refusal({ model: "" }),
      refusal({ messages: [{ role: "developer", content: "x" }] }),
      refusal(user({ content: [{ type: "text", text: "hi" }] })),
      refusal(user({ thinking: 7 })),
      refusal(user({ images: ["https://example.com/cat.png"] })),
      refusal(user({ images: [7] })),
      refusal({ messages: [{ role: "assistant", tool_calls: [{ function: { name: "f", arguments: "{}" } }] }] }),
      refusal({ messages: [{ role: "tool", tool_call_id: 7, content: "" }] }),
      refusal({ stream: "yes" }),
      refusal({ think: "extreme" }),
      refusal({ think: 3 }),
      refusal({ format: "yaml" }),
      refusal({ options: { temperature: "hot" } }),
      refusal({ options: { num_predict: "7" } }),
      refusal({ options: { stop: "END" } }),
      refusal({ options: { stop: [1] } }),
      refusal({ top_logprobs: 21 }),
      refusal({ logprobs: 1 }),
      refusal({ keep_alive: "forever" }),
      refusal({ tools: [{ type: "function" }] }),
      refusal(tool({ type: ["object"] })),
      refusal(tool({ type: "object", required: "a" })),
      refusal(tool({ type: "object", properties: { a: true } })),
      refusal(tool({ type: "object", properties: { a: { type: 7 } } }))
    ])).toEqual([
      "400 model is required",
      "400 invalid role: developer, role must be one of [system, user, assistant, tool]",
      "400 json: cannot unmarshal array into Go struct field ChatRequest.messages.content of type string",
      "400 json: cannot unmarshal number into Go struct field ChatRequest.messages.thinking of type string",
      "400 illegal base64 data at input byte 5",
      "400 json: cannot unmarshal number into Go struct field ChatRequest.messages.images of type api.ImageData",
      "400 json: cannot unmarshal string into Go struct field ToolCallFunction.arguments of type api.ToolCallFunctionArguments",
      "400 json: cannot unmarshal number into Go struct field ChatRequest.messages.tool_call_id of type string",
      "400 json: cannot unmarshal string into Go struct field ChatRequest.stream of type bool",
      '400 invalid think value: "extreme" (must be "high", "medium", "low", true, or false)',
      '400 think must be a boolean or string ("high", "medium", "low", true, or false)',
      '400 invalid format: "yaml"; expected "json" or a valid JSON Schema object',
      '400 option "temperature" must be of type float32',
      '400 option "num_predict" must be of type integer',
      '400 option "stop" must be of type array',
      '400 option "stop" must be of an array of strings',
      "400 top_logprobs must be between 0 and 20",
      "400 json: cannot unmarshal number into Go struct field ChatRequest.logprobs of type bool",
      '400 time: invalid duration "forever"',
      "400 json: cannot unmarshal null into Go struct field ChatRequest.tools of type api.Tool",
      "400 json: cannot unmarshal array into Go struct field ToolFunctionParameters.type of type string",
      "400 json: cannot unmarshal string into Go struct field ToolFunctionParameters.required of type []string",
      "400 json: cannot unmarshal bool into Go struct field ToolFunctionParameters.properties of type api.ToolProperty",
      "400 invalid type: must be a string or an array of strings"
    ])
  })

  const requests = new URL("../golden/local-model-server/requests/", import.meta.url)
  // The server's own decoder wants stop as a list, though its document also shows a text.
  for (const name of fs.readdirSync(requests).filter((one) => one !== "server-options-and-keep-alive.json")) {
    test(`accepts ${name}`, () => {
      const body = JSON.parse(fs.readFileSync(new URL(name, requests), "utf8")) as Record<string, unknown>
      expect(Result.isSuccess(localModelServer.read(body, { headers: {}, path: "/api/chat", query: "" }))).toBe(true)
    })
  }

  test("writes a call's id and index when the script gives it an id, as newer servers do", async () => {
    await sim.rule({ script: { reasoning: "hm", text: "See:", toolCalls: [{ name: "f", arguments: { n: 1 }, id: "call_x" }, { name: "g" }] } })
    const lines = (await ask({})).body.toString().trim().split("\n").map((line) => JSON.parse(line) as { done: boolean; message: { thinking?: string; tool_calls?: unknown } })
    expect(lines.flatMap((line) => line.message.thinking ?? []).join("")).toBe("hm")
    expect(lines.at(-2)?.message.tool_calls).toEqual([{ id: "call_x", function: { index: 0, name: "f", arguments: { n: 1 } } }, { function: { name: "g", arguments: {} } }])
    expect(lines.at(-1)).toMatchObject({ done: true, done_reason: "stop" })
  })
})
