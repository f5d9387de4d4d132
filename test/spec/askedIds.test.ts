/** Which model an id is taken to mean: the setting stripModelPrefix, and autoResolve and disableNonPublicModels of keys, over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"

let lab: Lab
let plain: string
beforeAll(async () => {
  lab = await startLab()
  const { operator } = lab.gateway
  await lab.pool("one", ["one-credential-number-0"])
  await lab.pool("two", ["two-credential-number-0"])
  for (const [provider, modelId] of [["one", "saga"], ["two", "saga"], ["two", "fable"], ["one", "longer-fable-name"]]) {
    await operator.call("POST", "/api/provider-models", { provider, modelId })
  }
  await operator.createConnection({ provider: "openai", apiKey: "sk-openai-credential-0", providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } })
  plain = (await operator.createKey("plain")).key
})
afterAll(() => lab.close())
afterEach(() => lab.gateway.operator.call("PATCH", "/api/settings", { stripModelPrefix: false }))

const ask = (model: string, key = plain) =>
  Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model, messages }, headers: { authorization: `Bearer ${key}` } })
const meant = async (model: string, key?: string): Promise<unknown> => {
  const reply = await ask(model, key)
  return reply.status === 200 ? reply.headers["x-gateway-model"] : [reply.status, errorIn(reply)["code"]]
}
const keyWith = async (policy: Record<string, unknown>) => (await lab.gateway.operator.createKey("with rights", policy)).key

describe("stripModelPrefix", () => {
  const strip = () => lab.gateway.operator.call("PATCH", "/api/settings", { stripModelPrefix: true })

  it("takes an id with a provider for the bare id, where that is served", async () => {
    const { operator } = lab.gateway
    await operator.call("POST", "/api/fallback/chains", { model: "gpt-4o", chain: [{ provider: "lab" }] })
    expect([await meant("mine/fable"), await meant("one/fable"), await meant("openai/gpt-4o")]).toEqual([[404, "model_not_found"], "one/fable", "openai/gpt-4o"])
    await strip()
    // A prefix that nothing owns, one of another provider, and one whose bare id has a chain.
    expect([await meant("mine/fable"), await meant("one/fable"), await meant("openai/gpt-4o")]).toEqual(["two/fable", "two/fable", "lab/gpt-4o"])
    // The rest of an id after an unknown prefix may have a provider.
    expect(await meant("router/one/anything")).toBe("one/anything")
    // What is not served without its provider, or by several, stays as it was written.
    expect([await meant("one/unheard"), await meant("two/saga"), await meant("mine/unheard")]).toEqual(["one/unheard", "two/saga", [404, "model_not_found"]])
    await operator.call("DELETE", "/api/fallback/chains", { model: "gpt-4o" })
    expect(await meant("openai/gpt-4o")).toBe("openai/gpt-4o")
  })

  it("gives a key no more models than it has", async () => {
    await strip()
    const key = await keyWith({ modelAccessMode: "restricted", allowedModels: ["one/*"] })
    expect([await meant("one/unheard", key), await meant("one/fable", key)]).toEqual(["one/unheard", [403, "insufficient_permissions"]])
  })
})

describe("autoResolve", () => {
  it("takes the first provider of an ambiguous id, and the nearest of an unknown one, and says so", async () => {
    const key = await keyWith({ autoResolve: true })
    expect([await meant("saga"), await meant("longer-fable-nam")]).toEqual([[400, "provider_required"], [404, "model_not_found"]])
    const reply = await ask("saga", key)
    expect([reply.status, reply.headers["x-gateway-model"], reply.headers["x-gateway-decision"]]).toEqual([200, "one/saga", expect.stringContaining("strategy=auto-resolve; provider=one;")])
    expect((await lab.rows(reply)).map(({ model, requestedModel }) => [requestedModel, model])).toEqual([["saga", "saga"]])
    expect(await meant("longer-fable-nam", key)).toBe("one/longer-fable-name")
    expect(await lab.gateway.operator.call("GET", `/api/routing/decisions/${reply.headers["x-gateway-request-id"]}`)).toMatchObject({
      decision: { requestedModel: "saga", trace: { strategy: "auto-resolve", entries: [{ outcome: "chosen", model: "one/saga" }] } }
    })
    // What leads somewhere is not touched, and what resembles nothing is refused.
    expect([await meant("two/saga", key), await meant("qqqqqqqq", key)]).toEqual(["two/saga", [404, "model_not_found"]])
  })

  it("stays within the key's rights", async () => {
    expect(await meant("saga", await keyWith({ autoResolve: true, modelAccessMode: "restricted", allowedModels: ["two/saga"] }))).toBe("two/saga")
    expect(await meant("saga", await keyWith({ autoResolve: true, blockedModels: ["one/*", "two/*"] }))).toEqual([400, "provider_required"])
    expect(await meant("saga", await keyWith({ autoResolve: true, blockedModels: ["saga"] }))).toEqual([400, "provider_required"])
    expect(await meant("longer-fable-nam", await keyWith({ autoResolve: true, blockedModels: ["longer*nam"] }))).toEqual([404, "model_not_found"])
  })
})

describe("disableNonPublicModels", () => {
  it("leaves a key the models of the providers' catalogues", async () => {
    const { operator } = lab.gateway
    await operator.call("POST", "/api/provider-models", { provider: "openai", modelId: "our-own" })
    await operator.call("POST", "/api/combos", { name: "of ours", models: ["one/saga"] })
    await operator.call("POST", "/api/combos", { name: "mixed", models: ["one/saga", "openai/gpt-4o"] })
    const key = await keyWith({ disableNonPublicModels: true })
    const refused = [403, "insufficient_permissions"]
    expect([await meant("openai/gpt-4o", key), await meant("gpt-4o", key), await meant("mixed", key)]).toEqual(["openai/gpt-4o", "openai/gpt-4o", "openai/gpt-4o"])
    for (const model of ["openai/our-own", "openai/gpt-4o:ft-secret", "one/saga", "fable", "of ours"]) expect([model, await meant(model, key)]).toEqual([model, refused])
    const listed = JSON.parse((await Http.send(lab.gateway.url, { path: "/v1/models", headers: { authorization: `Bearer ${key}` } })).text) as { data: ReadonlyArray<{ id: string }> }
    expect(listed.data.filter(({ id }) => /^(?:one|two|lab)\/|our-own/.test(id))).toEqual([])
    expect(listed.data.map(({ id }) => id)).toContain("openai/gpt-4o")
    const embedded = await Http.send(lab.gateway.url, { path: "/v1/embeddings", body: { model: "one/saga", input: "text" }, headers: { authorization: `Bearer ${key}` } })
    expect(embedded.status).toBe(403)
    expect(await meant("openai/our-own")).toBe("openai/our-own")
  })
})
