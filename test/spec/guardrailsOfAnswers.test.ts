/** The guardrails of answers over HTTP: what reaches clients of every format, whole and in streams, and what is kept of it. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { type Family, families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { framesOf } from "#test/support/lab.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())
afterEach(() => matrix.gateway.operator.clearFlags())

const flags = async (values: Readonly<Record<string, string>>): Promise<void> => {
  for (const [name, value] of Object.entries(values)) await matrix.gateway.operator.setFlag(name, value)
}
const sanitized = (mode = "redact") => flags({ PII_RESPONSE_SANITIZATION: "true", PII_RESPONSE_SANITIZATION_MODE: mode })

/** Models of the simulator say what they are told. */
const email = "jane.doe@example.com"
const text = `Write to ${email} now, please.`
const turn = (content: string) => [{ role: "user", content }]

interface Said {
  readonly path: string
  readonly body: Record<string, unknown>
}
type Say = (model: string, text: string, stream: boolean) => Said

const faces: ReadonlyArray<readonly [FormatName, Say]> = [
  ["chat-completions", (model, said, stream) => ({ path: "/v1/chat/completions", body: { model, stream, messages: turn(said) } })],
  ["messages", (model, said, stream) => ({ path: "/v1/messages", body: { model, stream, max_tokens: 50, messages: turn(said) } })],
  ["responses", (model, said, stream) => ({ path: "/v1/responses", body: { model, stream, input: said } })],
  ["completions", (model, said, stream) => ({ path: "/v1/completions", body: { model, stream, prompt: said } })],
  ["local-model-server", (model, said, stream) => ({ path: "/v1/api/chat", body: { model, stream, messages: turn(said) } })],
  ["generateContent", (model, said, stream) => ({ path: `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`, body: { contents: [{ role: "user", parts: [{ text: said }] }] } })]
]

const send = ({ body, path }: Said, headers: Readonly<Record<string, string>> = {}): Promise<Http.Reply> =>
  Http.send(matrix.url, { path, headers: { authorization: `Bearer ${matrix.key}`, ...headers }, body })
const [chat] = families as readonly [Family]
const asChat = (faces[0] as readonly [FormatName, Say])[1]
const asResponses = (faces[2] as readonly [FormatName, Say])[1]

const grid = faces.flatMap(([face, say]) => families.flatMap((family) => [false, true].map((stream) => [face, family.name, stream ? "streamed" : "whole", say, family] as const)))

