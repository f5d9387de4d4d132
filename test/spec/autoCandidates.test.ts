/** GET /v1/auto-combo/{channel}/candidates: the pool of automatic routing as one key sees it, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { CandidatesView } from "#src/inference/models/autoCandidates.ts"
import { type Combos, combosOf, type Place } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
let well: Place
let drained: Place
/** A place of the pool: automatic routing asks a connection for its default model. */
const place = async (script: Record<string, unknown> = {}): Promise<Place> => {
  const made = await combos.place(script)
  await lab.gateway.operator.changeConnection(made.connections[0] ?? "", { defaultModel: made.upstream })
  return made
}
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
  combos = combosOf(lab, "ac")
  well = await place()
  drained = await place({ status: 429, retryAfter: 900, error: { message: "slow down" } })
  expect((await lab.chat({ model: drained.model })).status).toBe(429)
})
afterAll(() => lab.close())

const ask = (channel: string, key?: string) =>
  Http.send(lab.gateway.url, { path: `/v1/auto-combo/${channel}/candidates`, headers: key === undefined ? {} : { authorization: `Bearer ${key}` } })
const listed = (reply: Http.Reply): CandidatesView => {
  expect([reply.status, reply.text]).toEqual([200, expect.any(String)])
  return JSON.parse(reply.text) as CandidatesView
}

describe("the candidates of automatic routing", () => {
  it.each([["auto", "auto"], ["coding", "auto/coding"], ["coding:fast", "auto/coding:fast"], ["auto%2Ffast", "auto/fast"]])("%s: who is asked first, who is left out, why and until when", async (channel, id) => {
    const view = listed(await ask(channel))
    expect(view).toMatchObject({ object: "list", channel: id })
    expect(view.candidates).toEqual([
      { rank: 1, provider: well.name, model: well.model, reachable: true, reason: null, until: null, excluded: false },
      { rank: null, provider: drained.name, model: drained.model, reachable: false, reason: "model-cooldown", until: expect.any(String), excluded: false }
    ])
    expect(Date.parse(view.candidates[1]?.until ?? "")).toBeGreaterThan(Date.now())
  })

  it("says which of them the key may not use, and names no connection", async () => {
    const { key } = await lab.gateway.operator.createKey("one of two", { allowedConnections: drained.connections, scopes: ["manage"] })
    const reply = await ask("auto", key)
    expect(listed(reply).candidates.map(({ excluded, model, reachable }) => [model, reachable, excluded])).toEqual([[drained.model, false, false], [well.model, false, true]])
    for (const id of [...well.connections, ...drained.connections]) expect(reply.text).not.toContain(id)
  })

  it("tells a key that does not manage of nothing that it may not use", async () => {
    const { key } = await lab.gateway.operator.createKey("one of two only", { allowedConnections: drained.connections })
    const reply = await ask("auto", key)
    expect(listed(reply).candidates.map(({ excluded, model }) => [model, excluded])).toEqual([[drained.model, false]])
    expect(reply.text).not.toContain(well.name)
  })

  it("a channel that does not exist is 404 with those that do, a wrong key is 401, chaos is for its keys", async () => {
    const unknown = await ask("no-such")
    expect([unknown.status, errorIn(unknown)["code"]]).toEqual([404, "model_not_found"])
    expect(errorIn(unknown)["candidates"]).toContain("auto/coding")
    expect((await ask("auto", "gwa_live_nobody_knows_this_key_00000000")).status).toBe(401)
    expect((await ask("chaos")).status).toBe(404)
    const { key } = await lab.gateway.operator.createKey("chaos", { chaosModeEnabled: true })
    expect(listed(await ask("chaos", key)).candidates.map(({ excluded }) => excluded)).toEqual([false, false])
  })

  it("makes no call", async () => {
    const before = (await lab.sim.entries({})).length
    expect((await ask("auto")).status).toBe(200)
    expect((await lab.sim.entries({})).length).toBe(before)
  })
})
