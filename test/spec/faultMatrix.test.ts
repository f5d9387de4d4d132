/**
 * One row per way an upstream fails: what the breaker, the cooldown of the model or its connection and the model's lockout make of it,
 * what the client hears, and that a combo goes on to its next target, be it another connection or another model of the same one.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as Http from "#test/support/http.ts"
import { contentOf, errorIn, type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

/** Guesses far from every hint of the table and from each other, s. */
const TRANSIENT = 1_000
const RATE = 5_000
/** The lock after a 404, s. */
const UNKNOWN_MODEL = 120
/** A slow machine between an answer and a look at it, s. */
const late = 15

interface Row {
  readonly name: string
  readonly script: Record<string, unknown>
  readonly stream?: true
  /** Status, code and Retry-After (s) of the reply when nobody else can answer. */
  readonly reply: readonly [status: number, code: string | null, retryAfter?: number]
  /** Counted failures of the breaker per request; 0 unless given. */
  readonly counts?: number
  /** How long the model rests, s; 0 unless given. */
  readonly rests?: number
  /** The connection rests as a whole. */
  readonly wide?: true
  readonly reason?: string
  /** True when the model is locked on this connection. */
  readonly locks?: true
}

const inSeconds = (seconds: number): Date => new Date(Date.now() + seconds * 1000)
const error = (message: string, more: Record<string, unknown> = {}) => ({ error: { message, ...more } })
/** Scripts with a moment in them are made when their row runs. */
const dated: Readonly<Record<string, () => Record<string, unknown>>> = {
  httpDate: () => ({ headers: { "retry-after": inSeconds(300).toUTCString() } }),
  asctime: () => ({ headers: { "retry-after": inSeconds(300).toUTCString().replace(/^(\w+), (\d+) (\w+) (\d+) (\S+) GMT$/, "$1 $3 $2 $5 $4") } }),
  anthropicDate: () => ({ headers: { "anthropic-ratelimit-requests-reset": inSeconds(300).toISOString(), "anthropic-ratelimit-requests-remaining": "0" } }),
  unified: () => ({ headers: { "anthropic-ratelimit-unified-reset": String(Math.round(inSeconds(300).getTime() / 1000)) } }),
  epochMillis: () => ({ headers: { "x-ratelimit-reset": String(inSeconds(300).getTime()) } })
}
const limited = (more: Record<string, unknown>): Record<string, unknown> => ({ status: 429, ...error("slow down"), ...more })
const hinted = (name: string, seconds: number, more: Record<string, unknown>): Row =>
  ({ name, script: limited(more), reply: [429, "rate_limit_exceeded", seconds], rests: seconds, reason: "rate_limit_exceeded" })
const broken = (status: number, code: string): Row =>
  ({ name: `${status}`, script: { status, ...error("it broke", { code }) }, reply: [status, code], counts: 1, rests: TRANSIENT, reason: "server_error" })
const inStream = (message: string, type: string) => ({ malformed: [{ kind: "error", at: 0, raw: JSON.stringify({ error: { message, type, code: type } }) }] })

