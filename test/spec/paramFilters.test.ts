/** Parameters that a connection's upstream is not sent (PUT /api/providers/{id}/param-filters), over HTTP: named by operators, or learned from refusals. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"

type Body = Record<string, unknown>
const nothing = { block: [], allow: [], models: {}, autoLearn: false }
const [chat, messages, responses, gemini] = families as readonly [Family, Family, Family, Family]

let matrix: Matrix
/** Ids of the connections, by the names of their families. */
const connections = new Map<string, string>()
beforeAll(async () => {
  matrix = await startMatrix()
  const { connections: all } = await matrix.gateway.operator.call<{ connections: ReadonlyArray<{ id: string; provider: string }> }>("GET", "/api/providers")
  for (const family of [chat, messages, responses, gemini]) {
    const prefix = family.prefix(family.name)
    connections.set(family.name, all.find(({ provider }) => provider === prefix || provider === matrix.providers.get(prefix))?.id ?? "")
  }
})
afterAll(() => matrix.close())
afterEach(async () => {
  for (const family of [chat, messages, responses, gemini]) await put(nothing, family)
})

const pathOf = (family: Family) => `/api/providers/${connections.get(family.name)}/param-filters`
const put = (filters: Body, family: Family = chat) => matrix.gateway.operator.call<Body>("PUT", pathOf(family), filters)
const kept = (family: Family = chat) => matrix.gateway.operator.call<typeof nothing>("GET", pathOf(family))
const user = (content: unknown) => ({ role: "user", content })
const say = (model: string, more: Body = {}): Promise<Http.Reply> => Http.send(matrix.gateway.url, {
  path: "/v1/chat/completions", headers: { authorization: `Bearer ${matrix.key}` }, body: { model, messages: [user("Why?")], ...more }
})
/** A change waits for those before it: what was learned acts. */
const caughtUp = () => matrix.gateway.operator.call("PUT", "/api/settings/payload-rules", { filter: [] })
const bodies = async (name: string): Promise<ReadonlyArray<Body>> => (await matrix.entries(name)).map((entry) => entry.body as Body)
const statuses = async (name: string, count: number) => (await matrix.rowsOf(name, count)).map((row) => row.upstreamStatus)

describe("parameter filters", () => {
  it("take what is blocked for the connection and for its model, but what is allowed", async () => {
    const [one, other] = [await matrix.model(chat, "chat-completions", "named"), await matrix.model(chat, "chat-completions", "other")]
    await put({ block: ["seed", "logit_bias.7", "top_p"], allow: ["top_p"], models: { [one.name]: { block: ["user", "store"], allow: ["store"] } } })
    const more = { seed: 1, top_p: 0.5, user: "u", store: true, logit_bias: { 7: 1, 8: 1 } }
    for (const model of [one, other]) expect((await say(model.id, more)).status).toBe(200)
    expect(await bodies(one.name)).toEqual([{ model: one.name, messages: [user("Why?")], top_p: 0.5, store: true, logit_bias: { 8: 1 } }])
    expect(await bodies(other.name)).toEqual([{ model: other.name, messages: [user("Why?")], top_p: 0.5, user: "u", store: true, logit_bias: { 8: 1 } }])
  })

  it("take what rules put, in the words of the upstream, and nothing of another connection", async () => {
    const [one, other] = [await matrix.model(messages, "chat-completions", "taken"), await matrix.model(chat, "chat-completions", "free")]
    await matrix.gateway.operator.call("PUT", "/api/settings/payload-rules", { override: [{ models: [{ name: "*" }], params: { top_p: 0.25 } }] })
    await put({ block: ["stop_sequences", "top_p", "stop"] }, messages)
    for (const model of [one, other]) expect((await say(model.id, { stop: ["END"], top_p: 0.5 })).status).toBe(200)
    expect((await bodies(one.name))[0]).not.toMatchObject({ stop_sequences: ["END"] })
    expect((await bodies(one.name))[0]?.["top_p"]).toBeUndefined()
    expect((await bodies(other.name))[0]).toMatchObject({ stop: ["END"], top_p: 0.25 })
    await matrix.gateway.operator.call("PUT", "/api/settings/payload-rules", { override: [] })
  })

  it.each<readonly [string, Body, string]>([
    ["the model", { block: ["a", "model"] }, "block.1"], ["the stream below a model", { models: { m: { block: ["stream"] } } }, "models.m.block.0"],
    ["the counting of tokens", { block: ["stream_options"] }, "block.0"], ["several places", { allow: ["a.*"] }, "allow.0"], ["no place", { block: [""] }, "block.0"],
    ["what it does not know", { blocks: [] }, "blocks"], ["too many models", { models: Object.fromEntries(Array.from({ length: 201 }, (_, i) => [`m${i}`, {}])) }, "models"],
    ["a word for autoLearn", { autoLearn: "yes" }, "autoLearn"]
  ])("refuse %s", async (_name, filters, field) => {
    const reply = await matrix.gateway.operator.raw("PUT", pathOf(chat), filters)
    expect([reply.status, (JSON.parse(reply.text) as { error: { details: ReadonlyArray<{ field: string }> } }).error.details.map((detail) => detail.field)], reply.text).toEqual([400, [field]])
  })

  it("are audited, are nobody's without a session, and outlive a restart", async () => {
    const filters = { ...nothing, block: ["seed"], autoLearn: true }
    expect(await put(filters)).toEqual(filters)
    const entries = await matrix.gateway.operator.call<ReadonlyArray<Body>>("GET", "/api/compliance/audit-log?action=provider.credentials.updated&limit=1")
    expect(entries[0]).toMatchObject({ target: connections.get(chat.name), details: { changed: ["param-filters"] } })
    expect((await Http.send(matrix.gateway.url, { method: "PUT", path: pathOf(chat), body: nothing })).status).toBe(401)
    expect((await matrix.gateway.operator.raw("PUT", "/api/providers/none/param-filters", nothing)).status).toBe(404)
    await matrix.gateway.restart()
    expect(await kept()).toEqual(filters)
    const model = await matrix.model(chat, "chat-completions", "after")
    await say(model.id, { seed: 1 })
    expect((await bodies(model.name))[0]?.["seed"]).toBeUndefined()
  })
})

