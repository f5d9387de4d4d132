/** Combos before they are stored: what they would do, what they would have done; and what a change says when it is made. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { BackTest } from "#src/features/combos/api.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
  await lab.sim.rule({ match: { model: "broken" }, script: { status: 500, latencyMs: 20 } })
  await lab.sim.rule({ match: { model: "good" }, script: { tokens: 3 } })
})
afterAll(() => lab.close())

const post = (path: string, body: unknown) => lab.gateway.operator.raw("POST", path, body)
const read = (reply: { readonly text: string }) => JSON.parse(reply.text) as Record<string, unknown>
const draft = (...models: ReadonlyArray<unknown>) => ({ name: "drafted", strategy: "priority", models })

describe("a draft of a combo", () => {
  it("is explained as if it were stored, and is not", async () => {
    const before = (await lab.sim.entries()).length
    const reply = await post("/api/combos/explain", { combo: draft("lab/good", "lab/broken") })
    expect(reply.status).toBe(200)
    expect(read(reply)).toMatchObject({ model: "drafted", combo: "drafted", strategy: "priority", error: null, targets: [{ model: "lab/good", position: 1, skipped: null }, { model: "lab/broken", position: 2 }] })
    const { combos } = await lab.gateway.operator.call<{ combos: ReadonlyArray<{ name: string }> }>("GET", "/api/combos")
    expect(combos.map(({ name }) => name)).not.toContain("drafted")
    expect((await lab.sim.entries()).length).toBe(before)
  })

  it("takes the place of the stored combo that it names, also under another name", async () => {
    const stored = await lab.gateway.operator.call<{ id: string }>("POST", "/api/combos", { name: "placed", strategy: "priority", models: ["lab/good"] })
    const reply = await post("/api/combos/explain", { combo: { ...draft("lab/broken"), id: stored.id, name: "renamed" } })
    expect(read(reply)).toMatchObject({ combo: "renamed", targets: [{ model: "lab/broken" }] })
    expect((await post("/api/combos/explain", { combo: { ...draft("lab/good"), id: "nobody" } })).status).toBe(404)
  })

  it("is refused like a stored one: an unknown model, a circle, a stranger without a session", async () => {
    const unknown = await post("/api/combos/explain", { combo: draft("nowhere/any") })
    expect([unknown.status, (read(unknown)["error"] as { details: ReadonlyArray<{ field: string }> }).details[0]?.field]).toEqual([400, "models.0.model"])
    const circle = await post("/api/combos/explain", { combo: draft({ kind: "combo-ref", comboName: "drafted" }) })
    expect(circle.status).toBe(400)
    for (const path of ["/api/combos/explain", "/api/combos/simulate"]) {
      expect((await Http.send(lab.gateway.url, { path, body: { combo: draft("lab/good") } })).status).toBe(401)
    }
  })

  it("is tested on past requests: what was measured, what is assumed, cost and time; no provider is asked", async () => {
    await lab.gateway.operator.call("POST", "/api/combos", { name: "past", strategy: "priority", models: ["lab/broken", "lab/good"] })
    const ask = () => Http.send(lab.gateway.url, { path: "/v1/chat/completions", body: { model: "past", messages: [{ role: "user", content: "Hello" }] } })
    const replies = []
    for (let i = 0; i < 4; i++) replies.push(await ask())
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    await lab.gateway.operator.settled()
    const asked = (await lab.sim.entries()).length
    const combo = (await lab.gateway.operator.call<{ combos: ReadonlyArray<{ id: string; name: string }> }>("GET", "/api/combos")).combos.find(({ name }) => name === "past")
    const simulate = async (...models: ReadonlyArray<string>) =>
      read(await post("/api/combos/simulate", { combo: { id: combo?.id, name: "past", strategy: "priority", models } })) as unknown as BackTest
    const turned = await eventually(() => simulate("lab/good", "lab/broken"), ({ requests }) => requests === 4, "the past requests")
    expect(turned.actual.answered).toBe(4)
    expect(turned.draft).toMatchObject({ answered: 4, measured: 4, assumed: 0, unmeasured: 0, refused: 0 })
    expect(turned.draft.p95Ms ?? Number.NaN).toBeLessThan(turned.actual.p95Ms ?? Number.NaN)
    expect(turned.targets).toEqual([{ provider: "lab", model: "good", actual: 4, draft: 4 }])
    const alone = await simulate("lab/broken")
    expect(alone.draft).toMatchObject({ answered: 0, measured: 0, p50Ms: null })
    const stranger = await simulate("lab/unseen", "lab/good")
    expect(stranger.draft).toMatchObject({ answered: 4, unmeasured: 4 })
    expect((await lab.sim.entries()).length).toBe(asked)
    expect((await post("/api/combos/simulate", { combo: { ...draft("lab/good"), strategy: "fusion" } })).status).toBe(400)
    expect((await post("/api/combos/simulate", { combo: draft("lab/good"), limit: 1_001 })).status).toBe(400)
  })
})

describe("a change", () => {
  it("says which version of the configuration holds it, and the nodes say when they act on it", async () => {
    const reply = await post("/api/combos", { name: "receipt", strategy: "priority", models: ["lab/good"] })
    expect(reply.status).toBe(201)
    const version = Number(reply.headers["x-gateway-configuration-version"])
    expect(version).toBeGreaterThan(0)
    const seen = await eventually(() => lab.gateway.operator.call<{ nodes: ReadonlyArray<{ version: number }> }>("GET", "/api/nodes"), ({ nodes }) => nodes.every((node) => node.version >= version), "every node on the version")
    expect(seen.nodes.length).toBe(1)
    const refused = await post("/api/combos", { name: "receipt", strategy: "priority", models: ["lab/good"] })
    expect([refused.status, refused.headers["x-gateway-configuration-version"]]).toEqual([400, undefined])
    expect((await lab.gateway.operator.raw("GET", "/api/combos")).headers["x-gateway-configuration-version"]).toBeUndefined()
  })

  it("of a combo that somebody else changed meanwhile is refused, and changes nothing", async () => {
    const { id, updatedAt } = await lab.gateway.operator.call<{ id: string; updatedAt: string }>("POST", "/api/combos", { name: "shared", strategy: "priority", models: ["lab/good"] })
    await eventually(async () => Date.now(), (now) => now > Date.parse(updatedAt), "another millisecond")
    expect((await lab.gateway.operator.raw("PUT", `/api/combos/${id}`, { description: "theirs", ifUpdatedAt: updatedAt })).status).toBe(200)
    const late = await lab.gateway.operator.raw("PUT", `/api/combos/${id}`, { description: "mine", ifUpdatedAt: updatedAt })
    expect([late.status, (read(late)["error"] as { code: string }).code]).toEqual([409, "changed_since"])
    expect(await lab.gateway.operator.call("GET", `/api/combos/${id}`)).toMatchObject({ description: "theirs" })
  })
})
