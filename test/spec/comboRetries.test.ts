/** Repetitions of a combo's targets, and what is a provider's own in its walk, over HTTP. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { combosOf, type Combos } from "#test/support/combos.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let combos: Combos
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
  combos = combosOf(lab, "retry")
})
afterAll(() => lab.close())

let made = 0
/** A provider whose first calls go by the scripts, one each, and the later ones by the last. */
const place = async (...scripts: ReadonlyArray<Record<string, unknown>>) => {
  const name = `again${++made}`
  const upstream = `m-${name}`
  await lab.pool(name, [`${name}-credential-number-0`])
  for (const [i, script] of scripts.entries()) {
    await lab.sim.rule({ id: `${name}-${i}`, match: { model: upstream }, script, ...(i < scripts.length - 1 ? { times: 1 } : {}) })
  }
  return { name, upstream, model: `${name}/${upstream}` }
}
const statusesOf = async (one: { readonly upstream: string }) => (await lab.sim.entries({ model: one.upstream })).map(({ status }) => status)
const fails = { status: 503, error: { message: "down" } }
const quick = { retryDelayMs: 20, setRetryDelayMs: 20 }

describe("a failure that may pass", () => {
  it.each([408, 500, 502, 503, 504])("%i is repeated on the same target by default, though its connection rests by our own guess", async (status) => {
    const one = await place({ status, error: { message: "down" } }, { text: "well again" })
    const reply = await lab.chat({ model: await combos.combo("priority", [one.model], { config: quick }) })
    expect([reply.status, reply.text.includes("well again"), reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, true, "1"])
    expect(await statusesOf(one)).toEqual([status, 200])
  })

  it("is repeated after the other targets, or before them with failoverBeforeRetry off", async () => {
    const [a, b] = [await place(fails, {}), await place(fails, { text: "second" })]
    expect((await lab.chat({ model: await combos.combo("priority", [a.model, b.model], { config: quick }) })).status).toBe(200)
    expect([await statusesOf(a), await statusesOf(b)]).toEqual([[503, 200], [503]])
    const [c, d] = [await place(fails, {}), await place({})]
    expect((await lab.chat({ model: await combos.combo("priority", [c.model, d.model], { config: { ...quick, failoverBeforeRetry: false } }) })).status).toBe(200)
    expect([await statusesOf(c), await statusesOf(d)]).toEqual([[503, 200], []])
  })

  it("is repeated with the whole list by maxSetRetries", async () => {
    const one = await place(fails, {})
    expect((await lab.chat({ model: await combos.combo("priority", [one.model], { config: { ...quick, maxRetries: 0, maxSetRetries: 1 } }) })).status).toBe(200)
    expect(await statusesOf(one)).toEqual([503, 200])
  })

  it("is not repeated before the time that its upstream named, whatever our guess says", async () => {
    const limited = { status: 429, retryAfter: 30, error: { message: "limit" } }
    const one = await place(limited, {})
    const reply = await lab.chat({ model: await combos.combo("priority", [one.model], { config: { ...quick, maxRetries: 3 } }) })
    expect([reply.status, reply.headers["retry-after"], await statusesOf(one)]).toEqual([429, "30", [429]])
    // The hint ends inside the pause that was guessed for the failure before it.
    const two = await place(fails, { ...limited, retryAfter: 1 }, {})
    const again = await lab.chat({ model: await combos.combo("priority", [two.model], { config: { ...quick, maxRetries: 3 } }) })
    expect([again.status, await statusesOf(two)]).toEqual([429, [503, 429]])
  })

  it("is not repeated behind an open breaker, and the reply names its end", async () => {
    const one = await place(fails)
    // A local breaker opens at the second request that fails.
    await lab.chat({ model: one.model })
    const reply = await lab.chat({ model: await combos.combo("priority", [one.model], { config: { ...quick, maxRetries: 5 } }) })
    expect([reply.status, await statusesOf(one)]).toEqual([503, [503, 503]])
    expect(Number(reply.headers["retry-after"])).toBeGreaterThan(5)
    expect(errorIn(reply)).toMatchObject({ diagnostics: { attempted: 1, excluded: [] } })
  })
})

describe("providerOverrides", () => {
  const override = (providerOverrides: Record<string, unknown>) => lab.gateway.operator.call("PATCH", "/api/settings/combo-defaults", { providerOverrides })

  it("act on each target of a walk; the combo's own word comes after them", async () => {
    const [a, b] = [await place(fails, {}), await place(fails, {})]
    await override({ [a.name]: { maxRetries: 0 }, [b.name]: { maxRetries: 1 } })
    expect((await lab.chat({ model: await combos.combo("priority", [a.model, b.model], { config: quick }) })).status).toBe(200)
    expect([await statusesOf(a), await statusesOf(b)]).toEqual([[503], [503, 200]])
    const c = await place(fails, {})
    await override({ [c.name]: { maxRetries: 0 } })
    expect((await lab.chat({ model: await combos.combo("priority", [c.model], { config: { ...quick, maxRetries: 1 } }) })).status).toBe(200)
    await override({})
  })

  it("bound the time of one provider's target only", async () => {
    const [slow, next] = [await combos.place({ neverHead: true }), await combos.place({ text: "in time" })]
    await override({ [slow.name]: { targetTimeoutMs: 1_000 } })
    const reply = await lab.chat({ model: await combos.combo("priority", [slow.model, next.model]) })
    expect([reply.status, reply.text.includes("in time")]).toEqual([200, true])
    const [row] = await lab.rows(reply)
    expect([row?.outcome, (row?.latencyMs ?? 0) < 60_000]).toEqual(["gateway-timeout", true])
    await override({})
  })

  it("hedge one provider's target only", async () => {
    const [silent, eager] = [await combos.place({ neverHead: true }), await combos.place({ text: "eager" })]
    await override({ [silent.name]: { hedging: true, hedgeDelayMs: 50 } })
    const reply = await lab.chat({ model: await combos.combo("priority", [silent.model, eager.model]) })
    expect([reply.status, reply.text.includes("eager")]).toEqual([200, true])
    await override({})
  })
})
