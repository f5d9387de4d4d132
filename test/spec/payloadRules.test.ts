/** Rules of operators for bodies (PUT /api/settings/payload-rules), over HTTP: what every upstream is sent, whatever the client wrote. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { FamilyName, FormatName } from "#schemas/wire/conversation.ts"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { startSink } from "#test/support/sink.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

type Body = Record<string, unknown>
const path = "/api/settings/payload-rules"
const nothing = { default: [], override: [], filter: [], defaultRaw: [] }
afterEach(() => put(nothing))

const put = (change: Body) => matrix.gateway.operator.call<Body>("PUT", path, change)
const rule = (params: unknown, name = "*", protocol?: string) => [{ models: [{ name, ...protocol === undefined ? {} : { protocol } }], params }]
const user = (content: unknown) => ({ role: "user", content })
const chat = families[0] as Family

const send = async (where: string, body: unknown, headers: Readonly<Record<string, string>> = {}): Promise<Http.Reply> => {
  const reply = await Http.send(matrix.gateway.url, { path: where, headers: { "content-type": "application/json", authorization: `Bearer ${matrix.key}`, ...headers }, body })
  expect(reply.status, reply.text).toBe(200)
  return reply
}
const told = async (name: string): Promise<Body> => ((await matrix.entries(name)).at(-1)?.body ?? {}) as Body

const faces: ReadonlyArray<readonly [FormatName, (model: string, stream: boolean) => readonly [string, Body]]> = [
  ["chat-completions", (model, stream) => ["/v1/chat/completions", { model, stream, messages: [user("Why?")], temperature: 0.5 }]],
  ["messages", (model, stream) => ["/v1/messages", { model, stream, max_tokens: 900, messages: [user("Why?")], temperature: 0.5 }]],
  ["responses", (model, stream) => ["/v1/responses", { model, stream, input: "Why?", temperature: 0.5 }]],
  ["generateContent", (model, stream) => [
    `/v1beta/models/${model}:${stream ? "streamGenerateContent" : "generateContent"}`,
    { contents: [{ role: "user", parts: [{ text: "Why?" }] }], generationConfig: { temperature: 0.5 } }
  ]],
  ["local-model-server", (model, stream) => ["/v1/api/chat", { model, stream, messages: [user("Why?")], options: { temperature: 0.5 } }]]
]
/** What each family's vendor knows: where it says the temperature, and members that no client of the grid sends. */
const members: Readonly<Record<FamilyName, { readonly temperature: string; readonly deep: Member; readonly raw: Member; readonly over: Member }>> = {
  "chat-completions": { temperature: "temperature", deep: ["logit_bias.:7", -1], raw: ["response_format", '{"type": "text"}'], over: ["user", "seen"] },
  "messages": { temperature: "temperature", deep: ["metadata.user_id", "a"], raw: ["stop_sequences", '["END" ]'], over: ["top_k", 5] },
  "responses": { temperature: "temperature", deep: ["metadata.team", "a"], raw: ["text", '{"format": {"type": "text"}}'], over: ["user", "seen"] },
  "generateContent": { temperature: "generationConfig.temperature", deep: ["generationConfig.seed", 7], raw: ["labels", '{"a": "b"}'], over: ["generationConfig.topK", 5] },
  "local-model-server": { temperature: "options.temperature", deep: ["options.seed", 7], raw: ["keep_alive", '"5m"'], over: ["options.top_k", 5] }
}
type Member = readonly [path: string, value: string | number]
const stepsOf = (path: string): ReadonlyArray<string> => path.replace(":", "").split(".")
const at = (body: unknown, where: string): unknown => stepsOf(where).reduce<unknown>((value, step) => (value as Body | undefined)?.[step], body)
const withMember = (body: Body, [step = "", ...rest]: ReadonlyArray<string>, value: unknown): Body =>
  ({ ...body, [step]: rest.length === 0 ? value : withMember((body[step] ?? {}) as Body, rest, value) })
/** Every pair of formats, every second one streamed. */
const grid = faces.flatMap(([face, say], i) => families.map((family, j) => [face, family.name, (i + j) % 2 === 0 ? "whole" : "streamed", say, family] as const))

