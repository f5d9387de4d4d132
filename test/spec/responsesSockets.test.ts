/** The responses format over WebSocket: its three paths, every family, continued responses, failures as frames, one after the other. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { MOST_WAITING } from "#src/inference/sockets/ResponsesSocket.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { connect, type Frame, refused, type SocketClient } from "#test/support/webSocket.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  const node = await lab.gateway.operator.createNode({ prefix: "own", baseUrl: `${lab.sim.url}/v1`, apiType: "responses" })
  await lab.gateway.operator.createConnection({ provider: node, apiKey: "canary_own" })
})
afterAll(() => lab.close())

const path = "/v1/responses"
const open = (headers: Readonly<Record<string, string>> = {}, at = path): Promise<SocketClient> => connect(lab.gateway.url, at, { headers })
const item = (text: string) => ({ role: "user", content: text })
const create = (model: string, more: Frame = {}): Frame => ({ type: "response.create", model, input: [item("Say something.")], ...more })
const lasts = new Set(["response.completed", "response.failed", "response.incomplete", "error"])
const isLast = ({ type }: Frame): boolean => lasts.has(String(type))
const responseIn = (frame: Frame | undefined): Readonly<Record<string, unknown>> => (frame?.["response"] ?? {}) as Readonly<Record<string, unknown>>
const bodiesOf = async (model: string): Promise<ReadonlyArray<Frame>> => (await lab.sim.entries({ model })).map(({ body }) => body as Frame)

/** What a request says, as its family names it. */
const listIn = (body: Frame = {}): ReadonlyArray<Frame> => (body["input"] ?? body["messages"] ?? []) as ReadonlyArray<Frame>

