/** Waiting in line for a connection, a model of a combo, or for nothing but time. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import type { TruthEntry } from "#src/simulator/TruthLog.ts"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
beforeAll(async () => {
  lab = await startLab()
})
afterAll(() => lab.close())

interface Row {
  readonly connectionId: string
  readonly queued: number
  readonly running: number
}

/** Requests whose client had left, by the log's own count. */
const left = async (): Promise<number> => {
  const { text } = await Http.send(lab.gateway.url, { path: "/metrics" })
  return Number(/gateway_requests_total\{[^}]*status="499"[^}]*\} (\d+)/.exec(text)?.[1] ?? 0)
}
const oneMoreLeft = (before: number) => eventually(left, (count) => count === before + 1, "the log's 499")

/** A stream that takes a place until its client leaves. */
const endless = { tokens: 100_000, paceMs: 20 }

let made = 0
/** A provider of its own; `protect` switches its line on, `first` is how its first call goes. */
const pool = async (script: Record<string, unknown>, connections = 1, protect = true, first: Record<string, unknown> | null = null) => {
  const prefix = `q${++made}`
  const keys = Array.from({ length: connections }, (_, index) => `${prefix}-credential-number-${index}`)
  const ids = await lab.pool(prefix, keys)
  if (first !== null) await lab.sim.rule({ id: `${prefix}-first`, match: { model: `m-${prefix}` }, script: first, times: 1 })
  await lab.sim.rule({ id: prefix, match: { model: `m-${prefix}` }, script })
  if (protect) for (const connectionId of ids) await lab.gateway.operator.call("POST", "/api/rate-limits", { connectionId, enabled: true })
  const model = `${prefix}/m-${prefix}`
  return { model, ids, chat: (more: Record<string, unknown> = {}) => lab.chat({ model, ...more }), entries: () => lab.sim.entries({ model: `m-${prefix}` }) }
}

const none = { requestsPerMinute: 0, minTimeBetweenRequestsMs: 0, concurrentRequests: 0, maxWaitMs: 15_000, executionMaxWaitMs: 0, maxQueueDepth: 0 }
/** The section as the test wants it, everything else off. */
const queue = (section: Record<string, number>) => lab.gateway.operator.call("PATCH", "/api/resilience", { requestQueue: { ...none, ...section } })

const row = async (id: string): Promise<Row> => {
  const { connections } = await lab.gateway.operator.call<{ connections: ReadonlyArray<Row> }>("GET", "/api/rate-limits")
  return connections.find(({ connectionId }) => connectionId === id) ?? { connectionId: id, queued: -1, running: -1 }
}
const seen = (id: string, running: number, queued: number) =>
  eventually(() => row(id), (now) => now.running === running && now.queued === queued, `${running} running and ${queued} queued`)

/** How long all requests of conversations took that are over, by the metrics. */
const secondsTold = async (): Promise<number> => {
  const { text } = await Http.send(lab.gateway.url, { path: "/metrics" })
  return Number(/^gateway_request_duration_seconds_sum\{endpoint="\/v1\/chat\/completions"\} (\S+)$/m.exec(text)?.[1] ?? 0)
}

/** Most requests that were open at once, by the simulator's own log. */
const mostAtOnce = (entries: ReadonlyArray<TruthEntry>): number =>
  Math.max(...entries.map((entry) => entries.filter((other) => other.at <= entry.at && (other.endedAt ?? Infinity) > entry.at).length))

