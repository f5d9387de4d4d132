import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { contentOf, errorIn, framesOf, type Lab, messages, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const direct = (body: Record<string, unknown>) => Http.send(lab.sim.url, { path: "/v1/chat/completions", body })

const errorFrames = (text: string) => framesOf(text).filter((frame) => "error" in frame)
const usageFrames = (text: string) => framesOf(text).filter((frame) => frame["usage"] !== undefined && frame["usage"] !== null)

describe("a whole stream", () => {
  it("ends with data: [DONE], and content arrives in order and whole", async () => {
    const reply = await lab.chat({ model: "echo", stream: true, messages: [{ role: "user", content: "one two three four five" }] })
    expect(Http.payloads(reply.text).at(-1)).toBe("[DONE]")
    expect(contentOf(reply.text)).toBe("one two three four five")
    expect(reply.whole).toBe(true)
  })

  it("the bytes are the upstream's bytes, less the usage frame that the client did not ask for", async () => {
    await lab.sim.rule({ match: { model: "bytewise" }, script: { text: "Grüße 世界 👩‍🚀 \"quoted\" \\ back", tokenSize: 3, lineEnding: "CRLF", comments: "hi", extraFields: true } })
    const through = await lab.chat({ model: "bytewise", stream: true, stream_options: { include_usage: true } })
    const [entry] = await lab.sim.entries({ model: "bytewise" })
    const plain = await direct({ model: "bytewise", messages, stream: true, stream_options: { include_usage: true } })
    const neutral = (text: string) => text.replaceAll(/chatcmpl-\w+/g, "id").replaceAll(/"created":\d+/g, "created").replaceAll(/id: \S+/g, "id:")
    expect(neutral(through.text)).toBe(neutral(plain.text))
    expect(entry?.bytesSent).toBe(through.bytes.length)
  })

  it("usage is sent only when stream_options.include_usage asked for it, and asked for upstream always", async () => {
    for (const [model, options, wants] of [
      ["tokens-3", undefined, false], ["tokens-3", { include_usage: false }, false], ["tokens-3", null, false],
      ["tokens-3", { include_usage: true }, true], ["tokens-3", { include_usage: false, other: 1 }, false]
    ] as const) {
      const reply = await lab.chat({ model, stream: true, ...(options === undefined ? {} : { stream_options: options }) })
      const frames = usageFrames(reply.text)
      expect([options, frames.length]).toEqual([options, wants ? 1 : 0])
      if (wants) expect(frames[0]).toMatchObject({ choices: [] })
      const id = String(framesOf(reply.text)[0]?.["id"]).replace("chatcmpl-", "")
      const [entry] = await lab.sim.entries({ id })
      const sent = (entry?.body as { stream_options: Record<string, unknown> } | undefined)?.stream_options ?? {}
      expect(sent["include_usage"]).toBe(true)
      if (options !== undefined && options !== null && "other" in options) expect(sent["other"]).toBe(1)
      const [row] = await lab.rows(reply)
      expect(row).toMatchObject({ tokensOut: 3, estimated: false, outcome: "completed" })
    }
  })

  it("a connection opts out with providerSpecificData.disableStreamOptions: the body goes as it came, usage is estimated", async () => {
    const { operator } = lab.gateway
    const node = await operator.createNode({ prefix: "plain", baseUrl: `${lab.sim.url}/v1` })
    await operator.createConnection({ provider: node, apiKey: "sk-plain-000000000001", providerSpecificData: { disableStreamOptions: true } })
    const reply = await lab.chat({ model: "plain/tokens-4", stream: true })
    const [entry] = await lab.sim.entries({ model: "tokens-4" })
    expect(entry?.body).toEqual({ messages, stream: true, model: "tokens-4" })
    const [row] = await lab.rows(reply)
    expect(row).toMatchObject({ estimated: true, outcome: "completed" })
  })

  it("usage on the finish chunk (some vendors) is recorded too", async () => {
    for (const usageOn of ["finish", "every"] as const) {
      await lab.sim.rule({ match: { model: `usage-${usageOn}` }, script: { usageOn, tokens: 7, usage: { promptTokens: 11, completionTokens: 7 } } })
      const [row] = await lab.rows(await lab.chat({ model: `usage-${usageOn}`, stream: true }))
      expect(row).toMatchObject({ tokensIn: 11, tokensOut: 7, estimated: false })
    }
  })

  it("split invariance: the same events and usage for every split, line ending and framing", async () => {
    const shapes: ReadonlyArray<Record<string, unknown>> = [
      { split: "byte" }, { split: { every: 7, turns: true } }, { split: { random: 5, max: 40, turns: true } }, { lineEnding: "CRLF" },
      { lineEnding: "CR" }, { lineEnding: "CRLF", split: "byte" }, { lineEnding: "CR", split: { every: 3 } }, { bom: true }, { dataSpace: false }, { finalNewline: false },
      { comments: true }, { extraFields: true }, { multiLine: true }, { transfer: "close" }, { gzip: true }
    ]
    for (const [index, shape] of shapes.entries()) {
      const model = `shape-${index}`
      await lab.sim.rule({ match: { model }, script: { text: "Grüße, 世界! 👩‍🚀 naïve ✓", tokenSize: 2, ...shape } })
      const reply = await lab.chat({ model, stream: true, stream_options: { include_usage: true } })
      const text = reply.text.replace(/^\uFEFF/, "")
      expect([shape, reply.status, contentOf(text), usageFrames(text).length]).toEqual([shape, 200, "Grüße, 世界! 👩‍🚀 naïve ✓", 1])
      const [entry] = await lab.sim.entries({ model })
      const [row] = await lab.rows(reply)
      expect([shape, row?.outcome, row?.tokensOut, row?.estimated]).toEqual([shape, "completed", entry?.tokensSent, false])
    }
  })
})

describe("a whole answer", () => {
  it("the response bytes are the upstream's bytes", async () => {
    const body = { id: "x", object: "chat.completion", "z": 1, choices: [{ index: 0, message: { role: "assistant", content: "a\u0000 é \"😀" }, finish_reason: "stop", extra: [1e21, -0.5] }], vendor: { a: null } }
    await lab.sim.rule({ match: { model: "verbatim" }, script: { body } })
    const reply = await lab.chat({ model: "verbatim" })
    const plain = await direct({ model: "verbatim", messages })
    expect(reply.bytes.equals(plain.bytes)).toBe(true)
    expect(reply.headers["content-length"]).toBe(String(plain.bytes.length))
  })

  it("the request's bytes arrive untouched but for the model", async () => {
    const text = `{ "messages" : [ {"role":"user","content":"\\u00e9\\ud83d\\ude00 é"} ],\n  "temperature":1.0e0, "model":"lab/request-bytes","big":12345678901234567890123, "dup":{"model":"inner","stream_options":1} , "x":[ ] }`
    const reply = await Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: text })
    expect(reply.status).toBe(200)
    const [entry] = await lab.sim.entries({ model: "request-bytes" })
    expect(entry?.bodyBytes).toBe(Buffer.byteLength(text.replace("lab/request-bytes", "request-bytes")))
    expect(entry?.body).toEqual({ ...JSON.parse(text) as object, model: "request-bytes" })
  })
})

