/**
 * Nodes whose clocks are wrong: one is minutes ahead, one minutes behind, one is right. What they share goes by
 * the shared stores' clocks; what goes by a node's own clock is bounded and said so in the table.
 */
import * as path from "node:path"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import * as IoRedisStore from "#src/platform/redis/IoRedisStore.ts"
import * as RedisLimitStore from "#src/features/limits/RedisLimitStore.ts"
import { codeOf, managedKey, Session } from "#test/features/leases/support.ts"
import { converged, findServers, ground, type Ground } from "#test/support/cluster.ts"
import { contractOf } from "#test/support/faults.ts"
import { inProcess, type InProcess, type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

const SKEW_MS = 7 * 60_000
const LEASE_MS = 4_000
/** A shared machine's noise (ms). */
const NOISE_MS = 2_000
/** Calls per minute of the rated key. */
const RATE = 6
/** What one call of the limited key uses, tokens. */
const USE = 20
const LIMIT = 20 * USE
const FAILURES = 3
const RESET_MS = 3_000
/** A rest that an upstream asked for, seconds. */
const REST_S = 3

type Node = Pick<InProcess, "url" | "operator">

describe.skipIf(missing !== null)("nodes whose clocks are wrong", { timeout: 180_000 }, () => {
  let common: Ground
  let sim: Sim
  let right: InProcess
  let ahead: Spawned
  let behind: Spawned
  let nodes: ReadonlyArray<Node> = []

  beforeAll(async () => {
    common = await ground(postgres)
    sim = await startSim({ models: { "*": { tokens: 3 } } })
    const environment = { ...common.environment, GATEWAY_EXCLUSIVE_LEASE_TTL_MS: String(LEASE_MS) }
    right = await inProcess({ environment: { ...environment, GATEWAY_NODE_ID: "right" } })
    const skewed = (id: string, skewMs: number) => spawned({ environment: {
      ...environment, GATEWAY_NODE_ID: id, GATEWAY_TEST_SKEW_MS: String(skewMs),
      NODE_OPTIONS: `--import ${path.resolve(import.meta.dirname, "../support/skewedClock.mjs")}`
    } })
    ;[ahead, behind] = await Promise.all([skewed("ahead", SKEW_MS), skewed("behind", -SKEW_MS)])
    nodes = [right, ahead, behind]
    const each = <A>(section: A) => ({ oauth: section, apikey: section, local: section })
    await right.operator.call("PATCH", "/api/resilience", {
      providerBreaker: each({ degradationThreshold: 2, failureThreshold: FAILURES, resetTimeoutMs: RESET_MS }),
      connectionCooldown: each({ baseCooldownMs: 0, rateLimitCooldownMs: 0, useUpstreamRetryHints: true }),
      waitForCooldown: { enabled: false }
    })
    const lab = await right.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await right.operator.createConnection({ provider: lab, apiKey: CREDENTIAL })
    await converged(right)
  }, 180_000)
  afterAll(async () => {
    await Promise.all([ahead?.close(), behind?.close()])
    await right?.close()
    await sim.stop()
    await common.close()
  })

  const chat = (node: Node, model: string, headers: Readonly<Record<string, string>> = {}) =>
    Http.send(node.url, { path: "/v1/chat/completions", headers, body: { model, messages, max_tokens: 4 } })
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
  /** A Redis that did not answer in time on a busy machine is asked again, as any client would. */
  const answered = (ask: () => Promise<Http.Reply>) => eventually(ask, ({ status }) => status !== 503, "an answer of Redis", 10_000)
  const provider = async (prefix: string) => {
    const id = await right.operator.createNode({ prefix, baseUrl: `${sim.url}/v1` })
    return { id, connection: await right.operator.createConnection({ provider: id, apiKey: CREDENTIAL }) }
  }

  it("leases: one holder for the whole of its time, by the store's clock, whichever node is asked", async () => {
    const declared = (await contractOf(right.operator, "clock-skewed"))("leases")
    expect(declared).toMatchObject({ outcome: "admitted", stalenessMs: 0, addedLatencyMs: 0 })
    const managed = await managedKey(right, "managed", [(await provider("held")).connection])
    await converged(right)
    const old = new Session(behind, managed.key)
    const first = await old.acquire("held/m")
    expect(Date.parse(first.expiresAt) - Date.parse(first.acquiredAt)).toBe(LEASE_MS)
    const rival = new Session(ahead, managed.key)
    const full = await answered(() => rival.ask({ action: "acquire", model: "held/m" }))
    expect([full.status, codeOf(full)]).toEqual([429, "LEASE_CAPACITY_UNAVAILABLE"])
    expect(Number(full.headers["retry-after"])).toBeLessThanOrEqual(LEASE_MS / 1_000)
    // The owner goes on through any node.
    const renewed = await answered(() => new Session(ahead, managed.key, old.owner).ask({ action: "renew", generation: first.generation }))
    expect(renewed.status, renewed.text).toBe(200)
    const { expiresAt } = JSON.parse(renewed.text) as { readonly expiresAt: string }
    expect((await answered(() => chat(behind, "held/leased-first", old.headers(first.generation)))).status).toBe(200)
    const granted = await eventually(() => rival.ask({ action: "acquire", model: "held/m" }), ({ status }) => status === 200, "the first lease's end", LEASE_MS + 10_000)
    const second = JSON.parse(granted.text) as { readonly acquiredAt: string; readonly generation: number }
    expect(Date.parse(second.acquiredAt)).toBeGreaterThanOrEqual(Date.parse(expiresAt))
    expect(Date.parse(second.acquiredAt) - Date.parse(expiresAt)).toBeLessThan(LEASE_MS + NOISE_MS)
    for (const node of nodes) {
      const stale = await answered(() => chat(node, "held/leased-stale", old.headers(first.generation)))
      expect([stale.status, codeOf(stale)]).toEqual([409, "LEASE_FENCE_STALE"])
    }
    expect(await sim.entries({ model: "leased-stale" })).toEqual([])
  })

  it("rates: so many calls a minute over all nodes, and a wait that is true on each", async () => {
    const key = await right.operator.createKey("rated", { maxRequestsPerMinute: RATE })
    await converged(right)
    const replies: Array<Http.Reply> = []
    for (let index = 0; index < 3 * RATE; index++) replies.push(await answered(() => chat(nodes[index % nodes.length] as Node, "lab/rated", bearer(key.key))))
    expect(replies.filter(({ status }) => status === 200)).toHaveLength(RATE)
    for (const reply of replies.filter(({ status }) => status !== 200)) {
      expect([reply.status, codeOf(reply)]).toEqual([429, "rate_limit_exceeded"])
      expect(Number(reply.headers["retry-after"])).toBeLessThanOrEqual(60 + 10)
    }
  })

  it("amounts: within one window the limit holds over all nodes, and what one spent the others know", async () => {
    const key = await right.operator.createKey("limited")
    await sim.rule({ match: { model: "spend" }, script: { tokens: 2, usage: { promptTokens: USE - 1, completionTokens: 1, totalTokens: USE } } })
    // The window must not end between the nodes' clocks: it ends half a day from now.
    const resetTime = new Date(Date.now() + 12 * 3_600_000).toISOString().slice(11, 16)
    await right.operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", tokenLimit: LIMIT, resetInterval: "daily", resetTime })
    await converged(right)
    const refusedBy = new Set<Node>()
    for (let index = 0; refusedBy.size < nodes.length && index < 200; index++) {
      const node = nodes[index % nodes.length] as Node
      const reply = await answered(() => chat(node, "lab/spend", bearer(key.key)))
      if (reply.status === 429) refusedBy.add(node)
      else expect(reply.status, reply.text).toBe(200)
    }
    const spent = (await sim.entries({ model: "spend" })).length * USE
    expect(spent).toBeLessThanOrEqual(LIMIT + nodes.length * USE)
    expect(spent).toBeGreaterThanOrEqual(LIMIT - nodes.length * USE)
    for (const node of nodes) {
      await eventually(() => node.operator.call<{ readonly limits: ReadonlyArray<{ readonly reserved: number; readonly tokensUsed: number }> }>("GET", `/api/usage/token-limits?apiKeyId=${key.id}`),
        ({ limits }) => limits[0]?.reserved === 0 && limits[0].tokensUsed === spent, "the same figures on every node", 15_000)
    }
  })

  it("amounts: a window that is over by the store's clock is kept for a node that is behind, as long as it is used", () => Effect.runPromise(Effect.scoped(Effect.gen(function*() {
    const redis = yield* IoRedisStore.make({ url: Redacted.make(common.redis.url), prefix: "skew:", deadlineMs: 2_000 })
    const [one, two] = [RedisLimitStore.make(redis, "one"), RedisLimitStore.make(redis, "two")]
    const draw = { id: "k:r:0", end: Date.now() - SKEW_MS, limit: 100, total: 0, reserved: 0, need: 60, want: 60, seen: new Map(), settled: [] }
    const [first] = yield* one.exchange([draw])
    expect(first).toMatchObject({ known: true, held: 60 })
    const [second] = yield* two.exchange([draw])
    expect(second).toMatchObject({ known: true, held: 40 })
  }))))

  it("breakers: an opening lasts as long on every node, and one good probe closes it everywhere", async () => {
    await provider("broken")
    await converged(right)
    await sim.rule({ match: { model: "bad" }, script: { status: 500 } })
    for (let index = 0; index < FAILURES; index++) await chat(ahead, "broken/bad")
    const stateOn = async (node: Node) => (await node.operator.call<{ readonly breakers: ReadonlyArray<{ readonly provider: string; readonly state: string }> }>("GET", "/api/resilience"))
      .breakers.find((breaker) => breaker.provider === "broken")?.state ?? "closed"
    for (const node of nodes) await eventually(() => stateOn(node), (state) => state !== "closed", "the opening on every node", RESET_MS)
    const refused = await chat(behind, "broken/good")
    if (refused.status !== 200) {
      expect(refused.status).toBe(503)
      expect(Number(refused.headers["retry-after"])).toBeLessThanOrEqual(RESET_MS / 1_000 + 1)
    }
    for (const node of [behind, ahead, right]) await eventually(() => chat(node, "broken/good"), ({ status }) => status === 200, "the good call on every node", RESET_MS + 10_000)
  })

  it.each(["ahead", "behind"] as const)("cooldowns: a rest that the node %s was asked for ends on every node", async (which) => {
    const prefix = `rest-${which}`
    await provider(prefix)
    await converged(right)
    await sim.rule({ match: { model: `busy-${which}` }, times: 1, script: { status: 429, headers: { "retry-after": String(REST_S) } } })
    const began = performance.now()
    expect((await chat(which === "ahead" ? ahead : behind, `${prefix}/busy-${which}`)).status).toBe(429)
    for (const node of nodes) await eventually(() => chat(node, `${prefix}/busy-${which}`), ({ status }) => status === 200, "the end of the rest on every node", REST_S * 1_000 + 15_000)
    console.log(`a rest of ${REST_S} s told by the node that is ${which}: over on every node after ${Math.round(performance.now() - began)} ms`)
  })

  it("the ledger: rows carry the clock of their node, durations are true, none is missing", async () => {
    const [, wrongAhead, wrongBehind] = nodes.map((_, index) => [0, SKEW_MS, -SKEW_MS][index] ?? 0)
    for (const [node, name] of [[right, "right"], [ahead, "ahead"], [behind, "behind"]] as const) expect((await chat(node, `lab/clock-${name}`)).status).toBe(200)
    for (const node of nodes) expect(await node.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    const rows = (await right.rows()).filter(({ model }) => model.startsWith("clock-"))
    const skewOf = (name: string) => {
      const row = rows.find(({ model }) => model === `clock-${name}`)
      expect(row?.latencyMs).toBeGreaterThanOrEqual(0)
      expect(row?.latencyMs).toBeLessThan(10_000)
      return (row?.startedAt ?? 0) - Date.now()
    }
    expect(rows).toHaveLength(3)
    expect(Math.abs(skewOf("ahead") - (wrongAhead ?? 0))).toBeLessThan(60_000)
    expect(Math.abs(skewOf("behind") - (wrongBehind ?? 0))).toBeLessThan(60_000)
    expect(Math.abs(skewOf("right"))).toBeLessThan(60_000)
    const view = await right.operator.call<{ readonly nodes: ReadonlyArray<{ readonly status: string }> }>("GET", "/api/nodes")
    expect(new Set(view.nodes.map(({ status }) => status)).size).toBe(1)
    await sim.idle()
    const names = (list: ReadonlyArray<string | null>) => list.filter((model) => model !== null && /^(?:clock-|spend|rated|good|busy-)/.test(model)).sort()
    expect(names((await right.rows()).map(({ model }) => model))).toEqual(names((await sim.entries()).map(({ model }) => model)))
  })
})