describe("the line of a connection", () => {
  it("ten callers with concurrentRequests 2: never more than 2 upstream, all answered, in the order of arrival", async () => {
    await queue({ concurrentRequests: 2 })
    const { chat, entries, ids: [id = ""] } = await pool({ latencyMs: 400, text: "done" })
    const calls: Array<Promise<Http.Reply>> = []
    for (let i = 0; i < 10; i++) {
      calls.push(chat({ user: `caller-${i}` }))
      await eventually(async () => { const now = await row(id); return now.queued + now.running + (await entries()).filter((one) => one.endedAt !== null).length }, (count) => count >= i + 1, `caller ${i}`)
    }
    expect((await Promise.all(calls)).map((reply) => reply.status)).toEqual(Array.from({ length: 10 }, () => 200))
    const log = [...await entries()].sort((a, b) => a.at - b.at)
    expect(mostAtOnce(log)).toBe(2)
    expect(log.map(({ body }) => (body as { user: string }).user)).toEqual(Array.from({ length: 10 }, (_, i) => `caller-${i}`))
    await seen(id, 0, 0)
  })

  it("depth reached: 429 RATE_LIMIT_QUEUE_FULL with Retry-After; the line moves on all the same", async () => {
    await queue({ concurrentRequests: 1, maxQueueDepth: 1 })
    const { chat, ids: [id = ""], model } = await pool({ text: "well" }, 1, true, endless)
    const first = await lab.stream({ model })
    await seen(id, 1, 0)
    const second = chat()
    await seen(id, 1, 1)
    const third = await chat()
    expect([third.status, errorIn(third)["code"], errorIn(third)["type"], third.headers["retry-after"]]).toEqual([429, "RATE_LIMIT_QUEUE_FULL", "rate_limit_error", "1"])
    first.leave()
    expect((await second).status).toBe(200)
    await seen(id, 0, 0)
  })

  it("waited longer than maxWaitMs: 429 with Retry-After, no wire call", async () => {
    await queue({ concurrentRequests: 1, maxWaitMs: 300 })
    const { chat, entries, ids: [id = ""], model } = await pool(endless)
    const held = await lab.stream({ model })
    await seen(id, 1, 0)
    const from = performance.now()
    const before = await secondsTold()
    const reply = await chat()
    expect([reply.status, errorIn(reply)["code"]]).toEqual([429, "rate_limit_exceeded"])
    expect(Number(reply.headers["retry-after"])).toBeGreaterThan(0)
    expect(performance.now() - from).toBeGreaterThanOrEqual(290)
    expect((await entries()).length).toBe(1)
    // The refusal took as long as the request had waited.
    expect(await secondsTold() - before).toBeGreaterThanOrEqual(0.29)
    held.leave()
    await seen(id, 0, 0)
  })

  it("execution longer than executionMaxWaitMs: 504 RATE_LIMIT_EXECUTION_TIMEOUT, and the place is free again", async () => {
    await queue({ concurrentRequests: 1, executionMaxWaitMs: 300 })
    const { chat, ids: [id = ""] } = await pool({ neverHead: true })
    const reply = await chat()
    expect([reply.status, errorIn(reply)["code"], errorIn(reply)["type"]]).toEqual([504, "RATE_LIMIT_EXECUTION_TIMEOUT", "server_error"])
    expect(await lab.rows(reply)).toMatchObject([{ outcome: "gateway-timeout", errorCode: "RATE_LIMIT_EXECUTION_TIMEOUT", final: true }])
    await seen(id, 0, 0)
  })

  it("a client that leaves the line costs nothing: 499 in the log, the next one moves up", async () => {
    const requestId = crypto.randomUUID()
    await queue({ concurrentRequests: 1 })
    const { chat, entries, ids: [id = ""], model } = await pool({ text: "well" }, 1, true, endless)
    const before = await left()
    const first = await lab.stream({ model })
    await seen(id, 1, 0)
    const leaving = Http.open(lab.gateway.url, lab.call({ model }, { "x-request-id": requestId }))
    await seen(id, 1, 1)
    const third = chat()
    await seen(id, 1, 2)
    leaving.request.destroy()
    await seen(id, 1, 1)
    await oneMoreLeft(before)
    first.leave()
    expect((await third).status).toBe(200)
    expect((await entries()).length).toBe(2)
    expect(await lab.gateway.rows(requestId)).toEqual([])
  })

  it("minTimeBetweenRequestsMs keeps calls apart", async () => {
    await queue({ minTimeBetweenRequestsMs: 250 })
    const { chat, entries } = await pool({})
    expect((await Promise.all([chat(), chat(), chat(), chat()])).map((reply) => reply.status)).toEqual([200, 200, 200, 200])
    const starts = (await entries()).map(({ at }) => at).sort((a, b) => a - b)
    for (const [index, at] of starts.slice(1).entries()) expect(at - (starts[index] ?? 0)).toBeGreaterThan(200)
  })

  it("requestsPerMinute: who cannot come in time hears truthfully when", async () => {
    await queue({ requestsPerMinute: 2, maxWaitMs: 200 })
    const { chat, entries } = await pool({})
    expect([(await chat()).status, (await chat()).status]).toEqual([200, 200])
    const third = await chat()
    expect(third.status).toBe(429)
    expect(Number(third.headers["retry-after"])).toBeGreaterThan(50)
    expect(Number(third.headers["retry-after"])).toBeLessThanOrEqual(61)
    expect((await entries()).length).toBe(2)
  })

  it("another connection that is free is asked before anybody waits", async () => {
    await queue({ concurrentRequests: 1 })
    const { chat, entries, ids } = await pool({ latencyMs: 1_000 }, 2)
    const replies = await Promise.all([chat(), chat()])
    expect(replies.map((reply) => reply.status)).toEqual([200, 200])
    expect(mostAtOnce(await entries())).toBe(2)
    const rows = (await Promise.all(replies.map((reply) => lab.rows(reply)))).flat()
    expect(rows.map(({ connectionId }) => connectionId).sort()).toEqual([...ids].sort())
  })
})