describe("payload rules", () => {
  it.each(grid)("act on what a client of %s asks of %s, %s", async (face, name, kind, say, family) => {
    const model = await matrix.model(family, face, "ruled")
    const { deep, over, raw, temperature } = members[name]
    const ask = async (change: Body): Promise<Body> => {
      await put({ ...nothing, ...change })
      await send(...say(model.id, kind === "streamed"))
      return await told(model.name)
    }
    const plain = await ask({})
    expect(at(plain, temperature)).toBe(0.5)
    const changed = await ask({
      default: rule({ [temperature]: 9, [deep[0]]: deep[1] }, model.name, name), defaultRaw: rule({ [raw[0]]: raw[1] }, `*/${model.name.toUpperCase()}`),
      override: [...rule({ [over[0]]: over[1] }, `${model.name.slice(0, 5)}*`), ...rule({ [temperature]: 9 }, "other"), ...rule({ [temperature]: 9 }, "*", name === "messages" ? "codex" : "claude")]
    })
    expect(changed).toEqual([deep, [raw[0], JSON.parse(String(raw[1])) as unknown] as const, over].reduce((body, [path, value]) => withMember(body, stepsOf(path), value), plain))
    expect(at(await ask({ override: rule({ [temperature]: 1 }) }), temperature)).toBe(1)
    expect(at(await ask({ filter: rule([temperature]) }), temperature)).toBeUndefined()
  }, 60_000)

  it("leave every other byte of a body in its own format as it came, and all bytes without a match", async () => {
    const sink = await startSink(400)
    await matrix.gateway.operator.createConnection({ provider: await matrix.gateway.operator.createNode({ prefix: "bytes", baseUrl: `${sink.url}/v1` }), apiKey: "canary-bytes-0123456789" })
    const said = (model: string, seed: string, end = '] , "x":12345678901234567890 }') => `{ "seed": ${seed},\t"model":"${model}" , "messages":[{"role":"user", "content":"a\\u0062"}${end}`
    const arrived = async (rules: Body): Promise<string> => {
      await put({ ...nothing, ...rules })
      await Http.send(matrix.gateway.url, { path: "/v1/chat/completions", headers: { "content-type": "application/json", authorization: `Bearer ${matrix.key}` }, body: said("bytes/m", "1.0") })
      return sink.received.at(-1)?.body ?? ""
    }
    expect(await arrived({})).toBe(said("m", "1.0"))
    expect(await arrived({ override: [...rule({ seed: 2 }, "other-*"), ...rule({ seed: 2 }, "*", "gemini")], default: rule({ seed: 3 }) })).toBe(said("m", "1.0"))
    expect(await arrived({ override: rule({ seed: 2 }, "BYTES/*", "openai") })).toBe(said("m", "2"))
    expect(await arrived({ filter: rule(["x"]) })).toBe(said("m", "1.0", "] }"))
    await sink.close()
  })

  it("act last: behind the thinking budget, the system prompt and the words of a combo, in small and large bodies", async () => {
    const { operator } = matrix.gateway
    const [one, large] = [await matrix.model(chat, "chat-completions", "last"), await matrix.model(chat, "chat-completions", "large")]
    await operator.call("PUT", "/api/settings/system-prompt", { enabled: true, prefixPrompt: "House rules." })
    await operator.call("POST", "/api/combos", { name: "ruled", strategy: "priority", models: [one.id], system_message: "Combo rules." })
    await put({ default: rule({ "messages.-1": { role: "user", content: "Last." }, "messages.0": { role: "user", content: "unused" } }), override: rule({ "messages.0.content": "Mine." }), filter: rule(["user"]) })
    await send("/v1/chat/completions", { model: "combo/ruled", messages: [user("Why?")], user: "u" })
    expect(await told(one.name)).toEqual({ model: one.name, messages: [{ role: "system", content: "Mine." }, { role: "system", content: "Combo rules." }, user("Why?"), user("Last.")] })
    const text = "word ".repeat(500_000)
    await send("/v1/chat/completions", { model: large.id, messages: [user(text)], user: "u" })
    expect(await told(large.name)).toEqual({ model: large.name, messages: [{ role: "system", content: "Mine." }, user(text), user("Last.")] })
    await operator.call("PUT", "/api/settings/system-prompt", { enabled: false })
  })

  it("change no answer that was kept from before them", async () => {
    const model = await matrix.model(chat, "chat-completions", "kept")
    const ask = () => send("/v1/chat/completions", { model: model.id, temperature: 0, messages: [user("Again?")] })
    await ask()
    expect((await ask()).headers["x-gateway-cache"]).toBe("HIT")
    await put({ override: rule({ seed: 7 }) })
    expect((await ask()).headers["x-gateway-cache"]).toBe("MISS")
  })

  it("are read as they were given, list by list, also under the older spelling and by other names of formats, and outlive a restart", async () => {
    expect(await matrix.gateway.operator.call("GET", path)).toEqual(nothing)
    const given = { models: [{ name: "gpt-*", protocol: "Codex" }, { name: "x" }], params: { "a.b": null } }
    const kept = { ...given, models: [{ name: "gpt-*", protocol: "codex" }, { name: "x" }] }
    expect(await put({ override: [given] })).toEqual({ ...nothing, override: [kept] })
    expect(await put({ "default-raw": rule({ stop: "[\"END\"]" }) })).toEqual({ ...nothing, override: [kept], defaultRaw: rule({ stop: "[\"END\"]" }) })
    await matrix.gateway.restart()
    expect(await matrix.gateway.operator.call("GET", path)).toEqual({ ...nothing, override: [kept], defaultRaw: rule({ stop: "[\"END\"]" }) })
    const model = await matrix.model(chat, "chat-completions", "again")
    await put({ override: rule({ seed: 1 }, "*", "openai") })
    await send("/v1/chat/completions", { model: model.id, messages: [user("Why?")] })
    expect(await told(model.name)).toMatchObject({ seed: 1, stop: ["END"] })
  })

  it.each<readonly [string, Body, string]>([
    ["the model", { override: rule({ model: "other" }) }, "override.0.params.model"],
    ["the model in other letters", { default: rule({ "Mo\\del.x": 1 }) }, "default.0.params.Mo\\del.x"],
    ["the stream", { filter: rule(["a", "stream"]) }, "filter.0.params.1"],
    ["the counting of tokens", { override: rule({ "stream_options.include_usage": false }) }, "override.0.params.stream_options.include_usage"],
    ["several places", { override: rule({ "messages.#.content": 1 }) }, "override.0.params.messages.#.content"],
    ["no place", { override: rule({ "": 1 }) }, "override.0.params."],
    ["what is behind a list", { filter: rule(["messages.-1"]) }, "filter.0.params.0"],
    ["with text that is no JSON", { defaultRaw: rule({ a: "{" }) }, "defaultRaw.0.params.a"],
    ["with text that is no JSON, in the older spelling", { "default-raw": rule({ a: "{" }) }, "default-raw.0.params.a"],
    ["in both spellings", { defaultRaw: [], "default-raw": [] }, "default-raw"],
    ["of no model", { override: [{ models: [], params: {} }] }, "override.0.models"],
    ["of a format that there is not", { override: rule({ a: 1 }, "*", "antigravity") }, "override.0.models.0.protocol"],
    ["with what it does not know", { "override-raw": [] }, "override-raw"],
    ["with a condition that it does not know", { override: [{ models: [{ name: "*", "not-match": [] }], params: {} }] }, "override.0.models.0.not-match"],
    ["too many", { override: Array.from({ length: 101 }, () => rule({ a: 1 })[0]) }, "override"],
    ["too many paths", { override: rule(Object.fromEntries(Array.from({ length: 101 }, (_, i) => [`a${i}`, i]))) }, "override.0.params"],
    ["nothing", {}, "body"]
  ])("refuse a rule for %s", async (_name, change, field) => {
    const reply = await matrix.gateway.operator.raw("PUT", path, change)
    expect(reply.status, reply.text).toBe(400)
    const { error } = JSON.parse(reply.text) as { error: { message: string; details?: ReadonlyArray<{ field: string }> } }
    if (field === "body") expect(error.message).toBe("No valid fields to update")
    else expect(error.details?.map((detail) => detail.field), reply.text).toEqual([field])
    expect(await matrix.gateway.operator.call("GET", path)).toEqual(nothing)
  })

  it("are nobody's without a session", async () => {
    for (const method of ["GET", "PUT"]) expect((await Http.send(matrix.gateway.url, { method, path, ...method === "GET" ? {} : { body: nothing } })).status).toBe(401)
  })
})
