/** Streams that end without their last newline, and events of many MB: over all families and formats, forwarded and translated. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { FormatName } from "#schemas/wire/conversation.ts"
import { families, type Matrix, startMatrix } from "#test/support/families.ts"
import * as Http from "#test/support/http.ts"
import { countTerminals } from "#test/support/wire/terminals.ts"

let matrix: Matrix
beforeAll(async () => {
  matrix = await startMatrix()
})
afterAll(() => matrix.close())

const messages = [{ role: "user", content: "Say something." }]
const faces: ReadonlyArray<readonly [format: FormatName, path: (model: string) => string, body: Record<string, unknown>]> = [
  ["chat-completions", () => "/v1/chat/completions", { messages, stream: true }],
  ["messages", () => "/v1/messages", { messages, stream: true, max_tokens: 500 }],
  ["responses", () => "/v1/responses", { input: "Say something.", stream: true }],
  ["generateContent", (model) => `/v1beta/models/${model}:streamGenerateContent?alt=sse`, { contents: [{ role: "user", parts: [{ text: "Say something." }] }] }],
  ["local-model-server", () => "/v1/api/chat", { messages, stream: true }]
]
const pairs = faces.flatMap(([format, path, body]) => families.map((family) => [format, family.name, { path, body, family }] as const))

let made = 0
const stream = async (format: FormatName, { body, family, path }: (typeof pairs)[number][2], script: Record<string, unknown>) => {
  const model = await matrix.model(family, format, `ends-${++made}`, script)
  return Http.send(matrix.url, {
    path: path(model.id), headers: { authorization: `Bearer ${matrix.key}` }, body: format === "generateContent" ? body : { ...body, model: model.id }
  })
}

describe("a stream without its last newline", () => {
  it.each(pairs)("%s over %s loses nothing: its events all end, its row is completed", async (format, _, pair) => {
    const reply = await stream(format, pair, { text: "All of it, to the last word.", finalNewline: false })
    expect([reply.status, reply.whole]).toEqual([200, true])
    expect(reply.text).toContain("last")
    expect(reply.text).toMatch(format === "local-model-server" ? /\n$/ : /\n\n$/)
    expect(countTerminals(format, reply.text)).toBe(1)
    const rows = await matrix.rows(reply.headers["x-gateway-request-id"] ?? "")
    expect(rows.map(({ estimated, outcome, tokensOut }) => [outcome, estimated, tokensOut > 0])).toEqual([["completed", false, true]])
  })

  it.each(pairs)("%s over %s: what is cut inside its last event is broken, and ends once", async (format, _, pair) => {
    // The first events and a part of the next one.
    const reply = await stream(format, pair, { tokens: 40, malformed: [{ kind: "raw", at: 12, raw: pair.family.name === "local-model-server" ? '{"model":"m","half-' : 'data: {"type":"x","half-' }], endAfter: { frames: 13 } })
    expect(reply.status).toBe(200)
    expect(countTerminals(format, reply.text)).toBe(1)
    expect(reply.text).not.toContain("half-")
    const rows = await matrix.rows(reply.headers["x-gateway-request-id"] ?? "")
    expect(rows.map(({ outcome }) => outcome)).toEqual(["upstream-reset"])
  })
})

describe("an error that a server writes into its stream without a field", () => {
  const said = `${JSON.stringify({ type: "error", error: { message: "The vendor says no", type: "server_error", code: "no" } })}\n\n`
  const events = pairs.filter(([, family]) => family !== "local-model-server")

  it.each(events)("%s over %s: reaches the client in its words, before the content and behind some", async (format, _, pair) => {
    const before = await stream(format, pair, { tokens: 40, malformed: [{ kind: "raw", at: 0, raw: said }], endAfter: { frames: 1 } })
    expect([before.status, before.text.includes("The vendor says no")]).toEqual([502, true])
    const behind = await stream(format, pair, { tokens: 40, malformed: [{ kind: "raw", at: 12, raw: said }], endAfter: { frames: 13 } })
    expect([behind.status, behind.text.split("The vendor says no").length, countTerminals(format, behind.text)]).toEqual([200, 2, 1])
  })
})

describe("an event of many MB", () => {
  it.each(pairs)("%s over %s: 4 MB as the first content and 12 MB later are nothing special", async (format, _, pair) => {
    const huge = (at: number, bytes: number) => pair.family.name === "local-model-server"
      ? { kind: "raw", at, raw: `{"model":"m","created_at":"2026-01-01T00:00:00Z","message":{"role":"assistant","content":"big"},"done":false,"pad":"${"x".repeat(bytes)}"}\n` }
      : { kind: "huge", at, replace: true, bytes }
    const reply = await stream(format, pair, { text: "Before and behind.", malformed: [huge(1, 4_000_000), huge(2, 12_000_000)] })
    expect([reply.status, reply.whole]).toEqual([200, true])
    expect(countTerminals(format, reply.text)).toBe(1)
    const rows = await matrix.rows(reply.headers["x-gateway-request-id"] ?? "")
    expect(rows.map(({ outcome }) => outcome)).toEqual(["completed"])
  })
})
