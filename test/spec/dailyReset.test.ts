/** A provider node that says when its daily quota is new again. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
})
afterAll(() => lab.close())

const HOUR = 3_600_000

describe("dailyQuotaResetTimezone and dailyQuotaResetHour", () => {
  it("keep a connection whose daily quota is spent out of use until the reset", async () => {
    const { operator } = lab.gateway
    const provider = await operator.createNode({ prefix: "daily", baseUrl: `${lab.sim.url}/v1` })
    const connection = await operator.createConnection({ provider, apiKey: "daily-credential-number-0" })
    // Five hours from now by the clock of a zone without summer time, at the full hour.
    const hour = new Date(Date.now() + (5 + 9) * HOUR).getUTCHours()
    await operator.call("PUT", `/api/provider-nodes/${provider}`, { dailyQuotaResetTimezone: "Asia/Tokyo", dailyQuotaResetHour: hour })
    const reset = Math.floor((Date.now() + 5 * HOUR) / HOUR) * HOUR
    await lab.sim.rule({ match: { model: "spent" }, script: { status: 429, retryAfter: 40, error: { message: "You have exceeded your daily quota" } } })
    expect((await lab.chat({ model: "daily/spent" })).status).toBe(429)
    const refused = await lab.chat({ model: "daily/another" })
    expect([refused.status, errorIn(refused)["code"]]).toEqual([429, "model_cooldown"])
    const seconds = Number(refused.headers["retry-after"])
    expect(Math.abs(Date.now() + seconds * 1_000 - reset)).toBeLessThan(60_000)
    await operator.call("PUT", `/api/provider-nodes/${provider}`, { dailyQuotaResetTimezone: null, dailyQuotaResetHour: null })
    // The operator knows better. A word that comes before the cooldown is stored is not heard.
    await eventually(async () => {
      await operator.call("PUT", `/api/providers/${connection}`, { rateLimitedUntil: null })
      return (await lab.chat({ model: "daily/another" })).status
    }, (status) => status === 200, "the end of the cooldown")
    expect((await lab.chat({ model: "daily/spent" })).status).toBe(429)
    // Without the node's word the refusal is its model's, for as long as the upstream says.
    expect(Number(errorIn(await lab.chat({ model: "daily/spent" }))["retry_after"])).toBeLessThanOrEqual(40)
    expect((await lab.chat({ model: "daily/another" })).status).toBe(200)
  })
})
