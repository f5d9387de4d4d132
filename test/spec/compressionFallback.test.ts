/** A combo's prompt that is made shorter before another target is asked: over HTTP, by what every upstream is told. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"

let matrix: Matrix
const operate = <A>(method: string, path: string, body?: unknown) => matrix.gateway.operator.call<A>(method, path, body)
beforeAll(async () => {
  matrix = await startMatrix()
  await operate("PUT", "/api/settings/compression", { enabled: true, defaultMode: "off" })
})
afterAll(() => matrix.close())

const long = "Hello there, could you please explain, in order to help me, why the tests fail at the moment?"
const short = "explain, to help me, why tests fail at moment?"
const familyOf = (name: string): Family => families.find((one) => one.name === name) as Family

let made = 0
/** A combo of models, by their families: all but the last one fail. */
const combo = async (names: ReadonlyArray<string>, config: Record<string, unknown>) => {
  const prefix = `fallback${++made}`
  const models = await Promise.all(names.map((name, i) => matrix.model(familyOf(name), "chat-completions", `${prefix}-${i}`, ...i < names.length - 1 ? [{ status: 500 }] : [])))
  await operate("POST", "/api/combos", { name: prefix, models: models.map(({ id }) => id), config: { maxRetries: 0, ...config } })
  const told = () => Promise.all(models.map(async ({ name }) => {
    const text = JSON.stringify((await matrix.entries(name)).at(-1)?.body ?? {})
    return text.includes(long) ? "long" : text.includes(short) ? "short" : text
  }))
  return { model: `combo/${prefix}`, told }
}
const ask = async (model: string, { content = long, headers = {}, key = matrix.key }: { readonly content?: unknown; readonly headers?: Readonly<Record<string, string>>; readonly key?: string } = {}) => {
  const reply = await Http.send(matrix.gateway.url, { path: "/v1/chat/completions", headers: { authorization: `Bearer ${key}`, ...headers }, body: { model, messages: [{ role: "user", content }] } })
  expect(reply.status, reply.text).toBe(200)
  return reply.headers["x-gateway-compression"]
}
const config = { fallbackCompressionMode: "standard", fallbackCompressionThreshold: 0 }

describe("compression before a fallback", () => {
  it.each([
    [["chat-completions", "chat-completions"]], [["chat-completions", "messages"]], [["messages", "chat-completions"]], [["generateContent", "messages", "responses"]]
  ])("leaves the first of %s and shortens the others", async (names) => {
    const { model, told } = await combo(names, config)
    expect(await ask(model)).toBe("standard; source=fallback")
    expect(await told()).toEqual(names.map((_, i) => i === 0 ? "long" : "short"))
  })

  it("happens in a large body, too", async () => {
    const { model, told } = await combo(["chat-completions", "messages"], config)
    expect(await ask(model, { content: [long, "Rain falls. ".repeat(30_000)].map((text) => ({ type: "text", text })) })).toBe("standard; source=fallback")
    expect(await told()).toEqual(["long", "short"])
  })

  it("does not happen where the first target answers", async () => {
    const { model, told } = await combo(["chat-completions"], config)
    expect(await ask(model)).toBe("off; source=off")
    expect(await told()).toEqual(["long"])
  })

  it("needs a long prompt and a combo that asks for it, and follows the client and its key", async () => {
    const names = ["chat-completions", "messages"]
    const none = async (given: Record<string, unknown>, more: Parameters<typeof ask>[1] = {}) => {
      const { model, told } = await combo(names, given)
      return [await ask(model, more), await told()]
    }
    const off = (source: string) => [`off; source=${source}`, ["long", "long"]]
    expect(await none({ ...config, fallbackCompressionThreshold: 1_000 })).toEqual(off("off"))
    expect(await none({ ...config, zeroLatencyOptimizationsEnabled: false })).toEqual(off("off"))
    expect(await none({ ...config, fallbackCompressionMode: "off" })).toEqual(off("off"))
    expect(await none({})).toEqual(off("off"))
    expect(await none(config, { headers: { "x-gateway-compression": "off" } })).toEqual(off("request-header"))
    const { id, key } = await matrix.gateway.operator.createKey("uncompressed")
    await operate("PATCH", `/api/keys/${id}`, { compressionEnabled: false })
    expect(await none(config, { key })).toEqual(off("off"))
  })

  it("leaves what was compressed from the beginning as it is", async () => {
    const { model, told } = await combo(["chat-completions", "messages"], { ...config, compressionMode: "standard", fallbackCompressionMode: "lite" })
    expect(await ask(model)).toBe("standard; source=routing-override")
    expect(await told()).toEqual(["short", "short"])
  })

  it("takes the names of modes alone", async () => {
    const { status } = await matrix.gateway.operator.raw("POST", "/api/combos", { name: "wrong", models: [], config: { fallbackCompressionMode: "full" } })
    expect(status).toBe(400)
  })
})
