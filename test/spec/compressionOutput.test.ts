/** Short answers (cavemanOutputMode, and outputMode of a stored pipeline), over HTTP: what every upstream is told beside the instructions. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as Terse from "#src/compression/terse.ts"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())
afterEach(() => put({ enabled: false, defaultMode: "off", comboOverrides: {}, compressionComboId: null, cavemanOutputMode: { enabled: false, intensity: "full", autoClarity: true } }))

const put = (change: Record<string, unknown>) => matrix.gateway.operator.call("PUT", "/api/settings/compression", change)
const familyOf = (name: string): Family => families.find((one) => one.name === name) as Family
const own = "You are the assistant of the house."
const terse = Terse.wordsOf("full", { autoClarity: true })

const faces: ReadonlyArray<readonly [FormatName, (model: string) => { readonly path: string; readonly body: Record<string, unknown> }]> = [
  ["chat-completions", (model) => ({ path: "/v1/chat/completions", body: { model, messages: [{ role: "system", content: own }, { role: "user", content: "Why?" }] } })],
  ["messages", (model) => ({ path: "/v1/messages", body: { model, max_tokens: 100, system: own, messages: [{ role: "user", content: "Why?" }] } })],
  ["responses", (model) => ({ path: "/v1/responses", body: { model, instructions: own, input: "Why?" } })],
  ["generateContent", (model) => ({
    path: `/v1beta/models/${model}:generateContent`, body: { systemInstruction: { parts: [{ text: own }] }, contents: [{ role: "user", parts: [{ text: "Why?" }] }] }
  })],
  ["local-model-server", (model) => ({ path: "/v1/api/chat", body: { model, stream: false, messages: [{ role: "system", content: own }, { role: "user", content: "Why?" }] } })]
]
const send = async ({ body, path }: { readonly path: string; readonly body: unknown }, headers: Readonly<Record<string, string>> = {}, key = matrix.key) => {
  const reply = await Http.send(matrix.gateway.url, { path, headers: { authorization: `Bearer ${key}`, ...headers }, body })
  expect(reply.status, reply.text).toBe(200)
  return reply.headers["x-gateway-compression"]
}
const chat = (model: string, content = "Why?", more: Record<string, unknown> = {}) => ({ path: "/v1/chat/completions", body: { model, messages: [{ role: "user", content }], ...more } })
const told = async (name: string): Promise<string> => JSON.stringify((await matrix.entries(name)).at(-1)?.body ?? {})

describe("a request for short answers", () => {
  it.each(faces.flatMap(([face, say]) => families.map((family) => [face, family.name, say, family] as const)))(
    "stands behind the client's instructions, from a client of %s to %s", async (face, _name, say, family) => {
      await put({ enabled: true, cavemanOutputMode: { enabled: true } })
      const model = await matrix.model(family, face, "terse")
      expect(await send(say(model.id))).toBe("off; source=off")
      const text = await told(model.name)
      expect(text.split(terse).length - 1, text).toBe(1)
      expect([text.indexOf(own) >= 0, text.indexOf(terse) > text.indexOf(own)], text).toEqual([true, true])
    }
  )

  it("is not said while compression is off, nor by a key, a combo or a header that has it off; every byte stays", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "untold")
    const { id } = await matrix.gateway.operator.call<{ id: string }>("POST", "/api/combos", { name: "untold", models: [model.id] })
    const plain = async (name: string, headers = {}, key = matrix.key) => {
      await send(chat(name), headers, key)
      expect(JSON.parse(await told(model.name))).toEqual({ model: model.name, messages: [{ role: "user", content: "Why?" }] })
    }
    await put({ cavemanOutputMode: { enabled: true } })
    await plain(model.id)
    await put({ enabled: true, comboOverrides: { [id]: "off" } })
    await plain(model.id, { "x-gateway-compression": "off" })
    await plain("combo/untold")
    await plain(model.id, {}, (await matrix.gateway.operator.createKey("terse", { compressionEnabled: false })).key)
    await send(chat(model.id))
    expect(await told(model.name)).toContain(terse)
  })

  it("has the intensity of the pipeline, else of the setting, and asks for clear warnings unless the operator does not want them", async () => {
    const model = await matrix.model(familyOf("chat-completions"), "chat-completions", "intensity")
    await put({ enabled: true, cavemanOutputMode: { enabled: true, intensity: "lite", autoClarity: false } })
    await matrix.gateway.operator.call("POST", "/api/context/combos", { name: "short", pipeline: [{ engine: "lite" }], outputMode: true, outputModeIntensity: "ultra" })
    await matrix.gateway.operator.call("POST", "/api/context/combos", { name: "long", pipeline: [{ engine: "lite" }] })
    const asked = async (header?: string) => {
      await send(chat(model.id), header === undefined ? {} : { "x-gateway-compression": header })
      const { messages } = JSON.parse(await told(model.name)) as { messages: ReadonlyArray<{ role: string; content: string }> }
      return messages[0]
    }
    const said = (content: string) => ({ role: "system", content })
    expect(await asked()).toEqual(said(Terse.wordsOf("lite", { autoClarity: false })))
    expect(await asked("short")).toEqual(said(Terse.wordsOf("ultra", { autoClarity: false })))
    expect(await asked("long")).toEqual(said(Terse.wordsOf("lite", { autoClarity: false })))
    await put({ cavemanOutputMode: { enabled: false, autoClarity: true } })
    expect(await asked("short")).toEqual(said(Terse.wordsOf("ultra", { autoClarity: true })))
    expect((await asked("long"))?.role).toBe("user")
    expect(await matrix.gateway.operator.call("POST", "/api/compression/preview", {
      mode: "lite", messages: [{ role: "user", content: "Why?" }], config: { cavemanOutputMode: { enabled: true, intensity: "ultra" } }
    })).toMatchObject({ outputMode: "ultra" })
  })

  it("is said in a large body, which a thread writes, and to every model of a combo that asks several", async () => {
    await put({ enabled: true, cavemanOutputMode: { enabled: true } })
    const model = await matrix.model(familyOf("messages"), "chat-completions", "large")
    await send(chat(model.id, "Why do the tests fail? ".repeat(20_000)))
    expect((await told(model.name)).split(terse).length - 1).toBe(1)
    const models = await Promise.all(["chat-completions", "messages"].map((name, i) => matrix.model(familyOf(name), "chat-completions", `several${i}`)))
    await matrix.gateway.operator.call("POST", "/api/combos", { name: "several", strategy: "pipeline", models: models.map(({ id }) => id) })
    await send(chat("combo/several"))
    for (const { name } of models) expect((await told(name)).split(terse).length - 1, await told(name)).toBe(1)
  })
})
