/** The gateway's own system prompt (PUT /api/settings/system-prompt, customSystemPrompt), over HTTP: what every upstream is told. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())
afterEach(async () => {
  await put({ enabled: false, prompt: "", prefixPrompt: "", suffixPrompt: "" })
  await matrix.gateway.operator.call("PATCH", "/api/settings", { customSystemPromptEnabled: false, customSystemPrompt: "" })
})

const path = "/api/settings/system-prompt"
const put = (change: Record<string, unknown>) => matrix.gateway.operator.call<Record<string, unknown>>("PUT", path, change)
const [before, own, after, question] = ["House rules.", "Own rules.", "Last rules.", "What time is it?"]
const user = { role: "user", content: question }

interface Said {
  readonly path: string
  readonly body: Record<string, unknown>
}

/** A request of each format with instructions of the client's own. */
const faces: ReadonlyArray<readonly [FormatName, (model: string, stream: boolean) => Said]> = [
  ["chat-completions", (model, stream) => ({ path: "/v1/chat/completions", body: { model, stream, messages: [{ role: "system", content: own }, user] } })],
  ["completions", (model, stream) => ({ path: "/v1/completions", body: { model, stream, prompt: question } })],
  ["messages", (model, stream) => ({ path: "/v1/messages", body: { model, stream, max_tokens: 100, system: own, messages: [user] } })],
  ["responses", (model, stream) => ({ path: "/v1/responses", body: { model, stream, instructions: own, input: question } })],
  ["generateContent", (model, stream) => ({
    path: `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: { systemInstruction: { parts: [{ text: own }] }, contents: [{ role: "user", parts: [{ text: question }] }] }
  })],
  ["local-model-server", (model, stream) => ({ path: "/v1/api/chat", body: { model, stream, messages: [{ role: "system", content: own }, user] } })]
]

const send = async (said: Said, headers: Readonly<Record<string, string>> = {}): Promise<Http.Reply> => {
  const [where = "", query] = said.path.split("?")
  const reply = await Http.send(matrix.gateway.url, { path: query === undefined ? where : `${where}?${query}`, headers: { authorization: `Bearer ${matrix.key}`, ...headers }, body: said.body })
  expect(reply.status, reply.text).toBe(200)
  return reply
}
const count = (text: string, part: string): number => text.split(part).length - 1
/** What the upstream was told for a model, all requests of it. */
const told = async (name: string): Promise<ReadonlyArray<Record<string, unknown>>> =>
  (await matrix.entries(name)).map(({ body }) => body as Record<string, unknown>)
/** The newest of it. */
const lastTold = async (name: string): Promise<Record<string, unknown>> => (await told(name)).at(-1) ?? {}
const familyOf = (name: string): Family => families.find((one) => one.name === name) as Family

const grid = faces.flatMap(([face, say]) => families.flatMap((family) => [false, true].map((stream) => [face, family.name, stream ? "streamed" : "whole", say, family] as const)))

describe("the gateway's own system prompt", () => {
  it.each(grid)("stands around what a client of %s says to %s, %s, once", async (face, _name, kind, say, family) => {
    await put({ enabled: true, prefixPrompt: before, suffixPrompt: after })
    const model = await matrix.model(family, face, "around")
    await send(say(model.id, kind === "streamed"))
    const text = JSON.stringify(await lastTold(model.name))
    // Members of an object stand in any order; what the instructions are in, does not.
    const places = [before, ...face === "completions" ? [] : [own], after].map((part) => text.indexOf(part))
    expect(places, text).toEqual(places.toSorted((a, b) => a - b))
    for (const part of [before, after, question, ...face === "completions" ? [] : [own]]) expect([part, count(text, part)]).toEqual([part, 1])
  })

  it.each(faces)("is all the instructions that a client of %s has when it gives none", async (face, say) => {
    await put({ enabled: true, prompt: before })
    for (const family of families) {
      const model = await matrix.model(family, face, "alone")
      const { body, path: where } = say(model.id, false)
      const { instructions: _i, system: _s, systemInstruction: _g, ...bare } = body
      await send({ path: where, body: Array.isArray(bare["messages"]) ? { ...bare, messages: [user] } : bare })
      const text = JSON.stringify(await lastTold(model.name))
      expect([count(text, before), count(text, own)], text).toEqual([1, 0])
    }
  })

  it("changes nothing while it is off, at once when it is on, and is read by GET", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "switch")
    const say = () => send({ path: "/v1/chat/completions", body: { model: model.id, messages: [user] } })
    expect(await put({ prefixPrompt: before, suffixPrompt: after })).toEqual({ enabled: false, prompt: "", prefixPrompt: before, suffixPrompt: after })
    await say()
    expect((await lastTold(model.name))["messages"]).toEqual([user])
    await put({ enabled: true })
    expect(await matrix.gateway.operator.call("GET", path)).toEqual({ enabled: true, prompt: "", prefixPrompt: before, suffixPrompt: after })
    await say()
    expect((await lastTold(model.name))["messages"]).toEqual([{ role: "system", content: `${before}\n\n${after}` }, user])
    await put({ enabled: false })
    await say()
    expect((await lastTold(model.name))["messages"]).toEqual([user])
  })

  it("is beside customSystemPrompt, which stands behind it; a text that both say is said once", async () => {
    const model = await matrix.model(familyOf("messages"), "messages", "custom")
    const say = async () => {
      await send({ path: "/v1/messages", body: { model: model.id, max_tokens: 9, system: own, messages: [user] } })
      return (await lastTold(model.name))["system"]
    }
    const custom = (change: Record<string, unknown>) => matrix.gateway.operator.call<Record<string, unknown>>("PATCH", "/api/settings", change)
    expect(await custom({ customSystemPrompt: after })).toMatchObject({ customSystemPrompt: after, customSystemPromptEnabled: false })
    expect(await say()).toBe(own)
    await custom({ customSystemPromptEnabled: true })
    expect(await say()).toBe(`${own}\n\n${after}`)
    await put({ enabled: true, prefixPrompt: before, prompt: after, suffixPrompt: after })
    expect(await say()).toBe(`${before}\n\n${own}\n\n${after}`)
  })

  it("keeps the client's marks for the vendor's cache, and every byte that is not of the instructions", async () => {
    await put({ enabled: true, prefixPrompt: before, suffixPrompt: after })
    const model = await matrix.model(familyOf("messages"), "messages", "marks")
    const block = { type: "text", text: own, cache_control: { type: "ephemeral" } }
    await send({ path: "/v1/messages", body: { model: model.id, max_tokens: 9, system: [block], messages: [user], metadata: { user_id: "u" } } })
    expect(await lastTold(model.name)).toEqual({
      model: model.name, max_tokens: 9, system: [{ type: "text", text: before }, block, { type: "text", text: after }], messages: [user], metadata: { user_id: "u" }
    })
  })

  it("stands with the role that the client's own instructions have, and behind those that begin the input of a response", async () => {
    await put({ enabled: true, prefixPrompt: before, suffixPrompt: after })
    const chat = await matrix.model(familyOf("chat-completions"), "chat-completions", "role")
    const developer = (content: string) => ({ role: "developer", content })
    await send({ path: "/v1/chat/completions", body: { model: chat.id, messages: [developer(own), user] } })
    expect((await lastTold(chat.name))["messages"]).toEqual([developer(before), developer(own), developer(after), user])
    const response = await matrix.model(familyOf("responses"), "responses", "role")
    await send({ path: "/v1/responses", body: { model: response.id, input: [developer(own), user] } })
    expect(await lastTold(response.name)).toMatchObject({ instructions: before, input: [developer(own), developer(after), user] })
  })

  it("is in a large body, which a thread makes", async () => {
    await put({ enabled: true, prefixPrompt: before, suffixPrompt: after })
    for (const name of ["chat-completions", "messages"]) {
      const model = await matrix.model(familyOf(name), "chat-completions", "large")
      await send({ path: "/v1/chat/completions", body: { model: model.id, messages: [{ role: "system", content: own }, user, { role: "user", content: "word ".repeat(500_000) }] } })
      const text = JSON.stringify(await lastTold(model.name))
      for (const part of [before, own, after]) expect(count(text, part)).toBe(1)
    }
  })

  it("is told once by every model of a combo, around its system_message: one after the other, all at once, step by step", async () => {
    await put({ enabled: true, prefixPrompt: before, suffixPrompt: after })
    const names: ReadonlyArray<string> = ["chat-completions", "messages"]
    for (const strategy of ["priority", "fusion", "pipeline", "debate"]) {
      const models = await Promise.all(names.map((name, i) => matrix.model(familyOf(name), "chat-completions", `${strategy}${i}`, ...strategy === "priority" && i === 0 ? [{ status: 500 }] : [])))
      await matrix.gateway.operator.call("POST", "/api/combos", { name: `prompt-${strategy}`, strategy, models: models.map(({ id }) => id), system_message: "Combo rules.", config: { maxRetries: 0 } })
      await send({ path: "/v1/chat/completions", body: { model: `combo/prompt-${strategy}`, messages: [{ role: "system", content: own }, user] } })
      const bodies = (await Promise.all(models.map(({ name }) => told(name)))).flat().map((body) => JSON.stringify(body))
      expect(bodies.length).toBeGreaterThan(1)
      for (const text of bodies) {
        for (const part of [before, "Combo rules.", after]) expect([strategy, part, count(text, part)], text).toEqual([strategy, part, 1])
        expect(text.indexOf(before)).toBeLessThan(text.indexOf("Combo rules."))
        expect(text.indexOf("Combo rules.")).toBeLessThan(text.indexOf(after))
      }
    }
  })

  it("makes other answers than without it: the response cache tells them apart", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "cached")
    const ask = async () => (await send({ path: "/v1/chat/completions", body: { model: model.id, temperature: 0, messages: [user] } })).headers["x-gateway-cache"]
    expect([await ask(), await ask()]).toEqual(["MISS", "HIT"])
    await put({ enabled: true, prefixPrompt: before })
    expect([await ask(), await ask()]).toEqual(["MISS", "HIT"])
    await put({ prefixPrompt: after })
    expect(await ask()).toBe("MISS")
  })

  it("is counted where tokens are counted, by the provider and by an estimate", async () => {
    const long = "A rule of the house. ".repeat(200)
    const rows: ReadonlyArray<readonly [string, (model: string) => Said]> = [
      ["messages", (model) => ({ path: "/v1/messages/count_tokens", body: { model, messages: [user] } })],
      ["responses", (model) => ({ path: "/v1/responses/input_tokens", body: { model, input: question } })],
      ["generateContent", (model) => ({ path: `/v1beta/models/${model}:countTokens`, body: { contents: [{ role: "user", parts: [{ text: question }] }] } })],
      ["generateContent", (model) => ({
        path: `/v1beta/models/${model}:countTokens`, body: { generateContentRequest: { model: "models/x", contents: [{ role: "user", parts: [{ text: question }] }] } }
      })]
    ]
    for (const [name, say] of rows) {
      // One model whose provider counts, one whose provider cannot.
      for (const family of [familyOf(name), familyOf("local-model-server")]) {
        const model = await matrix.model(family, name as FormatName, "count")
        const tokens = async () => {
          const { input_tokens, totalTokens } = JSON.parse((await send(say(model.id))).text) as { input_tokens?: number; totalTokens?: number }
          return input_tokens ?? totalTokens ?? 0
        }
        await put({ enabled: false })
        const without = await tokens()
        await put({ enabled: true, prefixPrompt: long })
        expect(await tokens() - without, `${name} at ${family.name}`).toBeGreaterThan(500)
      }
    }
  })

  it("refuses what it cannot be, and an empty change", async () => {
    for (const body of [{ prefixPrompt: "x".repeat(50_001) }, { enabled: "yes" }, { suffixPrompt: 1 }, {}]) {
      const reply = await matrix.gateway.operator.raw("PUT", path, body)
      expect(reply.status, JSON.stringify(body).slice(0, 60)).toBe(400)
    }
  })

  it("is not in the gateway's own question when a connection or combo is tested, and outlives a restart", async () => {
    await put({ enabled: true, prefixPrompt: before })
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "tested")
    await matrix.gateway.operator.call("POST", "/api/combos", { name: "prompt-tested", strategy: "priority", models: [model.id] })
    await matrix.gateway.operator.call("POST", "/api/combos/test", { comboName: "prompt-tested" })
    expect(JSON.stringify(await told(model.name))).not.toContain(before)
    expect((await told(model.name)).length).toBeGreaterThan(0)
    await matrix.gateway.restart()
    await send({ path: "/v1/chat/completions", body: { model: model.id, messages: [user] } })
    expect((await lastTold(model.name))["messages"]).toEqual([{ role: "system", content: before }, user])
  })
})
