/** `streamDefaultMode` of a key: what an absent `stream` means, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { type Lab, messages, startLab } from "#test/support/lab.ts"

let lab: Lab
const keys = new Map<string, string>()
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  for (const mode of ["legacy", "json"]) keys.set(mode, (await operator.createKey(mode, { streamDefaultMode: mode })).key)
  await operator.createConnection({ provider: "ollama-cloud", apiKey: "sk-stream-default-001", providerSpecificData: { baseUrl: lab.sim.url } })
})
afterAll(() => lab.close())

const ask = async (mode: string, path: string, body: Readonly<Record<string, unknown>>) => {
  const reply = await Http.send(lab.gateway.url, { path, headers: { authorization: `Bearer ${keys.get(mode)}` }, body: { messages, ...body } })
  expect(reply.status, reply.text).toBe(200)
  return reply.text.trim().split("\n").length
}
const streamed = async (model: string) => (await lab.sim.entries({ model })).at(-1)?.stream

describe("an absent stream", () => {
  it.each([["a provider of another format", "lab/told", "told"], ["a provider of the same format", "ollama-cloud/same", "same"]])(
    "is a stream for clients that stream by default, and one document for a key in mode json, by %s", async (_name, model, upstream) => {
      expect(await ask("legacy", "/v1/api/chat", { model })).toBeGreaterThan(1)
      expect(await streamed(upstream)).toBe(true)
      for (const stream of [undefined, null]) {
        expect(await ask("json", "/v1/api/chat", { model, stream })).toBe(1)
        expect(await streamed(upstream)).toBe(false)
      }
    }
  )

  it("is not what is said: a key in mode json gets the streams that it asks for, in either format", async () => {
    expect(await ask("json", "/v1/api/chat", { model: "lab/said", stream: true })).toBeGreaterThan(1)
    expect(await ask("json", "/v1/chat/completions", { model: "lab/said", stream: true })).toBeGreaterThan(1)
    expect(await ask("json", "/v1/chat/completions", { model: "lab/said" })).toBe(1)
    const google = await Http.send(lab.gateway.url, {
      path: "/v1beta/models/lab/said:streamGenerateContent?alt=sse", headers: { authorization: `Bearer ${keys.get("json")}` }, body: { contents: [{ parts: [{ text: "hi" }] }] }
    })
    expect([google.status, google.text.includes("data: ")]).toEqual([200, true])
  })
})
