import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { eventually } from "#test/support/operator.ts"
import { CREDENTIAL, errorIn, type Lab, startLab } from "#test/support/lab.ts"

let lab: Lab
let pools = 0
beforeAll(async () => {
  lab = await startLab({ environment: { GATEWAY_MAX_ATTEMPTS: "3" } })
})
afterAll(() => lab.close())

/** A fresh prefix with one connection per credential; each credential's script is a rule of its own. */
const pool = async (...scripts: ReadonlyArray<Record<string, unknown>>) => {
  const prefix = `pool${++pools}`
  const keys = scripts.map((_, index) => `${prefix}-credential-number-${index}`)
  for (const [index, script] of scripts.entries()) {
    await lab.sim.rule({ id: `${prefix}-${index}`, match: { key: keys[index] ?? "" }, script })
  }
  const ids = await lab.pool(prefix, keys)
  return { prefix, keys, ids, calls: async () => {
    const counts = await Promise.all(keys.map((key) => lab.sim.entries({ key })))
    return counts.map((entries) => entries.length)
  } }
}

describe("selection by priority", () => {
  it("the connection with the lowest priority value is tried first, and alone while it is well", async () => {
    const { calls, ids, prefix } = await pool({}, {})
    for (let i = 0; i < 3; i++) expect((await lab.chat({ model: `${prefix}/tokens-2` })).status).toBe(200)
    expect(await calls()).toEqual([3, 0])
    await lab.gateway.operator.changeConnection(ids[0] ?? "", { priority: 9 })
    expect((await lab.chat({ model: `${prefix}/tokens-2` })).status).toBe(200)
    expect(await calls()).toEqual([3, 1])
  })

  it("an inactive connection is skipped", async () => {
    const { calls, ids, prefix } = await pool({}, {})
    await lab.gateway.operator.changeConnection(ids[0] ?? "", { isActive: false })
    expect((await lab.chat({ model: `${prefix}/tokens-2` })).status).toBe(200)
    expect(await calls()).toEqual([0, 1])
  })

  it("a key's preferred connection goes first, its allowed connections bound the rest", async () => {
    const { calls, ids, prefix } = await pool({}, {}, { status: 503 })
    const { operator } = lab.gateway
    const preferring = await operator.createKey("preferring", { preferredConnections: [ids[1]] })
    const bound = await operator.createKey("bound", { connectionAccessMode: "restricted", allowedConnections: [ids[2]] })
    expect((await lab.chat({ model: `${prefix}/tokens-2` }, { authorization: `Bearer ${preferring.key}` })).status).toBe(200)
    expect(await calls()).toEqual([0, 1, 0])
    expect((await lab.chat({ model: `${prefix}/tokens-2` }, { authorization: `Bearer ${bound.key}` })).status).toBe(503)
    expect(await calls()).toEqual([0, 1, 1])
  })
})

describe("what a failed target does", () => {
  it.each([401, 402, 403, 404, 408, 409, 425, 429, 500, 501, 502, 503, 504, 520, 529])(
    "%i of one connection: the next one answers, X-Gateway-Fallback-Attempts is 1, two rows",
    async (status) => {
      const { calls, ids, prefix } = await pool({ status }, {})
      for (const stream of [false, true]) {
        await lab.gateway.operator.call("DELETE", "/api/resilience/model-cooldowns", { all: true })
        const reply = await lab.chat({ model: `${prefix}/tokens-3`, stream })
        expect([status, reply.status, reply.headers["x-gateway-fallback-attempts"]]).toEqual([status, 200, "1"])
        const rows = await lab.rows(reply)
        expect(rows.map((row) => [row.attempt, row.final, row.outcome, row.upstreamStatus, row.connectionId])).toEqual([
          [1, false, "upstream-status", status, ids[0]], [2, true, "completed", 200, ids[1]]
        ])
        expect(rows[0]).toMatchObject({ tokensIn: 0, tokensOut: 0, costUsd: 0, estimated: false })
      }
      expect(await calls()).toEqual([2, 2])
    }
  )

  it.each([400, 413, 422])("%i is the request's own fault: returned at once, no other target is asked", async (status) => {
    const { calls, prefix } = await pool({ status, error: { message: "messages[0] is odd", type: "invalid_request_error", code: "odd" } }, {})
    const reply = await lab.chat({ model: `${prefix}/tokens-3` })
    expect([reply.status, errorIn(reply)]).toEqual([status, { message: "messages[0] is odd", type: "invalid_request_error", code: "odd", param: null }])
    expect(reply.headers).not.toHaveProperty("x-gateway-fallback-attempts")
    expect(await calls()).toEqual([1, 0])
  })

  const silent: ReadonlyArray<readonly [string, Record<string, unknown>, string]> = [
    ["a reset before the head", { resetAfter: "request" }, "upstream-reset"],
    ["a closed connection before the head", { closeAfter: "request" }, "upstream-reset"],
    ["a reset after the head", { resetAfter: "head" }, "upstream-reset"]
  ]
  it.each(silent)("%s: the next connection answers", async (_, script, outcome) => {
    const { ids, prefix } = await pool(script, {})
    const reply = await lab.chat({ model: `${prefix}/tokens-3`, stream: true })
    expect([reply.status, reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, "1"])
    expect((await lab.rows(reply)).map((row) => [row.outcome, row.connectionId])).toEqual([[outcome, ids[0]], ["completed", ids[1]]])
  })

  it("an upstream that refuses connections: the next connection answers; alone it is 502 upstream_connect_error", async () => {
    const { operator } = lab.gateway
    const node = await operator.createNode({ prefix: "closed", baseUrl: "http://127.0.0.1:9/v1" })
    await operator.createConnection({ provider: node, apiKey: "sk-closed-000000000001" })
    const reply = await lab.chat({ model: "closed/x" })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "upstream_connect_error"])
    const [row] = await lab.rows(reply)
    expect(row).toMatchObject({ outcome: "upstream-reset", upstreamStatus: 0, status: 502, final: true })
  })

  it("all tried: the last one's status and message are the reply, every attempt has its row, one is final", async () => {
    const { calls, prefix } = await pool({ status: 500 }, { status: 429, retryAfter: 7, error: { message: "slow down, tenant" } })
    const reply = await lab.chat({ model: `${prefix}/tokens-3` })
    expect(reply.status).toBe(429)
    expect(errorIn(reply)["message"]).toBe("slow down, tenant")
    expect(reply.headers["retry-after"]).toBe("7")
    expect(reply.headers["x-gateway-fallback-attempts"]).toBe("1")
    expect((await lab.rows(reply)).map((row) => row.final)).toEqual([false, true])
    expect(await calls()).toEqual([1, 1])
  })

  it("one attempt budget: GATEWAY_MAX_ATTEMPTS wire calls, then the error", async () => {
    const { calls, prefix } = await pool({ status: 503 }, { status: 503 }, { status: 503 }, {})
    const reply = await lab.chat({ model: `${prefix}/tokens-3` })
    expect([reply.status, reply.headers["x-gateway-fallback-attempts"]]).toEqual([503, "2"])
    expect(await calls()).toEqual([1, 1, 1, 0])
  })
})

