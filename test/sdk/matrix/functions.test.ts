/** `functions` and `function_call`, the first form of tools: the official SDK reads a call of any vendor where its own puts it. */
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"

let matrix: Matrix
let client: OpenAI
beforeAll(async () => {
  matrix = await startMatrix()
  client = new OpenAI({ baseURL: `${matrix.url}/v1`, apiKey: matrix.key, maxRetries: 0 })
})
afterAll(() => matrix.close())

const functions = [{ name: "look", description: "Looks", parameters: { type: "object", properties: { at: { type: "string" } } } }]
const user = { role: "user" as const, content: "What is there?" }
const script = { toolCalls: [{ name: "look", arguments: { at: "the door" } }] }
const args = { at: "the door" }

describe.each(families.filter(({ name }) => name !== "chat-completions"))("a call of a vendor of $name", (family) => {
  it("is a function_call in a whole answer, and its result goes back", async () => {
    const { id } = await matrix.model(family, "chat-completions", "functions", script, { text: "A cat." })
    const { choices: [choice] } = await client.chat.completions.create({ model: id, messages: [user], functions, function_call: "auto" })
    expect(choice).toMatchObject({ finish_reason: "function_call", message: { content: null, function_call: { name: "look" } } })
    expect(choice?.message.tool_calls).toBeUndefined()
    expect(JSON.parse(choice?.message.function_call?.arguments ?? "")).toEqual(args)
    const end = await client.chat.completions.create({
      model: id, functions, messages: [user, choice!.message, { role: "function", name: "look", content: "a cat" }]
    })
    expect(end.choices[0]).toMatchObject({ finish_reason: "stop", message: { content: "A cat." } })
  })

  it.each([args, {}])("is a function_call in a stream, with arguments %j", async (given) => {
    const { id } = await matrix.model(family, "chat-completions", `streamed-${Object.keys(given).length}`, { toolCalls: [{ name: "look", arguments: given }] })
    let text = ""
    let name = ""
    let finish: string | null = null
    for await (const { choices: [choice] } of await client.chat.completions.create({ model: id, messages: [user], functions, stream: true })) {
      expect(choice?.delta.tool_calls).toBeUndefined()
      name += choice?.delta.function_call?.name ?? ""
      text += choice?.delta.function_call?.arguments ?? ""
      finish = choice?.finish_reason ?? finish
    }
    expect([name, finish, JSON.parse(text)]).toEqual(["look", "function_call", given])
  })

  it("stays in tool_calls for a client that names tools", async () => {
    const { id } = await matrix.model(family, "chat-completions", "both", script)
    const { choices: [choice] } = await client.chat.completions.create({ model: id, messages: [user], tools: [{ type: "function", function: functions[0]! }] })
    expect(choice).toMatchObject({ finish_reason: "tool_calls", message: { tool_calls: [{ function: { name: "look" } }] } })
  })
})
