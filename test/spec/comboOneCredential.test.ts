/** Combos over the models of one credential, with the breaker of a server on this machine, which opens after two failures. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
  await lab.gateway.operator.call("PATCH", "/api/resilience", { waitForCooldown: { enabled: false } })
})
afterAll(() => lab.close())

let made = 0
/** A node with one credential, of whose models the first `broken` fail and the last is well; a combo over all of them. */
const world = async (broken: number, script: Record<string, unknown> = { status: 503, error: { message: "down" } }) => {
  const prefix = `one${++made}`
  const [connection = ""] = await lab.pool(prefix, [`${prefix}-credential-number-0`])
  const names = Array.from({ length: broken }, (_, i) => `${prefix}-broken-${i}`)
  for (const model of names) await lab.sim.rule({ match: { model }, script })
  await lab.sim.rule({ match: { model: `${prefix}-well` }, script: { text: "well" } })
  const models = [...names, `${prefix}-well`].map((model) => `${prefix}/${model}`)
  await lab.gateway.operator.call("POST", "/api/combos", { name: `combo-${prefix}`, models, config: { maxRetries: 0 } })
  return { prefix, connection, models, combo: `combo/combo-${prefix}` }
}
const breakerOf = async (provider: string) => {
  const { breakers } = await lab.gateway.operator.call<{ breakers: ReadonlyArray<{ provider: string; state: string; model: string | null; failures: number }> }>("GET", "/api/resilience")
  return breakers.find((breaker) => breaker.provider === provider)
}

describe("a combo over one credential", () => {
  it("falls back from each model that fails to the next one, and counts once for the breaker", async () => {
    const { combo, prefix } = await world(4)
    const reply = await lab.chat({ model: combo })
    expect([reply.status, reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, "4"])
    expect(await breakerOf(prefix)).toMatchObject({ state: "closed" })
    expect((await lab.chat({ model: combo })).status).toBe(200)
  })

  it.each([1, 2, 3])("is answered however many requests fail at once, with %i models broken, and afterwards", async (broken) => {
    const { combo } = await world(broken)
    for (let round = 0; round < 3; round++) {
      const replies = await Promise.all(Array.from({ length: 12 }, () => lab.chat({ model: combo })))
      expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    }
  })

  it("a breaker that one model opened refuses that model alone, and says so", async () => {
    const { models: [broken = "", well = ""], prefix } = await world(1)
    for (let i = 0; i < 2; i++) await lab.chat({ model: broken })
    const refused = await lab.chat({ model: broken })
    expect([refused.status, errorIn(refused)["code"]]).toEqual([503, "provider_circuit_open"])
    expect(await breakerOf(prefix)).toMatchObject({ state: "open", model: `${prefix}-broken-0`, failures: 2 })
    expect((await lab.chat({ model: well })).status).toBe(200)
    const { targets } = await lab.gateway.operator.call<{ targets: ReadonlyArray<{ skipped: { reason: string } | null }> }>(
      "POST", "/api/routing/explain", { model: `combo/combo-${prefix}` }
    )
    expect(targets.map(({ skipped }) => skipped?.reason ?? null)).toEqual([null, "breaker-open"])
  })

  it("two models that fail for different requests rest the connection as a whole, and its record says until when at once", async () => {
    const { connection, models: [first = "", second = "", well = ""] } = await world(2, { status: 429, retryAfter: 120, error: { message: "slow down" } })
    for (const model of [first, second]) expect((await lab.chat({ model })).status).toBe(429)
    const { operator } = lab.gateway
    const shown = await operator.call<{ connection: { rateLimitedUntil: string | null } }>("GET", `/api/providers/${connection}`)
    expect(Date.parse(shown.connection.rateLimitedUntil ?? "") - Date.now()).toBeGreaterThan(90_000)
    const { connections } = await operator.call<{ connections: ReadonlyArray<{ id: string; rateLimitedUntil: string | null }> }>("GET", "/api/providers")
    expect(connections.find(({ id }) => id === connection)?.rateLimitedUntil).toBe(shown.connection.rateLimitedUntil)
    const refused = await lab.chat({ model: well })
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "model_cooldown"])
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(90)
  })

  it("one model that is limited leaves the connection and its record alone", async () => {
    const { connection, models: [limited = "", well = ""] } = await world(1, { status: 429, retryAfter: 120, error: { message: "slow down" } })
    await lab.chat({ model: limited })
    expect((await lab.chat({ model: well })).status).toBe(200)
    const again = await lab.chat({ model: limited })
    expect([again.status, errorIn(again)["code"]]).toEqual([429, "model_cooldown"])
    expect(Number(again.headers["retry-after"])).toBeGreaterThan(90)
    const { operator } = lab.gateway
    const { connection: record } = await operator.call<{ connection: { rateLimitedUntil: string | null } }>("GET", `/api/providers/${connection}`)
    expect(record.rateLimitedUntil).toBeNull()
    const { items } = await operator.call<{ items: ReadonlyArray<{ connectionId: string }> }>("GET", "/api/resilience/model-cooldowns")
    expect(items.filter(({ connectionId }) => connectionId === connection)).toHaveLength(1)
    await eventually(() => operator.call("DELETE", "/api/resilience/model-cooldowns", { all: true }), () => true, "the clearing")
    expect((await lab.chat({ model: limited })).status).toBe(429)
  })
})
