/** Whole providers that rest or are refused: after breakdowns (providerCooldown), and by a limit's own word (useUpstream429BreakerHints). */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { contentOf, errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const change = (sections: Record<string, unknown>) => lab.gateway.operator.call("PATCH", "/api/resilience", sections)
let made = 0
/** A provider of two accounts that answers by the script once, and well afterwards. */
const provider = async (script: Record<string, unknown>, times = 1) => {
  const prefix = `v${++made}`
  await lab.pool(prefix, [`${prefix}-credential-number-0`, `${prefix}-credential-number-1`])
  for (const model of [`a-${prefix}`, `b-${prefix}`]) {
    await lab.sim.rule({ match: { model }, script, times })
    await lab.sim.rule({ match: { model }, script: { text: prefix } })
  }
  const asked = async () => (await Promise.all([`a-${prefix}`, `b-${prefix}`].map((model) => lab.sim.entries({ model })))).map(({ length }) => length)
  return { prefix, a: `${prefix}/a-${prefix}`, b: `${prefix}/b-${prefix}`, asked }
}
const combo = async (...models: ReadonlyArray<string>): Promise<string> => {
  const name = `rests-${++made}`
  await lab.gateway.operator.call("POST", "/api/combos", { name, models, config: { maxRetries: 0 } })
  return `combo/${name}`
}
interface Cooldowns { readonly items: ReadonlyArray<{ readonly provider: string; readonly model: string; readonly connectionId: string | null; readonly remainingMs: number }> }
const resting = async (prefix: string) => (await lab.gateway.operator.call<Cooldowns>("GET", "/api/resilience/model-cooldowns")).items.filter((row) => row.provider === prefix)

describe("providerCooldown", () => {
  it("after a breakdown later requests go to other providers at once, whatever their model; off, they ask it again", async () => {
    const [broken, well] = [await provider({ status: 503 }, 9), await provider({ text: "well" })]
    const [one, two] = [await combo(broken.a, well.a), await combo(broken.b, well.a)]
    await change({ providerCooldown: { enabled: true, minMs: 600_000, maxMs: 900_000 } })
    const reply = await lab.chat({ model: one, stream: true })
    expect([reply.status, contentOf(reply.text)]).toEqual([200, "well"])
    // The request itself went on to the other account; a later one does not.
    expect(await broken.asked()).toEqual([2, 0])
    expect((await lab.rows(reply)).map(({ final, status }) => [status, final])).toEqual([[503, false], [503, false], [200, true]])
    const later = await lab.chat({ model: two })
    expect([later.status, await broken.asked()]).toEqual([200, [2, 0]])
    expect((await lab.rows(later)).length).toBe(1)
    expect(await resting(broken.prefix)).toMatchObject([{ model: "*", connectionId: null }])
    // Nothing else is left: a guess refuses no client.
    expect((await lab.chat({ model: broken.b })).status).toBe(503)
    expect((await broken.asked())[1]).toBeGreaterThan(0)
    await lab.gateway.operator.call("POST", "/api/resilience/reset", { provider: broken.prefix })
    expect(await resting(broken.prefix)).toEqual([])
    await change({ providerCooldown: { enabled: false } })
    const before = await broken.asked()
    await lab.chat({ model: one })
    await lab.chat({ model: one })
    expect((await broken.asked())[0]).toBeGreaterThan((before[0] ?? 0) + 1)
  })
})

describe("useUpstream429BreakerHints", () => {
  const limits = { status: 429, retryAfter: 700, error: { message: "limit" } }
  const breaker = { degradationThreshold: 1, failureThreshold: 2, resetTimeoutMs: 1_000 }
  const section = (useUpstream429BreakerHints: boolean | null) => change({
    providerBreaker: { apikey: breaker, local: breaker },
    connectionCooldown: { apikey: { useUpstream429BreakerHints }, local: { useUpstream429BreakerHints } }
  })
  const open = async (one: { readonly a: string; readonly b: string }) => {
    for (const model of [one.a, one.b]) expect((await lab.chat({ model })).status).toBe(429)
    return lab.chat({ model: one.a })
  }

  it("true: rate limits that name their end open the breaker until then, and nothing is asked meanwhile", async () => {
    await section(true)
    const one = await provider(limits, 2)
    const refused = await open(one)
    expect([refused.status, errorIn(refused)["code"], refused.headers["x-gateway-provider-breaker"]]).toEqual([503, "provider_circuit_open", "open"])
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(650)
    // Each request counts once; the second one opened it before its second account was asked.
    expect(await one.asked()).toEqual([2, 1])
  })

  it("true: one that names no end does not count, and with null or false none does", async () => {
    await section(true)
    const vague = await provider({ status: 429, error: { message: "limit" } }, 2)
    expect((await open(vague)).status).toBe(200)
    for (const value of [null, false]) {
      await section(value)
      const exact = await provider(limits, 2)
      expect((await open(exact)).status).toBe(200)
    }
  })
})