describe("responses over WebSocket", () => {
  it.each([path, "/responses", "/api/v1/responses"])("open at %s, where a plain GET is 426", async (at) => {
    const client = await open({}, at)
    client.send(create("lab/rs-path"))
    const frames = await client.until(isLast)
    expect(frames[0]).toMatchObject({ type: "response.created", response: { object: "response", status: "in_progress" } })
    expect(frames.at(-1)).toMatchObject({ type: "response.completed", response: { status: "completed" } })
    await client.close()
    expect((await Http.send(lab.gateway.url, { path: at })).status).toBe(426)
  })

  it.each(["lab/rs-foreign", "own/rs-own"])("of %s are the events of the same request over HTTP, and have its row", async (model) => {
    const client = await open()
    client.send(create(model))
    const frames = await client.until(isLast)
    const http = (await (await Http.stream(lab.gateway.url, { path, body: { ...create(model), type: undefined, stream: true } })).ended).text
    const shape = (all: ReadonlyArray<Frame>) => all.map(({ delta, type }) => [type, delta])
    expect(shape(frames)).toEqual(shape(Http.payloads(http).filter((data) => data !== "[DONE]").map((data) => JSON.parse(data) as Frame)))
    const rows = await eventually(() => lab.gateway.operator.callLogs(), (all) => all.filter((row) => JSON.stringify(row).includes(model.split("/")[1]!)).length === 2, "both rows")
    expect(rows.slice(0, 2)).toMatchObject([{ path, outcome: "completed", status: 200 }, { path, outcome: "completed", status: 200 }])
    await client.close()
  })

  it("take their request from response, body or payload, too", async () => {
    const client = await open()
    for (const nest of ["response", "body", "payload"]) {
      client.send({ type: "response.create", [nest]: { model: "lab/rs-nested", input: `in ${nest}` } })
      expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.completed" })
    }
    expect((await bodiesOf("rs-nested")).map(({ messages }) => (messages as ReadonlyArray<Frame>)[0]?.["content"])).toEqual(["in response", "in body", "in payload"])
    await client.close()
  })

  it.each(["lab/rs-next", "own/rs-next-own"])("of %s go on from the newest response with what is new alone", async (model) => {
    const client = await open()
    client.send(create(model, { store: false, input: [item("one")] }))
    const first = responseIn((await client.until(isLast)).at(-1))
    client.send(create(model, { store: false, previous_response_id: first["id"], input: [item("two")] }))
    const second = responseIn((await client.until(isLast)).at(-1))
    client.send(create(model, { store: false, previous_response_id: second["id"], input: "three" }))
    expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.completed" })
    const [, , third] = await bodiesOf(model.split("/")[1]!)
    expect(third).not.toHaveProperty("previous_response_id")
    const said = JSON.stringify(third)
    expect(["one", "two", "three"].map((word) => said.includes(`"${word}"`))).toEqual([true, true, true])
    expect(listIn(third)).toHaveLength(5)
    await client.close()
  })

  it("begin with a request that only prepares (generate: false): nothing is asked upstream, and it is continued", async () => {
    const client = await open()
    client.send(create("lab/rs-warm", { generate: false, input: [item("prepared")] }))
    const warm = (await client.until(isLast))
    expect(warm.map(({ type }) => type)).toEqual(["response.created", "response.completed"])
    expect(await bodiesOf("rs-warm")).toHaveLength(0)
    client.send(create("lab/rs-warm", { previous_response_id: responseIn(warm.at(-1))["id"], input: [item("asked")] }))
    expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.completed" })
    const [body] = await bodiesOf("rs-warm")
    expect(listIn(body).map(({ content }) => content)).toEqual(["prepared", "asked"])
    expect(body).not.toHaveProperty("generate")
    await client.close()
  })

  it("run one after the other, and end with their socket", async () => {
    await lab.sim.rule({ match: { model: "rs-held" }, script: { hangAfter: { frames: 2 } } })
    const client = await open()
    client.send(create("lab/rs-held"))
    await client.until(({ type }) => type === "response.output_text.delta")
    client.send(create("lab/rs-behind"))
    expect(await bodiesOf("rs-behind")).toHaveLength(0)
    client.send({ type: "response.cancel" })
    expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.failed", response: { id: null, status: "failed", error: { code: "response_cancelled" } } })
    expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.completed" })
    client.send(create("lab/rs-held"))
    await client.until(({ type }) => type === "response.output_text.delta")
    await client.close()
    await eventually(() => lab.sim.entries({ model: "rs-held" }), (all) => all.length === 2 && all.every(({ outcome }) => outcome === "client-aborted"), "the end of both calls")
  })

  it("beyond those that may wait are refused", async () => {
    await lab.sim.rule({ match: { model: "rs-queue" }, script: { hangAfter: { frames: 1 } } })
    const client = await open()
    for (let n = 0; n <= MOST_WAITING; n++) client.send(create("lab/rs-queue"))
    client.send(create("lab/rs-queue"))
    expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.failed", response: { error: { code: "too_many_requests" } } })
    await client.close()
  })

  it.each<[string, unknown, string]>([
    ["no JSON", "{nonsense", "invalid_json"], ["bytes", Buffer.from("{}"), "unsupported_payload"], ["another type", { type: "session.update" }, "unsupported_type"],
    ["an unknown model", create("nowhere/none"), "model_not_found"], ["no model", { type: "response.create", input: "x" }, "bad_request"],
    ["a number for input", create("lab/rs-bad", { input: 7 }), "invalid_input"], ["a cancellation of nothing", { type: "response.cancel" }, "response_cancel_not_active"]
  ])("answer a frame of %s with response.failed, and stay open", async (_name, frame, code) => {
    const client = await open()
    client.send(frame)
    expect(await client.next()).toMatchObject({ type: "response.failed", response: { id: null, status: "failed", error: { code, message: expect.any(String) } } })
    client.send(create("lab/rs-still"))
    expect((await client.until(isLast)).at(-1)).toMatchObject({ type: "response.completed" })
    await client.close()
  })

  it("say with which status an upstream failed", async () => {
    await lab.sim.rule({ match: { model: "rs-limited" }, script: { status: 429, retryAfter: 7 } })
    const client = await open()
    client.send(create("lab/rs-limited"))
    expect(await client.next()).toMatchObject({ type: "response.failed", status: 429, response: { error: { code: expect.any(String) } } })
    await client.close()
  })

  it("refuse wrong keys, and answer 426 while the flag is off, so that clients go on over HTTP", async () => {
    expect(await refused(lab.gateway.url, path, { headers: { authorization: "Bearer wrong" } })).toMatchObject({ status: 401, body: { error: { code: "invalid_api_key" } } })
    await lab.gateway.operator.setFlag("GATEWAY_CODEX_WS_ENABLED", "false")
    try {
      expect(await refused(lab.gateway.url, path)).toMatchObject({ status: 426, body: { error: { code: "upgrade_required" } } })
    } finally {
      await lab.gateway.operator.clearFlags()
    }
  })
})
