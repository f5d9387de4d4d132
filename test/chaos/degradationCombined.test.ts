/**
 * Two servers fail at once: a client sees, in time, what the degradation table says of both faults together. When they are back,
 * everything is served again by itself, and each call has its row.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { codeOf, managedKey, Session } from "#test/features/leases/support.ts"
import { converged, findServers, ground, type Ground } from "#test/support/cluster.ts"
import { contractOf, type Mood, type Road, roadTo } from "#test/support/faults.ts"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { watchLoop } from "./support.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

/** What a shared machine may add to the declared latency (ms). */
const ADDED_MS = 2_000
/** Until a client is served as before, once both servers are back (ms): a connection that was cut, a probe, a look-up. */
const RECOVERY_MS = 20_000
/** The engine of placed work tries every two seconds, and an outage is over when it was quiet for five (ms). */
const BROADCAST_MS = 25_000

interface Case {
  readonly name: string
  readonly redis: "refused" | "frozen"
  readonly postgres: Mood
  readonly fault: "postgres-refused" | "postgres-frozen" | "postgres-slow"
}

const cases: ReadonlyArray<Case> = [
  { name: "both refused", redis: "refused", postgres: "refused", fault: "postgres-refused" },
  { name: "both frozen", redis: "frozen", postgres: "frozen", fault: "postgres-frozen" },
  { name: "Redis frozen, Postgres slow", redis: "frozen", postgres: { slowMs: 100 }, fault: "postgres-slow" }
]