const unknown: ReadonlyArray<readonly [Family, string, (model: string) => readonly [string, Body]]> = [
  [chat, "fancy", (model) => ["/v1/chat/completions", { model, messages: [user("Why?")], fancy: 1 }]],
  [messages, "fancy", (model) => ["/v1/messages", { model, max_tokens: 90, messages: [user("Why?")], fancy: 1 }]],
  [responses, "fancy", (model) => ["/v1/responses", { model, stream: true, input: "Why?", fancy: 1 }]],
  [gemini, "fancy", (model) => [`/v1beta/models/${model}:generateContent`, { contents: [{ role: "user", parts: [{ text: "Why?" }] }], fancy: 1 }]]
]

describe("parameters that an upstream refuses", () => {
  it.each(unknown.map((one) => [one[0].name, ...one] as const))("are left out of a second call and of all later ones: %s", async (_name, family, path, ask) => {
    const model = await matrix.model(family, family.name, "learned")
    const send = async () => {
      const [where, body] = ask(model.id)
      return await Http.send(matrix.gateway.url, { path: where, headers: { authorization: `Bearer ${matrix.key}` }, body })
    }
    expect((await send()).status).toBe(400)
    await put({ autoLearn: true }, family)
    const reply = await send()
    expect(reply.status, reply.text).toBe(200)
    expect(await statuses(model.name, 3)).toEqual([400, 400, 200])
    await eventually(() => kept(family), ({ models }) => Object.keys(models).length > 0, "the refusal was kept")
    expect(await kept(family)).toEqual({ ...nothing, models: { [model.name]: { block: [path] } }, autoLearn: true })
    await caughtUp()
    expect((await send()).status).toBe(200)
    expect((await bodies(model.name)).map((body) => path in body)).toEqual([true, true, false, false])
  }, 60_000)

  const refused = (message: string, param: string) => ({ status: 400, error: { message, type: "invalid_request_error", code: "unsupported_parameter", param } }) as const

  it("are learned one a request, also of a large body, and stand where the operator put them", async () => {
    const model = await matrix.model(chat, "chat-completions", "two", refused("Unsupported parameter: 'seed' is not supported with this model.", "seed"), refused("Unsupported parameter(s): user", "user"), {}, {})
    await put({ autoLearn: true, models: { [model.name]: { block: ["top_p"], allow: ["store"] }, another: { block: ["n"] } } })
    const more = { seed: 1, user: "u", messages: [user("word ".repeat(300_000))] }
    const first = await say(model.id, more)
    expect([first.status, JSON.parse(first.text)]).toMatchObject([400, { error: { param: "user" } }])
    await eventually(() => kept(), ({ models }) => JSON.stringify(models).includes("seed"), "the refusal was kept")
    expect((await kept()).models).toEqual({ [model.name]: { block: ["top_p", "seed"], allow: ["store"] }, another: { block: ["n"] } })
    await caughtUp()
    expect((await say(model.id, more)).status).toBe(200)
    expect((await bodies(model.name)).map((body) => [body["seed"], body["user"]])).toEqual([[1, "u"], [undefined, "u"], [undefined, "u"]])
  }, 60_000)

  it.each<readonly [string, string, Body]>([
    ["bounds an answer", "Unsupported parameter: 'max_tokens' is not supported with this model.", { autoLearn: true }],
    ["is the question", "Unknown parameter: 'messages'.", { autoLearn: true }],
    ["is the model", "Unsupported parameter: 'model'", { autoLearn: true }],
    ["counts tokens", "Unknown parameter: 'stream_options'.", { autoLearn: true }],
    ["the operator allows", "Unknown parameter: 'seed'.", { autoLearn: true, allow: ["seed"] }],
    ["is named without autoLearn", "Unknown parameter: 'seed'.", {}],
    ["has a wrong value", "Unsupported value: 'seed' does not support 1 with this model.", { autoLearn: true }]
  ])("are passed on where one %s", async (name, message, filters) => {
    const model = await matrix.model(chat, "chat-completions", name.replaceAll(" ", "-"), refused(message, "p"))
    await put(filters)
    const reply = await say(model.id, { seed: 1, max_tokens: 9 })
    expect([reply.status, (JSON.parse(reply.text) as { error: Body }).error["message"]]).toEqual([400, message])
    expect(await statuses(model.name, 1)).toEqual([400])
    expect((await kept()).models).toEqual({})
  })

  it("are not kept when their absence does not help", async () => {
    const model = await matrix.model(chat, "chat-completions", "in-vain", refused("Unknown parameter: 'seed'.", "seed"))
    await put({ autoLearn: true })
    expect((await say(model.id, { seed: 1 })).status).toBe(400)
    expect(await statuses(model.name, 2)).toEqual([400, 400])
    await caughtUp()
    expect((await kept()).models).toEqual({})
  })
})
