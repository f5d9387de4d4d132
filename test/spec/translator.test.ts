/** /api/translator over HTTP: the format of a body, its translation step by step, a call that is sent, streams, and what is saved. */
import * as fs from "node:fs"
import * as path from "node:path"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { DocumentStore } from "#actors/ports/Stores.ts"
import * as Http from "#test/support/http.ts"
import { contentOf, CREDENTIAL, errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.gateway.operator.createConnection({ provider: "anthropic", apiKey: CREDENTIAL }).catch(() => lab.gateway.operator.createConnection({ provider: "claude", apiKey: CREDENTIAL }))
})
afterAll(() => lab.close())

const base = "/api/translator"
type Json = Readonly<Record<string, unknown>>
const post = (name: string, body: Json) => lab.gateway.operator.raw("POST", `${base}/${name}`, body)
const ask = async <A extends Json>(name: string, body: Json): Promise<A> => {
  const reply = await post(name, body)
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  expect(reply.text).not.toContain(CREDENTIAL)
  return JSON.parse(reply.text) as A
}
const fieldsOf = (reply: { readonly text: string }) => ((errorIn(reply)["details"] ?? []) as ReadonlyArray<{ field: string }>).map(({ field }) => field)
const chat = { model: "lab/echo", messages: [{ role: "system", content: "Be brief." }, { role: "user", content: "Hello" }], max_completion_tokens: 50, seed: 7 }

interface Translated extends Json {
  readonly sourceFormat: string
  readonly targetFormat: string | null
  readonly steps: ReadonlyArray<{ readonly step: number; readonly name: string; readonly result: Json }>
  readonly result: Json
  readonly omitted: ReadonlyArray<string>
}

describe("detect", () => {
  it("names the format, what speaks for it, and the format of the model's upstream", async () => {
    expect(await ask("detect", { body: chat })).toMatchObject({
      format: "chat-completions", sure: true, model: "lab/echo", targetFormat: "chat-completions",
      readings: expect.arrayContaining([{ format: "chat-completions", readable: true, evidence: ["max_completion_tokens", "seed"], problem: null }])
    })
    expect(await ask("detect", { body: { contents: [{ parts: [{ text: "Hi" }] }] }, provider: "lab", model: "echo" })).toMatchObject({ format: "generateContent", model: "lab/echo", targetFormat: "chat-completions" })
    expect(await ask("detect", { body: { nonsense: 1 } })).toMatchObject({ format: null, sure: false, targetFormat: null })
  })
})

describe("translate", () => {
  it("direct is the target's body as the gateway would send it, with what the target cannot say", async () => {
    const told = await ask<Translated>("translate", { body: chat, targetFormat: "messages" })
    expect(told).toMatchObject({ success: true, sourceFormat: "chat-completions", targetFormat: "messages", step: "direct", steps: [], omitted: ["seed"] })
    expect(told.result).toEqual({ model: "echo", system: [{ type: "text", text: "Be brief." }], max_tokens: 50, messages: [{ role: "user", content: "Hello" }] })
  })

  it("is what the upstream is sent, byte for byte, for the model's own upstream", async () => {
    const body = { model: "lab/translated", max_tokens: 20, system: "Be brief.", messages: [{ role: "user", content: "Hello" }] }
    const told = await ask<Translated>("translate", { body })
    expect([told.sourceFormat, told.targetFormat]).toEqual(["messages", "chat-completions"])
    expect((await Http.send(lab.gateway.url, { path: "/v1/messages", body })).status).toBe(200)
    expect((await lab.sim.entries({ model: "translated" })).map((entry) => entry.body)).toEqual([told.result])
    // The same format: only what differs is edited.
    const same = await ask<Translated>("translate", { body: { ...chat, unknown_field: { kept: true } } })
    expect(same.result).toEqual({ ...chat, model: "echo", unknown_field: { kept: true } })
  })

  it("shows each step: what was detected, the neutral form, the body, and the call without a secret", async () => {
    const told = await ask<Translated>("translate", { body: chat, step: 4 })
    expect(told.steps.map(({ name, step }) => [step, name])).toEqual([[1, "detect"], [2, "neutral"], [3, "encode"], [4, "call"]])
    expect(told.steps[0]?.result).toMatchObject({ used: "chat-completions", sure: true })
    expect(told.steps[1]?.result).toMatchObject({ turns: expect.any(Array), settings: expect.any(Object) })
    expect(told.result).toEqual({
      model: "lab/echo", method: "POST", url: `${lab.sim.url}/v1/chat/completions`, headers: expect.objectContaining({ authorization: "[redacted]", "content-type": "application/json" })
    })
    for (const [step, count] of [[1, 1], [2, 2], [3, 3]] as const) {
      const some = await ask<Translated>("translate", { body: chat, step })
      expect([some.steps.length, some.result]).toEqual([count, some.steps.at(-1)?.result])
    }
  })

  it("takes the provider's part in front of the model, and the source by name", async () => {
    const told = await ask<Translated>("translate", { body: { model: "echo", messages: [{ role: "user", content: "Hi" }] }, provider: "lab", sourceFormat: "local-model-server" })
    expect([told.sourceFormat, told.targetFormat, told.result["model"]]).toEqual(["local-model-server", "chat-completions", "echo"])
  })

  it("names what is wrong", async () => {
    const cases: ReadonlyArray<readonly [Json, ReadonlyArray<string>]> = [
      [{ body: { nonsense: 1 } }, ["body"]],
      [{ body: { messages: [{ role: "user", content: "Hi" }] } }, ["targetFormat"]],
      [{ body: { model: "lab/echo", messages: "Hi" }, sourceFormat: "chat-completions" }, ["body.messages"]],
      [{ body: chat, targetFormat: "messages", step: 4 }, ["step"]],
      [{ body: chat, targetFormat: "completions" }, ["targetFormat"]], [{ body: chat, step: 5 }, ["step"]], [{ body: "text" }, ["body"]], [{ body: chat, more: 1 }, ["more"]]
    ]
    for (const [body, fields] of cases) {
      const reply = await post("translate", body)
      expect([JSON.stringify(body), reply.status, fieldsOf(reply)]).toEqual([JSON.stringify(body), 400, fields])
    }
    const unknown = await post("translate", { body: { ...chat, model: "nobody/m" } })
    expect([unknown.status, typeof errorIn(unknown)["message"]]).toEqual([400, "string"])
    expect((await post("translate", { body: { ...chat, padding: "x".repeat(1_100_000) } })).status).toBe(413)
  })
})

