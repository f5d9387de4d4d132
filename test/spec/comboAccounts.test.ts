/** Which connection of a combo's step is asked: the selection settings and the session, over HTTP. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from "vitest"
import { answerOf, combosOf, type Combos } from "#test/support/combos.ts"
import { type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "accounts")
})
afterAll(() => lab.close())
const settings = (change: Record<string, unknown>) => lab.gateway.operator.call("PATCH", "/api/settings", change)
afterEach(() => settings({ fallbackStrategy: "fill-first", stickyRoundRobinLimit: 3, sessionAffinityTtlMs: 0 }))

/** Places of the connections that answered so many requests, in their order. */
const answered = async (model: string, connections: ReadonlyArray<string>, times: number, headers: Record<string, string> = {}): Promise<ReadonlyArray<number>> => {
  const places: Array<number> = []
  for (let i = 0; i < times; i++) {
    const reply = await lab.chat({ model }, headers)
    expect(reply.status).toBe(200)
    const [row] = await lab.rows(reply)
    places.push(connections.indexOf(row?.connectionId ?? ""))
  }
  return places
}
const session = (id: string) => ({ "x-session-id": id })

describe("the connections of a combo's step", () => {
  it("are asked by settings.fallbackStrategy: as listed by default, in turn with round-robin", async () => {
    const one = await combos.place({}, 3)
    const model = await combos.combo("priority", [one.model])
    expect(await answered(model, one.connections, 3)).toEqual([0, 0, 0])
    await settings({ fallbackStrategy: "round-robin", stickyRoundRobinLimit: 1 })
    expect(await answered(model, one.connections, 6)).toEqual([0, 1, 2, 0, 1, 2])
  })

  it("a step that is only a fallback takes no turn of its provider", async () => {
    const [one, other] = [await combos.place({}, 2), await combos.place({}, 2)]
    await settings({ fallbackStrategy: "round-robin", stickyRoundRobinLimit: 1 })
    await lab.sim.rule({ id: "second-model", match: { model: `b-${one.name}` }, script: {} })
    const model = await combos.combo("priority", [one.model, `${one.name}/b-${one.name}`, other.model])
    expect(await answered(model, one.connections, 4)).toEqual([0, 1, 0, 1])
    expect(await answered(await combos.combo("priority", [other.model]), other.connections, 2)).toEqual([0, 1])
  })

  it("a dry run takes no turn", async () => {
    const one = await combos.place({}, 2)
    await settings({ fallbackStrategy: "round-robin", stickyRoundRobinLimit: 1 })
    const model = await combos.combo("priority", [one.model])
    for (let i = 0; i < 3; i++) await lab.gateway.operator.call("POST", "/api/routing/explain", { model })
    expect(await answered(model, one.connections, 2)).toEqual([0, 1])
  })

  it("a session keeps the connection that answered it, whatever the strategy of the combo", async () => {
    await settings({ fallbackStrategy: "round-robin", stickyRoundRobinLimit: 1, sessionAffinityTtlMs: 60_000 })
    for (const strategy of ["priority", "round-robin", "strict-random", "least-used"]) {
      const one = await combos.place({}, 3)
      const model = await combos.combo(strategy, [one.model])
      const places = await answered(model, one.connections, 4, session(`s-${strategy}`))
      expect([strategy, new Set(places).size]).toEqual([strategy, 1])
    }
  })

  it("a session's connection is that of its provider: another step of it asks the same one, and others go on in turn", async () => {
    await settings({ fallbackStrategy: "round-robin", stickyRoundRobinLimit: 1, sessionAffinityTtlMs: 60_000 })
    const one = await combos.place({}, 2)
    await lab.sim.rule({ id: "other-model", match: { model: `o-${one.name}` }, script: {} })
    const [first, second] = [await combos.combo("priority", [one.model]), await combos.combo("priority", [`${one.name}/o-${one.name}`])]
    const [mine = -1] = await answered(first, one.connections, 1, session("both"))
    expect(await answered(second, one.connections, 2, session("both"))).toEqual([mine, mine])
    expect(new Set(await answered(first, one.connections, 2)).size).toBe(2)
  })

  it("disableSessionStickiness leaves a combo without it", async () => {
    await settings({ fallbackStrategy: "round-robin", stickyRoundRobinLimit: 1, sessionAffinityTtlMs: 60_000 })
    const one = await combos.place({}, 2)
    const model = await combos.combo("priority", [one.model], { config: { disableSessionStickiness: true } })
    expect(await answered(model, one.connections, 4, session("loose"))).toEqual([0, 1, 0, 1])
  })
})

describe("a reference that is flattened", () => {
  it("its steps take turns like those of the list that they stand in", async () => {
    const [a, b, c] = [await combos.place(), await combos.place(), await combos.place()]
    const inner = await combos.combo("priority", [b.model, c.model])
    const model = await combos.combo("round-robin", [a.model, { kind: "combo-ref", comboName: inner.slice("combo/".length) }], { config: { stickyRoundRobinLimit: 1 } })
    const said: Array<string> = []
    for (let i = 0; i < 6; i++) said.push(answerOf(await lab.chat({ model })))
    expect(said).toEqual([a.name, b.name, c.name, a.name, b.name, c.name])
  })

  it("executed, it takes one turn as a whole", async () => {
    const [a, b, c] = [await combos.place(), await combos.place(), await combos.place()]
    const inner = await combos.combo("priority", [b.model, c.model])
    const model = await combos.combo("round-robin", [a.model, { kind: "combo-ref", comboName: inner.slice("combo/".length) }], {
      config: { stickyRoundRobinLimit: 1, nestedComboMode: "execute" }
    })
    const said: Array<string> = []
    for (let i = 0; i < 4; i++) said.push(answerOf(await lab.chat({ model })))
    expect(said).toEqual([a.name, b.name, a.name, b.name])
  })
})