describe("nothing acts until it is set", () => {
  it("the section touches no connection whose protection is off; a cap of its own refuses at once", async () => {
    await queue({ concurrentRequests: 1, minTimeBetweenRequestsMs: 5_000 })
    const { chat, entries, ids: [id = ""] } = await pool({ latencyMs: 600 }, 1, false)
    const from = performance.now()
    expect((await Promise.all(Array.from({ length: 4 }, () => chat()))).map((reply) => reply.status)).toEqual([200, 200, 200, 200])
    expect(performance.now() - from).toBeLessThan(4_900)
    expect(mostAtOnce(await entries())).toBe(4)
    await lab.gateway.operator.changeConnection(id, { maxConcurrent: 1 })
    const held = chat()
    await seen(id, 1, 0)
    expect((await chat()).status).toBe(429)
    expect((await held).status).toBe(200)
  })

  it("flag RATE_LIMIT_AUTO_ENABLE switches it on for connections with a key", async () => {
    await queue({ concurrentRequests: 1 })
    await lab.gateway.operator.setFlag("RATE_LIMIT_AUTO_ENABLE", "true")
    const { chat, entries } = await pool({ latencyMs: 150 }, 1, false)
    expect((await Promise.all([chat(), chat(), chat()])).map((reply) => reply.status)).toEqual([200, 200, 200])
    expect(mostAtOnce(await entries())).toBe(1)
    await lab.gateway.operator.clearFlags()
  })

  it("a cap of the node or a provider is waited for, too, where the line is on", async () => {
    await queue({})
    const { chat, entries } = await pool({ latencyMs: 150 })
    await lab.gateway.operator.call("POST", "/api/admin/concurrency", { global: 1 })
    expect((await Promise.all([chat(), chat(), chat()])).map((reply) => reply.status)).toEqual([200, 200, 200])
    expect(mostAtOnce(await entries())).toBe(1)
    await lab.gateway.operator.call("POST", "/api/admin/concurrency", { global: 0 })
  })
})

