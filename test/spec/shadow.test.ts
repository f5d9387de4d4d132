/** Shadow routing: copies of answered requests, whose answers are thrown away. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { answerOf, type Combos, combosOf, messagesIn, type Place } from "#test/support/combos.ts"
import { contentOf, type Lab, messages, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "sh")
})
afterAll(() => lab.close())

const shadowed = (real: Place, targets: ReadonlyArray<Place>, more: Record<string, unknown> = {}): Promise<string> =>
  combos.combo("priority", [real.model], { config: { shadowRouting: { enabled: true, targets: targets.map(({ model }) => model), ...more } } })

interface Metrics {
  readonly requests: number
  readonly successes: number
}
const metricsOf = async (name: string): Promise<Metrics | undefined> =>
  (await lab.gateway.operator.call<{ metrics: Record<string, Metrics> }>("GET", "/api/combos/metrics")).metrics[name]

describe("a combo with shadows", () => {
  it("sends a copy to each when the client has its answer; rows and metrics are not the client's", async () => {
    const [real, one, two] = [await combos.place(), await combos.place(), await combos.place({ status: 500 })]
    const { id, key } = await lab.gateway.operator.createKey("shadowed")
    const model = await shadowed(real, [one, two])
    const name = model.slice("combo/".length)
    const reply = await lab.chat({ model, stream: true }, { authorization: `Bearer ${key}` })
    expect([reply.status, contentOf(reply.text)]).toEqual([200, real.name])
    for (const place of [one, two]) {
      const [entry] = await lab.sim.ended({ model: place.upstream })
      expect(messagesIn(entry)).toEqual(messages)
      expect(entry?.at ?? 0).toBeGreaterThanOrEqual((await combos.seen(real))[0]?.lastFrameAt ?? Infinity)
    }
    await eventually(() => metricsOf(`${name}#shadow`), (metrics) => metrics?.requests === 2, "the shadows' metrics")
    expect(await metricsOf(`${name}#shadow`)).toMatchObject({ requests: 2, successes: 1 })
    expect(await metricsOf(name)).toMatchObject({ requests: 1, successes: 1 })
    const own = await lab.rows(reply)
    expect(own.map((row) => [row.combo, row.final, row.apiKeyId])).toEqual([[name, true, id]])
    const rows = await lab.gateway.rows(`${reply.headers["x-gateway-request-id"]}.shadow`)
    expect(rows.map((row) => [row.combo, row.final, row.apiKeyId, row.endpoint, row.attempt, row.outcome]).toSorted((a, b) => Number(a[4]) - Number(b[4]))).toEqual([
      [`${name}#shadow`, false, null, "/v1/chat/completions", 1, "completed"], [`${name}#shadow`, false, null, "/v1/chat/completions", 2, "upstream-status"]
    ])
  })

  it("never makes the client wait, and is cut after timeoutMs", async () => {
    const [real, slow] = [await combos.place(), await combos.place({ neverHead: true })]
    const reply = await lab.chat({ model: await shadowed(real, [slow], { timeoutMs: 200 }) })
    expect([reply.status, answerOf(reply)]).toEqual([200, real.name])
    const [entry] = await lab.sim.ended({ model: slow.upstream })
    expect(entry?.outcome).toBe("client-aborted")
  })

  it("has at most maxTargets, and none without a sample or an answer", async () => {
    const [real, one, two] = [await combos.place(), await combos.place(), await combos.place()]
    await lab.chat({ model: await shadowed(real, [one, two], { maxTargets: 1 }) })
    await eventually(async () => (await combos.seen(one)).length + (await combos.seen(two)).length, (count) => count === 1, "one shadow")
    const [other, broken] = [await combos.place(), await combos.place({ status: 500 })]
    await lab.chat({ model: await shadowed(real, [other], { sampleRate: 0 }) })
    expect((await lab.chat({ model: await shadowed(broken, [other]) })).status).toBe(500)
    await lab.chat({ model: await shadowed(real, [other], { enabled: false }) })
    // A shadow starts with the end of its request: all of those are over.
    await lab.gateway.operator.settled()
    expect((await combos.seen(one)).length + (await combos.seen(two)).length).toBe(1)
    expect((await combos.seen(other)).length).toBe(0)
  })

  it("a shadow's failures do not count against its target", async () => {
    const awake = await startLab({ resilience: "awake" })
    try {
      const places = combosOf(awake, "aw")
      const [real, limited] = [await places.place(), await places.place({ status: 429, retryAfter: 600 })]
      const model = await places.combo("priority", [real.model], { config: { shadowRouting: { enabled: true, targets: [limited.model] } } })
      await awake.chat({ model })
      await awake.sim.ended({ model: limited.upstream })
      await awake.gateway.operator.settled()
      await awake.sim.rule({ id: limited.name, match: { model: limited.upstream }, script: { text: "well" } })
      const reply = await awake.chat({ model: limited.model })
      expect([reply.status, answerOf(reply)]).toEqual([200, "well"])
    } finally {
      await awake.close()
    }
  })
})