const hints: ReadonlyArray<Row> = [
  { name: "429 without a hint", script: limited({}), reply: [429, "rate_limit_exceeded"], rests: RATE, reason: "rate_limit_exceeded" },
  hinted("Retry-After in seconds", 77, { retryAfter: 77 }),
  hinted("Retry-After with a fraction", 78, { retryAfter: "77.4" }),
  hinted("Retry-After as HTTP date", 300, { at: "httpDate" }),
  hinted("Retry-After as asctime date", 300, { at: "asctime" }),
  hinted("retry-after-ms", 42, { headers: { "retry-after-ms": "42000" } }),
  hinted("Retry-After of a week is cut at a day", 86_400, { retryAfter: 604_800 }),
  hinted("x-ratelimit-reset-requests as duration", 372, { headers: { "x-ratelimit-reset-requests": "6m12s" } }),
  hinted("x-ratelimit-reset-tokens as seconds", 90, { headers: { "x-ratelimit-reset-tokens": "90" } }),
  hinted("the empty quota decides", 240, {
    headers: {
      "x-ratelimit-reset-requests": "20s", "x-ratelimit-remaining-requests": "17", "x-ratelimit-reset-tokens": "4m", "x-ratelimit-remaining-tokens": "0"
    }
  }),
  hinted("x-ratelimit-reset as epoch in ms", 300, { at: "epochMillis" }),
  hinted("ratelimit-reset", 55, { headers: { "ratelimit-reset": "55" } }),
  hinted("anthropic-ratelimit-requests-reset", 300, { at: "anthropicDate" }),
  { ...hinted("anthropic-ratelimit-unified-reset as epoch", 300, { at: "unified" }), wide: true },
  { ...hinted("a limit of the account", 66, { retryAfter: 66, ...error("You have reached the usage limit of your plan", { code: "usage_limit_reached" }) }), reply: [429, "usage_limit_reached", 66], wide: true },
  hinted("a header goes before the text", 77, { retryAfter: 77, ...error("try again in 3h") }),
  hinted("text: try again in 1h2m", 3_720, error("Limit reached. Please try again in 1h2m.")),
  hinted("text: try again in 20s", 20, error("Rate limit reached for requests. Please try again in 20s.")),
  hinted("text: retry after 33 seconds", 33, error("Too many requests, retry after 33 seconds")),
  hinted("text: a bare number", 48, error("Please retry in 48")),
  {
    name: "text: quota will reset after 2h", script: limited(error("Your quota will reset after 2h0m0s.")),
    reply: [429, "rate_limit_exceeded", 7_200], rests: 7_200, reason: "quota_exhausted", wide: true
  }
]

const words: ReadonlyArray<Row> = [
  { name: "402", script: { status: 402, ...error("pay first", { code: "unpaid" }) }, reply: [402, "unpaid"] },
  { name: "402 quota exceeded", script: { status: 402, ...error("Quota exceeded for this month", { code: "unpaid" }) }, reply: [402, "unpaid"], rests: RATE, reason: "quota_exhausted", wide: true },
  { name: "403", script: { status: 403, ...error("not for you", { code: "refused" }) }, reply: [403, "refused"] },
  { name: "403 exhausted", script: { status: 403, ...error("Credits exhausted", { code: "refused" }) }, reply: [403, "refused"], rests: RATE, reason: "quota_exhausted", wide: true },
  { name: "403 exhausted with a hint", script: { status: 403, retryAfter: 600, ...error("Credits exhausted", { code: "refused" }) }, reply: [403, "refused", 600], rests: 600, reason: "quota_exhausted", wide: true },
  { name: "403 request not allowed", script: { status: 403, ...error("Request not allowed", { code: "refused" }) }, reply: [403, "refused"], rests: 5, reason: "unknown" },
  { name: "401", script: { status: 401 }, reply: [401, "invalid_api_key"] },
  { name: "401 moves nothing, whatever Retry-After says", script: { status: 401, retryAfter: 600 }, reply: [401, "invalid_api_key", 600] },
  { name: "404 of a model", script: { status: 404, ...error("no such model", { code: "model_not_found" }) }, reply: [404, "model_not_found"], locks: true },
  { name: "404 that speaks of limits rests no connection", script: { status: 404, ...error("rate limit exhausted") }, reply: [404, "model_not_found"], locks: true },
  { name: "503 overloaded", script: { status: 503, ...error("The engine is overloaded") }, reply: [503, "server_overloaded"], counts: 1, rests: TRANSIENT, reason: "model_capacity" },
  { name: "529 overloaded", script: { status: 529, ...error("Overloaded") }, reply: [529, null], rests: TRANSIENT, reason: "model_capacity" },
  { name: "503 rate limit", script: { status: 503, ...error("rate limit of the backend") }, reply: [503, "server_overloaded"], counts: 1, rests: RATE, reason: "rate_limit_exceeded" },
  { name: "409", script: { status: 409, ...error("conflict", { code: "conflict" }) }, reply: [409, "conflict"] },
  { name: "406", script: { status: 406, ...error("not here") }, reply: [406, null], rests: TRANSIENT, reason: "server_error" }
]

