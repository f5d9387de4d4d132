/** Responses that are kept: read, continued over every family, listed, deleted, made in the background and cancelled, by their key alone. */
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
  ({ key, lab, openai } = await startResponsesLab("responses"))
})
afterAll(() => lab.close())

type Body = Readonly<Record<string, unknown>>
const bearer = () => ({ authorization: `Bearer ${key}` })
const send = (method: string, path: string, body?: Body, headers: Readonly<Record<string, string>> = bearer()) => Http.send(lab.gateway.url, { method, path, headers, body })
const seen = async (model: string) => (await lab.sim.entries({ model })).map(({ body }) => JSON.stringify(body))

describe("a stored response", () => {
  it.each(["lab/st-chat", "own/st-own", "msg/st-msg"])("of %s is read as it was given, whole or streamed, with its input", async (model) => {
    const whole = await openai.responses.create({ model, store: true, input: [{ role: "user", content: "first" }, { role: "user", content: "second" }] })
    expect(await openai.responses.retrieve(whole.id)).toMatchObject({ id: whole.id, object: "response", status: "completed", output: JSON.parse(JSON.stringify(whole.output)) as unknown })
    const stream = await openai.responses.create({ model, store: true, input: "streamed", stream: true })
    let last: OpenAI.Responses.Response | null = null
    for await (const event of stream) if (event.type === "response.completed") last = event.response
    expect(await openai.responses.retrieve(last!.id)).toMatchObject({ id: last!.id, status: "completed", usage: JSON.parse(JSON.stringify(last!.usage)) as unknown })
    const items = await openai.responses.inputItems.list(whole.id, { order: "asc" })
    expect(items.data).toMatchObject([{ role: "user", content: "first", type: "message", id: expect.any(String) }, { content: "second" }])
  })

  it.each([["lab/st-next", "lab/st-next"], ["own/st-next2", "own/st-next2"], ["lab/st-from", "msg/st-to"], ["msg/st-from3", "own/st-to3"]])("of %s is continued at %s by its id", async (from, to) => {
    const one = await openai.responses.create({ model: from, store: true, input: "one" })
    const two = await openai.responses.create({ model: to, store: true, input: "two", previous_response_id: one.id })
    await openai.responses.create({ model: to, input: [{ role: "user", content: "three" }], previous_response_id: two.id })
    const bodies = await seen(to.split("/")[1]!)
    const last = bodies.at(-1)!
    expect(["one", "two", "three"].map((word) => last.includes(`"${word}"`))).toEqual([true, true, true])
    expect(last).not.toContain("previous_response_id\":\"resp")
    expect((await openai.responses.inputItems.list(two.id, { order: "asc" })).data.map((item) => (item as { content?: unknown }).content).filter((content) => typeof content === "string")).toEqual(["one", "two"])
  })

  it("is listed in pages", async () => {
    const { id } = await openai.responses.create({ model: "lab/st-pages", store: true, input: Array.from({ length: 5 }, (_, n) => ({ role: "user" as const, content: `n${n}` })) })
    const words: Array<unknown> = []
    for await (const item of openai.responses.inputItems.list(id, { limit: 2 })) words.push((item as { content?: unknown }).content)
    expect(words).toEqual(["n4", "n3", "n2", "n1", "n0"])
    for (const query of ["limit=0", "limit=101", "limit=x", "order=up", "after=nothing"]) {
      expect((await send("GET", `/v1/responses/${id}/input_items?${query}`)).status, query).toBe(400)
    }
  })

  it("is no stream, and says so to a client that asks for one", async () => {
    const { id } = await openai.responses.create({ model: "lab/st-whole", store: true, input: "x" })
    const reply = await send("GET", `/v1/responses/${id}?stream=true`)
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, "stream"])
  })

  it("is kept only where the request asks for it, and goes when it is deleted", async () => {
    const { id } = await openai.responses.create({ model: "lab/st-not", input: "x" })
    expect(errorIn(await send("GET", `/v1/responses/${id}`))).toMatchObject({ code: "response_not_found" })
    const kept = await openai.responses.create({ model: "lab/st-gone", store: true, input: "x" })
    expect(JSON.parse((await send("DELETE", `/v1/responses/${kept.id}`)).text)).toEqual({ id: kept.id, object: "response", deleted: true })
    for (const [method, path] of [["GET", ""], ["DELETE", ""], ["GET", "/input_items"], ["POST", "/cancel"]] as const) {
      expect((await send(method, `/v1/responses/${kept.id}${path}`)).status, method + path).toBe(404)
    }
  })

  it("belongs to its key alone, and to none that may not be logged", async () => {
    const { id } = await openai.responses.create({ model: "lab/st-mine", store: true, input: "secret words" })
    const other = await lab.gateway.operator.createKey("other")
    for (const headers of [{ authorization: `Bearer ${other.key}` }, {}]) {
      for (const [method, path] of [["GET", ""], ["DELETE", ""], ["GET", "/input_items"], ["POST", "/cancel"]] as const) {
        expect((await send(method, `/v1/responses/${id}${path}`, undefined, headers)).status, method + path).toBe(404)
      }
      const reply = await send("POST", "/v1/responses", { model: "own/st-thief", input: "more", previous_response_id: id }, headers)
      expect(reply.text).not.toContain("secret words")
      expect((await seen("st-thief")).join()).not.toContain("secret words")
    }
    expect((await send("GET", `/v1/responses/${id}`, undefined, { authorization: "Bearer wrong" })).status).toBe(401)
    const quiet = await lab.gateway.operator.createKey("quiet", { noLog: true })
    const unkept = JSON.parse((await send("POST", "/v1/responses", { model: "lab/st-quiet", store: true, input: "x" }, { authorization: `Bearer ${quiet.key}` })).text) as { id: string }
    expect((await send("GET", `/v1/responses/${unkept.id}`, undefined, { authorization: `Bearer ${quiet.key}` })).status).toBe(404)
  })

  it("is not asked of the provider, whose account all keys share, for another key or without one", async () => {
    const { id } = await openai.responses.create({ model: "own/st-shared", store: true, input: "secret words" })
    const other = await lab.gateway.operator.createKey("sharing")
    for (const headers of [{ authorization: `Bearer ${other.key}` }, {}]) {
      const reply = await send("POST", "/v1/responses", { model: "own/st-asker", input: "what did I say?", previous_response_id: id }, headers)
      expect([reply.status, errorIn(reply)["code"], errorIn(reply)["param"]]).toEqual([404, "response_not_found", "previous_response_id"])
    }
    expect(await seen("st-asker")).toEqual([])
    await openai.responses.delete(id)
    expect((await send("POST", "/v1/responses", { model: "own/st-unkept", input: "x", previous_response_id: "resp_of_the_vendor" })).status).toBe(200)
    expect((await seen("st-unkept")).join()).toContain("resp_of_the_vendor")
  })

  it("outlives the gateway's restart", async () => {
    const { id } = await openai.responses.create({ model: "lab/st-durable", store: true, input: "before" })
    await lab.gateway.restart()
    openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: key, maxRetries: 0 })
    expect(await openai.responses.retrieve(id)).toMatchObject({ id, status: "completed" })
    await openai.responses.create({ model: "lab/st-durable", input: "after", previous_response_id: id })
    expect((await seen("st-durable")).at(-1)).toContain("\"before\"")
  })
})

