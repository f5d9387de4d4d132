/**
 * What a responses client is given, held against the public Open Responses schema (openresponses.org): every required member of the
 * response object, its items and its events, whatever family answers. The six questions are those of its compliance suite over HTTP.
 */
import * as Result from "effect/Result"
import * as Schema from "effect/Schema"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import { png } from "./Driver.ts"

const Int = Schema.Int
const Text = Schema.String
const Dict = Schema.Record(Schema.String, Schema.Unknown)
const status = Schema.Literals(["in_progress", "completed", "incomplete"])
const Logprob = Schema.Struct({ token: Text, logprob: Schema.Finite, bytes: Schema.Array(Int), top_logprobs: Schema.Array(Schema.Struct({ token: Text, logprob: Schema.Finite, bytes: Schema.Array(Int) })) })
const Citation = Schema.Struct({ type: Schema.Literal("url_citation"), url: Text, start_index: Int, end_index: Int, title: Text })

const Content = Schema.Union([
  Schema.Struct({ type: Schema.Literal("output_text"), text: Text, annotations: Schema.Array(Citation), logprobs: Schema.Array(Logprob) }),
  Schema.Struct({ type: Schema.Literal("refusal"), refusal: Text }),
  Schema.Struct({ type: Schema.Literals(["summary_text", "reasoning_text"]), text: Text })
])
const Item = Schema.Union([
  Schema.Struct({ type: Schema.Literal("message"), id: Text, status, role: Schema.Literal("assistant"), content: Schema.Array(Content) }),
  Schema.Struct({ type: Schema.Literal("function_call"), id: Text, call_id: Text, name: Schema.NonEmptyString, arguments: Text, status }),
  Schema.Struct({ type: Schema.Literal("reasoning"), id: Text, summary: Schema.Array(Content), content: Schema.optionalKey(Schema.Array(Content)), encrypted_content: Schema.optionalKey(Text) })
])
const Tool = Schema.Struct({
  type: Schema.Literal("function"), name: Text, description: Schema.NullOr(Text), parameters: Schema.NullOr(Dict), strict: Schema.NullOr(Schema.Boolean)
})
const choice = Schema.Literals(["none", "auto", "required"])
const Usage = Schema.Struct({
  input_tokens: Int, output_tokens: Int, total_tokens: Int, input_tokens_details: Schema.Struct({ cached_tokens: Int }), output_tokens_details: Schema.Struct({ reasoning_tokens: Int })
})

const Response = Schema.Struct({
  id: Text, object: Schema.Literal("response"), created_at: Int, completed_at: Schema.NullOr(Int), status: Text,
  incomplete_details: Schema.NullOr(Schema.Struct({ reason: Text })), model: Text, previous_response_id: Schema.NullOr(Text),
  instructions: Schema.NullOr(Text), output: Schema.Array(Item), error: Schema.NullOr(Schema.Struct({ code: Text, message: Text })),
  tools: Schema.Array(Tool),
  tool_choice: Schema.Union([
    choice, Schema.Struct({ type: Schema.Literal("function"), name: Text }),
    Schema.Struct({ type: Schema.Literal("allowed_tools"), tools: Schema.Array(Dict), mode: choice })
  ]),
  truncation: Schema.Literals(["auto", "disabled"]), parallel_tool_calls: Schema.Boolean,
  text: Schema.Struct({ format: Schema.Struct({ type: Schema.Literals(["text", "json_object", "json_schema"]) }), verbosity: Schema.optionalKey(Schema.Literals(["low", "medium", "high"])) }),
  top_p: Schema.Finite, presence_penalty: Schema.Finite, frequency_penalty: Schema.Finite, top_logprobs: Int, temperature: Schema.Finite,
  reasoning: Schema.NullOr(Schema.Struct({ effort: Schema.NullOr(Text), summary: Schema.NullOr(Text) })), user: Schema.NullOr(Text),
  usage: Schema.NullOr(Usage), max_output_tokens: Schema.NullOr(Int), max_tool_calls: Schema.NullOr(Int), store: Schema.Boolean,
  background: Schema.Boolean, service_tier: Text, metadata: Dict, safety_identifier: Schema.NullOr(Text), prompt_cache_key: Schema.NullOr(Text)
})
type Response = typeof Response.Type

const item = { item_id: Text, output_index: Int }
const events: Readonly<Record<string, Schema.Top & { readonly DecodingServices: never }>> = {
  "response.created": Schema.Struct({ response: Response }), "response.in_progress": Schema.Struct({ response: Response }),
  "response.completed": Schema.Struct({ response: Response }), "response.incomplete": Schema.Struct({ response: Response }),
  "response.output_item.added": Schema.Struct({ output_index: Int, item: Item }), "response.output_item.done": Schema.Struct({ output_index: Int, item: Item }),
  "response.content_part.added": Schema.Struct({ ...item, content_index: Int, part: Content }),
  "response.content_part.done": Schema.Struct({ ...item, content_index: Int, part: Content }),
  "response.output_text.delta": Schema.Struct({ ...item, content_index: Int, delta: Text, logprobs: Schema.Array(Logprob) }),
  "response.output_text.done": Schema.Struct({ ...item, content_index: Int, text: Text, logprobs: Schema.Array(Logprob) }),
  "response.reasoning_summary_part.added": Schema.Struct({ ...item, summary_index: Int, part: Content }),
  "response.reasoning_summary_part.done": Schema.Struct({ ...item, summary_index: Int, part: Content }),
  "response.reasoning_summary_text.delta": Schema.Struct({ ...item, summary_index: Int, delta: Text }),
  "response.reasoning_summary_text.done": Schema.Struct({ ...item, summary_index: Int, text: Text }),
  "response.function_call_arguments.delta": Schema.Struct({ ...item, delta: Text }),
  "response.function_call_arguments.done": Schema.Struct({ ...item, arguments: Text })
}

