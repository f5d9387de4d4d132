/** POST /v1/images/generations and its twin below a provider, over HTTP. */
import OpenAI, { toFile } from "openai"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { pictureOf } from "#src/simulator/formats/images.ts"
import { type Combos, combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "im")
})
afterAll(() => lab.close())

const draw = (body: Readonly<Record<string, unknown>>, path = "/v1/images/generations") => Http.send(lab.gateway.url, { path, body })

describe("a request for images", () => {
  it("is forwarded as it came but for the model", async () => {
    const reply = await draw({ model: "lab/im-own", prompt: "a cat", n: 2, size: "16x8", background: "opaque" })
    expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
    const picture = { b64_json: pictureOf("a cat", "16x8").toString("base64") }
    expect(JSON.parse(reply.text)).toMatchObject({ data: [picture, picture] })
    const [entry] = await lab.sim.entries({ model: "im-own" })
    expect(entry?.body).toEqual({ model: "im-own", prompt: "a cat", n: 2, size: "16x8", background: "opaque" })
  })

  it.each([
    ["no prompt", {}, "prompt"],
    ["an empty prompt", { prompt: " " }, "prompt"],
    ["no image", { prompt: "a", n: 0 }, "n"],
    ["too many images", { prompt: "a", n: 11 }, "n"],
    ["a number as size", { prompt: "a", size: 7 }, "size"],
    ["another format", { prompt: "a", response_format: "png" }, "response_format"],
    ["a word for a flag", { prompt: "a", stream: "yes" }, "stream"]
  ] as const)("with %s is refused by the name of the field", async (_name, body, param) => {
    const reply = await draw({ model: "lab/im-refused", ...body })
    expect([reply.status, errorIn(reply)]).toEqual([400, expect.objectContaining({ code: "bad_request", param })])
    expect((await lab.sim.entries({ model: "im-refused" })).length).toBe(0)
  })

  it("costs as many images as its answer holds", async () => {
    await lab.gateway.operator.price(lab.node, "im-priced", { per_image: 0.04 })
    const reply = await draw({ model: "lab/im-priced", prompt: "a dog", n: 3, response_format: "url" })
    expect(reply.status).toBe(200)
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1/images/generations", units: { image: 3 }, costUsd: 0.12, outcome: "completed" }])
  })

  it("streams what its server streams, byte by byte, and a stream that breaks ends with its connection", async () => {
    const events = 'event: image_generation.partial_image\ndata: {"b64_json":"AAAA"}\n\nevent: image_generation.completed\ndata: {"b64_json":"BBBB"}\n\n'
    await lab.sim.rule({ match: { model: "im-streamed" }, script: { status: 200, contentType: "text/event-stream", body: events } })
    const reply = await Http.send(lab.gateway.url, { path: "/v1/images/generations", body: { model: "lab/im-streamed", prompt: "a", stream: true, partial_images: 1 } })
    expect([reply.status, reply.headers["content-type"], reply.text, reply.whole]).toEqual([200, "text/event-stream", events, true])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", stream: true, units: { image: 1 } }])
    const long = events.replace("AAAA", "A".repeat(400))
    await lab.sim.rule({ match: { model: "im-broken" }, script: { status: 200, contentType: "text/event-stream", body: long, resetAfter: { bytes: 200 } } })
    const broken = await Http.send(lab.gateway.url, { path: "/v1/images/generations", body: { model: "lab/im-broken", prompt: "a", stream: true } })
    expect([broken.status, broken.whole, long.startsWith(broken.text)]).toEqual([200, false, true])
    expect(await lab.rows(broken)).toMatchObject([{ outcome: "upstream-reset" }])
  })

  it("whose stream breaks between two events ends with an error event", async () => {
    const picture = 'event: image_generation.partial_image\ndata: {"b64_json":"AAAA"}\n\n'
    await lab.sim.rule({ match: { model: "im-between" }, script: { status: 200, contentType: "text/event-stream", body: picture.repeat(2), resetAfter: { bytes: picture.length } } })
    const broken = await Http.send(lab.gateway.url, { path: "/v1/images/generations", body: { model: "lab/im-between", prompt: "a", stream: true } })
    expect([broken.status, broken.whole, broken.text.startsWith(picture)]).toEqual([200, true, true])
    expect(JSON.parse(Http.payloads(broken.text).at(-1) ?? "")).toMatchObject({ type: "error", error: { code: "upstream_reset" } })
    expect(await lab.rows(broken)).toMatchObject([{ outcome: "upstream-reset" }])
  })

  it("whose stream ends with an error says so in its row, and to the client without the credential", async () => {
    const picture = 'event: image_generation.partial_image\ndata: {"b64_json":"AAAA"}\n\n'
    const error = `event: error\ndata: {"type":"error","error":{"type":"server_error","code":"overheated","message":"too hot for ${CREDENTIAL}"}}\n\n`
    await lab.sim.rule({ match: { model: "im-late-error" }, script: { status: 200, contentType: "text/event-stream", body: picture + error } })
    const late = await Http.send(lab.gateway.url, { path: "/v1/images/generations", body: { model: "lab/im-late-error", prompt: "a", stream: true } })
    expect([late.status, late.whole, late.text.startsWith(picture), late.text.includes(CREDENTIAL)]).toEqual([200, true, true, false])
    expect(JSON.parse(Http.payloads(late.text).at(-1) ?? "")).toMatchObject({ type: "error", error: { code: "overheated" } })
    expect(await lab.rows(late)).toMatchObject([{ outcome: "upstream-status", errorCode: "overheated" }])
    await lab.sim.rule({ match: { model: "im-early-error" }, script: { status: 200, contentType: "text/event-stream", body: error } })
    const early = await Http.send(lab.gateway.url, { path: "/v1/images/generations", body: { model: "lab/im-early-error", prompt: "a", stream: true } })
    expect([early.status, errorIn(early)["code"], early.text.includes(CREDENTIAL)]).toEqual([502, "overheated", false])
  })

  it("that is streamed costs what its last event counts, or what was expected", async () => {
    await lab.gateway.operator.price(lab.node, "im-counted", { input: 5, output: 40 })
    await lab.sim.rule({ match: { model: "im-counted" }, script: { usage: { promptTokens: 50, completionTokens: 1_000_000, totalTokens: 1_000_050 } } })
    const reply = await draw({ model: "lab/im-counted", prompt: "a", stream: true, partial_images: 2 })
    expect(Http.payloads(reply.text).map((data) => (JSON.parse(data) as { type: string }).type)).toEqual(["image_generation.partial_image", "image_generation.partial_image", "image_generation.completed"])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "completed", tokensIn: 50, tokensOut: 1_000_000, estimated: false, costUsd: 40.00025 }])
    await lab.gateway.operator.price(lab.node, "im-uncounted", { per_image: 0.5 })
    await lab.sim.rule({ match: { model: "im-uncounted" }, script: { usage: "omit" } })
    expect(await lab.rows(await draw({ model: "lab/im-uncounted", prompt: "a", stream: true }))).toMatchObject([{ units: { image: 1 }, costUsd: 0.5 }])
  })

  it("without an image in its answer is an upstream's failure", async () => {
    await lab.sim.rule({ match: { model: "im-empty" }, script: { status: 200, body: { created: 1, data: [] } } })
    const reply = await draw({ model: "lab/im-empty", prompt: "a" })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_invalid_response"])
  })

  it("to a combo is answered by the next target", async () => {
    await lab.sim.rule({ match: { model: "im-down" }, script: { status: 500, body: { error: { message: "down" } } } })
    const model = await combos.combo("priority", ["lab/im-down", "lab/im-up"], { config: { maxRetries: 0 } })
    expect((await draw({ model, prompt: "a" })).status).toBe(200)
    expect((await lab.sim.entries({ model: "im-up" })).length).toBe(1)
  })

  it("of the vendor's own client is answered", async () => {
    const { key } = await lab.gateway.operator.createKey("im-sdk")
    const openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: key, maxRetries: 0 })
    const made = await openai.images.generate({ model: "lab/im-sdk", prompt: "a bird", size: "256x256" })
    expect(made.data?.[0]?.b64_json).toBe(pictureOf("a bird", "256x256").toString("base64"))
  })

  it("of a key for other endpoints, or for other models, reaches no server", async () => {
    const keys = [{ allowedEndpoints: ["chat"] }, { allowedModels: ["lab/im-other"] }]
    for (const policy of keys) {
      const { key } = await lab.gateway.operator.createKey("im-policy", policy)
      const body = { model: "lab/im-barred", prompt: "a" }
      const reply = await Http.send(lab.gateway.url, { path: "/v1/images/generations", headers: { authorization: `Bearer ${key}` }, body })
      expect(reply.status).toBe(403)
    }
    expect((await lab.sim.entries({ model: "im-barred" })).length).toBe(0)
  })
})

