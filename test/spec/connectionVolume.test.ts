/** Requests a day, tokens a minute and tokens a day of a connection: the next connection takes over, and a restart forgets no day. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import type * as Http from "#test/support/http.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

const day = 86_400

let made = 0
/** A provider of its own whose connections have these limits, in the order of priority; each call uses 60 tokens. */
const pool = async (...limits: ReadonlyArray<Record<string, number>>) => {
  const prefix = `v${++made}`
  const ids = await lab.pool(prefix, limits.map((_, index) => `${prefix}-credential-number-${index}`))
  for (const [index, rateLimitOverrides] of limits.entries()) await lab.gateway.operator.changeConnection(ids[index] ?? "", { rateLimitOverrides })
  await lab.sim.rule({ id: prefix, match: { model: `m-${prefix}` }, script: { text: "done", usage: { promptTokens: 20, completionTokens: 40 } } })
  const model = `${prefix}/m-${prefix}`
  const chat = (more: Record<string, unknown> = {}) => lab.chat({ model, ...more })
  /** The connections that answered so many calls one after another, by their place; the status of a call that none answered. */
  const answeredBy = async (calls: number): Promise<ReadonlyArray<number>> => {
    const places: Array<number> = []
    for (let i = 0; i < calls; i++) {
      const reply = await chat()
      places.push(reply.status === 200 ? ids.indexOf((await lab.rows(reply))[0]?.connectionId ?? "") : reply.status)
    }
    return places
  }
  return { answeredBy, chat, ids, model }
}

const secondsOf = (reply: Http.Reply): number => Number(reply.headers["retry-after"])

describe("further limits of a connection", () => {
  it("rpd: the second connection takes over; when all are at their limit 429 names when the first is back, and nothing is called", async () => {
    const { answeredBy, chat, model } = await pool({ rpd: 2 }, { rpd: 1 })
    expect(await answeredBy(3)).toEqual([0, 0, 1])
    const reply = await chat()
    expect([reply.status, errorIn(reply)["code"], errorIn(reply)["message"]]).toEqual([429, "rate_limit_exceeded", `Every connection that serves '${model}' is at its limit of calls. (reset after 24h)`])
    expect(secondsOf(reply)).toBeGreaterThan(day - 120)
    expect(secondsOf(reply)).toBeLessThanOrEqual(day)
    expect(await lab.rows(reply)).toEqual([])
  })

  it("tpm: a connection whose tokens of the minute are used rests for the rest of it", async () => {
    const { answeredBy, chat } = await pool({ tpm: 100 }, { tpm: 50 })
    // 60, then 120: at 60 of 100 another call may begin.
    expect(await answeredBy(3)).toEqual([0, 0, 1])
    const reply = await chat()
    expect([reply.status, errorIn(reply)["code"]]).toEqual([429, "rate_limit_exceeded"])
    expect(secondsOf(reply)).toBeGreaterThan(40)
    expect(secondsOf(reply)).toBeLessThanOrEqual(61)
  })

  it("tpd: tokens count once a call is settled, also those of a stream whose usage comes last", async () => {
    const { chat, model, answeredBy } = await pool({ tpd: 61 })
    const stream = await lab.stream({ model })
    await stream.ended
    expect((await chat()).status).toBe(200)
    expect(await answeredBy(1)).toEqual([429])
  })

  it("calls in flight count: one request each, and the tokens of a usual call", async () => {
    const { chat, ids: [id = ""], model } = await pool({ rpd: 1 })
    await lab.sim.rule({ id: `slow-${id}`, match: { model: `slow-${id}` }, script: { tokens: 100_000, paceMs: 20 } })
    const first = await lab.stream({ model: `${model.slice(0, model.indexOf("/"))}/slow-${id}` })
    await first.until((seen) => seen.includes("content"))
    const second = await chat()
    expect([second.status, errorIn(second)["code"], second.headers["retry-after"]]).toEqual([429, "rate_limit_exceeded", "1"])
    await lab.gateway.operator.changeConnection(id, { rateLimitOverrides: { tpm: 1_000 } })
    expect((await chat()).status).toBe(429)
    first.leave()
  })

  it("a request does not wait in line for the end of a day", async () => {
    const { answeredBy, chat, ids: [id = ""] } = await pool({ rpd: 1, maxWaitMs: 60_000 })
    await lab.gateway.operator.call("POST", "/api/rate-limits", { connectionId: id, enabled: true })
    expect(await answeredBy(1)).toEqual([0])
    const from = performance.now()
    expect((await chat()).status).toBe(429)
    expect(performance.now() - from).toBeLessThan(30_000)
  })

  it("a limit that is raised or taken away acts at once, on what was counted", async () => {
    const { answeredBy, ids: [id = ""] } = await pool({ rpd: 1 })
    expect(await answeredBy(2)).toEqual([0, 429])
    await lab.gateway.operator.changeConnection(id, { rateLimitOverrides: { rpd: 2 } })
    expect(await answeredBy(2)).toEqual([0, 429])
    await lab.gateway.operator.changeConnection(id, { rateLimitOverrides: null })
    expect(await answeredBy(1)).toEqual([0])
  })

  it("a day survives a restart, and a limit that is set later counts the calls of before", async () => {
    const { answeredBy, ids: [, id = ""] } = await pool({ rpd: 2, tpd: 1_000 }, {})
    expect(await answeredBy(3)).toEqual([0, 0, 1])
    await lab.gateway.restart()
    expect(await answeredBy(1)).toEqual([1])
    await lab.gateway.operator.changeConnection(id, { rateLimitOverrides: { rpd: 3 } })
    await expect.poll(() => answeredBy(1), { timeout: 10_000 }).toEqual([429])
    const { answeredBy: bounded, ids: [other = ""] } = await pool({})
    expect(await bounded(2)).toEqual([0, 0])
    await lab.gateway.operator.changeConnection(other, { rateLimitOverrides: { tpd: 120 } })
    await expect.poll(() => bounded(1), { timeout: 10_000 }).toEqual([429])
  })
})