describe.skipIf(missing !== null)("Redis and Postgres fail together", { timeout: 180_000 }, () => {
  let common: Ground
  let roads: { readonly redis: Road; readonly postgres: Road }
  let sim: Sim
  let node: Spawned

  beforeAll(async () => {
    common = await ground(postgres)
    roads = { redis: await roadTo(common.redis.url), postgres: await roadTo(common.database) }
    sim = await startSim({ models: { "*": { tokens: 3 } } })
    node = await spawned({ environment: { ...common.environment, DATABASE_URL: roads.postgres.url, REDIS_URL: roads.redis.url, GATEWAY_LOOKUP_TIMEOUT_MS: "1000", GATEWAY_REDIS_TIMEOUT_MS: "50", LOG_LEVEL: "info" } })
    await node.operator.letFailuresPass()
    const lab = await node.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await node.operator.createConnection({ provider: lab, apiKey: CREDENTIAL })
  }, 180_000)
  afterAll(async () => {
    await Promise.all([roads.redis.is("open"), roads.postgres.is("open")])
    await node.close()
    await sim.stop()
    await Promise.all([roads.redis.close(), roads.postgres.close()])
    await common.close()
  })

  const told = (text: string): number => node.output().split("\n").filter((line) => line.includes(text)).length

  it.each(cases)("$name: the declared outcome in the declared time, service by itself afterwards, no row lost", async ({ fault, name, postgres, redis }) => {
    const { operator } = node
    const tag = `${name.replaceAll(/[^a-z]+/gi, "-")}-`
    const send = (what: string, headers: Readonly<Record<string, string>>, more: Readonly<Record<string, unknown>> = {}) =>
      Http.send(node.url, { path: "/v1/chat/completions", headers, body: { model: `lab/${tag}${what}`, messages, max_tokens: 4, ...more } })
    const bearer = ({ key }: { readonly key: string }) => ({ authorization: `Bearer ${key}` })
    const provider = await operator.createNode({ prefix: `held-${tag}x`, baseUrl: `${sim.url}/v1` })
    const managed = await managedKey(node, "managed", [await operator.createConnection({ provider, apiKey: CREDENTIAL })])
    const [known, unknown, limited, fresh] = [
      await operator.createKey("known"), await operator.createKey("unknown"), await operator.createKey("limited"), await operator.createKey("fresh")
    ]
    const limit = ({ id }: { readonly id: string }) => operator.call("POST", "/api/usage/token-limits", { apiKeyId: id, scopeType: "global", tokenLimit: 1_000_000 })
    await limit(limited)
    // News of a key makes it unknown once more.
    await converged(node)
    const session = new Session(node, managed.key)
    const { generation } = await session.acquire(`held-${tag}x/m`)
    expect((await send("cached", bearer(known), { temperature: 0 })).status).toBe(200)
    // Its key is in memory, its limit was never asked for.
    expect((await send("fresh", bearer(fresh))).status).toBe(200)
    await limit(fresh)
    await converged(node)
    const isAway = fault !== "postgres-slow"
    expect((await operator.settled()).gap).toBe(0)

    const declared = await contractOf(operator, `redis-${redis}`, fault)
    const worst: Record<string, number> = {}
    const asked = async (feature: string, what: string, statuses: ReadonlyArray<number>, run: () => Promise<Http.Reply>): Promise<Http.Reply> => {
      const late = watchLoop()
      const began = performance.now()
      const reply = await run()
      const ms = performance.now() - began
      const { addedLatencyMs, outcome } = declared(feature)
      worst[what] = Math.max(worst[what] ?? 0, Math.round(ms))
      expect(statuses, `${what}: ${reply.status} ${reply.text.slice(0, 300)}`).toContain(reply.status)
      if (statuses.length === 1) expect([what, outcome]).toEqual([what, statuses[0] === 200 ? "admitted" : "denied"])
      expect(ms, what).toBeLessThan((addedLatencyMs ?? 0) + ADDED_MS + 2 * late())
      return reply
    }
    expect(declared("ledger").outcome).toBe(isAway ? "queued" : declared("ledger").outcome)
    await eventually(() => send("limited", bearer(limited)), ({ status }) => status === 200, "a block of the limit")
    await Promise.all([roads.redis.is(redis), roads.postgres.is(postgres)])
    try {
      for (let i = 0; i < 5; i++) await asked("inference", "a known key", [200], () => send("known", bearer(known)))
      await asked("inference", "no key", [200], () => send("known", {}))
      const streamed = await asked("inference", "a stream", [200], () => send("streamed", bearer(known), { stream: true }))
      expect(streamed.text).toContain("[DONE]")
      expect((await asked("response-cache", "a cached answer", [200], () => send("cached", bearer(known), { temperature: 0 }))).headers["x-gateway-cache"]).toBe("HIT")
      await asked("response-cache", "an answer to be cached", [200], () => send("miss", bearer(known), { temperature: 0 }))
      const twice = { ...bearer(known), "idempotency-key": `${tag}k` }
      await asked("idempotency", "an idempotent call", [200], () => send("twice", twice))
      expect((await asked("idempotency", "an idempotent call", [200], () => send("twice", twice))).headers["x-gateway-idempotent"]).toBe("true")

      // From its block while that is its own; never unaccounted.
      await asked("limits", "a limit with a block", [200, 503], () => send("limited", bearer(limited)))
      const closed = await asked("limits", "a limit without one", [503], () => send("fresh", bearer(fresh)))
      expect([codeOf(closed), closed.headers["retry-after"]]).toEqual(["service_unavailable", "1"])
      for (const [what, ask] of [
        ["a lease's status", () => session.status(generation)], ["a lease's renewal", () => session.ask({ action: "renew", generation })],
        ["a new lease", () => new Session(node, managed.key).ask({ action: "acquire", model: `held-${tag}x/m` })],
        ["a leased call", () => Http.send(node.url, { path: "/v1/chat/completions", headers: session.headers(generation), body: { model: `held-${tag}x/${tag}leased`, messages } })]
      ] as const) expect([what, codeOf(await asked("leases", what, [503], ask))]).toEqual([what, "LEASE_SERVICE_UNAVAILABLE"])

      await asked("api-keys", "an unknown key", isAway ? [503] : [200, 503], () => send("unknown", bearer(unknown)))
      await asked("management", "a change", isAway ? [503] : [200, 503], () => operator.raw("PUT", "/api/models/alias", { alias: `${tag}alias`, model: "lab/x" }))
      expect((await Http.send(node.url, { path: "/api/health/ping" })).status).toBe(200)
      if (isAway) {
        const readiness = JSON.parse((await Http.send(node.url, { path: "/api/health" })).text) as { readonly checks: { readonly ledger: { readonly backlog: number; readonly gap: number } } }
        expect(readiness.checks.ledger.backlog).toBeGreaterThanOrEqual(9)
        expect(readiness.checks.ledger.gap).toBe(0)
      }
      if (name === "both refused") await eventually(async () => told("Placed work stands still"), (count) => count === 1, "a word about placed work", BROADCAST_MS)
    } finally {
      await Promise.all([roads.redis.is("open"), roads.postgres.is("open")])
    }
    const began = performance.now()
    await eventually(() => send("unknown", bearer(unknown)), ({ status }) => status === 200, "the unknown key's service", RECOVERY_MS)
    await eventually(() => send("fresh", bearer(fresh)), ({ status }) => status === 200, "the new limit's service", RECOVERY_MS)
    await eventually(() => session.status(generation), ({ status }) => status === 200, "the lease, as it was", RECOVERY_MS)
    await eventually(() => operator.raw("GET", "/api/providers"), ({ status }) => status === 200, "the management API", RECOVERY_MS)
    const recovered = Math.round(performance.now() - began)
    if (isAway) expect((await operator.raw("GET", "/api/models/alias")).text).not.toContain(`${tag}alias`)
    for (const { id } of [limited, fresh]) {
      await eventually(() => operator.call<{ readonly limits: ReadonlyArray<{ readonly reserved: number }> }>("GET", `/api/usage/token-limits?apiKeyId=${id}`),
        ({ limits }) => limits[0]?.reserved === 0, "the end of all reservations")
    }
    await sim.idle()
    expect(await operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    const tagged = (names: ReadonlyArray<string | null>) => names.filter((one) => one?.startsWith(tag) === true).sort()
    const calls = tagged((await sim.entries()).map(({ model }) => model))
    expect(tagged((await operator.callLogs()).map(({ model }) => model))).toEqual(calls)
    expect(calls.filter((model) => model === `${tag}leased`)).toEqual([])
    console.log(`${name}: ${calls.length} calls upstream, each with its row; served as before after ${recovered} ms; largest ms: ${Object.entries(worst).map(([what, ms]) => `${what} ${ms}`).join(", ")}`)
  })

  it("placed work is told to stand still once per outage, and to go on once, without a stack", async () => {
    const outages = told("Placed work stands still")
    await eventually(async () => told("Placed work goes on"), (count) => count === outages, "a word about the end of each outage", BROADCAST_MS)
    expect(outages).toBeGreaterThan(0)
    expect(outages).toBeLessThanOrEqual(cases.length)
    expect(node.output()).not.toMatch(/"message":"(?:Shard lock storage|Could not acquire)/)
  })
})
