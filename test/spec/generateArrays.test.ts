/** `:streamGenerateContent` without `alt=sse`: one JSON array of the chunks, written as they come. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { framesOf, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ environment: { SSE_HEARTBEAT_INTERVAL_MS: "400", GATEWAY_EARLY_KEEPALIVE_MS: "300" } })
  await lab.gateway.operator.createConnection({ provider: "gemini", apiKey: "AIza-arrays-000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1beta` } })
})
afterAll(() => lab.close())

type Item = Readonly<Record<string, unknown>>
const body = { contents: [{ role: "user", parts: [{ text: "Say something." }] }] }
const callOf = (model: string, query = "", headers: Readonly<Record<string, string>> = {}): Http.Call => ({ path: `/v1beta/models/${model}:streamGenerateContent${query}`, headers, body })
const ask = (...call: Parameters<typeof callOf>) => Http.send(lab.gateway.url, callOf(...call))
const itemsOf = ({ text }: { readonly text: string }) => JSON.parse(text) as ReadonlyArray<Item>
/** What both forms say, without the id of the answer. */
const said = (items: ReadonlyArray<Item>) => items.map(({ responseId: _id, ...rest }) => rest)

/** An upstream of the same format, and one that is translated. */
const upstreams = ["gemini", "lab"]

describe.each(upstreams)("a stream without alt=sse over %s", (prefix) => {
  it.each(["", "?alt=json", "?alt="])("is an array of the chunks that alt=sse gives: %j", async (query) => {
    const model = `${prefix}/ar-plain${query.length}`
    await lab.sim.rule({ match: { model: model.split("/")[1] ?? "" }, script: { text: "Seven words are said in this answer." } })
    const [array, events] = [await ask(model, query), await ask(model, "?alt=sse")]
    expect([array.status, array.headers["content-type"], array.whole]).toEqual([200, "application/json", true])
    expect(array.text).toMatch(/^\[\{[^]*\}\r\n\]$/)
    expect(events.headers["content-type"]).toBe("text/event-stream")
    expect(itemsOf(array).length).toBeGreaterThan(3)
    expect(said(itemsOf(array))).toEqual(said(framesOf(events.text)))
    expect((await lab.rows(array)).map(({ outcome }) => outcome)).toEqual(["completed"])
  })

  it("gives each chunk as it comes", async () => {
    const model = `ar-held-${prefix}`
    await lab.sim.rule({ match: { model }, script: { text: "one two three four", tokenSize: 4, hangAfter: { frames: 2 } } })
    const opened = await Http.stream(lab.gateway.url, callOf(`${prefix}/${model}`))
    const text = await opened.until((read) => read.includes("\"one"))
    expect([text.trimStart().startsWith("[{"), text.includes("four"), (await lab.sim.entries({ model })).map(({ outcome }) => outcome)]).toEqual([true, false, ["open"]])
    opened.leave()
    await opened.ended
  })

  it("has white space for heartbeats, before the first chunk and behind it, and no frames of progress", async () => {
    const model = `ar-slow-${prefix}`
    await lab.sim.rule({ match: { model }, script: { tokens: 3, paceMs: 1500, latencyMs: 1300 } })
    const reply = await ask(`${prefix}/${model}`, "", { "x-gateway-progress": "true" })
    expect(reply.text).toMatch(/^\n+\[\{[^]*\}\n+,\r\n\{/)
    expect(itemsOf(reply).every((item) => Array.isArray(item["candidates"]))).toBe(true)
    expect(reply.headers["x-gateway-progress"]).toBeUndefined()
  })

  it("ends with the error that came behind content, as the last item", async () => {
    const model = `ar-broken-${prefix}`
    await lab.sim.rule({ match: { model }, script: { tokens: 9, resetAfter: { frames: 4 } } })
    const reply = await ask(`${prefix}/${model}`)
    const items = itemsOf(reply)
    expect([reply.status, items.length > 1, items.filter((item) => item["error"] !== undefined).length]).toEqual([200, true, 1])
    expect(items.at(-1)).toEqual({ error: expect.objectContaining({ code: expect.any(Number) as unknown, status: expect.any(String) as unknown }) as unknown })
    expect((await lab.rows(reply)).map(({ outcome }) => outcome)).toEqual(["upstream-reset"])
  })

  it("that fails before its first byte has the error alone", async () => {
    const model = `ar-refused-${prefix}`
    await lab.sim.rule({ match: { model }, script: { status: 400, error: { message: "not this" } } })
    for (const reply of [await ask(`${prefix}/${model}`), await Http.send(lab.gateway.url, { ...callOf(`${prefix}/${model}`), body: {} })]) {
      expect([reply.status, reply.headers["content-type"], JSON.parse(reply.text)]).toEqual([400, "application/json", { error: expect.objectContaining({ code: 400 }) as unknown }])
    }
  })
})

it("a kept answer is an array for one client, and events for the other", async () => {
  const asked = { ...body, generationConfig: { temperature: 0 } }
  const send = (query: string) => Http.send(lab.gateway.url, { ...callOf("lab/ar-kept", query), body: asked })
  expect((await send("?alt=sse")).headers["content-type"]).toBe("text/event-stream")
  const [array, events] = [await send(""), await send("?alt=sse")]
  expect([array, events].map(({ headers }) => [headers["x-gateway-cache"], headers["content-type"]])).toEqual([["HIT", "application/json"], ["HIT", "text/event-stream"]])
  expect(said(itemsOf(array))).toEqual(said(framesOf(events.text)))
  expect(await lab.sim.entries({ model: "ar-kept" })).toHaveLength(1)
})
