/** Flag RESPONSES_PASSTHROUGH_DROP_COMMENTARY: messages of the phase `commentary` go from responses that pass through. */
import * as NodeHttp from "node:http"
import type { AddressInfo } from "node:net"
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { converged } from "#test/support/cluster.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { framesOf } from "#test/support/lab.ts"

const message = (id: string, phase: string | null, text: string) => ({
  id, type: "message", role: "assistant", status: "completed", ...phase === null ? {} : { phase }, content: [{ type: "output_text", text, annotations: [] }]
})
const call = { id: "fc_1", type: "function_call", call_id: "call_1", name: "look", arguments: "{\"at\":\"commentary\"}", status: "completed" }
const output = [message("m_0", "commentary", "I shall look."), call, message("m_2", "commentary", "I looked."), message("m_3", "final_answer", "Said \"commentary\".")]
const wanted = [call, message("m_3", "final_answer", "Said \"commentary\".")]
const plain = [message("m_0", "final_answer", "Plain.")]

const responseOf = (model: string, items: ReadonlyArray<object>, status: string) => ({
  id: "resp_1", object: "response", created_at: 1, completed_at: status === "completed" ? 2 : null, status, model, output: items, error: null, incomplete_details: null, instructions: null, metadata: {}, parallel_tool_calls: true,
  temperature: 1, tool_choice: "auto", tools: [], top_p: 1, usage: status === "completed" ? { input_tokens: 3, input_tokens_details: { cached_tokens: 0 }, output_tokens: 4, output_tokens_details: { reasoning_tokens: 0 }, total_tokens: 7 } : null
})

/** The events of an answer, as the vendor sends them. */
const eventsOf = (model: string, items: ReadonlyArray<typeof call | ReturnType<typeof message>>): ReadonlyArray<Record<string, unknown>> => [
  { type: "response.created", response: responseOf(model, [], "in_progress") },
  ...items.flatMap((item, output_index): ReadonlyArray<Record<string, unknown>> => {
    const begun = "content" in item ? { ...item, status: "in_progress", content: [] } : { ...item, arguments: "", status: "in_progress" }
    const at = { output_index, item_id: item.id }
    const inside = "content" in item
      ? [
        { type: "response.content_part.added", ...at, content_index: 0, part: { type: "output_text", text: "", annotations: [] } },
        { type: "response.output_text.delta", ...at, content_index: 0, delta: item.content[0]!.text },
        { type: "response.output_text.done", ...at, content_index: 0, text: item.content[0]!.text },
        { type: "response.content_part.done", ...at, content_index: 0, part: item.content[0] }
      ]
      : [{ type: "response.function_call_arguments.delta", ...at, delta: item.arguments }, { type: "response.function_call_arguments.done", ...at, arguments: item.arguments }]
    return [{ type: "response.output_item.added", output_index, item: begun }, ...inside, { type: "response.output_item.done", output_index, item }]
  }),
  { type: "response.completed", response: responseOf(model, items, "completed") }
]

const server = NodeHttp.createServer((request, response) => {
  const parts: Array<Buffer> = []
  request.on("data", (part: Buffer) => parts.push(part))
  request.on("end", () => {
    const { model, stream } = JSON.parse(Buffer.concat(parts).toString("utf8")) as { model: string; stream?: boolean }
    const items = model === "plain" ? plain : output
    if (stream !== true) return response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(responseOf(model, items, "completed")))
    response.writeHead(200, { "content-type": "text/event-stream" })
    return response.end(eventsOf(model, items).map((event, sequence_number) => `event: ${String(event["type"])}\ndata: ${JSON.stringify({ ...event, sequence_number })}\n\n`).join(""))
  })
})

let gateway: InProcess
let openai: OpenAI
const drop = async (value: "true" | "false"): Promise<void> => {
  await gateway.operator.setFlag("RESPONSES_PASSTHROUGH_DROP_COMMENTARY", value)
  await converged(gateway)
}
beforeAll(async () => {
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()))
  gateway = await inProcess()
  const provider = await gateway.operator.createNode({ prefix: "own", type: "openai-compatible", apiType: "responses", baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1` })
  await gateway.operator.createConnection({ provider, apiKey: "k" })
  openai = new OpenAI({ baseURL: `${gateway.url}/v1`, apiKey: (await gateway.operator.createKey("commentary")).key, maxRetries: 0 })
})
afterAll(async () => {
  await gateway.close()
  server.close()
  server.closeAllConnections()
})

const ask = (model: string, stream: boolean, store = false) => Http.send(gateway.url, { path: "/v1/responses", headers: { authorization: `Bearer ${openai.apiKey}` }, body: { model: `own/${model}`, input: "Look.", stream, store } })
const outputOf = (reply: Http.Reply): unknown => (JSON.parse(reply.text) as { output: unknown }).output

describe("commentary", () => {
  it("goes from a whole response, and from the one that is stored", async () => {
    expect(outputOf(await ask("whole", false))).toEqual(wanted)
    const stored = JSON.parse((await ask("stored", false, true)).text) as { id: string }
    const read = await openai.responses.retrieve(stored.id)
    expect(read.output).toMatchObject(wanted)
    expect(read.output).toHaveLength(wanted.length)
  })

  it("goes from a stream, whose later items move up", async () => {
    const events = framesOf((await ask("streamed", true)).text)
    expect(events.flatMap(({ item, output_index }) => item === undefined ? [] : [[output_index, (item as { id: string }).id]])).toEqual([[0, "fc_1"], [0, "fc_1"], [1, "m_3"], [1, "m_3"]])
    expect(events.flatMap(({ item_id, output_index }) => item_id === undefined ? [] : [`${String(output_index)} ${String(item_id)}`])).toEqual([...Array<string>(2).fill("0 fc_1"), ...Array<string>(4).fill("1 m_3")])
    expect(events.at(-1)).toMatchObject({ type: "response.completed", response: { output: wanted, usage: { total_tokens: 7 } } })
    expect((events.at(-1) as { response: { output: ReadonlyArray<unknown> } }).response.output).toHaveLength(wanted.length)
  })

  it("goes for the vendor's own client, which puts a stream together by places", async () => {
    const stream = openai.responses.stream({ model: "own/sdk", input: "Look." })
    const texts: Array<string> = []
    for await (const event of stream) if (event.type === "response.output_text.delta") texts.push(`${event.output_index} ${event.delta}`)
    expect(texts).toEqual(["1 Said \"commentary\"."])
    expect((await stream.finalResponse()).output.map(({ id }) => id)).toEqual(["fc_1", "m_3"])
  })

  it("changes no byte of an answer without it", async () => {
    const [whole, streamed] = [await ask("plain", false), await ask("plain", true)]
    await drop("false")
    const [wholeBefore, streamedBefore] = [await ask("plain", false), await ask("plain", true)]
    await drop("true")
    expect([whole.text, streamed.text]).toEqual([wholeBefore.text, streamedBefore.text])
  })

  it("stays while the flag is off", async () => {
    await drop("false")
    expect(outputOf(await ask("off", false))).toEqual(output)
    const events = framesOf((await ask("off", true)).text)
    expect(events.at(-1)).toMatchObject({ response: { output } })
    expect(events).toHaveLength(eventsOf("off", output).length)
    await drop("true")
  })
})