const breakdowns: ReadonlyArray<Row> = [
  broken(408, "timed_out"), broken(500, "internal"), broken(502, "bad_gateway"), broken(503, "unavailable"), broken(504, "late"),
  { name: "503 with Retry-After", script: { status: 503, retryAfter: 150, ...error("down") }, reply: [503, "server_overloaded", 150], counts: 1, rests: 150, reason: "server_error" },
  { name: "501 rests by the general rule", script: { status: 501, ...error("never", { code: "never" }) }, reply: [501, "never"], rests: 1, reason: "unknown" },
  { name: "an HTML page as 502", script: { status: 502, body: "<html>bad</html>", contentType: "text/html" }, reply: [502, "bad_gateway"], counts: 1, rests: TRANSIENT, reason: "server_error" },
  { name: "an HTML page as 200", script: { html: true }, reply: [502, "upstream_invalid_response"], counts: 1, rests: TRANSIENT, reason: "server_error" },
  { name: "a reset before the head", script: { resetAfter: "request" }, reply: [502, "upstream_reset"], counts: 1, rests: TRANSIENT, reason: "server_error" },
  { name: "a reset after the head", script: { resetAfter: "head" }, stream: true, reply: [502, "upstream_reset"], counts: 1, rests: TRANSIENT, reason: "server_error" },
  { name: "a whole answer cut short", script: { closeAfter: { bytes: 40 } }, reply: [502, "upstream_reset"], counts: 1, rests: TRANSIENT, reason: "server_error" },
  { name: "an early end of a stream, asked twice", script: { endAfter: "head" }, stream: true, reply: [502, "STREAM_EARLY_EOF"], counts: 1, rests: TRANSIENT, reason: "server_error" },
  { name: "silence", script: { neverHead: true }, reply: [504, "upstream_headers_timeout"], counts: 1, rests: TRANSIENT, reason: "server_error" },
  { name: "a head and silence", script: { hangAfter: "head" }, stream: true, reply: [504, "STREAM_READINESS_TIMEOUT"], counts: 1, rests: TRANSIENT, reason: "server_error" },
  { name: "in the stream: a server error", script: inStream("it broke", "server_error"), stream: true, reply: [502, "server_error"], counts: 1, rests: TRANSIENT, reason: "server_error" },
  { name: "in the stream: a rate limit", script: inStream("slow down", "rate_limit_error"), stream: true, reply: [429, "rate_limit_error"], rests: RATE, reason: "rate_limit_exceeded" },
  { name: "in the stream: a rate limit that says when", script: inStream("Please try again in 20s.", "rate_limit_error"), stream: true, reply: [429, "rate_limit_error", 20], rests: 20, reason: "rate_limit_exceeded" },
  { name: "in the stream: overloaded", script: inStream("Overloaded", "overloaded_error"), stream: true, reply: [429, "overloaded_error"], rests: TRANSIENT, reason: "model_capacity" },
  { name: "in the stream: the request's fault", script: inStream("too long", "invalid_request_error"), stream: true, reply: [400, "invalid_request_error"] }
]

const requests: ReadonlyArray<Row> = [400, 413, 422].flatMap((status): ReadonlyArray<Row> => [
  { name: `${status}`, script: { status, ...error("it is odd", { code: "odd" }) }, reply: [status, "odd"] },
  { name: `${status} that quotes limits`, script: { status, ...error("parameter 'rate limit, quota exceeded'", { code: "odd" }) }, reply: [status, "odd"] }
])

const rows = [...hints, ...words, ...breakdowns, ...requests]

let lab: Lab
beforeAll(async () => {
  lab = await startLab({
    resilience: "awake", environment: { FETCH_HEADERS_TIMEOUT_MS: "1500", STREAM_READINESS_TIMEOUT_MS: "1500", GATEWAY_MAX_ATTEMPTS: "4" }
  })
  await lab.gateway.operator.call("PATCH", "/api/resilience", {
    connectionCooldown: { local: { baseCooldownMs: TRANSIENT * 1000, rateLimitCooldownMs: RATE * 1000 } },
    providerBreaker: { local: { degradationThreshold: 50, failureThreshold: 100 } },
    // Who would wait for the end of a rest does not hear of the fault.
    waitForCooldown: { enabled: false }
  })
  await lab.pool("spare", ["spare-credential-number-0"])
  await lab.sim.rule({ match: { model: "spare" }, script: { text: "spared" } })
})
afterAll(() => lab.close())

interface State {
  readonly failures: number
  /** Of the whole connection, s; 0 = not. */
  readonly rests: number
  readonly reason: string | null
  /** Models that rest or are locked. */
  readonly models: ReadonlyArray<{ readonly model: string; readonly reason: string; readonly remainingMs: number }>
}