describe("a response made in the background", () => {
  const ended = (id: string) => eventually(() => openai.responses.retrieve(id), ({ status }) => status !== "queued" && status !== "in_progress", "the end of the response")

  it("is queued at once, and completed later under the same id, with its row", async () => {
    await lab.sim.rule({ match: { model: "bg-slow" }, script: { latencyMs: 300 } })
    const queued = await openai.responses.create({ model: "lab/bg-slow", background: true, input: "later" })
    expect(queued).toMatchObject({ status: "queued", background: true, output: [], id: expect.stringMatching(/^resp_/) as unknown })
    const done = await ended(queued.id)
    expect(done).toMatchObject({ id: queued.id, status: "completed", background: true })
    expect(done.output_text).not.toBe("")
    const rows = await eventually(() => lab.gateway.rows(), (all) => all.some(({ model }) => model === "bg-slow"), "its row")
    expect(rows.filter(({ model }) => model === "bg-slow")).toMatchObject([{ outcome: "completed", endpoint: "/v1/responses" }])
    const next = await openai.responses.create({ model: "lab/bg-slow", input: "on", previous_response_id: queued.id })
    expect(next.status).toBe("completed")
  })

  it("is completed and cancelled in the same way where a repeat of its request would be recognized", async () => {
    const named = { ...bearer(), "idempotency-key": "once", "x-request-id": "req-of-a-client" }
    const made = async (model: string) => (JSON.parse((await send("POST", "/v1/responses", { model, background: true, input: "later" }, named)).text) as { id: string }).id
    expect(await ended(await made("lab/bg-named"))).toMatchObject({ status: "completed" })
    await lab.sim.rule({ match: { model: "bg-named-held" }, script: { hangAfter: { frames: 0 } } })
    const id = (JSON.parse((await send("POST", "/v1/responses", { model: "lab/bg-named-held", background: true, input: "x" }, { ...bearer(), "x-request-id": "req-other" })).text) as { id: string }).id
    await eventually(() => lab.sim.entries({ model: "bg-named-held", outcome: "open" }), ({ length }) => length === 1, "the call")
    expect(await openai.responses.cancel(id)).toMatchObject({ status: "cancelled" })
    await eventually(() => lab.sim.entries({ model: "bg-named-held" }), ([entry]) => entry?.outcome === "client-aborted", "the end of the call")
  })

  it("is cancelled, which ends its upstream call", async () => {
    await lab.sim.rule({ match: { model: "bg-held" }, script: { hangAfter: { frames: 0 } } })
    const { id } = await openai.responses.create({ model: "lab/bg-held", background: true, input: "never" })
    await eventually(() => lab.sim.entries({ model: "bg-held", outcome: "open" }), ({ length }) => length === 1, "the call")
    expect((await openai.responses.create({ model: "lab/bg-x", input: "too early", previous_response_id: id }).catch((error: unknown) => error)) as object).toMatchObject({ status: 400 })
    expect(await openai.responses.cancel(id)).toMatchObject({ id, status: "cancelled" })
    await eventually(() => lab.sim.entries({ model: "bg-held" }), ([entry]) => entry?.outcome === "client-aborted", "the end of the call")
    expect(await openai.responses.retrieve(id)).toMatchObject({ status: "cancelled" })
    expect(await openai.responses.cancel(id)).toMatchObject({ status: "cancelled" })
  })

  it.each(["lab/bg-streamed", "own/bg-streamed", "msg/bg-streamed"])("of %s that is streamed is kept, too, unless its key keeps nothing", async (model) => {
    const last = async (client: OpenAI, more: Body) => {
      const response = await client.responses.stream({ model, background: true, input: "streamed", ...more }).finalResponse()
      return client.responses.retrieve(response.id).then(({ status }) => status, ({ status }: { readonly status: number }) => status)
    }
    expect(await last(openai, {})).toBe("completed")
    expect(await last(openai, { store: null })).toBe("completed")
    const silent = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: (await lab.gateway.operator.createKey("silent", { noLog: true })).key, maxRetries: 0 })
    expect(await last(silent, {})).toBe(404)
  })

  it("must be stored: with store false it is refused by its name, and nothing is asked", async () => {
    const reply = await send("POST", "/v1/responses", { model: "lab/bg-unkept", background: true, store: false, input: "x" })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ code: "unsupported_feature", param: "background" })])
    expect(await seen("bg-unkept")).toEqual([])
    const streamed = await send("POST", "/v1/responses", { model: "lab/bg-unkept", background: true, store: false, stream: true, input: "x" })
    expect([streamed.status, streamed.headers["content-type"]]).toEqual([200, "text/event-stream"])
    expect((await send("POST", "/v1/responses", { model: "lab/bg-unkept", background: false, store: false, input: "x" })).status).toBe(200)
  })

  it("fails with the words of its error, and one without a background cannot be cancelled", async () => {
    await lab.sim.rule({ match: { model: "bg-bad" }, script: { status: 500 } })
    const { id } = await openai.responses.create({ model: "lab/bg-bad", background: true, input: "x" })
    expect(await ended(id)).toMatchObject({ status: "failed", error: { code: expect.any(String) as unknown, message: expect.any(String) as unknown } })
    const unknownModel = await openai.responses.create({ model: "nowhere/none", background: true, input: "x" })
    expect(await ended(unknownModel.id)).toMatchObject({ status: "failed", error: { code: "model_not_found" } })
    const plain = await openai.responses.create({ model: "lab/bg-plain", store: true, input: "x" })
    expect((await send("POST", `/v1/responses/${plain.id}/cancel`)).status).toBe(400)
  })
})

