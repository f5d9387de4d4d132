/** POST /v1/moderations over HTTP: what is refused, that it is forwarded as it came, and that it costs nothing. */
import OpenAI from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

type Headers = Readonly<Record<string, string>>
const moderate = (body: Readonly<Record<string, unknown>>, headers: Headers = {}) => Http.send(lab.gateway.url, { path: "/v1/moderations", headers, body })
const seen = (model: string) => lab.sim.entries({ model })

describe("a request for moderations", () => {
  it("is forwarded as it came but for the model, costs nothing and leaves its row", async () => {
    await lab.gateway.operator.price(lab.node, "mo-own", { input: 100, output: 100 })
    const input = ["a cake", "an act of violence"]
    const reply = await moderate({ model: "lab/mo-own", input })
    const { results } = JSON.parse(reply.text) as { results: ReadonlyArray<{ flagged: boolean }> }
    expect([reply.status, results.map(({ flagged }) => flagged)]).toEqual([200, [false, true]])
    expect((await seen("mo-own")).map(({ body }) => body)).toEqual([{ model: "mo-own", input }])
    expect(reply.headers).toMatchObject({ "x-gateway-response-cost": "0.0000000000", "x-gateway-model": "lab/mo-own" })
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1/moderations", sourceFormat: "moderations", outcome: "completed", costUsd: 0, final: true }])
  })

  it("takes parts with texts and images", async () => {
    const input = [{ type: "text", text: "violence" }, { type: "image_url", image_url: { url: "https://example.com/a.png" } }]
    expect(JSON.parse((await moderate({ model: "lab/mo-parts", input })).text)).toMatchObject({ results: [{ flagged: true }] })
    expect((await seen("mo-parts"))[0]?.body).toEqual({ model: "mo-parts", input })
  })

  it.each([
    ["no input", {}], ["an empty list", { input: [] }], ["a number", { input: 7 }], ["texts beside parts", { input: ["a", { type: "text", text: "b" }] }]
  ] as const)("with %s is refused by the name of the field, and nothing is sent", async (_name, body) => {
    const reply = await moderate({ model: "lab/mo-refused", ...body })
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, "input"])
    expect((await seen("mo-refused")).length).toBe(0)
  })

  it("without a model asks the usual one, by the vendor's own client too", async () => {
    await lab.gateway.operator.createConnection({ provider: "openai", apiKey: "sk-mo-000000000001", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
    expect((await moderate({ input: "a" })).headers["x-gateway-model"]).toBe("openai/omni-moderation-latest")
    const openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: (await lab.gateway.operator.createKey("sdk")).key, maxRetries: 0 })
    expect((await openai.moderations.create({ input: "violence" })).results[0]?.flagged).toBe(true)
    await expect(openai.moderations.create({ model: "nobody/x", input: "a" })).rejects.toThrow(OpenAI.BadRequestError)
  })

  it("for a model that talks, and with a key for other endpoints, is refused", async () => {
    expect((await moderate({ model: "openai/gpt-4o-mini", input: "a" })).status).toBe(400)
    const { key } = await lab.gateway.operator.createKey("chats", { allowedEndpoints: ["chat"] })
    expect((await moderate({ model: "lab/mo-denied", input: "a" }, { authorization: `Bearer ${key}` })).status).toBe(403)
    expect((await seen("mo-denied")).length).toBe(0)
  })

  it("that is answered with something else is not answered with it", async () => {
    await lab.sim.rule({ match: { model: "mo-odd" }, script: { status: 200, body: { hello: 1 } } })
    const reply = await moderate({ model: "lab/mo-odd", input: "a" })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_invalid_response"])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "parse-error", costUsd: 0 }])
  })
})