describe("a form with images", () => {
  const picture = pictureOf("before", "8x8")
  const formOf = (fields: Readonly<Record<string, string>>, names: ReadonlyArray<string>, type = "image/png"): Buffer => Buffer.concat([
    ...Object.entries(fields).map(([name, value]) => Buffer.from(`--edge\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`)),
    ...names.flatMap((name) => [Buffer.from(`--edge\r\nContent-Disposition: form-data; name="${name}"; filename="a.png"\r\nContent-Type: ${type}\r\n\r\n`), picture, Buffer.from("\r\n")]),
    Buffer.from("--edge--\r\n")
  ])
  const edit = (body: Buffer) => Http.send(lab.gateway.url, { path: "/v1/images/edits", headers: { "content-type": "multipart/form-data; boundary=edge" }, body })

  it("goes on as it came but for the model, and costs as many images as come back", async () => {
    await lab.gateway.operator.price(lab.node, "im-edited", { per_image: 0.25 })
    const reply = await edit(formOf({ model: "lab/im-edited", prompt: "a hat", n: "2", quality: "low" }, ["image[]", "image[]", "mask"]))
    expect([reply.status, (JSON.parse(reply.text) as { data: ReadonlyArray<unknown> }).data.length]).toEqual([200, 2])
    const file = { filename: "a.png", contentType: "image/png", bytes: picture.length }
    expect((await lab.sim.entries({ model: "im-edited" }))[0]?.body).toEqual({ model: "im-edited", prompt: "a hat", n: "2", quality: "low", image: [file, file], mask: file })
    expect(await lab.rows(reply)).toMatchObject([{ endpoint: "/v1/images/edits", units: { image: 2 }, costUsd: 0.5, outcome: "completed" }])
  })

  it.each([
    ["no image", formOf({ model: "lab/im-bad", prompt: "a" }, []), "image"], ["a sound", formOf({ model: "lab/im-bad", prompt: "a" }, ["image"], "audio/wav"), "image"],
    ["no prompt", formOf({ model: "lab/im-bad" }, ["image"]), "prompt"], ["a word for a number", formOf({ model: "lab/im-bad", prompt: "a", n: "two" }, ["image"]), "n"],
    ["a text as mask", formOf({ model: "lab/im-bad", prompt: "a", mask: "b" }, ["image"]), "mask"]
  ])("with %s is refused by the name of the field, and nothing is sent", async (_name, body, param) => {
    const reply = await edit(body)
    expect([reply.status, errorIn(reply)["param"]]).toEqual([400, param])
    expect((await lab.sim.entries({ model: "im-bad" })).length).toBe(0)
  })

  it("is edited for the vendor's own client", async () => {
    const openai = new OpenAI({ baseURL: `${lab.gateway.url}/v1`, apiKey: (await lab.gateway.operator.createKey("edits")).key, maxRetries: 0 })
    const made = await openai.images.edit({ model: "lab/im-sdk", prompt: "a hat", image: await toFile(picture, "a.png", { type: "image/png" }) })
    expect(Buffer.from(made.data?.[0]?.b64_json ?? "", "base64").equals(pictureOf("a hat", "8x8"))).toBe(true)
  })
})