/** What the management API says of one connection and its provider. */
const stateOf = async (provider: string, connection: string): Promise<State> => {
  const { operator } = lab.gateway
  const { breakers } = await operator.call<{ breakers: ReadonlyArray<{ provider: string; failures: number }> }>("GET", "/api/resilience")
  const { connections } = await operator.call<{
    connections: ReadonlyArray<{ connectionId: string; rateLimitedUntil: string | null; reason: string | null }>
  }>("GET", "/api/rate-limits")
  const { items } = await operator.call<{ items: ReadonlyArray<State["models"][number] & { connectionId: string }> }>("GET", "/api/resilience/model-cooldowns")
  const place = connections.find(({ connectionId }) => connectionId === connection)
  const until = place?.rateLimitedUntil ?? null
  return {
    failures: breakers.find((one) => one.provider === provider)?.failures ?? 0,
    rests: until === null ? 0 : (Date.parse(until) - Date.now()) / 1000,
    reason: place?.reason ?? null,
    models: items.filter(({ connectionId }) => connectionId === connection)
  }
}

const near = (seconds: number, expected: number): void => {
  expect(seconds).toBeLessThanOrEqual(expected + 1)
  expect(seconds).toBeGreaterThan(expected - late)
}

/** A node with one connection whose model fails by the row. */
let made = 0
const failing = async (script: Record<string, unknown>) => {
  const prefix = `f${++made}`
  const { at, ...given } = script
  const [connection = ""] = await lab.pool(prefix, [`${prefix}-credential-number-0`])
  await lab.sim.rule({ match: { model: `m-${prefix}` }, script: { ...given, ...(typeof at === "string" ? dated[at]?.() : {}) } })
  return { prefix, connection, model: `${prefix}/m-${prefix}` }
}

describe.concurrent("the fault matrix", () => {
  it.each(rows)("$name", async (row) => {
    const { name, counts = 0, reason, reply: [status, code, retryAfter], rests = 0, script, stream } = row
    const { connection, model, prefix } = await failing(script)
    const asked = { model, ...(stream === true ? { stream } : {}) }

    const reply = await lab.chat(asked)
    const seen = await stateOf(prefix, connection)
    expect([name, reply.status, errorIn(reply)["code"]]).toEqual([name, status, code])
    if (retryAfter === undefined) expect(reply.headers).not.toHaveProperty("retry-after")
    else near(Number(reply.headers["retry-after"]), retryAfter)

    expect(seen.failures).toBe(counts)
    if (row.wide !== true) expect([seen.rests, seen.reason]).toEqual([0, null])
    else if (rests > 1) {
      near(seen.rests, rests)
      expect(seen.reason).toBe(reason)
      await recordSays(connection, rests)
    }
    if (row.locks === true) {
      expect(seen.models.map((lock) => lock.model)).toEqual([`m-${prefix}`])
      near((seen.models[0]?.remainingMs ?? 0) / 1000, UNKNOWN_MODEL)
    } else if (row.wide === true || rests === 0) expect(seen.models).toEqual([])
    else if (rests > 1) {
      expect(seen.models.map((rest) => [rest.model, rest.reason.split(" ")[0]])).toEqual([[`m-${prefix}`, reason]])
      near((seen.models[0]?.remainingMs ?? 0) / 1000, rests)
    }

    await servesAgain(asked, row)
    await servesBeside(asked, row)
  })

  /** The stored record follows. */
  const recordSays = async (connection: string, rests: number): Promise<void> => {
    if (rests < 2 * late) return
    const { connection: record } = await eventually(
      () => lab.gateway.operator.call<{ connection: { rateLimitedUntil: string | null; testStatus: string } }>("GET", `/api/providers/${connection}`),
      (answer) => answer.connection.rateLimitedUntil !== null, "the record of the cooldown"
    )
    near((Date.parse(record.rateLimitedUntil ?? "") - Date.now()) / 1000, rests)
    expect(record.testStatus).toBe("unavailable")
  }

  /** A combo of a second connection that fails in the same way, and of one that is well. */
  const servesAgain = async (asked: Record<string, unknown>, row: Row): Promise<void> => {
    const { model, prefix } = await failing(row.script)
    const name = `combo-${prefix}`
    await lab.gateway.operator.call("POST", "/api/combos", { name, models: [model, "spare/spare"], config: { maxRetries: 0 } })
    const reply = await lab.chat({ ...asked, model: `combo/${name}` })
    expect([reply.status, reply.text.includes("spared") || contentOf(reply.text) === "spared"]).toEqual([200, true])
    expect(Number(reply.headers["x-gateway-fallback-attempts"])).toBe(row.script["endAfter"] === "head" ? 2 : 1)
  }

  /** A combo of two models of one credential: the request's own failure never shuts its other model out. */
  const servesBeside = async (asked: Record<string, unknown>, row: Row): Promise<void> => {
    const { model, prefix } = await failing(row.script)
    const name = `beside-${prefix}`
    await lab.sim.rule({ match: { model: `well-${prefix}` }, script: { text: "spared" } })
    await lab.gateway.operator.call("POST", "/api/combos", { name, models: [model, `${prefix}/well-${prefix}`], config: { maxRetries: 0 } })
    const reply = await lab.chat({ ...asked, model: `combo/${name}` })
    expect([reply.status, reply.text.includes("spared") || contentOf(reply.text) === "spared"]).toEqual([200, true])
    // Other requests hear of what holds for the whole account only, unless it is a guess.
    const next = await lab.chat({ model: `${prefix}/well-${prefix}` })
    const known = row.wide === true && row.reply[2] !== undefined
    expect([row.name, next.status]).toEqual([row.name, known ? 429 : 200])
  }
})

