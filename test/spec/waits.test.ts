/** Waiting for the end of a cooldown, and coming back from one without a herd. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { watchLate } from "#test/support/late.ts"
import { contentOf, errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab({ resilience: "awake" })
})
afterAll(() => lab.close())

const waits = { enabled: true, maxRetries: 3, maxRetryWaitSec: 30 }
const comboWaits = { enabled: false, maxWaitMs: 5_000, maxAttempts: 2, budgetMs: 30_000 }
const settings = (change: Record<string, unknown>) => lab.gateway.operator.call("PATCH", "/api/resilience", change)
beforeEach(() => settings({ waitForCooldown: waits, comboCooldownWait: comboWaits }))

let made = 0
/** One connection that tells its first callers to rest, and answers by the script afterwards. */
const limited = async (retryAfter: number, script: Record<string, unknown> = {}, refusals = 1) => {
  const prefix = `w${++made}`
  const name = `m-${prefix}`
  const [connection = ""] = await lab.pool(prefix, [`${prefix}-credential-number-0`])
  await lab.sim.rule({ id: `${prefix}-limit`, match: { model: name }, script: { status: 429, retryAfter, error: { message: "limit" } }, times: refusals })
  await lab.sim.rule({ id: prefix, match: { model: name }, script })
  const model = `${prefix}/${name}`
  const chat = (more: Record<string, unknown> = {}) => lab.chat({ model, ...more })
  return { model, connection, chat, entries: async () => [...await lab.sim.entries({ model: name })].sort((a, b) => a.at - b.at) }
}

/** One that was just told so, by a client that did not wait. */
const cooling = async (retryAfter: number, script: Record<string, unknown> = {}, refusals = 1) => {
  const one = await limited(retryAfter, script, refusals)
  await settings({ waitForCooldown: { enabled: false } })
  expect((await one.chat()).status).toBe(429)
  await settings({ waitForCooldown: waits })
  return one
}

const queued = async (connection: string): Promise<number> => {
  const { connections } = await lab.gateway.operator.call<{ connections: ReadonlyArray<{ connectionId: string; queued: number }> }>("GET", "/api/rate-limits")
  return connections.find(({ connectionId }) => connectionId === connection)?.queued ?? -1
}
const line = (connection: string, count: number) => eventually(() => queued(connection), (seen) => seen === count, `${count} in line`)

