/** An upstream's refusal that is no error object of its family keeps its words: for every format of a client, and every kind of request. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { Script } from "#src/simulator/Simulator.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { callOf, oneShots, placeOf } from "#test/support/oneShots.ts"

let lab: Lab
let models = 0
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const modelOf = async (script: Script): Promise<string> => {
  const model = `spoken-${++models}`
  await lab.sim.rule({ match: { model }, script })
  return model
}
const plain = (status: number, body: string, contentType = "text/plain; charset=utf-8"): Script => ({ status, body, contentType })
const ask = async (script: Script, stream = false) => lab.chat({ model: await modelOf(script), stream })

const turns = [{ role: "user", content: "Hello" }]
const faces: ReadonlyArray<readonly [string, (model: string, stream: boolean) => Http.Call]> = [
  ["chat-completions", (model, stream) => ({ path: "/v1/chat/completions", body: { model, stream, messages: turns } })],
  ["completions", (model, stream) => ({ path: "/v1/completions", body: { model, stream, prompt: "Hello" } })],
  ["messages", (model, stream) => ({ path: "/v1/messages", body: { model, stream, max_tokens: 64, messages: turns } })],
  ["responses", (model, stream) => ({ path: "/v1/responses", body: { model, stream, input: "Hello" } })],
  ["generateContent", (model, stream) => ({ path: `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`, body: { contents: [{ role: "user", parts: [{ text: "Hello" }] }] } })]
]

describe.each([false, true])("a refusal in plain text (stream: %s)", (stream) => {
  it.each(faces)("keeps its words for a client of %s", async (_, call) => {
    const reply = await Http.send(lab.gateway.url, call(`lab/${await modelOf(plain(400, "context length exceeded: max 4096\n"))}`, stream))
    expect([reply.status, errorIn(reply)["message"]]).toEqual([400, "context length exceeded: max 4096"])
  })
})

describe("the words", () => {
  it.each([
    ["a text", plain(500, "Internal Server Error: out of memory"), "Internal Server Error: out of memory"],
    ["a text without a type", plain(503, "upstream connect error", ""), "upstream connect error"],
    ["a JSON text", plain(400, "\"the prompt is empty\"", "application/json"), "the prompt is empty"],
    ["a list of errors", { status: 400, body: { errors: [{ message: "a" }] } }, "a"],
    ["several errors", { status: 400, body: { errors: ["a", { detail: "b" }] } }, "a; b"],
    ["an object in an object", { status: 400, body: { success: false, errors: { reason: "c" } } }, "c"],
    ["JSON of no known shape", { status: 400, body: { base_resp: { status_code: 1004, status_msg: "no login" } } }, "{\"base_resp\":{\"status_code\":1004,\"status_msg\":\"no login\"}}"],
    ["broken JSON", plain(400, "{\"error\":", "application/json"), "{\"error\":"]
  ] as const)("of %s are told", async (_, script, message) => {
    const reply = await ask(script)
    expect([reply.status, errorIn(reply)["message"]]).toEqual([script.status, message])
  })

  it.each([
    ["a page", plain(502, "<html><body>nginx/1.2</body></html>", "text/html")],
    ["a page that is called a text", plain(502, "\n<!DOCTYPE html><title>nginx/1.2</title>")],
    ["bytes", plain(502, "\u0001\u0002nginx/1.2", "application/octet-stream")],
    ["an empty object", { status: 502, body: {} } satisfies Script]
  ])("of %s are not", async (_, script) => {
    const reply = await ask(script)
    expect([reply.status, errorIn(reply)["message"]]).toEqual([502, "Provider lab answered with HTTP 502."])
  })

  it("are without the credential, and at most 4096 characters", async () => {
    const quoted = errorIn(await ask(plain(401, `the key ${CREDENTIAL} is unknown`)))
    expect(quoted).toMatchObject({ message: "the key [redacted] is unknown", gateway: { code: "upstream_auth_error", message: expect.stringContaining("Provider lab refused") as unknown } })
    expect(String(errorIn(await ask(plain(500, "out of memory ".repeat(1_000))))["message"]).length).toBe(4_096)
  })

  it("are those of requests without a conversation, too", async () => {
    for (const kind of oneShots) {
      const { prefix, remove } = await placeOf(kind, lab)
      // A document without an address: nothing is fetched before the call.
      const asked = kind.kind === "ocr" ? { ...kind, body: { document: "data:application/pdf;base64,JVBERi0xLjQK" } } : kind
      const reply = await Http.send(lab.gateway.url, callOf(asked, `${prefix}/${await modelOf(plain(400, "the input is too long"))}`))
      expect([kind.kind, reply.status, errorIn(reply)["message"]]).toEqual([kind.kind, 400, "the input is too long"])
      await remove()
    }
  })
})

describe("what the words say", () => {
  it("decides the code of a prompt that is too long", async () => {
    for (const text of ["context length exceeded: max 4096", "the request exceeds the available context size", "This model's maximum context length is 10 tokens."]) {
      expect([text, errorIn(await ask(plain(400, text)))["code"]]).toEqual([text, "context_length_exceeded"])
    }
    expect(errorIn(await ask(plain(400, "no such field")))["code"]).toBe("bad_request")
  })

  it("a 404 that names no model is not about a model", async () => {
    expect(errorIn(await ask(plain(404, "404 page not found")))).toMatchObject({ message: "404 page not found", code: "upstream_not_found" })
    expect(errorIn(await ask(plain(404, "<html>404</html>", "text/html")))).toMatchObject({ message: "Provider lab answered with HTTP 404.", code: "upstream_not_found" })
    expect(errorIn(await ask({ status: 404, body: { detail: "Not Found" } }))).toMatchObject({ message: "Not Found", code: "upstream_not_found" })
    expect(errorIn(await ask(plain(404, "model \"x\" not found, try pulling it first")))["code"]).toBe("model_not_found")
  })

  it("a 403 without a reason is about the stored credential, one with a reason is not", async () => {
    expect(errorIn(await ask(plain(403, "Forbidden")))).toMatchObject({ code: "upstream_auth_error", gateway: { code: "upstream_auth_error" } })
    expect(errorIn(await ask(plain(403, "this country is not served")))).not.toHaveProperty("gateway")
  })
})

describe("while failures are remembered", () => {
  let awake: Lab
  beforeAll(async () => {
    awake = await startLab({ resilience: "awake" })
    await awake.gateway.operator.call("PATCH", "/api/resilience", { waitForCooldown: { enabled: false } })
  })
  afterAll(() => awake.close())

  it.each([
    ["credits", plain(429, "Your account has run out of credits."), true], ["a limit of the model", plain(429, "too many tokens for this model"), false]
  ] as const)("a 429 in plain text that speaks of %s", async (name, script, wide) => {
    const prefix = `p${wide}`
    const [connection] = await awake.pool(prefix, [`${prefix}-credential-number-0`])
    await awake.sim.rule({ match: { model: name }, script })
    expect((await awake.chat({ model: `${prefix}/${name}` })).status).toBe(429)
    const { connections } = await awake.gateway.operator.call<{ connections: ReadonlyArray<{ connectionId: string; rateLimitedUntil: string | null }> }>("GET", "/api/rate-limits")
    expect(connections.find(({ connectionId }) => connectionId === connection)?.rateLimitedUntil).toEqual(wide ? expect.any(String) : null)
  })

  it("the time that the text names is the Retry-After", async () => {
    await awake.pool("hint", ["hint-credential-number-0"])
    await awake.sim.rule({ match: { model: "hinted" }, script: plain(429, "Rate limit reached. Please try again in 20m.") })
    expect((await awake.chat({ model: "hint/hinted" })).headers["retry-after"]).toBe("1200")
  })
})