describe("what the calls say about a connection", () => {
  const view = async (id: string) => {
    const { connection } = await lab.gateway.operator.call<{ connection: Record<string, unknown> }>("GET", `/api/providers/${id}`)
    return connection
  }

  it("401 marks it 'error' with the upstream's status; it stays in the rotation, and the next success makes it 'active'", async () => {
    await lab.sim.rule({ match: { model: "marked" }, times: 1, script: { status: 401 } })
    const [id = ""] = await lab.pool("marks", ["marks-credential-number-0"])
    expect((await lab.chat({ model: "marks/marked" })).status).toBe(401)
    const marked = await eventually(() => view(id), (seen) => seen["testStatus"] === "error", "the mark")
    expect(marked).toMatchObject({ errorCode: "401", lastErrorSource: "upstream", lastErrorAt: expect.any(String) })
    expect(JSON.stringify(marked)).not.toContain("marks-credential")
    expect((await lab.chat({ model: "marks/marked" })).status).toBe(200)
    const well = await eventually(() => view(id), (seen) => seen["testStatus"] === "active", "the recovery")
    expect(well).toMatchObject({ errorCode: null, lastError: null })
  })

  it("400 is the request's own fault and leaves no mark", async () => {
    await lab.sim.rule({ match: { model: "own-fault" }, script: { status: 400 } })
    const [id = ""] = await lab.pool("unmarked", ["unmarked-credential-number-0"])
    expect((await lab.chat({ model: "unmarked/own-fault" })).status).toBe(400)
    expect((await lab.chat({ model: "unmarked/tokens-1" })).status).toBe(200)
    expect(await eventually(() => view(id), (seen) => seen["testStatus"] === "active", "the first success")).toMatchObject({ lastError: null, lastErrorAt: null })
  })
})

