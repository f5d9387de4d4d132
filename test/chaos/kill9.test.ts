import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { chance, startWorld, type World } from "./support.ts"

const ROUNDS = 8
const WORKERS = 12
/** Calls of one round at most: all rows of the test must fit one page of the call log. */
const CALLS = 55

let world: World
beforeAll(async () => {
  world = await startWorld()
})
afterAll(() => world.close())

describe("kill -9", () => {
  it("under load, again and again: each call that reached the upstream has exactly one row, and the configuration is still there", async () => {
    const { gateway, sim } = world
    const random = chance()
    const { key } = await gateway.operator.createKey("survivor")
    const headers = { authorization: `Bearer ${key}` }
    for (let round = 0; round < ROUNDS; round++) {
      let calls = 0
      let stuck = 0
      let killed = false
      const worker = async () => {
        while (!killed && calls < CALLS) {
          const model = `kill-${round}-${calls++}`
          // Few enough stay open for ever that the others keep coming and going.
          const stays = stuck < WORKERS / 2 && random.below(4) === 0
          if (stays) stuck++
          await sim.rule({
            match: { model },
            script: stays
              ? random.one([{ tokens: 2_000, paceMs: 3 }, { neverHead: true }])
              : random.one([{ tokens: 3 }, { tokens: 20, paceMs: 2 }, { tokens: 20, endAfter: { frames: 12 } }, { status: 503 }])
          })
          await Http.send(gateway.url, world.call({ model, stream: random.below(3) > 0 }, headers)).catch(() => undefined)
        }
      }
      const workers = Array.from({ length: WORKERS }, worker)
      // The moment: when so many calls of this round have arrived upstream, wherever each of them stands.
      const wanted = 1 + random.below(CALLS - 10)
      const arrived = async () => (await sim.entries()).filter((entry) => entry.model?.startsWith(`kill-${round}-`) === true).length
      await eventually(arrived, (count) => count >= wanted, `${wanted} calls of round ${round}`)
      await gateway.kill9()
      killed = true
      await Promise.all(workers)
      await sim.idle()
      await gateway.start()
    }
    const { operator } = gateway
    await operator.settled()
    const rows = (await operator.callLogs()).filter((row) => row.model.startsWith("kill-"))
    const entries = (await sim.entries()).filter((entry) => entry.model?.startsWith("kill-") === true)
    const count = (model: string) => rows.filter((row) => row.model === model).length
    const missing = entries.filter((entry) => count(entry.model ?? "") === 0).map((entry) => entry.model)
    const double = [...new Set(rows.map((row) => row.model))].filter((model) => count(model) > 1)
    const crashed = rows.filter((row) => row.outcome === "crashed").length
    console.log(`kill -9 x ${ROUNDS}: ${entries.length} calls upstream, ${rows.length} rows, ${crashed} crashed, ${missing.length} missing, ${double.length} double`)
    expect({ seed: random.seed, missing, double }).toEqual({ seed: random.seed, missing: [], double: [] })
    expect(entries.length).toBeGreaterThan(ROUNDS)
    expect(crashed).toBeGreaterThan(0)
    expect(new Set(rows.map((row) => row.id)).size).toBe(rows.length)
    // A row without a call is one whose start was on disk before its first byte left.
    const arrived = new Set(entries.map((entry) => entry.model))
    expect(rows.filter((row) => !arrived.has(row.model)).every((row) => row.outcome === "crashed")).toBe(true)
    expect(await operator.reconciliation()).toMatchObject({ gap: 0, live: 0, journaled: 0 })

    const reply = await Http.send(gateway.url, world.call({ model: "tokens-2" }, headers))
    expect(reply.status).toBe(200)
    expect((await Http.send(gateway.url, world.call({ model: "tokens-2" }, { authorization: "Bearer sk-wrong" }))).status).toBe(401)
    const { connections } = await operator.call<{ connections: ReadonlyArray<{ provider: string }> }>("GET", "/api/providers")
    expect(connections.filter((one) => one.provider === world.node).length).toBe(1)
  }, 300_000)
})
