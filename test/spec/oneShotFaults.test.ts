/**
 * One row per way an upstream or a client fails, for every kind of request without a conversation: the reply, the ledger's rows against the
 * upstream's own log, what is charged, what breaker and cooldown make of it, and that a combo goes on.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { callOf, type OneShot, oneShots, type Place, placeOf, rowsOf } from "#test/support/oneShots.ts"
import { eventually } from "#test/support/operator.ts"
import { publicNames } from "#test/support/pages.ts"

/** Guesses far from every hint of the table, s. */
const TRANSIENT = 1_000
/** A slow machine between an answer and a look at it, s. */
const late = 15

interface Fault {
  readonly name: string
  readonly script: Record<string, unknown>
  readonly reply: readonly [status: number, code: string, retryAfter?: number]
  readonly outcome: string
  /** Status of the row, where it is not the reply's. */
  readonly status?: number
  /** Counted failures of the breaker; 0 unless given. */
  readonly counts?: 1
  /** How long the model rests, s; 0 unless given. */
  readonly rests?: number
}

const error = { message: "it broke", code: "internal" }

const faults: ReadonlyArray<Fault> = [
  { name: "429 with Retry-After", script: { status: 429, retryAfter: 77, error: { message: "slow down" } }, reply: [429, "rate_limit_exceeded", 77], outcome: "upstream-status", rests: 77 },
  { name: "400", script: { status: 400, error: { message: "it is odd", code: "odd" } }, reply: [400, "odd"], outcome: "upstream-status" },
  { name: "401", script: { status: 401 }, reply: [401, "invalid_api_key"], outcome: "upstream-status" },
  { name: "500", script: { status: 500, error }, reply: [500, "internal"], outcome: "upstream-status", counts: 1, rests: TRANSIENT },
  { name: "an error with status 200", script: { status: 200, body: { error: { ...error, type: "server_error" } } }, reply: [502, "internal"], outcome: "upstream-status", counts: 1, rests: TRANSIENT },
  { name: "a reset before the head", script: { resetAfter: "request" }, reply: [502, "upstream_reset"], outcome: "upstream-reset", counts: 1, rests: TRANSIENT },
  { name: "an answer cut short", script: { status: 200, body: { hello: "there" }, closeAfter: { bytes: 5 } }, reply: [502, "upstream_reset"], outcome: "upstream-reset", counts: 1, rests: TRANSIENT },
  { name: "silence", script: { neverHead: true }, reply: [504, "upstream_headers_timeout"], outcome: "gateway-timeout", counts: 1, rests: TRANSIENT },
  { name: "a page", script: { html: true }, reply: [502, "upstream_invalid_response"], outcome: "parse-error", counts: 1, rests: TRANSIENT },
  { name: "another document", script: { status: 200, body: { hello: "there" } }, reply: [502, "upstream_invalid_response"], outcome: "parse-error", counts: 1, rests: TRANSIENT },
  { name: "no JSON", script: { status: 200, body: "}{", contentType: "application/json" }, reply: [502, "upstream_invalid_response"], outcome: "parse-error", counts: 1, rests: TRANSIENT },
  { name: "an empty answer", script: { status: 200, body: "", contentType: "application/json" }, reply: [502, "upstream_invalid_response"], outcome: "parse-error", counts: 1, rests: TRANSIENT },
  { name: "an empty object", script: { status: 200, body: {} }, reply: [502, "upstream_invalid_response"], outcome: "parse-error", counts: 1, rests: TRANSIENT }
]

let lab: Lab
beforeAll(async () => {
  lab = await startLab({
    resilience: "awake", network: publicNames, environment: { FETCH_HEADERS_TIMEOUT_MS: "1500", STREAM_READINESS_TIMEOUT_MS: "1500", GATEWAY_MAX_ATTEMPTS: "4" }
  })
  const cooldown = { baseCooldownMs: TRANSIENT * 1_000, rateLimitCooldownMs: 5 * TRANSIENT * 1_000 }
  const breaker = { degradationThreshold: 500, failureThreshold: 1_000 }
  await lab.gateway.operator.call("PATCH", "/api/resilience", {
    connectionCooldown: { local: cooldown, apikey: cooldown }, providerBreaker: { local: breaker, apikey: breaker }, waitForCooldown: { enabled: false }
  })
})
afterAll(() => lab.close())

/** Failures of a provider that its breaker counts, and the models of a connection that rest, s. */
const stateOf = async ({ connection, prefix }: Place) => {
  const { operator } = lab.gateway
  const { breakers } = await operator.call<{ breakers: ReadonlyArray<{ provider: string; failures: number }> }>("GET", "/api/resilience")
  const { connections } = await operator.call<{ connections: ReadonlyArray<{ connectionId: string; rateLimitedUntil: string | null }> }>("GET", "/api/rate-limits")
  const { items } = await operator.call<{ items: ReadonlyArray<{ connectionId: string; model: string; remainingMs: number }> }>("GET", "/api/resilience/model-cooldowns")
  return {
    failures: breakers.find(({ provider }) => provider === prefix)?.failures ?? 0,
    until: connections.find(({ connectionId }) => connectionId === connection)?.rateLimitedUntil ?? null,
    models: items.filter(({ connectionId }) => connectionId === connection)
  }
}

const near = (seconds: number, expected: number): void => {
  expect(seconds).toBeLessThanOrEqual(expected + 1)
  expect(seconds).toBeGreaterThan(expected - late)
}

let made = 0

/** A model of the kind, with a price, that does what the script says. */
const modelOf = async (kind: OneShot, { prefix, price }: Place, script: Record<string, unknown>) => {
  const model = `of-${kind.kind}-${++made}`
  await price(model, kind.price)
  await lab.sim.rule({ match: { model }, script })
  return { model, asked: `${prefix}/${model}` }
}