describe("the tokens of a response's input", () => {
  const count = async (body: Body) => {
    const reply = await send("POST", "/v1/responses/input_tokens", body)
    return { reply, said: JSON.parse(reply.text) as Body }
  }

  it("are the provider's count where it counts, and estimated where it does not", async () => {
    const own = await count({ model: "own/it-own", input: "Count these words.", instructions: "Be brief." })
    expect([own.reply.status, own.said]).toEqual([200, { object: "response.input_tokens", input_tokens: expect.any(Number) as unknown }])
    expect((await lab.sim.entries({ model: "it-own" })).map(({ path }) => path)).toEqual(["/v1/responses/input_tokens"])
    expect(await lab.rows(own.reply)).toMatchObject([{ endpoint: "/v1/responses/input_tokens", tokensIn: 0, costUsd: 0 }])
    const foreign = await count({ model: "lab/it-foreign", input: "Count these words." })
    expect(foreign.said).toEqual({ object: "response.input_tokens", input_tokens: expect.any(Number) as unknown })
    expect(foreign.said["input_tokens"]).toBeGreaterThan(0)
    expect((await lab.sim.entries({ model: "it-foreign" })).length).toBe(0)
  })

  it("hold what went before", async () => {
    const { id } = await openai.responses.create({ model: "lab/it-before", store: true, input: "word ".repeat(200) })
    const alone = (await count({ model: "lab/it-before", input: "more" })).said["input_tokens"] as number
    const whole = (await count({ model: "lab/it-before", input: "more", previous_response_id: id })).said["input_tokens"] as number
    expect(whole).toBeGreaterThan(alone + 150)
    expect((await send("POST", "/v1/responses/input_tokens", { input: "no model" })).status).toBe(400)
  })
})
