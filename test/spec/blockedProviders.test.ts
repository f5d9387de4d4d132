/** Setting `blockedProviders`: a provider in it is no target of any request, whichever way leads there. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"
import * as Http from "#test/support/http.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.pool("spare", ["spare-credential-number-0"])
  await lab.gateway.operator.call("POST", "/api/provider-models", { provider: "lab", modelId: "listed-here" })
})
afterAll(() => lab.close())
afterEach(() => block([]))

const patch = (blockedProviders: ReadonlyArray<string>) => lab.gateway.operator.raw("PATCH", "/api/settings", { blockedProviders })
const block = async (blockedProviders: ReadonlyArray<string>): Promise<void> => {
  const reply = await patch(blockedProviders)
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
}
const send = (path: string, body: unknown) => Http.send(lab.gateway.url, { path, body })
const calls = async (): Promise<number> => (await lab.sim.entries()).length

describe("a blocked provider", () => {
  it("is refused by its name in the form of each surface, and is not called", async () => {
    expect((await lab.chat({ model: "echo" })).status).toBe(200)
    await block(["lab"])
    const before = await calls()
    const chat = await lab.chat({ model: "echo" })
    expect([chat.status, errorIn(chat)]).toEqual([403, expect.objectContaining({
      type: "permission_error", code: "provider_blocked", message: "Provider lab is blocked on this gateway (setting blockedProviders): ask for a model of another provider."
    })])
    const bodies = [
      ["/v1/messages", { model: "lab/echo", messages, max_tokens: 9 }], ["/v1/responses", { model: "lab/echo", input: "Hello" }],
      ["/v1beta/models/lab/echo:generateContent", { contents: [{ role: "user", parts: [{ text: "Hello" }] }] }],
      ["/v1/embeddings", { model: "lab/echo", input: "Hello" }], ["/v1/rerank", { model: "lab/echo", query: "q", documents: ["d"] }],
      ["/v1/images/generations", { model: "lab/echo", prompt: "p" }], ["/v1/messages/count_tokens", { model: "lab/echo", messages }]
    ] as const
    for (const [path, body] of bodies) {
      const reply = await send(path, body)
      expect([path, reply.status, reply.text]).toEqual([path, 403, expect.stringContaining("Provider lab is blocked on this gateway")])
    }
    expect(await calls()).toBe(before)
    await block([])
    expect((await lab.chat({ model: "echo" })).status).toBe(200)
  })

  it("is passed over by a combo, and by automatic routing", async () => {
    const { operator } = lab.gateway
    await operator.call("POST", "/api/combos", { name: "both", models: ["lab/echo", "spare/echo"] })
    await operator.call("POST", "/api/combos", { name: "one", models: ["lab/echo"] })
    await block(["lab"])
    const reply = await lab.chat({ model: "combo/both" })
    expect([reply.status, (await lab.rows(reply)).map(({ provider }) => provider)]).toEqual([200, [expect.not.stringContaining(lab.node)]])
    const none = await lab.chat({ model: "combo/one" })
    expect([none.status, errorIn(none)]).toEqual([403, expect.objectContaining({
      code: "provider_blocked", message: expect.stringContaining("Combo 'one' has no usable target: Provider lab is blocked on this gateway")
    })])
    const { targets } = await operator.call<{ targets: ReadonlyArray<{ provider: string }> }>("POST", "/api/routing/explain", { model: "auto" })
    expect(targets.filter(({ provider }) => provider === "lab")).toEqual([])
  })

  it("may be the gateway's own reader of pages, which then is no provider at its limit", async () => {
    await block(["rs-trafilatura"])
    const reply = await send("/v1/web/fetch", { url: "https://pages.example" })
    expect([reply.status, errorIn(reply)]).toEqual([403, expect.objectContaining({ code: "provider_blocked", message: expect.stringMatching(/^Provider rs-trafilatura is blocked/) })])
  })

  it("offers no models", async () => {
    const listed = async () => (JSON.parse((await Http.send(lab.gateway.url, { path: "/v1/models" })).text) as { data: ReadonlyArray<{ id: string }> }).data.map(({ id }) => id)
    expect(await listed()).toContain("lab/listed-here")
    await block(["lab"])
    expect((await listed()).filter((id) => id.startsWith("lab/"))).toEqual([])
  })

  it("keeps its connections, which an operator may still test", async () => {
    await block(["lab"])
    expect((await lab.gateway.operator.raw("POST", `/api/providers/${lab.connection}/test`, {})).status).toBe(200)
    const { connections } = await lab.gateway.operator.call<{ connections: ReadonlyArray<{ id: string; isActive: boolean }> }>("GET", "/api/providers")
    expect(connections.find(({ id }) => id === lab.connection)).toMatchObject({ isActive: true })
  })

  it("may be a vendor without connections", async () => {
    await block(["openai"])
    expect(errorIn(await lab.chat({ model: "openai/gpt-4o" }))["code"]).toBe("provider_blocked")
  })
})

describe("the setting", () => {
  it("takes names, aliases and prefixes, once each, and shows names", async () => {
    await block(["lab", "claude", "anthropic", lab.node])
    const { blockedProviders } = await lab.gateway.operator.call<{ blockedProviders: ReadonlyArray<string> }>("GET", "/api/settings")
    expect(blockedProviders).toEqual(["lab", expect.any(String)])
    expect((await lab.gateway.operator.raw("PATCH", "/api/settings", { blockedProviders })).status).toBe(200)
  })

  it("refuses a name that no provider has, and names its place", async () => {
    const reply = await patch(["lab", "opanai"])
    expect([reply.status, errorIn(reply)["details"]]).toEqual([400, [{ field: "blockedProviders.1", message: expect.stringContaining("'opanai'") }]])
    expect((await lab.chat({ model: "echo" })).status).toBe(200)
  })
})
