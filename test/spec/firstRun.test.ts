/** A newcomer without any provider: the built-in simulator answers every client format, streamed or not (decisions 3). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { countTerminals } from "#test/support/wire/terminals.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"

let gateway: InProcess
beforeAll(async () => {
  gateway = await inProcess({ environment: { GATEWAY_SIM_PROVIDER: "auto" } })
})
afterAll(() => gateway.close())

const messages = [{ role: "user", content: "Hello." }]
const contents = [{ role: "user", parts: [{ text: "Hello." }] }]
const faces: ReadonlyArray<readonly [format: FormatName, path: (stream: boolean) => string, body: Record<string, unknown>]> = [
  ["chat-completions", () => "/v1/chat/completions", { model: "sim/echo", messages }],
  ["messages", () => "/v1/messages", { model: "sim/echo", max_tokens: 100, messages }],
  ["responses", () => "/v1/responses", { model: "sim/echo", input: "Hello." }],
  ["completions", () => "/v1/completions", { model: "sim/echo", prompt: "Hello." }],
  ["generateContent", (stream) => `/v1beta/models/sim/echo:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`, { contents }],
  ["local-model-server", () => "/v1/api/chat", { model: "sim/echo", messages }]
]

describe("the first request of a newcomer", () => {
  it.each(faces)("%s is answered by sim/echo, whole and streamed", async (format, path, body) => {
    const flagged = format === "generateContent" ? [body, body] : [{ ...body, stream: false }, { ...body, stream: true }]
    const whole = await Http.send(gateway.url, { path: path(false), body: flagged[0] as Record<string, unknown> })
    expect(whole.status, whole.text).toBe(200)
    expect(whole.text).toContain("Hello.")
    const streamed = await Http.send(gateway.url, { path: path(true), body: flagged[1] as Record<string, unknown> })
    expect(streamed.status, streamed.text).toBe(200)
    expect(countTerminals(format, streamed.text)).toBe(1)
  })
})
