/** Rates and sessions of keys over HTTP: rateLimits, maxRequestsPerMinute, maxRequestsPerDay, maxSessions, DEFAULT_RATE_LIMIT_PER_DAY. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

const permanent = "sk-environment-0123456789"

let lab: Lab
let bounded: Lab
beforeAll(async () => {
  lab = await startLab()
  bounded = await startLab({ environment: { DEFAULT_RATE_LIMIT_PER_DAY: "2", GATEWAY_API_KEY: permanent } })
})
afterAll(async () => {
  await lab.close()
  await bounded.close()
})

const keyed = async (at: Lab, policy: Record<string, unknown>) => {
  const key = await at.gateway.operator.createKey("k", policy)
  return (headers: Record<string, string> = {}) => at.chat({ model: "m" }, { authorization: `Bearer ${key.key}`, ...headers })
}

describe("rates of a key", () => {
  it("rateLimits: so many requests in any window, the next one 429 with the time until a place is free", async () => {
    const ask = await keyed(lab, { rateLimits: [{ limit: 3, window: 600 }, { limit: 100, window: 86_400 }] })
    const replies = await Promise.all(Array.from({ length: 10 }, () => ask()))
    expect(replies.map(({ status }) => status).sort()).toEqual([200, 200, 200, 429, 429, 429, 429, 429, 429, 429])
    const refused = await ask()
    expect(errorIn(refused)).toMatchObject({ type: "rate_limit_error", code: "rate_limit_exceeded" })
    const seconds = Number(refused.headers["retry-after"])
    expect(seconds).toBeGreaterThan(580)
    expect(seconds).toBeLessThanOrEqual(600)
  })

  it("a window of seconds has its places again when it is over", async () => {
    const ask = await keyed(lab, { rateLimits: [{ limit: 1, window: 3 }] })
    expect((await ask()).status).toBe(200)
    const refused = await ask()
    expect(refused.status).toBe(429)
    expect(refused.headers["retry-after"]).toMatch(/^[1-3]$/)
    const replies = new Set<number>()
    await eventually(async () => (await ask()).status, (status) => replies.add(status).has(200), "the place of the next window")
    expect([...replies].filter((status) => status !== 429)).toEqual([200])
  })

  it("maxRequestsPerMinute and maxRequestsPerDay are the older form of the same", async () => {
    const minute = await keyed(lab, { maxRequestsPerMinute: 1 })
    expect((await minute()).status).toBe(200)
    expect(Number((await minute()).headers["retry-after"])).toBeLessThanOrEqual(60)
    const day = await keyed(lab, { maxRequestsPerDay: 1, maxRequestsPerMinute: 50 })
    expect((await day()).status).toBe(200)
    const wait = Number((await day()).headers["retry-after"])
    expect(wait).toBeGreaterThan(80_000)
    expect(wait).toBeLessThanOrEqual(86_400)
  })

  it("a request that one rate refuses takes no place of the others", async () => {
    const ask = await keyed(lab, { rateLimits: [{ limit: 4, window: 86_400 }, { limit: 1, window: 1 }] })
    const replies = new Set<string>()
    let served = 0
    while (served < 4) {
      const reply = await ask()
      if (reply.status === 200) served++
      else replies.add(reply.headers["retry-after"] ?? "none")
    }
    expect([...replies]).toEqual(["1"])
  })

  it("DEFAULT_RATE_LIMIT_PER_DAY bounds keys without rates of their own, and no others", async () => {
    const plain = await keyed(bounded, {})
    expect([(await plain()).status, (await plain()).status, (await plain()).status]).toEqual([200, 200, 429])
    const own = await keyed(bounded, { rateLimits: [{ limit: 5, window: 60 }] })
    for (let i = 0; i < 4; i++) expect((await own()).status).toBe(200)
  })

  it("DEFAULT_RATE_LIMIT_PER_DAY does not bound the permanent key of the environment: it has full access", async () => {
    for (let i = 0; i < 4; i++) expect((await bounded.chat({ model: "m" }, { authorization: `Bearer ${permanent}` })).status).toBe(200)
  })

  it("a model that the key may not ask for, or that there is not, is refused before anything is counted", async () => {
    const { operator } = lab.gateway
    const key = await operator.createKey("k", { modelAccessMode: "restricted", allowedModels: ["lab/m"], rateLimits: [{ limit: 1, window: 600 }], maxSessions: 1 })
    const ask = async (model: string, session: string) => (await lab.chat({ model }, { authorization: `Bearer ${key.key}`, "x-session-id": session })).status
    expect([await ask("forbidden", "one"), await ask("nowhere/m", "two")]).toEqual([403, 404])
    expect([await ask("m", "three"), await ask("m", "three"), await ask("forbidden", "four")]).toEqual([200, 429, 403])
  })

  it("what a rate has seen stands after a restart", async () => {
    const ask = await keyed(lab, { maxRequestsPerDay: 2 })
    expect((await ask()).status).toBe(200)
    await lab.gateway.restart()
    await lab.gateway.operator.login()
    expect([(await ask()).status, (await ask()).status]).toEqual([200, 429])
  })
})

describe("maxSessions", () => {
  it("so many session tags are served at once; known ones and requests without a tag go on", async () => {
    const ask = await keyed(lab, { maxSessions: 2 })
    const as = async (session: string) => (await ask({ "x-session-id": session })).status
    expect([await as("one"), await as("two"), await as("three"), await as("one"), await as("two")]).toEqual([200, 200, 429, 200, 200])
    expect((await ask()).status).toBe(200)
    // A tag for cost attribution is no session.
    for (const tag of ["a", "b", "c"]) expect((await ask({ "x-gateway-session-id": tag })).status).toBe(200)
    const refused = await ask({ "x-session-id": "four", "x-gateway-session-id": "one" })
    expect([errorIn(refused)["code"], refused.headers["retry-after"]]).toEqual(["rate_limit_exceeded", "300"])
  })
})