const checked = <S extends Schema.Top & { readonly DecodingServices: never }>(schema: S, value: unknown): S["Type"] => {
  const read = Schema.decodeUnknownResult(schema)(value)
  if (Result.isFailure(read)) throw new Error(`${String(read.failure)}\n${JSON.stringify(value)}`)
  return read.success
}

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

const ask = async (body: object): Promise<globalThis.Response> => {
  const reply = await fetch(`${matrix.url}/v1/responses`, {
    method: "POST", headers: { authorization: `Bearer ${matrix.key}`, "content-type": "application/json" }, body: JSON.stringify(body)
  })
  if (reply.status !== 200) throw new Error(`${reply.status}: ${await reply.text()}`)
  return reply
}

const whole = async (body: object): Promise<Response> => checked(Response, await (await ask(body)).json())

/** The last response of a stream, each of whose events was held against its schema. */
const streamed = async (body: object): Promise<{ readonly response: Response; readonly types: ReadonlyArray<string> }> => {
  const text = await (await ask({ ...body, stream: true })).text()
  const types: Array<string> = []
  let last: Response | null = null
  let sequence = 0
  for (const frame of text.split("\n\n").filter((one) => one.includes("data: "))) {
    const data = JSON.parse(/^data: (.*)$/m.exec(frame)?.[1] ?? "") as { readonly type: string; readonly sequence_number: number; readonly response?: unknown }
    expect(/^event: (.*)$/m.exec(frame)?.[1]).toBe(data.type)
    expect(data.sequence_number).toBe(sequence++)
    const schema = events[data.type]
    if (schema === undefined) throw new Error(`no schema of ${data.type}`)
    checked(schema, data)
    types.push(data.type)
    if (data.response !== undefined) last = checked(Response, data.response)
  }
  if (last === null) throw new Error("a stream without a response")
  return { response: last, types }
}

const user = (content: unknown) => ({ type: "message", role: "user", content })
const weather = {
  type: "function", name: "get_weather", description: "The weather of a place",
  parameters: { type: "object", properties: { location: { type: "string", description: "A city" } }, required: ["location"] }
}
const call = { reasoning: "Hm.", toolCalls: [{ name: "get_weather", arguments: { location: "Bern" } }] }

const questions = [
  ["a basic text", { input: [user("Say hello in three words.")] }, { text: "Hello to you." }, "message"],
  ["a system prompt", { input: [{ type: "message", role: "system", content: "You are a pirate." }, user("Hello.")] }, { text: "Ahoy!" }, "message"],
  ["a tool", { input: [user("The weather in Bern?")], tools: [weather] }, call, "function_call"],
  ["an image", { input: [user([{ type: "input_text", text: "What is it?" }, { type: "input_image", image_url: `data:image/png;base64,${png}` }])] }, { text: "A dot." }, "message"],
  ["several turns", { input: [user("My name is Alice."), { type: "message", role: "assistant", content: "Hello Alice!" }, user("My name?")] }, { text: "Alice." }, "message"],
  ["every field", {
    input: "Hello.", instructions: "Be brief.", temperature: 0.5, presence_penalty: 0.25, frequency_penalty: 0.5, max_output_tokens: 200, max_tool_calls: 3, metadata: { a: "b" },
    parallel_tool_calls: false, prompt_cache_key: "k", safety_identifier: "s", store: false, truncation: "auto", user: "u", text: { format: { type: "text" }, verbosity: "low" }, reasoning: { effort: "low" }
  }, { reasoning: "Hm.", text: "Hi." }, "message"],
  ["a limit that is reached", { input: "Hello.", max_output_tokens: 16 }, { tokens: 40 }, "message"]
] as const

describe.each(families.map((family) => ({ family, name: family.name })))("a response of $name", ({ family }) => {
  it.each(questions)("to %s is whole by the public schema, streamed or not", async (label, body, script, type) => {
    const model = await matrix.model(family, "responses", `open-${label.replaceAll(" ", "-")}`, script)
    const one = await whole({ ...body, model: model.id })
    const many = await streamed({ ...body, model: model.id })
    const isCut = label === "a limit that is reached"
    for (const response of [one, many.response]) {
      expect([response.status, response.incomplete_details, response.completed_at === null]).toEqual(isCut ? ["incomplete", { reason: "max_output_tokens" }, true] : ["completed", null, false])
      expect(response.output.map((item) => item.type)).toContain(type)
      if (label === "a tool") expect(response.tools).toEqual([{ ...weather, strict: true }])
      if (label === "every field") {
        expect(response).toMatchObject({
          instructions: "Be brief.", temperature: 0.5, presence_penalty: 0.25, frequency_penalty: 0.5, max_output_tokens: 200, max_tool_calls: 3, metadata: { a: "b" },
          parallel_tool_calls: false, prompt_cache_key: "k", safety_identifier: "s", store: false, truncation: "auto", user: "u", text: { format: { type: "text" }, verbosity: "low" }
        })
      }
    }
    if (type === "function_call") expect(many.types).toEqual(expect.arrayContaining(["response.function_call_arguments.delta", "response.function_call_arguments.done"]))
    expect(many.types.slice(0, 2)).toEqual(["response.created", "response.in_progress"])
    expect(many.types.at(-1)).toBe(isCut ? "response.incomplete" : "response.completed")
  })
})
