/** A newcomer without any provider: the built-in simulator answers every client format, streamed or not. */
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { startSim } from "#test/support/sim.ts"
import { countTerminals } from "#test/support/wire/terminals.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"

let gateway: InProcess
beforeAll(async () => {
  gateway = await inProcess({ environment: { GATEWAY_SIM_PROVIDER: "auto", GATEWAY_DASHBOARD: "off" } })
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

describe("the root of the address", () => {
  const root = (headers: Record<string, string> = {}) => Http.send(gateway.url, { method: "GET", path: "/", headers })

  it("tells curl what to do, with commands that work", async () => {
    const { headers, status, text } = await root({ accept: "*/*" })
    expect([status, headers["content-type"]]).toEqual([200, "text/plain; charset=utf-8"])
    expect(text).toContain(`curl -N ${gateway.url}/v1/chat/completions`)
    const body = /-d '(\{"model".*\})'/.exec(text)?.[1] ?? ""
    const answer = await Http.send(gateway.url, { path: "/v1/chat/completions", body: JSON.parse(body) })
    expect([answer.status, answer.text.endsWith("data: [DONE]\n\n")]).toEqual([200, true])
  })

  it("tells a browser the same on a page that loads and runs nothing, where there is no dashboard", async () => {
    const { headers, text } = await root({ accept: "text/html,application/xhtml+xml" })
    expect(headers["content-type"]).toBe("text/html; charset=utf-8")
    expect(headers["content-security-policy"]).toContain("default-src 'none'")
    expect(text).toContain("/v1/chat/completions")
    expect(text).not.toMatch(/<script|src=/)
  })

  it("tells a program as JSON", async () => {
    const { text } = await root({ accept: "application/json" })
    expect(JSON.parse(text)).toMatchObject({ url: gateway.url, keyRequired: false, model: "sim/echo" })
  })
})

describe("the first provider of a newcomer", () => {
  const chat = (model: string) => Http.send(gateway.url, { path: "/v1/chat/completions", body: { model, messages } })
  const listed = async (): Promise<ReadonlyArray<string>> => {
    const { text } = await Http.send(gateway.url, { method: "GET", path: "/v1/models" })
    return (JSON.parse(text) as { data: ReadonlyArray<{ id: string }> }).data.map(({ id }) => id)
  }
  const upstream = async () => {
    const sim = await startSim({ keys: ["sk-first"], models: { "*": {} } })
    onTestFinished(() => sim.stop())
    return { sim, baseUrl: `${sim.url}/v1` }
  }

  it("a node takes its first key in the same call, and is called by its prefix", async () => {
    const { baseUrl } = await upstream()
    expect(await listed()).toContain("sim/echo")
    const node = { type: "openai-compatible", apiType: "chat", name: "First", prefix: "first", baseUrl }
    const made = await gateway.operator.raw("POST", "/api/provider-nodes", { ...node, apiKey: "sk-first" })
    expect(made.status, made.text).toBe(201)
    expect(made.text).not.toContain("sk-first")
    const { connection } = JSON.parse(made.text) as { connection: { provider: string; name: string; hasApiKey: boolean } }
    expect(connection).toMatchObject({ name: "First", hasApiKey: true })
    const answered = await chat("first/any-model")
    expect(answered.status, answered.text).toBe(200)
  })

  it("the simulator stays callable by name after it left the list", async () => {
    expect(await listed()).not.toContain("sim/echo")
    expect((await chat("sim/echo")).status).toBe(200)
  })

  it("a connection names its node by the prefix", async () => {
    const { baseUrl } = await upstream()
    await gateway.operator.createNode({ prefix: "second", baseUrl })
    const refused = await chat("second/m")
    expect(refused.status).toBe(400)
    expect(refused.text).toContain("No credentials for provider: second")
    await gateway.operator.createConnection({ provider: "second", apiKey: "sk-first" })
    expect((await chat("second/m")).status).toBe(200)
  })

  it("a server without credentials gets a connection without one", async () => {
    const sim = await startSim({ models: { "*": {} } })
    onTestFinished(() => sim.stop())
    await gateway.operator.call("POST", "/api/provider-nodes", {
      type: "openai-compatible", apiType: "chat", name: "Open", prefix: "open", baseUrl: `${sim.url}/v1`, apiKey: null
    })
    expect((await chat("open/m")).status).toBe(200)
  })

  it("a key that cannot be one is refused, and leaves no node behind", async () => {
    const refused = await gateway.operator.raw("POST", "/api/provider-nodes", {
      type: "openai-compatible", apiType: "chat", name: "Bad", prefix: "bad", baseUrl: "http://127.0.0.1:1/v1", apiKey: "two\nlines"
    })
    expect(refused.status, refused.text).toBe(400)
    expect(refused.text).toContain("apiKey")
    expect((await gateway.operator.raw("GET", "/api/provider-nodes")).text).not.toContain('"bad"')
  })
})