describe("send", () => {
  it("asks as a client of the format would, and the call has its row", async () => {
    const before = (await lab.sim.entries({ model: "sent" })).length
    for (const [body, path] of [
      [{ ...chat, model: "lab/sent" }, "/v1/chat/completions"], [{ model: "lab/sent", max_tokens: 9, system: "s", messages: [{ role: "user", content: "Hi" }] }, "/v1/messages"],
      [{ model: "lab/sent", input: "Hi" }, "/v1/responses"], [{ model: "lab/sent", contents: [{ role: "user", parts: [{ text: "Hi" }] }] }, "/v1beta/models/lab%2Fsent:generateContent"]
    ] as const) {
      expect(await ask("send", { body })).toMatchObject({ status: 200, path, truncated: false, body: expect.any(Object) })
    }
    expect((await lab.sim.entries({ model: "sent" })).length).toBe(before + 4)
    const streamed = await ask<{ readonly body: string }>("send", { body: { ...chat, model: "lab/sent", stream: true } })
    expect(contentOf(streamed.body)).not.toBe("")
  })

  it("gives up an answer of more than 16 MiB, whole and streamed, and holds none of it", async () => {
    await lab.sim.rule({ match: { model: "endless" }, script: { answer: "tokens", tokens: 20, tokenSize: 1_000_000, burst: "all" } })
    for (const stream of [false, true]) {
      expect(await ask("send", { body: { ...chat, model: "lab/endless", stream } })).toMatchObject({ status: 502, truncated: false, body: { error: { code: "answer_too_large" } } })
    }
    expect((await ask<{ readonly status: number }>("send", { body: { ...chat, model: "lab/sent" } })).status).toBe(200)
  })

  it("tells an upstream's or the gateway's refusal as it is, and needs a model", async () => {
    expect(await ask("send", { body: { ...chat, model: "nobody/m" } })).toMatchObject({ status: expect.any(Number), body: { error: expect.any(Object) } })
    const { model: _, ...bare } = chat
    const reply = await post("send", { body: bare })
    expect([reply.status, fieldsOf(reply)]).toEqual([400, ["model"]])
  })
})

