/** Conversations that the gateway keeps: requests of every family go on with one, and what was said is appended, for its key alone. */
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { startResponsesLab } from "#test/support/responsesLab.ts"

let lab: Lab
let openai: OpenAI
let key = ""
beforeAll(async () => {
  ({ key, lab, openai } = await startResponsesLab("conversations"))
})
afterAll(() => lab.close())

type Body = Readonly<Record<string, unknown>>
const send = (method: string, path: string, body?: Body, headers: Readonly<Record<string, string>> = { authorization: `Bearer ${key}` }) =>
  Http.send(lab.gateway.url, { method, path, headers, body })
const seen = async (model: string) => (await lab.sim.entries({ model })).map(({ body }) => JSON.stringify(body))
/** What stands in a conversation, as `role: text`, the oldest first. */
const said = async (id: string) => {
  const lines: Array<string> = []
  for await (const item of openai.conversations.items.list(id, { order: "asc", limit: 2 })) {
    if (item.type === "message") lines.push(`${item.role}: ${item.content.map((part) => "text" in part ? part.text : "").join("")}`)
  }
  return lines
}

describe("a conversation", () => {
  it("is made, read, changed, listed in pages and deleted, with its items", async () => {
    const made = await openai.conversations.create({ metadata: { topic: "tests" }, items: [{ type: "message", role: "user", content: "first" }] })
    expect(made).toMatchObject({ id: expect.stringMatching(/^conv_/) as unknown, object: "conversation", metadata: { topic: "tests" }, created_at: expect.any(Number) as unknown })
    expect(await openai.conversations.retrieve(made.id)).toEqual(made)
    expect(await openai.conversations.update(made.id, { metadata: { topic: "other" } })).toEqual({ ...made, metadata: { topic: "other" } })
    const own = { id: "msg_own", type: "message" as const, role: "user" as const, content: [{ type: "input_text" as const, text: "third" }] }
    const added = await openai.conversations.items.create(made.id, { items: [{ role: "assistant", content: "second" }, own] })
    expect(added.data).toMatchObject([{ type: "message", role: "assistant", id: expect.stringMatching(/^msg_/) as unknown }, { id: "msg_own" }])
    expect(await said(made.id)).toEqual(["user: first", "assistant: second", "user: third"])
    expect(await openai.conversations.items.retrieve("msg_own", { conversation_id: made.id })).toMatchObject({ id: "msg_own", role: "user", status: "completed" })
    expect(await openai.conversations.items.delete("msg_own", { conversation_id: made.id })).toMatchObject({ id: made.id, object: "conversation" })
    expect(await said(made.id)).toEqual(["user: first", "assistant: second"])
    expect(await openai.conversations.delete(made.id)).toEqual({ id: made.id, object: "conversation.deleted", deleted: true })
    for (const [method, path] of [["GET", ""], ["POST", ""], ["DELETE", ""], ["GET", "/items"], ["POST", "/items"], ["GET", "/items/x"], ["DELETE", "/items/x"]] as const) {
      const reply = await send(method, `/v1/conversations/${made.id}${path}`, method === "POST" ? {} : undefined)
      expect([reply.status, errorIn(reply)["code"]], method + path).toEqual([404, "conversation_not_found"])
    }
  })

  it.each([["lab/cv-chat", false], ["own/cv-own", false], ["msg/cv-msg", false], ["lab/cv-chat-s", true], ["msg/cv-msg-s", true]])("goes on at %s (streamed: %s), and what was said is appended", async (model, stream) => {
    const { id } = await openai.conversations.create({ items: [{ role: "user", content: "my name is Ada" }] })
    const ask = async (input: string, conversation: string | { id: string }) => {
      if (!stream) return (await openai.responses.create({ model, input, conversation })).output_text
      let text = ""
      for await (const event of await openai.responses.create({ model, input, conversation, stream: true })) if (event.type === "response.output_text.delta") text += event.delta
      return text
    }
    const one = await ask("one", id)
    const two = await ask("two", { id })
    expect(await said(id)).toEqual(["user: my name is Ada", "user: one", `assistant: ${one}`, "user: two", `assistant: ${two}`])
    const last = (await seen(model.split("/")[1]!)).at(-1)!
    expect(["my name is Ada", "one", "two"].map((words) => last.includes(`"${words}"`))).toEqual([true, true, true])
    expect(last).not.toContain(id)
  })

  it("takes what a response in the background says, under the response's own id", async () => {
    const { id } = await openai.conversations.create({})
    const queued = await openai.responses.create({ model: "lab/cv-bg", input: "later", conversation: id, background: true })
    const done = await eventually(() => openai.responses.retrieve(queued.id), ({ status }) => status === "completed", "the response")
    await eventually(() => said(id), ({ length }) => length === 2, "what was said")
    expect(await said(id)).toEqual(["user: later", `assistant: ${done.output_text}`])
  })

  it("keeps nothing of a request that failed", async () => {
    const { id } = await openai.conversations.create({})
    await lab.sim.rule({ match: { model: "cv-bad" }, script: { status: 400 } })
    await expect(openai.responses.create({ model: "lab/cv-bad", input: "x", conversation: id })).rejects.toMatchObject({ status: 400 })
    await openai.responses.create({ model: "lab/cv-good", input: "y", conversation: id })
    expect((await said(id))[0]).toBe("user: y")
  })

  it("belongs to its key alone, and to none that may not be logged", async () => {
    const { id } = await openai.conversations.create({ items: [{ role: "user", content: "secret words" }] })
    const other = await lab.gateway.operator.createKey("another")
    for (const headers of [{ authorization: `Bearer ${other.key}` }, {}]) {
      for (const [method, path] of [["GET", ""], ["POST", ""], ["DELETE", ""], ["GET", "/items"], ["POST", "/items"]] as const) {
        expect((await send(method, `/v1/conversations/${id}${path}`, method === "POST" ? {} : undefined, headers)).status, method + path).toBe(404)
      }
      await send("POST", "/v1/responses", { model: "own/cv-thief", input: "more", conversation: id }, headers)
      expect((await seen("cv-thief")).join()).not.toContain("secret words")
      const used = await send("POST", "/v1/responses", { model: "own/cv-asker", input: "more", conversation: { id } }, headers)
      expect([used.status, errorIn(used)["code"], errorIn(used)["param"]]).toEqual([404, "conversation_not_found", "conversation"])
    }
    expect((await send("GET", `/v1/conversations/${id}`, undefined, { authorization: "Bearer wrong" })).status).toBe(401)
    const quiet = { authorization: `Bearer ${(await lab.gateway.operator.createKey("silent", { noLog: true })).key}` }
    expect((await send("POST", "/v1/conversations", {}, quiet)).status).toBe(400)
    expect((await send("POST", "/v1/responses", { model: "lab/cv-x", input: "x", conversation: id }, quiet)).status).toBe(400)
    expect((await send("GET", `/v1/conversations/${id}/items`)).text).toContain("secret words")
  })

  it("that is full is continued neither by a request nor by items", { timeout: 180_000 }, async () => {
    const { id } = await openai.conversations.create({})
    const item = { role: "user", content: "x".repeat(1_000_000) }
    let added = await send("POST", `/v1/conversations/${id}/items`, { items: [item] })
    for (let n = 1; n < 40 && added.status === 200; n++) added = await send("POST", `/v1/conversations/${id}/items`, { items: [item] })
    expect([added.status, errorIn(added)["code"]]).toEqual([413, "payload_too_large"])
    const asked = await send("POST", "/v1/responses", { model: "lab/cv-full", input: "more", conversation: id })
    expect([asked.status, errorIn(asked)["param"]]).toEqual([413, "conversation"])
    expect(await seen("cv-full")).toEqual([])
  })

  it("keeps reasoning from providers that did not make it, and counts what it knows", async () => {
    const { id } = await openai.conversations.create({})
    await send("POST", `/v1/conversations/${id}/items`, { items: [{ type: "reasoning", id: "rs_1", summary: [] }, { role: "user", content: "about \"reasoning\"" }] })
    await openai.responses.create({ model: "own/cv-thought", input: "next", conversation: id })
    const [body = ""] = await seen("cv-thought")
    expect([body.includes("rs_1"), body.includes("about"), body.includes("next")]).toEqual([false, true, true])
    expect((await said(id)).slice(0, 2)).toEqual(["user: about \"reasoning\"", "user: next"])
  })

  it("that is not kept here goes to the provider by its name", async () => {
    await send("POST", "/v1/responses", { model: "own/cv-foreign", input: "x", conversation: "conv_of_the_vendor" })
    expect((await seen("cv-foreign")).join()).toContain("conv_of_the_vendor")
  })

  it("outlives the gateway's restart", async () => {
    const { id } = await openai.conversations.create({ items: [{ role: "user", content: "before" }] })
    await openai.responses.create({ model: "lab/cv-durable", input: "x", conversation: id })
    await lab.gateway.restart()
    openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: key, maxRetries: 0 })
    expect((await said(id)).slice(0, 2)).toEqual(["user: before", "user: x"])
  })

  it.each([
    ["items", { items: Array.from({ length: 21 }, () => ({ role: "user", content: "x" })) }], ["items", { items: "x" }], ["items", { items: ["x"] }],
    ["metadata", { metadata: "x" }], ["metadata", { metadata: { a: 1 } }], ["metadata", { metadata: { ["k".repeat(65)]: "x" } }],
    ["metadata", { metadata: Object.fromEntries(Array.from({ length: 17 }, (_, n) => [`k${n}`, "x"])) }]
  ])("is refused with bad %s", async (param, body) => {
    const reply = await send("POST", "/v1/conversations", body)
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, param])
  })

  it("is refused beside previous_response_id, as no JSON, and above its bound", async () => {
    const { id } = await openai.conversations.create({})
    const both = await send("POST", "/v1/responses", { model: "lab/cv-both", input: "x", conversation: id, previous_response_id: "resp_x" })
    expect([both.status, errorIn(both)["param"]]).toEqual([400, "conversation"])
    expect(await seen("cv-both")).toEqual([])
    const broken = await Http.send(lab.gateway.url, { path: "/v1/conversations", headers: { authorization: `Bearer ${key}`, "content-type": "application/json" }, body: Buffer.from("{") })
    expect([broken.status, errorIn(broken)["code"]]).toEqual([400, "invalid_json"])
    expect((await send("POST", `/v1/conversations/${id}/items`, { items: [{ role: "user", content: "x".repeat(1_100_000) }] })).status).toBe(413)
  })
})
