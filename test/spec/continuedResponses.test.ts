/** What a response goes on with is named in its object, over every family, although no provider heard of it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import { connect, type Frame } from "#test/support/webSocket.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

type Body = Readonly<Record<string, unknown>>
const headers = () => ({ authorization: `Bearer ${matrix.key}` })
const ask = async (body: Body): Promise<Body> => {
  const reply = await Http.send(matrix.url, { method: "POST", path: "/v1/responses", headers: headers(), body })
  expect(reply.status, reply.text).toBe(200)
  return JSON.parse(reply.text) as Body
}
/** The response objects of a stream's events, by the events' types. */
const streamed = async (body: Body): Promise<ReadonlyArray<readonly [string, Body]>> => {
  const { ended } = await Http.stream(matrix.url, { path: "/v1/responses", headers: headers(), body: { ...body, stream: true } })
  return objectsOf(Http.payloads((await ended).text).filter((data) => data !== "[DONE]").map((data) => JSON.parse(data) as Frame))
}
const objectsOf = (frames: ReadonlyArray<Frame>): ReadonlyArray<readonly [string, Body]> =>
  frames.flatMap(({ response, type }) => response === undefined ? [] : [[String(type), response as Body] as const])
const conversation = async (): Promise<string> => (JSON.parse((await Http.send(matrix.url, { method: "POST", path: "/v1/conversations", headers: headers(), body: {} })).text) as { id: string }).id
const types = ["response.created", "response.in_progress", "response.completed"]

describe.each(families.map((family) => ({ family, name: family.name })))("a response of $name", ({ family }) => {
  it("names the response that it goes on with, whole, streamed, stored and in the background", async () => {
    const model = await matrix.model(family, "responses", "continued")
    const { id } = await ask({ model: model.id, input: "one", store: true })
    const next = { model: model.id, input: "two", previous_response_id: id, store: true }
    const whole = await ask(next)
    expect(whole).toMatchObject({ previous_response_id: id, status: "completed" })
    const stored = await Http.send(matrix.url, { path: `/v1/responses/${String(whole["id"])}`, headers: headers() })
    expect(JSON.parse(stored.text)).toMatchObject({ id: whole["id"], previous_response_id: id })
    expect((await streamed(next)).map(([type, response]) => [type, response["previous_response_id"]])).toEqual(types.map((type) => [type, id]))
    const queued = await ask({ ...next, background: true })
    expect(queued).toMatchObject({ status: "queued", previous_response_id: id })
    const later = () => Http.send(matrix.url, { path: `/v1/responses/${String(queued["id"])}`, headers: headers() }).then(({ text }) => JSON.parse(text) as Body)
    expect(await eventually(later, ({ status }) => status === "completed", "its end")).toMatchObject({ previous_response_id: id })
  })

  it("names its conversation, whole and streamed", async () => {
    const model = await matrix.model(family, "responses", "in-conversation")
    const id = await conversation()
    expect(await ask({ model: model.id, input: "one", conversation: id })).toMatchObject({ conversation: { id }, previous_response_id: null })
    expect((await streamed({ model: model.id, input: "two", conversation: { id } })).map(([type, response]) => [type, response["conversation"]])).toEqual(types.map((type) => [type, { id }]))
  })

  it("names over a socket what the socket put before its input, also where a request only prepares", async () => {
    const model = await matrix.model(family, "responses", "on-a-socket")
    const client = await connect(matrix.url, "/v1/responses", { headers: headers() })
    const turn = async (body: Frame): Promise<ReadonlyArray<readonly [string, Body]>> => {
      client.send({ type: "response.create", model: model.id, ...body })
      return objectsOf(await client.until(({ type }) => type === "response.completed" || type === "response.failed"))
    }
    const before = (await turn({ input: "one" })).at(-1)?.[1]["id"]
    const second = await turn({ input: "two", previous_response_id: before })
    expect(second.map(([type, response]) => [type, response["previous_response_id"]])).toEqual(types.map((type) => [type, before]))
    const warm = await turn({ generate: false, input: "three", previous_response_id: second.at(-1)?.[1]["id"] })
    expect(warm.map(([, response]) => response["previous_response_id"])).toEqual([second.at(-1)?.[1]["id"], second.at(-1)?.[1]["id"]])
    await client.close()
  })
})

describe("an answer of the cache", () => {
  it("is given to no request that goes on with something", async () => {
    const family = families[0]!
    const model = await matrix.model(family, "responses", "kept")
    const ids = [await ask({ model: model.id, input: "one", store: true }), await ask({ model: model.id, input: "one", store: true })].map(({ id }) => id)
    for (const id of ids) expect(await ask({ model: model.id, input: "two", temperature: 0, previous_response_id: id })).toMatchObject({ previous_response_id: id })
  })
})