describe("the commit point", () => {
  it("after the first content there is no fallback: one error frame, then [DONE], and the partial usage is recorded", async () => {
    await lab.pool("commit", ["commit-credential-0", "commit-credential-1"])
    for (const [model, code] of [["reset-4", "upstream_reset"], ["close-4", "upstream_reset"], ["cut-4", "upstream_reset"]] as const) {
      const reply = await lab.chat({ model: `commit/${model}`, stream: true })
      expect([model, reply.status, reply.whole]).toEqual([model, 200, true])
      const payloads = Http.payloads(reply.text)
      expect(payloads.filter((data) => data === "[DONE]").length).toBe(1)
      expect(payloads.at(-1)).toBe("[DONE]")
      const errors = errorFrames(reply.text)
      expect(errors.length).toBe(1)
      expect(JSON.parse(payloads.at(-2) ?? "{}")).toEqual(errors[0])
      expect(errors[0]?.["error"]).toMatchObject({ message: expect.any(String), type: "server_error", code })
      const [entry, ...others] = await lab.sim.entries({ model })
      expect(others).toEqual([])
      const rows = await lab.rows(reply)
      expect(rows.map((row) => [row.outcome, row.estimated, row.final, row.errorCode])).toEqual([["upstream-reset", true, true, code]])
      expect(rows[0]?.tokensOut).toBeGreaterThan(0)
      expect(rows[0]?.tokensIn).toBeGreaterThan(0)
      expect(rows[0]?.tokensOut).toBeLessThanOrEqual((entry?.tokensSent ?? 0) * 3)
    }
  })

  it("an error object in the middle of a stream is one error frame, then [DONE]", async () => {
    for (const end of [true, false]) {
      const model = `mid-error-${String(end)}`
      await lab.sim.rule({ match: { model }, script: { tokens: 8, malformed: [{ kind: "error", at: 4, end, raw: JSON.stringify({ error: { message: "the machine broke", type: "server_error", code: "machine_broke" } }) }] } })
      const reply = await lab.chat({ model, stream: true })
      expect(reply.status).toBe(200)
      expect(errorFrames(reply.text).map((frame) => frame["error"])).toEqual([{ message: "the machine broke", type: "server_error", code: "machine_broke" }])
      const payloads = Http.payloads(reply.text)
      expect(payloads.filter((data) => data === "[DONE]").length).toBe(1)
      expect(JSON.parse(payloads.at(-2) ?? "{}")).toHaveProperty("error")
      const [row] = await lab.rows(reply)
      expect(row).toMatchObject({ outcome: "upstream-status", errorCode: "machine_broke", final: true })
      expect(row?.tokensOut).toBeGreaterThan(0)
    }
  })

  it("an error object as the first frame is mapped to a status, and lets the next connection answer", async () => {
    const frame = (error: unknown) => ({ tokens: 5, malformed: [{ kind: "error" as const, at: 0, raw: JSON.stringify({ error }) }] })
    for (const [name, error, status] of [
      ["code", { message: "busy", type: "server_error", code: 503 }, 503],
      ["rate", { message: "slow", type: "rate_limit_error", code: "rate_limit" }, 429],
      ["bad", { message: "odd", type: "invalid_request_error", code: "odd" }, 400],
      ["none", { message: "unknown" }, 502]
    ] as const) {
      await lab.sim.rule({ match: { model: `first-${name}` }, script: frame(error) })
      const reply = await lab.chat({ model: `first-${name}`, stream: true })
      expect([name, reply.status, errorIn(reply)["message"]]).toEqual([name, status, error.message])
    }
    const [first, second] = await lab.pool("firsterror", ["firsterror-credential-0", "firsterror-credential-1"])
    await lab.sim.rule({ match: { key: "firsterror-credential-0" }, script: frame({ message: "overloaded", type: "overloaded_error" }) })
    const reply = await lab.chat({ model: "firsterror/tokens-3", stream: true })
    expect([reply.status, reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, "1"])
    expect((await lab.rows(reply)).map((row) => row.connectionId)).toEqual([first, second])
  })

  it("a stream without [DONE] whose finish_reason came is complete; the client gets what the upstream sent", async () => {
    await lab.sim.rule({ match: { model: "no-done" }, script: { tokens: 4, omitDone: true } })
    const reply = await lab.chat({ model: "no-done", stream: true })
    expect(errorFrames(reply.text)).toEqual([])
    const [row] = await lab.rows(reply)
    expect(row).toMatchObject({ outcome: "completed", tokensOut: 4, estimated: false })
  })
})