describe("concurrencyPerModel of a combo", () => {
  const combo = async (models: ReadonlyArray<string>, config: Record<string, unknown>): Promise<string> => {
    const name = `line-${++made}`
    await lab.gateway.operator.call("POST", "/api/combos", { name, models, strategy: "priority", config: { maxRetries: 0, ...config } })
    return `combo/${name}`
  }

  it("more than the cap wait for their turn; the model alone has none", async () => {
    const { chat, entries, model } = await pool({ latencyMs: 400 }, 1, false)
    const capped = await combo([model], { concurrencyPerModel: 2 })
    expect((await Promise.all(Array.from({ length: 6 }, () => lab.chat({ model: capped })))).map((reply) => reply.status)).toEqual([200, 200, 200, 200, 200, 200])
    expect(mostAtOnce(await entries())).toBe(2)
    await Promise.all([chat(), chat(), chat(), chat()])
    expect(mostAtOnce(await entries())).toBe(4)
  })

  it("a repetition waits for its turn behind those who came meanwhile", async () => {
    await queue({ concurrentRequests: 1 })
    const { entries, ids: [id = ""], model } = await pool({ latencyMs: 300 }, 1, true, { status: 503, latencyMs: 300 })
    const repeating = await combo([model], { maxRetries: 1, retryDelayMs: 100 })
    const first = lab.chat({ model: repeating })
    await seen(id, 1, 0)
    const others = [lab.chat({ model }), lab.chat({ model })]
    await seen(id, 1, 2)
    const replies = await Promise.all([first, ...others])
    expect(replies.map((reply) => reply.status)).toEqual([200, 200, 200])
    expect(replies[0]?.headers["x-gateway-fallback-attempts"]).toBe("1")
    expect(mostAtOnce(await entries())).toBe(1)
  })

  it("the next target takes what the first cannot; with queueDepth 0 nobody waits", async () => {
    const one = await pool({ latencyMs: 1_000 }, 1, false)
    const two = await pool({ latencyMs: 1_000 }, 1, false)
    const capped = await combo([one.model, two.model], { concurrencyPerModel: 1, queueDepth: 0 })
    const replies = await Promise.all([lab.chat({ model: capped }), lab.chat({ model: capped }), lab.chat({ model: capped })])
    expect(replies.map((reply) => reply.status).sort()).toEqual([200, 200, 429])
    expect([(await one.entries()).length, (await two.entries()).length]).toEqual([1, 1])
  })

  it("queueTimeoutMs ends the wait", async () => {
    const slow = await pool(endless, 1, false)
    const capped = await combo([slow.model], { concurrencyPerModel: 1, queueTimeoutMs: 2_000 })
    const first = await lab.stream({ model: capped })
    await seen(slow.ids[0] ?? "", 1, 0)
    const from = performance.now()
    const second = lab.chat({ model: capped })
    const semaphores = async () => (await lab.gateway.operator.call<{ semaphores: Record<string, unknown> }>("GET", "/api/admin/concurrency")).semaphores
    await eventually(semaphores, (all) => Object.entries(all).some(([id, seen]) => id.includes("/m-") && JSON.stringify(seen) === '{"running":1,"queued":1,"max":1}'), "the model's semaphore")
    expect((await second).status).toBe(429)
    expect(performance.now() - from).toBeGreaterThanOrEqual(1_950)
    first.leave()
  })
})

describe("throttleDelayMs of a key", () => {
  it("is added before dispatch; who leaves meanwhile costs nothing", async () => {
    const { entries, model } = await pool({}, 1, false)
    const { key } = await lab.gateway.operator.createKey("throttled", { throttleDelayMs: 400 })
    const from = performance.now()
    const reply = await lab.chat({ model }, { authorization: `Bearer ${key}` })
    expect([reply.status, performance.now() - from >= 390]).toEqual([200, true])
    const before = await left()
    const leaving = Http.open(lab.gateway.url, lab.call({ model }, { authorization: `Bearer ${key}` }))
    // One more answer: the first bytes of the other have long been read.
    await lab.gateway.operator.call("GET", "/api/admin/concurrency")
    leaving.request.destroy()
    await oneMoreLeft(before)
    await lab.chat({ model }, { authorization: `Bearer ${key}` })
    expect((await entries()).length).toBe(2)
  })
})

describe("a shutdown", () => {
  it("ends every wait at once with the shutting-down error", async () => {
    const other = await startLab()
    const { operator } = other.gateway
    await operator.call("PATCH", "/api/resilience", { requestQueue: { ...none, concurrentRequests: 1 } })
    await operator.call("POST", "/api/rate-limits", { connectionId: other.connection, enabled: true })
    await other.sim.rule({ match: { model: "held" }, script: { latencyMs: 3_000 } })
    const held = other.chat({ model: "held" })
    const overview = async () => (await operator.call<{ overview: { queued: number; running: number } }>("GET", "/api/rate-limits")).overview
    await eventually(overview, ({ running }) => running === 1, "one upstream")
    const waiting = Promise.all([1, 2, 3].map(() => other.chat({ model: "held" })))
    await eventually(overview, ({ queued }) => queued === 3, "three in line")
    const closed = other.close()
    const replies = await waiting
    expect(replies.map((reply) => [reply.status, errorIn(reply)["code"]])).toEqual([1, 2, 3].map(() => [503, "shutting_down"]))
    expect((await held).status).toBe(200)
    await closed
  })
})
