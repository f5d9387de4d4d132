/** What answered last (GET, DELETE /api/settings/lkgp-cache, setting lkgpEnabled), over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Lab, startLab } from "#test/support/lab.ts"

interface Cache { enabled: boolean; entries: ReadonlyArray<{ combo: string; apiKeyId: string | null; model: string; connectionId: string | null; since: string }> }

let lab: Lab
let ids: ReadonlyArray<string>
let key: { id: string; key: string }
beforeAll(async () => {
  lab = await startLab()
  ids = [...await lab.pool("one", ["one-credential-number-0"]), ...await lab.pool("two", ["two-credential-number-0"])]
  key = await lab.gateway.operator.createKey("asks")
  await lab.gateway.operator.call("POST", "/api/combos", { name: "known", strategy: "lkgp", models: ["one/tale", "two/tale"], config: { maxRetries: 0 } })
  await lab.gateway.operator.call("POST", "/api/combos", { name: "listed", models: ["one/tale", "two/tale"] })
})
afterAll(() => lab.close())

const path = "/api/settings/lkgp-cache"
const cache = () => lab.gateway.operator.call<Cache>("GET", path)
const forget = () => lab.gateway.operator.call("DELETE", path)
const ask = async (model = "combo/known") => (await lab.chat({ model }, { authorization: `Bearer ${key.key}` })).headers["x-gateway-provider"]
const order = async () => (await lab.gateway.operator.call<{ targets: ReadonlyArray<{ provider: string }> }>("POST", "/api/routing/explain", { model: "known", keyId: key.id })).targets.map(({ provider }) => provider)

describe("what answered last", () => {
  it("is listed by combo and key, leads the next request while lkgpEnabled is on, and is forgotten at once", async () => {
    expect(await cache()).toEqual({ enabled: true, entries: [] })
    // The rules weigh latency, too: what answered last was slow, however busy the machine is.
    await lab.sim.rule({ match: { model: "tale" }, times: 1, script: { latencyMs: 1_000 } })
    const last = await ask()
    expect(await ask("combo/listed")).toBe("one")
    const { entries } = await cache()
    expect(entries).toEqual([{ combo: "known", apiKeyId: key.id, model: `${last}/tale`, connectionId: ids[last === "one" ? 0 : 1], since: expect.stringMatching(/^\d{4}-/) }])
    const other = last === "one" ? "two" : "one"
    expect((await lab.chat({ model: `${other}/tale` })).status).toBe(200)
    // Its own failures put it behind the other one by the rules.
    await lab.sim.rule({ match: { model: "tale" }, times: 4, script: { status: 503, error: { message: "down" } } })
    for (let i = 0; i < 4; i++) expect((await lab.chat({ model: `${last}/tale` })).status).toBe(503)
    expect((await order())[0]).toBe(last)
    const enable = (lkgpEnabled: boolean) => lab.gateway.operator.call("PATCH", "/api/settings", { lkgpEnabled })
    await enable(false)
    expect([(await cache()).enabled, (await order())[0] === last]).toEqual([false, false])
    await enable(true)
    expect((await order())[0]).toBe(last)
    expect(await forget()).toEqual({ success: true })
    expect([(await cache()).entries, (await order())[0] === last]).toEqual([[], false])
  })
})