describe("what moves nothing", () => {
  const untouched = { failures: 0, rests: 0, reason: null, models: [] }

  it("a client that leaves before the head", async () => {
    const { connection, model, prefix } = await failing({ neverHead: true })
    const calls = Array.from({ length: 3 }, () => Http.open(lab.gateway.url, lab.call({ model, stream: true })))
    await eventually(() => lab.sim.entries({ model: `m-${prefix}`, outcome: "open" }), ({ length }) => length === 3, "the arrival of all")
    for (const { request } of calls) request.destroy()
    await lab.sim.ended({ model: `m-${prefix}`, outcome: "client-aborted" }, 3)
    await lab.gateway.operator.settled()
    expect(await stateOf(prefix, connection)).toEqual(untouched)
  })

  it("a client that leaves in mid-stream", async () => {
    const { connection, model, prefix } = await failing({ tokens: 100_000, paceMs: 5 })
    for (let i = 0; i < 3; i++) {
      const opened = await lab.stream({ model })
      await opened.until((text) => text.includes("content"))
      opened.leave()
    }
    await lab.sim.ended({ model: `m-${prefix}`, outcome: "client-aborted" }, 3)
    await lab.gateway.operator.settled()
    expect(await stateOf(prefix, connection)).toEqual(untouched)
  })
})

describe("a stream that ended early", () => {
  it("is asked for once more on the same connection, although our own guess rests it", async () => {
    const { model, prefix } = await failing({})
    await lab.sim.rule({ id: `${prefix}-once`, match: { model: `once-${prefix}` }, times: 1, script: { endAfter: "head" } })
    await lab.sim.rule({ id: `${prefix}-then`, match: { model: `once-${prefix}` }, script: { text: "second try" } })
    const reply = await lab.chat({ model: model.replace("m-", "once-"), stream: true })
    expect([reply.status, contentOf(reply.text), reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, "second try", "1"])
  })
})

describe("after the commit point", () => {
  it.each([
    ["an error frame", { tokens: 9, malformed: [{ kind: "error", at: 4 }] }],
    ["a reset", { tokens: 9, paceMs: 5, resetAfter: { frames: 4 } }],
    ["an end without a terminal event", { tokens: 9, endAfter: { frames: 4 } }]
  ])("%s counts, is told once, and nobody else is asked", async (_, script) => {
    const { connection, model, prefix } = await failing(script)
    const name = `late-${prefix}`
    await lab.gateway.operator.call("POST", "/api/combos", { name, models: [model, "spare/spare"] })
    const reply = await lab.chat({ model: `combo/${name}`, stream: true })
    expect(reply.status).toBe(200)
    expect(reply.text).not.toContain("spared")
    expect(reply.text.match(/"error":/g)).toHaveLength(1)
    expect((await lab.rows(reply)).length).toBe(1)
    const seen = await stateOf(prefix, connection)
    expect(seen.failures).toBe(1)
    near((seen.models[0]?.remainingMs ?? 0) / 1000, TRANSIENT)
  })
})
