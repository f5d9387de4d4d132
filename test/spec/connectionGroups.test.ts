/**
 * Groups of connections over HTTP: which keys may use them (allowedQuotas), how many calls at once (quotaShareConcurrencyLimit), and
 * model ids that name one (`qtSd/<group>/<provider>/<model>`).
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

let made = 0
/** A provider of three accounts, of the groups a and b and of none. */
const accounts = async (script: Record<string, unknown> = {}) => {
  const prefix = `grp${++made}`
  const ids = await lab.pool(prefix, [0, 1, 2].map((i) => `${prefix}-credential-number-${i}`))
  const groups = [`${prefix}-a`, `${prefix}-b`]
  for (const [i, group] of groups.entries()) await lab.gateway.operator.changeConnection(ids[i] ?? "", { group })
  await lab.sim.rule({ id: prefix, match: { model: `m-${prefix}` }, script })
  const asked = async () => (await lab.sim.entries({ model: `m-${prefix}` })).map(({ key }) => key?.last4)
  return { ids, groups, model: `${prefix}/m-${prefix}`, asked }
}

describe("allowedQuotas", () => {
  it("lets a key use the connections of its groups only, by combos too, as they are now", async () => {
    const { asked, groups, ids, model } = await accounts()
    const { operator } = lab.gateway
    const { id, key } = await operator.createKey("grouped")
    const ask = (name = model) => lab.chat({ model: name }, { authorization: `Bearer ${key}` })
    await operator.changeKey(id, { allowedQuotas: [groups[1]] })
    expect((await ask()).status).toBe(200)
    await operator.call("POST", "/api/combos", { name: `grouped-${made}`, models: [model], strategy: "priority" })
    expect((await ask(`combo/grouped-${made}`)).status).toBe(200)
    expect(await asked()).toEqual(["er-1", "er-1"])
    await operator.changeConnection(ids[1] ?? "", { group: null })
    const refused = await ask()
    expect([refused.status, (await asked()).length]).toEqual([403, 2])
    await operator.changeKey(id, { allowedQuotas: [] })
    expect((await ask()).status).toBe(200)
    expect((await asked()).at(-1)).toBe("er-0")
  })
})

describe("quotaShareConcurrencyLimit", () => {
  it("bounds the calls at once on each connection of a group, and no other", async () => {
    const { operator } = lab.gateway
    await operator.call("PATCH", "/api/resilience", { quotaShareConcurrencyLimit: 1 })
    const { asked, ids, model } = await accounts({ tokens: 100_000, paceMs: 50 })
    const running = async () => {
      const { connections } = await operator.call<{ connections: ReadonlyArray<{ connectionId: string; running: number; maxConcurrent: number | null }> }>("GET", "/api/rate-limits")
      return ids.map((id) => connections.find(({ connectionId }) => connectionId === id)).map((row) => [row?.running, row?.maxConcurrent])
    }
    const streams = []
    for (let i = 0; i < 4; i++) streams.push(await lab.stream({ model }))
    expect(await asked()).toEqual(["er-0", "er-1", "er-2", "er-2"])
    expect(await running()).toEqual([[1, 1], [1, 1], [2, null]])
    for (const stream of streams) stream.leave()
    await eventually(async () => (await running()).map(([count]) => count).join(), (seen) => seen === "0,0,0", "the end of all calls")
    await operator.call("PATCH", "/api/resilience", { quotaShareConcurrencyLimit: 0 })
    const more = [await lab.stream({ model }), await lab.stream({ model })]
    expect((await asked()).slice(4)).toEqual(["er-0", "er-0"])
    for (const stream of more) stream.leave()
  })
})

describe("qtSd/<group>/<provider>/<model>", () => {
  it("asks the connections of the group only, the least loaded first, in every format", async () => {
    const { asked, groups, ids, model } = await accounts()
    const { operator } = lab.gateway
    await operator.changeConnection(ids[2] ?? "", { group: groups[1] })
    const id = `qtSd/${groups[1]}/${model}`
    const first = await lab.chat({ model: id })
    expect([first.status, first.headers["x-gateway-decision"]]).toEqual([200, expect.stringMatching(/^strategy=quota-share; /)])
    const messages = [{ role: "user", content: "Hello" }]
    for (const [path, body] of [
      ["/v1/messages", { model: id, max_tokens: 9, messages }], ["/v1/responses", { model: id, input: "Hello" }],
      ["/v1/embeddings", { model: id, input: "Hello" }], [`/v1beta/models/${id}:generateContent`, { contents: [{ parts: [{ text: "Hello" }] }] }]
    ] as const) expect([path, (await Http.send(lab.gateway.url, { path, body })).status]).toEqual([path, 200])
    // The one that was used less goes first.
    expect([...await asked()].sort()).toEqual(["er-1", "er-1", "er-1", "er-2", "er-2"])
  })

  it("goes on to the next connection of the group after a failure, and never beyond the group", async () => {
    const { asked, groups, ids, model } = await accounts({ status: 500 })
    await lab.gateway.operator.changeConnection(ids[2] ?? "", { group: groups[1] })
    expect((await lab.chat({ model: `qtSd/${groups[1]}/${model}` })).status).toBe(500)
    expect([...new Set(await asked())].sort()).toEqual(["er-1", "er-2"])
  })

  it("has the rights of its model and of its connections", async () => {
    const { groups, model } = await accounts()
    const { operator } = lab.gateway
    const { id, key } = await operator.createKey("grouped ids")
    const ask = async () => (await lab.chat({ model: `qtSd/${groups[0]}/${model}` }, { authorization: `Bearer ${key}` })).status
    await operator.changeKey(id, { allowedModels: [model], modelAccessMode: "restricted" })
    expect(await ask()).toBe(200)
    await operator.changeKey(id, { allowedModels: ["lab/other"] })
    expect(await ask()).toBe(403)
    await operator.changeKey(id, { allowedModels: [model], allowedQuotas: [groups[1]] })
    expect(await ask()).toBe(403)
  })

  it("404 model_not_found for a group, a provider or a model that is none, and for a name out of Object's prototype", async () => {
    const { groups, model } = await accounts()
    for (const id of [`qtSd/none/${model}`, `qtSd/${groups[0]}/none/m`, `qtSd/${groups[0]}/${model.split("/")[0]}`, `qtSd/${groups[0]}`, "qtSd/", "qtSd/__proto__/constructor/toString"]) {
      const reply = await lab.chat({ model: id })
      expect([id, reply.status, errorIn(reply)["code"]]).toEqual([id, 404, "model_not_found"])
    }
  })
})