describe("personal data in answers", () => {
  it.each(grid)("is masked for a client of %s, from %s, %s; the usage stays", async (face, _name, kind, say, family) => {
    const stream = kind === "streamed"
    const { id } = await matrix.model(family, face, `answer-${face}-${kind}`.toLowerCase())
    const plain = await send(say(id, text, stream))
    await sanitized()
    const reply = await send(say(id, text, stream))
    expect([reply.status, reply.whole]).toEqual([200, true])
    expect(plain.text.includes(email) || plain.text.includes("jane.doe")).toBe(true)
    expect(reply.text).toContain("[EMAIL_REDACTED]")
    expect(reply.text).not.toMatch(/jane|doe@|example\.com/)
    const counts = (said: string) => [...said.matchAll(/"(?:total_tokens|output_tokens|totalTokenCount|eval_count)":(\d+)/g)].map(([, count]) => count)
    expect(counts(reply.text)).toEqual(counts(plain.text))
  })

  it.each(faces)("is refused in the words of %s in mode block, whole and within a stream", async (face, say) => {
    await sanitized("block")
    const { id } = await matrix.model(chat, face, `block-${face}`.toLowerCase())
    const whole = await send(say(id, text, false))
    const message = "The guardrail 'pii-masker' blocked the model's answer: it found email."
    expect([whole.status, whole.text.includes(message), whole.text.includes(email)]).toEqual([400, true, false])
    const stream = await send(say(id, text, true))
    expect([stream.status, stream.whole, stream.text.includes(message)]).toEqual([200, true, true])
    expect(stream.text).not.toMatch(/jane|doe@|example\.com/)
    if (face === "chat-completions") {
      expect(JSON.parse(whole.text)).toEqual({ error: { message, type: "pii_detected", code: "SECURITY_001", detections: 1 } })
      expect(Http.payloads(stream.text).slice(-2)).toEqual([JSON.stringify({ error: { message, type: "pii_detected", code: "SECURITY_001", detections: 1 } }), "[DONE]"])
    }
  })

  it("fails the response that its stream had begun, with the next number", async () => {
    await sanitized("block")
    for (const family of families) {
      const { id } = await matrix.model(family, "responses", `numbered-${family.name}`.toLowerCase())
      const { text: said } = await send(asResponses(id, `${"so on and ".repeat(40)}${text}`, true))
      const events = framesOf(said) as ReadonlyArray<{ readonly type: string; readonly sequence_number: number; readonly response?: Record<string, unknown> }>
      const [created] = events
      expect(events.map((event) => event.sequence_number)).toEqual(events.map((_event, i) => i))
      expect(events.at(-1)).toMatchObject({
        type: "response.failed", response: { ...created?.response, status: "failed", output: [], error: { code: "SECURITY_001", message: expect.stringContaining("blocked") as string } }
      })
    }
  })

  it("passes as it is in mode warn, and is counted", async () => {
    const { id } = await matrix.model(chat, "chat-completions", "warn")
    const contents = async (stream: boolean) => (await send(asChat(id, text, stream))).text.replaceAll(/"(?:id|created|system_fingerprint|obfuscation)":(?:"[^"]*"|\d+),?/g, "")
    const plain = [await contents(false), await contents(true)]
    await sanitized("warn")
    expect([await contents(false), await contents(true)]).toEqual(plain)
    expect((await matrix.gateway.operator.raw("GET", "/metrics")).text).toContain('gateway_guardrails_total{guardrail="pii-masker",direction="answer",outcome="warned"} 2')
  })

  it("is masked in a large answer, in the items of an array, and in what is kept of a response", async () => {
    await sanitized()
    const { id } = await matrix.model(chat, "chat-completions", "large")
    const large = await send(asChat(id, `${"so on, ".repeat(60_000)}${text}`, false))
    expect([large.status, large.text.length > 400_000, large.text.includes("[EMAIL_REDACTED]"), large.text.includes(email)]).toEqual([200, true, true, false])
    const array = await send({ path: `/v1beta/models/${id}:streamGenerateContent`, body: { contents: [{ role: "user", parts: [{ text }] }] } })
    expect(JSON.stringify(JSON.parse(array.text))).toContain("[EMAIL_REDACTED]")
    expect(array.text).not.toMatch(/jane|doe@|example\.com/)
    const made = await send({ path: "/v1/responses", body: { model: id, input: text, store: true } })
    const kept = await Http.send(matrix.url, { path: `/v1/responses/${(JSON.parse(made.text) as { id: string }).id}`, headers: { authorization: `Bearer ${matrix.key}` } })
    expect([kept.status, kept.text.includes("[EMAIL_REDACTED]"), kept.text.includes(email)]).toEqual([200, true, false])
  })

  it("passes for a request that names the guardrail, and from the cache only to such a request", async () => {
    await sanitized()
    const { id } = await matrix.model(chat, "chat-completions", "out")
    const ask = async (out: boolean) => {
      const said = asChat(id, text, false)
      const reply = await send({ ...said, body: { ...said.body, temperature: 0, ...(out ? { metadata: { disabledGuardrails: ["pii-masker"] } } : {}) } })
      return [reply.headers["x-gateway-cache"], reply.text.includes(email)]
    }
    expect([await ask(true), await ask(false), await ask(false), await ask(true)]).toEqual([["MISS", true], ["MISS", false], ["HIT", false], ["HIT", true]])
  })
})