const at = async <A>(kind: OneShot, work: (place: Place) => Promise<A>): Promise<A> => {
  const place = await placeOf(kind, lab)
  try {
    return await work(place)
  } finally {
    await place.remove()
  }
}

const seen = (model: string) => lab.sim.entries({ model })
const ended = (model: string) => eventually(() => seen(model), (entries) => entries.length > 0 && entries.every(({ outcome }) => outcome !== "open"), `the end of the calls of ${model}`)

/** Every call that reached the upstream has its row, and no row is without its call. */
const agree = async (model: string, count = 1) => {
  const calls = await ended(model)
  const rows = await eventually(() => rowsOf(lab, model), ({ length }) => length >= calls.length, `the rows of ${model}`)
  expect([calls.length, rows.length]).toEqual([count, count])
  for (const [i, row] of rows.entries()) if (row.upstreamStatus !== 0) expect(row.upstreamStatus).toBe(calls[i]?.status)
  return rows
}

const nothing = { units: null, costUsd: 0, tokensIn: 0, tokensOut: 0 }

describe.each(oneShots)("$kind", (kind) => {
  it.each(faults)("under $name", (fault) => at(kind, async (place) => {
    const { counts = 0, outcome, reply: [status, code, retryAfter], rests = 0, script } = fault
    // What the upstream itself said with a status; a break of the connection has the gateway's own code.
    const said = kind.codes?.[Number(script["status"])]
    const told = kind.hidden?.includes(status) === true ? 502 : status
    const { asked, model } = await modelOf(kind, place, script)
    const before = await stateOf(place)
    const reply = await Http.send(lab.gateway.url, callOf(kind, asked))
    expect([reply.status, errorIn(reply)["code"], reply.headers["content-type"], reply.whole]).toEqual([told, outcome === "upstream-status" ? said ?? code : code, "application/json", true])
    if (retryAfter === undefined) expect(reply.headers).not.toHaveProperty("retry-after")
    else near(Number(reply.headers["retry-after"]), retryAfter)
    const after = await stateOf(place)
    expect([after.failures - before.failures, after.until]).toEqual([counts, null])
    expect(after.models.map((rest) => rest.model)).toEqual(rests === 0 ? [] : [model])
    if (rests > 0) near((after.models[0]?.remainingMs ?? 0) / 1_000, rests)
    const rows = await agree(model)
    expect(rows).toMatchObject([{ outcome, final: true, clientStatus: told, status: fault.status ?? status, connectionId: place.connection, ...nothing }])
  }))

  it.each(faults.filter(({ reply: [status] }) => status !== 400))("under $name goes on in a combo, and pays once", ({ outcome, script }) => at(kind, async (place) => {
    const [bad, good] = [await modelOf(kind, place, script), await modelOf(kind, place, {})]
    const name = `of-combo-${++made}`
    await lab.gateway.operator.call("POST", "/api/combos", { name, models: [bad.asked, good.asked], config: { maxRetries: 0 } })
    const reply = await Http.send(lab.gateway.url, callOf(kind, `combo/${name}`))
    expect([reply.status, reply.whole, reply.headers["x-gateway-model"], reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, true, good.asked, "1"])
    expect(await lab.rows(reply)).toMatchObject([{ outcome, final: false, clientStatus: 0, ...nothing }, { outcome: "completed", final: true, clientStatus: 200 }])
    expect((await agree(bad.model))[0]?.costUsd).toBe(0)
    expect((await agree(good.model))[0]?.costUsd).toBeCloseTo(kind.costs ?? 1, 6)
  }))

  it("whose answer breaks in its middle is told as broken, and counts", () => at(kind, async (place) => {
    const { asked, model } = await modelOf(kind, place, { closeAfter: { bytes: 20 } })
    const before = await stateOf(place)
    const reply = await Http.send(lab.gateway.url, callOf(kind, asked))
    expect([reply.status, reply.whole]).toEqual(kind.streams === true ? [200, false] : [502, true])
    expect(await agree(model)).toMatchObject([{ outcome: "upstream-reset", final: true, status: 502, clientStatus: reply.status, ...kind.streams === true ? {} : nothing }])
    const after = await stateOf(place)
    expect([after.failures - before.failures, after.models.map((rest) => rest.model)]).toEqual([1, [model]])
  }))

  it.each([
    ["before", { neverHead: true }], ["during", { hangAfter: { bytes: 10 } }]
  ])("that its client leaves %s the answer ends the upstream's call and moves nothing", (when, script) => at(kind, async (place) => {
    const { asked, model } = await modelOf(kind, place, script)
    const before = await stateOf(place)
    const { request, response } = Http.open(lab.gateway.url, callOf(kind, asked))
    await eventually(() => seen(model), ([one]) => one?.outcome === "open" && (when === "before" || one.bytesSent >= 10), "the call of the upstream")
    if (when === "during" && kind.streams === true) await response
    request.destroy()
    await eventually(() => seen(model), ([one]) => one?.outcome === "client-aborted", "its end")
    const rows = await agree(model)
    expect(rows).toMatchObject([{ outcome: "client-abort", final: true, status: 499 }])
    // The upstream has read the request: what is known of its price is due.
    expect(rows[0]?.costUsd).toBeCloseTo(kind.reserves ? 1 : 0, 6)
    expect(await stateOf(place)).toEqual(before)
  }))
})

it("all calls of this file have their rows", async () => {
  expect(await lab.gateway.operator.settled()).toMatchObject({ gap: 0 })
})