describe("transform-stream", () => {
  const recorded = (format: string) => {
    const folder = path.join(import.meta.dirname, "../golden", format, "streams")
    return fs.readFileSync(path.join(folder, fs.readdirSync(folder).sort()[0] ?? ""), "utf8")
  }

  it("writes a recorded stream in another format", async () => {
    const told = await ask<Json>("transform-stream", { stream: recorded("messages"), targetFormat: "chat-completions", model: "lab/m" })
    expect(told).toMatchObject({ sourceFormat: "messages", targetFormat: "chat-completions", complete: true, malformed: false, error: null, usage: { input: expect.any(Number), output: expect.any(Number) } })
    expect(told["stream"]).toMatch(/^data: \{[\s\S]*data: \[DONE\]\n\n$/)
  })

  it("says where a stream breaks off, and ends it with an error", async () => {
    const stream = "data: {\"id\":\"c1\",\"object\":\"chat.completion.chunk\",\"created\":1,\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hal\"},\"finish_reason\":null}]}\n\n"
    const told = await ask<Json>("transform-stream", { stream, targetFormat: "messages" })
    expect(told).toMatchObject({ sourceFormat: "chat-completions", complete: false, malformed: false, text: "Hal", usage: null })
    expect(told["stream"]).toContain("event: error")
    expect(await ask("transform-stream", { stream: `${stream}data: {nonsense\n\n`, targetFormat: "messages" })).toMatchObject({ complete: false, malformed: true })
  })

  it("needs a known format", async () => {
    const reply = await post("transform-stream", { stream: "hello", targetFormat: "messages" })
    expect([reply.status, fieldsOf(reply)]).toEqual([400, ["sourceFormat"]])
    expect((await post("transform-stream", { stream: "", targetFormat: "messages" })).status).toBe(400)
  })
})

describe("what is saved", () => {
  const { history, load } = {
    history: async () => (await lab.gateway.operator.call<{ entries: ReadonlyArray<Json> }>("GET", `${base}/history`)).entries,
    load: (name: string) => lab.gateway.operator.raw("GET", `${base}/load?name=${name}`)
  }

  it("is only what an operator saves; it outlives a restart and goes when it is removed", async () => {
    expect(await history()).toEqual([])
    await ask("save", { name: "hello", body: chat, sourceFormat: "chat-completions", targetFormat: "messages", note: "first" })
    await ask("save", { name: "a stream", stream: "data: x\n\n" })
    await lab.gateway.restart()
    expect(await history()).toEqual([
      { name: "a stream", savedAt: expect.any(String), sourceFormat: null, targetFormat: null, note: null },
      { name: "hello", savedAt: expect.any(String), sourceFormat: "chat-completions", targetFormat: "messages", note: "first" }
    ])
    expect(JSON.parse((await load("hello")).text)).toMatchObject({ name: "hello", body: chat, stream: null })
    await ask("save", { name: "hello", body: { again: true } })
    expect(JSON.parse((await load("hello")).text)).toMatchObject({ body: { again: true }, note: null })
    expect(await lab.gateway.operator.call("DELETE", `${base}/save?name=hello`)).toEqual({ success: true })
    expect([(await load("hello")).status, (await lab.gateway.operator.raw("DELETE", `${base}/save?name=hello`)).status]).toEqual([404, 404])
  })

  it("has bounds: one of body and stream, 256 KiB, 100 names", async () => {
    for (const [body, field] of [[{ name: "x" }, "body"], [{ name: "x", body: {}, stream: "s" }, "body"], [{ name: "x", stream: "s".repeat(262_143) }, "stream"], [{ name: "", body: {} }, "name"]] as const) {
      const reply = await post("save", body)
      expect([reply.status, fieldsOf(reply)]).toEqual([400, [field]])
    }
    const known = (await history()).length
    const documents = Context.get(lab.gateway.services(), DocumentStore)
    const empty = { savedAt: "2026-01-01T00:00:00.000Z", sourceFormat: null, targetFormat: null, note: null, body: {}, stream: null }
    await Effect.runPromise(Effect.forEach(Array.from({ length: 100 - known }, (_, i) => `many-${i + known}`), (name) => documents.put("translation", name, empty), { discard: true }))
    expect(await history()).toHaveLength(100)
    expect((await post("save", { name: "one too many", body: {} })).status).toBe(409)
    expect((await post("save", { name: `many-${known}`, body: { replaced: true } })).status).toBe(200)
  }, 60_000)

  it("needs an operator", async () => {
    const { key } = await lab.gateway.operator.createKey("a client")
    for (const [method, at] of [["POST", "detect"], ["POST", "translate"], ["POST", "send"], ["POST", "transform-stream"], ["GET", "history"], ["POST", "save"], ["DELETE", "save?name=x"]] as const) {
      const reply = await Http.send(lab.gateway.url, { method, path: `${base}/${at}`, headers: { authorization: `Bearer ${key}` }, ...(method === "POST" ? { body: {} } : {}) })
      expect([at, reply.status]).toEqual([at, 403])
    }
  })
})