describe("a stream that ends without a useful frame", () => {
  it("one retry on the same connection, which may succeed", async () => {
    const prefix = "early1"
    await lab.sim.rule({ match: { model: "early-once" }, times: 1, script: { endAfter: "head" } })
    const [first] = await lab.pool(prefix, ["early1-credential-0", "early1-credential-1"])
    const reply = await lab.chat({ model: `${prefix}/early-once`, stream: true })
    expect([reply.status, reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, "1"])
    expect((await lab.rows(reply)).map((row) => [row.outcome, row.errorCode, row.connectionId])).toEqual([
      ["upstream-reset", "STREAM_EARLY_EOF", first], ["completed", null, first]
    ])
  })

  it("then no other connection of the model is asked ...", async () => {
    const { calls, prefix } = await pool({ endAfter: "head" }, {})
    const reply = await lab.chat({ model: `${prefix}/tokens-3`, stream: true })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "STREAM_EARLY_EOF"])
    expect(await calls()).toEqual([2, 0])
  })

  it("... but one sibling with flag STREAM_EARLY_EOF_SIBLING_FAILOVER_ENABLED", async () => {
    const { operator } = lab.gateway
    await operator.setFlag("STREAM_EARLY_EOF_SIBLING_FAILOVER_ENABLED", "true")
    const one = await pool({ endAfter: "head" }, {})
    const reply = await lab.chat({ model: `${one.prefix}/tokens-3`, stream: true })
    expect([reply.status, reply.headers["x-gateway-fallback-attempts"]]).toEqual([200, "2"])
    expect(await one.calls()).toEqual([2, 1])
    const three = await pool({ endAfter: "head" }, { endAfter: "head" }, {})
    expect((await lab.chat({ model: `${three.prefix}/tokens-3`, stream: true })).status).toBe(502)
    // The lab allows three wire calls.
    expect(await three.calls()).toEqual([2, 1, 0])
    await operator.clearFlags()
  })

  it("then 502 type stream_early_eof, code STREAM_EARLY_EOF", async () => {
    for (const script of [{ endAfter: "head" }, { body: "", contentType: "text/event-stream" }, { tokens: 0, malformed: [{ kind: "raw", at: 0, raw: ": keepalive\n\ndata: [DONE]\n\n" }], endAfter: { frames: 0 } }]) {
      const { calls, prefix } = await pool(script)
      const reply = await lab.chat({ model: `${prefix}/tokens-3`, stream: true })
      expect(reply.status).toBe(502)
      expect(errorIn(reply)).toMatchObject({ type: "stream_early_eof", code: "STREAM_EARLY_EOF" })
      expect(await calls()).toEqual([2])
      expect((await lab.rows(reply)).map((row) => [row.final, row.status])).toEqual([[false, 502], [true, 502]])
    }
  })

  it("the retry counts against the attempt budget", async () => {
    const { calls, prefix } = await pool({ status: 503 }, { status: 503 }, { endAfter: "head" })
    const reply = await lab.chat({ model: `${prefix}/tokens-3`, stream: true })
    expect([reply.status, errorIn(reply)["code"]]).toEqual([502, "STREAM_EARLY_EOF"])
    expect(await calls()).toEqual([1, 1, 1])
  })
})

describe("Retry-After", () => {
  it.each([["3", "3"], ["2.2", "3"], ["0", "1"]])("upstream's '%s' is passed on as %s when it is the final reply", async (given, expected) => {
    const { prefix } = await pool({ status: 429, retryAfter: given })
    expect((await lab.chat({ model: `${prefix}/x` })).headers["retry-after"]).toBe(expected)
  })

  it("a date becomes whole seconds", async () => {
    const { prefix } = await pool({ status: 503, retryAfter: new Date(Date.now() + 20_000).toUTCString() })
    const seconds = Number((await lab.chat({ model: `${prefix}/x` })).headers["retry-after"])
    expect(seconds).toBeGreaterThanOrEqual(15)
    expect(seconds).toBeLessThanOrEqual(21)
  })
})

describe("the stored credential never leaves", () => {
  const echo = `Incorrect API key provided: ${CREDENTIAL}. Find yours at https://vendor.example`
  it("not when the upstream quotes it in an error, whatever its form and status", async () => {
    for (const [model, status] of [["leak-400", 400], ["leak-401", 401], ["leak-403", 403], ["leak-429", 429], ["leak-500", 500]] as const) {
      await lab.sim.rule({ match: { model }, script: { status, error: { message: echo, code: `bad_${CREDENTIAL}` } } })
      for (const stream of [false, true]) {
        const reply = await lab.chat({ model, stream })
        expect(reply.status).toBe(status)
        expect(reply.text + JSON.stringify(reply.headers)).not.toContain(CREDENTIAL)
      }
    }
  })

  it("not when it is quoted inside a stream, before or after the first content", async () => {
    for (const at of [0, 3]) {
      await lab.sim.rule({ match: { model: `leak-at-${at}` }, script: { tokens: 8, malformed: [{ kind: "error", at, raw: JSON.stringify({ error: { message: echo, type: "server_error", code: null } }) }] } })
      const reply = await lab.chat({ model: `leak-at-${at}`, stream: true })
      expect(reply.text).not.toContain(CREDENTIAL)
    }
  })

  it("not in rows, connections, call logs, or anything the gateway printed", async () => {
    const { operator } = lab.gateway
    await operator.settled()
    const seen = [
      JSON.stringify(await lab.gateway.rows()), JSON.stringify(await operator.callLogs()),
      (await operator.raw("GET", "/api/providers")).text, (await operator.raw("GET", "/api/usage/history")).text,
      (await operator.raw("GET", `/api/providers/${lab.connection}`)).text, lab.gateway.output()
    ]
    for (const text of seen) expect(text).not.toContain(CREDENTIAL)
  })

  it("a 401 keeps the vendor's words; what stands beside them speaks of the provider and not of the client's key", async () => {
    const { prefix } = await pool({ status: 401 })
    const reply = await lab.chat({ model: `${prefix}/x` })
    expect(reply.status).toBe(401)
    expect(errorIn(reply)).toMatchObject({
      type: "invalid_request_error", code: "invalid_api_key", gateway: { code: "upstream_auth_error", message: expect.stringContaining(prefix) as unknown }
    })
    const [row] = await lab.rows(reply)
    expect(row?.errorCode).toBe("upstream_auth_error")
  })
})
