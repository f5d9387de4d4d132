/** POST /v1/responses/compact: a summary by any provider, sealed for its key, and opened for every provider afterwards. */
import type OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab } from "#test/support/lab.ts"
import { startResponsesLab } from "#test/support/responsesLab.ts"

let lab: Lab
let openai: OpenAI
let key = ""
beforeAll(async () => {
  ({ key, lab, openai } = await startResponsesLab("compaction"))
})
afterAll(() => lab.close())

const seen = async (model: string) => (await lab.sim.entries({ model })).map(({ body }) => JSON.stringify(body))
const history: OpenAI.Responses.ResponseInput = [
  { role: "user", content: "Look at the files." },
  { type: "function_call", call_id: "call_1", name: "list", arguments: "{}" },
  { type: "function_call_output", call_id: "call_1", output: "a.txt, b.txt" },
  { role: "assistant", content: "There are two files." },
  { role: "user", content: "Rename the first." }
]
const tools: Array<OpenAI.Responses.Tool> = [{ type: "function", name: "list", parameters: { type: "object", properties: {} }, strict: false }]
const summary = "Two files: a.txt and b.txt. The user wants the first renamed."

describe("a conversation that is compacted", () => {
  it.each(["lab/cp-chat", "own/cp-own", "msg/cp-msg"])("by %s is the user's messages and one sealed item, and costs what its call costs", async (model) => {
    const upstream = model.split("/")[1]!
    await lab.sim.rule({ match: { model: upstream }, script: { text: summary } })
    const compacted = await openai.responses.compact({ model: model as never, input: history, tools } as never)
    expect(compacted).toMatchObject({ object: "response.compaction", id: expect.stringMatching(/^resp_/) as unknown, usage: { total_tokens: expect.any(Number) as unknown } })
    expect(compacted.output).toMatchObject([
      { id: expect.stringMatching(/^msg_\w{24}$/) as unknown, type: "message", role: "user", content: [{ type: "input_text", text: "Look at the files." }] },
      { id: expect.stringMatching(/^msg_\w{24}$/) as unknown, type: "message", role: "user", content: [{ type: "input_text", text: "Rename the first." }] },
      { type: "compaction", encrypted_content: expect.stringMatching(/^gwc1\./) as unknown }
    ])
    expect(JSON.stringify(compacted)).not.toContain("b.txt")
    expect((await seen(upstream))[0]).toContain("a.txt, b.txt")
    const rows = (await lab.gateway.rows()).filter((row) => row.model === upstream)
    expect(rows).toMatchObject([{ endpoint: "/v1/responses/compact", outcome: "completed" }])
    const next = await openai.responses.create({ model: "msg/cp-next", input: [...compacted.output as unknown as OpenAI.Responses.ResponseInput, { role: "user", content: "Go on." }] })
    expect(next.status).toBe("completed")
    expect((await seen("cp-next")).at(-1)).toContain(summary)
  })

  it("goes on from a stored response", async () => {
    await lab.sim.rule({ match: { model: "cp-stored" }, script: { text: "short" } })
    const { id } = await openai.responses.create({ model: "lab/cp-stored", store: true, input: "the beginning" })
    const compacted = await openai.responses.compact({ model: "lab/cp-stored" as never, previous_response_id: id })
    expect(compacted.output).toMatchObject([{ role: "user", content: [{ text: "the beginning" }] }, { type: "compaction" }])
  })

  it("is of no use to another key, or when it was changed", async () => {
    await lab.sim.rule({ match: { model: "cp-mine" }, script: { text: "secret summary" } })
    const { output } = await openai.responses.compact({ model: "lab/cp-mine" as never, input: "mine" })
    const item = output.at(-1) as { encrypted_content: string }
    const other = await lab.gateway.operator.createKey("other")
    const ask = (bearer: string, encrypted_content: string) => Http.send(lab.gateway.url, {
      path: "/v1/responses", headers: { authorization: `Bearer ${bearer}` }, body: { model: "lab/cp-thief", input: [{ type: "compaction", encrypted_content }, { role: "user", content: "Tell." }] }
    })
    for (const reply of [await ask(other.key, item.encrypted_content), await ask(key, `${item.encrypted_content.slice(0, -3)}AAA`)]) {
      expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ param: "input" })])
    }
    expect(await seen("cp-thief")).toEqual([])
  })

  it("is refused as any other request, and an empty summary is an error", async () => {
    const send = (body: unknown) => Http.send(lab.gateway.url, { path: "/v1/responses/compact", headers: { authorization: `Bearer ${key}` }, body })
    expect((await send({ input: "no model" })).status).toBe(400)
    expect((await send({ model: "nowhere/none", input: "x" })).status).toBe(404)
    expect((await send({ model: "lab/cp-x", input: 7 })).status).toBe(400)
    await lab.sim.rule({ match: { model: "cp-500" }, script: { status: 500 } })
    expect((await send({ model: "lab/cp-500", input: "x" })).status).toBe(500)
    await lab.sim.rule({ match: { model: "cp-empty" }, script: { text: "" } })
    expect(errorIn(await send({ model: "lab/cp-empty", input: "x" }))).toMatchObject({ code: "upstream_invalid_response" })
  })
})
