/** Fallback chains (/api/fallback/chains) and the order of connections over several providers (globalPriority), over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, messages, startLab } from "#test/support/lab.ts"

interface Chain { model: string; chain: ReadonlyArray<{ provider: string; priority: number; enabled: boolean }> }

let lab: Lab
/** Ids of the connections of the providers `one` and `two`. */
let one: ReadonlyArray<string>
let two: ReadonlyArray<string>
beforeAll(async () => {
  lab = await startLab()
  one = await lab.pool("one", ["one-credential-number-0", "one-credential-number-1"])
  two = await lab.pool("two", ["two-credential-number-0"])
})
afterAll(() => lab.close())

const path = "/api/fallback/chains"
const set = (model: string, chain: ReadonlyArray<Record<string, unknown>>) => lab.gateway.operator.call<Chain>("POST", path, { model, chain })
const chains = async () => (await lab.gateway.operator.call<{ chains: ReadonlyArray<Chain> }>("GET", path)).chains
const ask = (model: string, key?: string) => Http.send(lab.gateway.url, {
  path: "/v1/chat/completions", body: { model, messages }, headers: key === undefined ? {} : { authorization: `Bearer ${key}` }
})
const places = async (reply: Http.Reply) => (await lab.rows(reply)).map(({ connectionId, status }) => `${[...one, ...two].indexOf(connectionId ?? "")} ${status}`)
/** The first one answers 503 for the model, whichever connection asks. */
const failOnce = (model: string, times: number) => lab.sim.rule({ match: { model }, times, script: { status: 503, error: { message: "down" } } })

describe("a fallback chain", () => {
  it("sends a bare model id to its providers in their order", async () => {
    expect([(await ask("tale")).status, await chains()]).toEqual([404, []])
    expect(await set("tale", [{ provider: "two", priority: 9 }, { provider: "one", priority: 3 }, { provider: "lab", enabled: false }])).toEqual({
      model: "tale", chain: [{ provider: "one", priority: 3, enabled: true }, { provider: "lab", priority: 3, enabled: false }, { provider: "two", priority: 9, enabled: true }]
    })
    const reply = await ask("tale")
    expect([reply.status, reply.headers["x-gateway-model"], reply.headers["x-gateway-decision"]]).toEqual([200, "one/tale", expect.stringContaining("strategy=priority; provider=one;")])
    expect((await lab.rows(reply)).map(({ combo, requestedModel }) => [requestedModel, combo])).toEqual([["tale", "fallback/tale"]])
    await failOnce("tale", 2)
    const second = await ask("tale")
    expect([second.status, second.headers["x-gateway-model"], await places(second)]).toEqual([200, "two/tale", ["0 503", "1 503", "2 200"]])
    // With a provider, or from a combo, the id means what it did.
    expect((await ask("two/tale")).headers["x-gateway-model"]).toBe("two/tale")
    expect((await lab.gateway.operator.raw("POST", "/api/combos", { name: "of tale", models: ["tale"] })).status).toBe(400)
  })

  it("is replaced, and removed, by its model", async () => {
    await set("tale", [{ provider: "two" }])
    expect([await chains(), (await ask("tale")).headers["x-gateway-model"]]).toEqual([[{ model: "tale", chain: [{ provider: "two", priority: 1, enabled: true }] }], "two/tale"])
    expect(await lab.gateway.operator.call("DELETE", path, { model: "tale" })).toEqual({ success: true })
    expect([await chains(), (await ask("tale")).status]).toEqual([[], 404])
    const gone = await lab.gateway.operator.raw("DELETE", path, { model: "tale" })
    expect([gone.status, gone.text]).toEqual([404, expect.stringContaining("No chain of this model")])
    const logs = await lab.gateway.operator.call<ReadonlyArray<{ action: string; target: string }>>("GET", "/api/compliance/audit-log?limit=20")
    expect(logs.filter(({ target }) => target === "tale").map(({ action }) => action)).toEqual(["fallback.chain.removed", "fallback.chain.set", "fallback.chain.set"])
  })

  it("is reached by an alias, and stands behind an alias and a combo of its name", async () => {
    await set("story", [{ provider: "two" }])
    const { operator } = lab.gateway
    await operator.call("PUT", "/api/models/alias", { alias: "saga", model: "story" })
    expect((await ask("saga")).headers["x-gateway-model"]).toBe("two/story")
    await operator.call("PUT", "/api/models/alias", { alias: "story", model: "one/else" })
    expect((await ask("story")).headers["x-gateway-model"]).toBe("one/else")
  })

  it("gives a key no more models than it has", async () => {
    await set("novel", [{ provider: "one" }, { provider: "two" }])
    const { operator } = lab.gateway
    const { key } = await operator.createKey("restricted", { modelAccessMode: "restricted", allowedModels: ["two/novel"] })
    expect((await ask("novel", key)).headers["x-gateway-model"]).toBe("two/novel")
    const blocked = await operator.createKey("blocked", { blockedModels: ["one/*", "two/novel"] })
    const refused = await ask("novel", blocked.key)
    expect([refused.status, errorIn(refused)["code"]]).toEqual([403, "insufficient_permissions"])
    const bare = await operator.createKey("bare", { modelAccessMode: "restricted", allowedModels: ["novel"] })
    expect((await ask("novel", bare.key)).headers["x-gateway-model"]).toBe("one/novel")
    expect((await ask("one/novel", bare.key)).status).toBe(403)
  })

  it.each([
    ["a model id with a provider", { model: "one/tale", chain: [{ provider: "one" }] }, "model"],
    ["an unknown provider", { model: "tale", chain: [{ provider: "one" }, { provider: "__proto__" }] }, "chain.1.provider"],
    ["an empty chain", { model: "tale", chain: [] }, "chain"],
    ["a priority of 0", { model: "tale", chain: [{ provider: "one", priority: 0 }] }, "chain.0.priority"]
  ])("is refused with %s", async (_name, body, field) => {
    const reply = await lab.gateway.operator.raw("POST", path, body)
    expect([reply.status, reply.text]).toEqual([400, expect.stringContaining(`"${field}"`)])
  })
})

describe("globalPriority", () => {
  it("orders the connections of all providers that serve a bare model id", async () => {
    const { operator } = lab.gateway
    for (const provider of ["one", "two"]) await operator.call("POST", "/api/provider-models", { provider, modelId: "fable" })
    const ambiguous = await ask("fable")
    expect([ambiguous.status, errorIn(ambiguous)["code"]]).toEqual([400, "provider_required"])
    await operator.changeConnection(one[1] as string, { globalPriority: 2 })
    await operator.changeConnection(two[0] as string, { globalPriority: 1 })
    const first = await ask("fable")
    expect([first.headers["x-gateway-model"], await places(first), (await lab.rows(first)).map(({ combo }) => combo)]).toEqual(["two/fable", ["2 200"], ["ordered/fable"]])
    await failOnce("fable", 2)
    expect(await places(await ask("fable"))).toEqual(["2 503", "1 503", "0 200"])
    const order = await operator.call<{ targets: ReadonlyArray<{ connectionId: string }> }>("POST", "/api/routing/explain", { model: "fable" })
    expect(order.targets.map(({ connectionId }) => connectionId)).toEqual([two[0], one[1], one[0]])
  })
})