describe("waitForCooldown", () => {
  it("when every connection rests by the upstream's word, the request waits for the first that comes back", async () => {
    const { chat, entries } = await cooling(1, { text: "well again" })
    expect((await chat()).status).toBe(200)
    const [refused, answered] = await entries()
    expect((answered?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThanOrEqual(990)
  })

  it("the request that itself hears of the rest waits, too, and leaves a row for each call", async () => {
    const { chat, entries } = await limited(1, { text: "well again" })
    const from = performance.now()
    const reply = await chat()
    expect([reply.status, reply.headers["x-gateway-fallback-attempts"], performance.now() - from > 500]).toEqual([200, "1", true])
    const [refused, answered] = await entries()
    expect((answered?.at ?? 0) - (refused?.at ?? 0)).toBeGreaterThanOrEqual(990)
    expect((await lab.rows(reply)).map(({ final, status }) => [status, final])).toEqual([[429, false], [200, true]])
  })

  it("it waits for the first of several connections that all rest, and streams like any other", async () => {
    const prefix = `w${++made}`
    const name = `m-${prefix}`
    await lab.pool(prefix, [`${prefix}-credential-number-0`, `${prefix}-credential-number-1`])
    for (const [i, retryAfter] of [20, 1].entries()) {
      await lab.sim.rule({ match: { model: name, key: `${prefix}-credential-number-${i}` }, script: { status: 429, retryAfter, error: { message: "limit" } }, times: 1 })
    }
    await lab.sim.rule({ id: prefix, match: { model: name }, script: { text: "the second" } })
    const reply = await lab.chat({ model: `${prefix}/${name}`, stream: true })
    expect([reply.status, contentOf(reply.text)]).toEqual([200, "the second"])
    expect((await lab.sim.entries({ model: name })).map(({ key, status }) => [status, key?.last4])).toEqual([[429, "er-0"], [429, "er-1"], [200, "er-1"]])
  })

  it("it is told at once where nobody may wait, with the upstream's own word and one final row", async () => {
    const far = await limited(90)
    const from = performance.now()
    const refused = await far.chat()
    expect([refused.status, refused.headers["retry-after"], performance.now() - from < 10_000]).toEqual([429, "90", true])
    expect((await lab.rows(refused)).map(({ final, status }) => [status, final])).toEqual([[429, true]])
    await settings({ waitForCooldown: { enabled: false } })
    const off = await (await limited(2)).chat()
    expect([off.status, off.headers["retry-after"]]).toEqual([429, "2"])
  })

  it("its retries end after maxRetries", async () => {
    await settings({ waitForCooldown: { maxRetries: 2 } })
    const { chat, entries } = await limited(1, {}, 9)
    const reply = await chat()
    expect([reply.status, (await entries()).length]).toEqual([429, 3])
    expect((await lab.rows(reply)).map(({ final }) => final)).toEqual([false, false, true])
  })

  it("requestRetry and maxRetryIntervalSec are older names of the same values, and the newest change acts", async () => {
    const { operator } = lab.gateway
    const older = (change: Record<string, unknown>) => operator.call<Record<string, unknown>>("PATCH", "/api/settings", change)
    const shown = ({ requestRetry, maxRetryIntervalSec }: Record<string, unknown>) => [requestRetry, maxRetryIntervalSec]
    expect(shown(await older({ requestRetry: 1 }))).toEqual([1, 30])
    const { chat, entries } = await limited(1, {}, 9)
    const reply = await chat()
    expect([reply.status, (await entries()).length]).toEqual([429, 2])
    expect((await lab.rows(reply)).map(({ final, status }) => [status, final])).toEqual([[429, false], [429, true]])
    expect(shown(await older({ maxRetryIntervalSec: 1 }))).toEqual([1, 1])
    const far = await limited(2)
    expect([(await far.chat()).status, (await far.entries()).length]).toEqual([429, 1])
    const now = await operator.call<Record<string, unknown>>("GET", "/api/resilience")
    expect([now["waitForCooldown"], now["legacy"]]).toEqual([{ enabled: true, maxRetries: 1, maxRetryWaitSec: 1 }, { requestRetry: 1, maxRetryIntervalSec: 1 }])
    await settings({ waitForCooldown: { maxRetries: 4 } })
    expect(shown(await operator.call("GET", "/api/settings"))).toEqual([4, 1])
  })

  it("a client that leaves in its own wait costs no further call", async () => {
    const requestId = crypto.randomUUID()
    const { connection, entries, model } = await limited(2)
    const leaving = Http.open(lab.gateway.url, lab.call({ model }, { "x-request-id": requestId }))
    leaving.response.catch(() => undefined)
    await line(connection, 1)
    leaving.request.destroy()
    await line(connection, 0)
    expect((await lab.rows({ headers: { "x-gateway-request-id": requestId } })).map(({ outcome }) => outcome)).toEqual(["upstream-status"])
    expect((await entries()).length).toBe(1)
  })

  it("a hundred waiting clients come back one after another, each answer letting one more go at once", async () => {
    const { chat, connection, entries } = await cooling(4, { latencyMs: 80 })
    const clients = Array.from({ length: 100 }, (_, i) => chat({ user: `client-${i}` }))
    await line(connection, 100)
    const replies = await Promise.all(clients)
    expect(replies.map((reply) => reply.status)).toEqual(replies.map(() => 200))
    const [, ...came] = await entries()
    expect(came.length).toBe(100)
    for (const [before, entry] of came.entries()) {
      // Answered when the gateway saw its first content, which is not before the simulator sent it.
      const answered = came.filter((other) => other.firstFrameAt !== null && other.firstFrameAt <= entry.at).length
      expect(before - answered, `call ${before}`).toBeLessThanOrEqual(answered)
    }
    await line(connection, 0)
  })

  it("a probe that is refused again keeps the others waiting, and they are answered in the end", async () => {
    const { chat, connection, entries } = await cooling(2, {}, 2)
    const clients = Array.from({ length: 5 }, () => chat())
    await line(connection, 5)
    const statuses = (await Promise.all(clients)).map((reply) => reply.status).sort()
    expect(statuses).toEqual([200, 200, 200, 200, 200])
    expect((await entries()).length).toBe(7)
  })

  it("an end that is farther away than maxRetryWaitSec is told at once, and so is every end when it is off", async () => {
    const far = await cooling(8)
    await settings({ waitForCooldown: { maxRetryWaitSec: 2 } })
    const from = performance.now()
    const refused = await far.chat()
    expect([refused.status, errorIn(refused)["code"], Number(refused.headers["retry-after"]) > 2]).toEqual([429, "model_cooldown", true])
    await settings({ waitForCooldown: { enabled: false, maxRetryWaitSec: 30 } })
    expect((await far.chat()).status).toBe(429)
    expect(performance.now() - from).toBeLessThan(6_000)
    expect((await far.entries()).length).toBe(1)
  })

  it("who waits is told as soon as the end moves too far away", async () => {
    const { chat, connection, model } = await cooling(2, { status: 429, retryAfter: 3_600, error: { message: "limit" } })
    const clients = Array.from({ length: 4 }, () => chat())
    await line(connection, 4)
    const replies = await Promise.all(clients)
    expect(replies.map((reply) => [reply.status, Number(reply.headers["retry-after"]) > 3_000])).toEqual([1, 2, 3, 4].map(() => [429, true]))
    expect(model).toContain("/")
    await line(connection, 0)
  })

  it("a client that leaves meanwhile costs nothing", async () => {
    const { chat, connection, entries, model } = await cooling(3)
    const leaving = Http.open(lab.gateway.url, lab.call({ model }))
    await line(connection, 1)
    const staying = chat()
    await line(connection, 2)
    leaving.request.destroy()
    await line(connection, 1)
    expect((await staying).status).toBe(200)
    expect((await entries()).length).toBe(2)
  })

  it("a guess of ours is not waited for: it is passed over", async () => {
    const prefix = `w${++made}`
    await lab.pool(prefix, [`${prefix}-credential-number-0`])
    await lab.sim.rule({ id: `${prefix}-down`, match: { model: `m-${prefix}` }, script: { status: 503 }, times: 1 })
    expect((await lab.chat({ model: `${prefix}/m-${prefix}` })).status).toBe(503)
    const late = watchLate()
    const from = performance.now()
    expect((await lab.chat({ model: `${prefix}/m-${prefix}` })).status).toBe(200)
    expect(performance.now() - from).toBeLessThan(1_000 + late())
  })
})

describe("a breaker behind a cooldown", () => {
  /** A provider that fails two requests at once, which opens its breaker (a local one opens at two) in front of the cooldowns. */
  const broken = async (script: Record<string, unknown>) => {
    const prefix = `w${++made}`
    await lab.pool(prefix, [`${prefix}-credential-number-0`, `${prefix}-credential-number-1`])
    await lab.sim.rule({ id: prefix, match: { model: `m-${prefix}` }, script: { error: { message: "down" }, latencyMs: 300, ...script } })
    const model = `${prefix}/m-${prefix}`
    const [first] = await Promise.all([lab.chat({ model }), lab.chat({ model })])
    return { model, calls: async () => (await lab.sim.entries({ model: `m-${prefix}` })).length, first }
  }
  const explained = (model: string) => lab.gateway.operator.call<{
    lastResort: boolean; targets: ReadonlyArray<{ skipped: { reason: string; until: string } | null }>; error: { code: string; status: number; retryAfterSeconds: number } | null
  }>("POST", "/api/routing/explain", { model })

  it.each([["the vendor's word", { status: 503, retryAfter: 2 }], ["our own guess", { status: 503 }]])("%s does not hide it: nobody waits for the cooldown's end only to be refused", async (_, script) => {
    const { calls, first, model } = await broken(script)
    // The breaker of a local provider rests 15 s; what the upstream said ends before.
    expect([first.status, Number(first.headers["retry-after"]) > 5]).toEqual([503, true])
    const before = await calls()
    const from = performance.now()
    const late = watchLate()
    const refused = await lab.chat({ model })
    expect([refused.status, errorIn(refused)["code"]]).toEqual([503, "provider_circuit_open"])
    expect(Number(refused.headers["retry-after"])).toBeGreaterThan(5)
    expect(performance.now() - from).toBeLessThan(1_000 + late())
    expect(await calls()).toBe(before)
    const dry = await explained(model)
    expect([dry.lastResort, dry.targets.map(({ skipped }) => skipped?.reason), dry.error?.code]).toEqual([false, ["breaker-open", "breaker-open"], "provider_circuit_open"])
    expect(dry.error?.retryAfterSeconds).toBeGreaterThan(5)
    const name = `behind-${model.replace("/", "-")}`
    await lab.gateway.operator.call("POST", "/api/combos", { name, models: [model] })
    const ofCombo = await lab.chat({ model: `combo/${name}` })
    expect([ofCombo.status, Number(ofCombo.headers["retry-after"]) > 5]).toEqual([503, true])
    expect(errorIn(ofCombo)).toMatchObject({ diagnostics: { attempted: 0, excluded: [{ reason: "breaker-open" }, { reason: "breaker-open" }] } })
    expect((await explained(`combo/${name}`)).lastResort).toBe(false)
  })
})

describe("the total deadline", () => {
  it("counts the wait: what is left of it bounds the call", async () => {
    const other = await startLab({ resilience: "awake", environment: { GATEWAY_TOTAL_TIMEOUT_MS: "3000" } })
    await other.sim.rule({ id: "limit", match: { model: "late" }, script: { status: 429, retryAfter: 2, error: { message: "limit" } }, times: 1 })
    await other.sim.rule({ id: "late", match: { model: "late" }, script: { neverHead: true } })
    await other.gateway.operator.call("PATCH", "/api/resilience", { waitForCooldown: { enabled: false } })
    expect((await other.chat({ model: "late" })).status).toBe(429)
    await other.gateway.operator.call("PATCH", "/api/resilience", { waitForCooldown: waits })
    const from = performance.now()
    const reply = await other.chat({ model: "late" })
    const took = performance.now() - from
    expect([reply.status, errorIn(reply)["code"]]).toEqual([504, "upstream_total_timeout"])
    expect(took).toBeGreaterThan(2_800)
    // Without the wait it would be 3 s after the two of waiting.
    expect(took).toBeLessThan(4_500)
    await other.close()
  })
})

describe("comboCooldownWait", () => {
  const combo = async (models: ReadonlyArray<string>): Promise<string> => {
    const name = `waits-${++made}`
    await lab.gateway.operator.call("POST", "/api/combos", { name, models, strategy: "priority", config: { maxRetries: 0 } })
    return `combo/${name}`
  }

  it("is off until somebody switches it on", async () => {
    const one = await cooling(20)
    const name = await combo([one.model])
    const from = performance.now()
    expect((await lab.chat({ model: name })).status).toBe(503)
    expect(performance.now() - from).toBeLessThan(10_000)
  })

  it("waits for the first target that comes back, within maxWaitMs", async () => {
    await settings({ comboCooldownWait: { enabled: true, maxWaitMs: 4_000 } })
    const soon = await cooling(1, { text: "soon" })
    const late = await cooling(60, { text: "late" })
    const reply = await lab.chat({ model: await combo([late.model, soon.model]) })
    expect([reply.status, reply.text.includes("soon")]).toEqual([200, true])
    expect((await lab.chat({ model: await combo([late.model]) })).status).toBe(503)
  })
})
