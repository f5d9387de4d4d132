/**
 * A table: each fault of Redis x each kind of request, on two nodes that share it, beside GET /api/health/degradation. What is
 * admitted, what is refused with which code, the latency that a fault may add, and that everything is right again once it is over.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { codeOf, managedKey, Session } from "#test/features/leases/support.ts"
import { type Cluster, converged, findServers, ground, type Ground, startCluster } from "#test/support/cluster.ts"
import { contractOf, type Road, roadTo } from "#test/support/faults.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, messages } from "#test/support/lab.ts"
import { eventually, PASSWORD } from "#test/support/operator.ts"
import { watchLoop } from "./support.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

/** What a node waits for Redis (ms): three times the default, because two nodes share this process with their clients. */
const DEADLINE_MS = 150
/** How much later each byte of a slow Redis comes (ms). */
const SLOW_MS = 250
/** What a shared machine may add to the declared latency (ms). */
const ADDED_MS = 1_000
/** A change reaches every node within 2 seconds; the rest is the machine's noise (ms). */
const SPREAD_MS = 3_500
/** What one call of a limited key uses, tokens. */
const USE = 20
const LIMIT = 20 * USE
/** Longest time that a block of a token limit is spent without Redis, with a margin (ms). */
const BLOCK_MS = 13_000

interface Fault {
  readonly name: "refused" | "frozen" | "slow" | "flushed"
  readonly strike: () => Promise<unknown>
  /** True when shared state cannot be asked; false when it answers, and has forgotten. */
  readonly away: boolean
}

interface Limit {
  readonly tokensUsed: number
  readonly reserved: number
}

describe.skipIf(missing !== null)("a Redis that fails under two nodes", { timeout: 180_000 }, () => {
  let common: Ground
  let road: Road
  let cluster: Cluster
  let one: InProcess
  let two: InProcess

  beforeAll(async () => {
    common = await ground(postgres)
    road = await roadTo(common.redis.url)
    cluster = await startCluster(
      { ...common, environment: { ...common.environment, REDIS_URL: road.url, GATEWAY_REDIS_TIMEOUT_MS: String(DEADLINE_MS) } },
      ["one", "two"].map((id) => ({ environment: { GATEWAY_NODE_ID: id, HUGGINGFACE_OAUTH_CLIENT_ID: "client-of-the-operator" } }))
    )
    ;[one, two] = cluster.nodes as [InProcess, InProcess]
    await one.operator.letFailuresPass()
  }, 180_000)
  afterAll(async () => {
    await road.is("open")
    await cluster.close()
    await road.close()
    await common.close()
  })

  const faults: ReadonlyArray<Fault> = [
    { name: "refused", strike: () => road.is("refused"), away: true },
    { name: "frozen", strike: () => road.is("frozen"), away: true },
    { name: "slow", strike: () => road.is({ slowMs: SLOW_MS }), away: true },
    { name: "flushed", strike: () => common.redis.client().flushall(), away: false }
  ]

  const send = (node: InProcess, model: string, headers: Readonly<Record<string, string>>, more: Readonly<Record<string, unknown>> = {}) =>
    Http.send(node.url, { path: "/v1/chat/completions", headers, body: { model, messages, max_tokens: 4, ...more } })
  /** A Redis that did not answer in time on a busy machine is asked again, as any client would. */
  const answered = (ask: () => Promise<Http.Reply>): Promise<Http.Reply> => eventually(ask, ({ status }) => status !== 503, "an answer of Redis", 10_000)
  const bearer = (key: string) => ({ authorization: `Bearer ${key}` })

  const limitOf = async (node: InProcess, id: string): Promise<Limit> => {
    const [limit] = (await node.operator.call<{ limits: ReadonlyArray<Limit> }>("GET", `/api/usage/token-limits?apiKeyId=${id}`)).limits
    if (limit === undefined) throw new Error(`key ${id} has no token limit`)
    return limit
  }
  const limited = async (name: string, tokenLimit: number) => {
    const key = await one.operator.createKey(name)
    await one.operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", tokenLimit })
    return key
  }

  /** Of all calls of a tag: one row for each that the upstream saw, and no other. */
  const expectWholeLedger = async (tag: string): Promise<number> => {
    await cluster.sim.idle()
    await one.rows()
    const rows = (await two.rows()).map(({ model }) => model).filter((model) => model.startsWith(tag)).sort()
    const calls = (await cluster.sim.entries()).map(({ model }) => model ?? "").filter((model) => model.startsWith(tag)).sort()
    expect(rows).toEqual(calls)
    for (const node of cluster.nodes) expect(await node.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    return calls.length
  }

  it.each(faults)("$name: what the table says is what happens, and afterwards all is well", async ({ away, name, strike }) => {
    const tag = `${name}-`
    const model = (what: string) => `lab/${tag}${what}`
    await cluster.sim.rule({
      match: { model: `${tag}edge` }, script: { tokens: 2, usage: { promptTokens: USE - 1, completionTokens: 1, totalTokens: USE } }
    })
    // Less than is reserved for it: what is left of a block is enough for the next call.
    await cluster.sim.rule({ match: { model: `${tag}patient` }, script: { tokens: 1, usage: { promptTokens: 1, completionTokens: 1, totalTokens: 2 } } })
    const plain = await one.operator.createKey("plain")
    const [edge, fresh, patient] = [await limited("edge", LIMIT), await limited("fresh", 1_000_000), await limited("patient", 1_000_000)]
    // A connection that only this fault's leases are for.
    const node = await one.operator.createNode({ prefix: `held-${name}`, baseUrl: `${cluster.sim.url}/v1` })
    const leased = await one.operator.createConnection({ provider: node, apiKey: CREDENTIAL })
    const managed = await managedKey(one, "managed", [leased])
    await converged(one)
    const session = new Session(one, managed.key)
    const { generation } = await session.acquire(`held-${name}/m`)
    expect((await send(one, model("cached"), bearer(plain.key), { temperature: 0 })).status).toBe(200)
    // Last: a node gives a block back that nobody used for two seconds.
    await Promise.all(cluster.nodes.map(async (node) => {
      expect((await send(node, model("plain"), bearer(plain.key))).status).toBe(200)
      await eventually(() => send(node, model("edge"), bearer(edge.key)), ({ status }) => status === 200, "a block of the narrow limit")
      await eventually(() => send(node, model("patient"), bearer(patient.key)), ({ status }) => status === 200, "a block of the limit")
    }))

    const declared = await contractOf(one.operator, `redis-${name}`)
    const worst = new Map<string, { readonly feature: string; readonly ms: number }>()
    const timed = (feature: string) => async <A>(what: string, run: () => Promise<A>): Promise<A> => {
      const began = performance.now()
      const result = await run()
      worst.set(what, { feature, ms: Math.max(worst.get(what)?.ms ?? 0, Math.round(performance.now() - began)) })
      return result
    }
    const [inference, limits, leases, cache, idempotency, configuration] =
      [timed("inference"), timed("limits"), timed("leases"), timed("response-cache"), timed("idempotency"), timed("configuration")]
    const [signIns, brake] = [timed("provider-sign-ins"), timed("login-brake")]
    const outcomes = ["inference", "limits", "leases", "response-cache", "idempotency", "configuration", "provider-sign-ins", "login-brake", "cooldowns", "session-hand-offs"]
      .map((feature) => [feature, declared(feature).outcome])
    expect(Object.fromEntries(outcomes)).toEqual({
      inference: "admitted", limits: away ? "denied" : "admitted", leases: "denied", "response-cache": "admitted", idempotency: "admitted", configuration: "admitted",
      "provider-sign-ins": "denied", "login-brake": "admitted", cooldowns: "admitted", "session-hand-offs": "admitted"
    })
    const late = watchLoop()
    await strike()
    try {
      // First, and at once: see above.
      for (const held of await Promise.all(cluster.nodes.map((node) => limits("held limit", () => send(node, model("patient"), bearer(patient.key)))))) {
        expect(held.status, held.text).toBe(200)
      }
      for (const node of cluster.nodes) {
        expect((await inference("plain", () => send(node, model("plain"), bearer(plain.key)))).status).toBe(200)
        expect((await inference("no key", () => send(node, model("plain"), {}))).status).toBe(200)

        const first = await limits("new limit", () => send(node, model("fresh"), bearer(fresh.key)))
        if (away) expect([first.status, codeOf(first), first.headers["retry-after"]]).toEqual([503, "service_unavailable", "1"])
        else expect((first.status === 503 ? await answered(() => send(node, model("fresh"), bearer(fresh.key))) : first).status).toBe(200)

        const mine = new Session(node, managed.key, session.owner)
        const fenced = away ? [503, "LEASE_SERVICE_UNAVAILABLE"] : [409, "LEASE_FENCE_STALE"]
        for (const [what, ask] of [
          ["lease status", () => mine.status(generation)], ["lease renewal", () => mine.ask({ action: "renew", generation })],
          ["leased call", () => send(node, `held-${name}/${tag}leased`, mine.headers(generation))]
        ] as const) {
          const reply = await (away ? leases(what, ask) : answered(() => leases(what, ask)))
          expect([reply.status, codeOf(reply)]).toEqual(fenced)
        }
        if (away) {
          const other = await leases("lease acquisition", () => new Session(node, managed.key).ask({ action: "acquire", model: `held-${name}/m` }))
          expect([other.status, codeOf(other)]).toEqual(fenced)
        }

        const begin = () => node.operator.raw("POST", "/api/oauth/huggingface/start", {})
        const begun = await signIns("sign-in to a provider", begin)
        if (away) expect([begun.status, codeOf(begun)]).toEqual([503, "store_unavailable"])
        else expect((await answered(begin)).status).toBe(200)
        expect((await brake("password", () => Http.send(node.url, { path: "/api/auth/login", body: { password: PASSWORD } }))).status).toBe(200)

        const cached = await cache("cached", () => send(node, model("cached"), bearer(plain.key), { temperature: 0 }))
        expect(cached.status).toBe(200)
        if (node === one) expect(cached.headers["x-gateway-cache"]).toBe("HIT")

        const twice = { ...bearer(plain.key), "idempotency-key": `${tag}k` }
        expect((await idempotency("idempotent", () => send(node, model("twice"), twice))).status).toBe(200)
        const repeat = await idempotency("idempotent", () => send(node, model("twice"), twice))
        expect([repeat.status, repeat.headers["x-gateway-idempotent"]]).toEqual([200, "true"])
      }
      expect((await cluster.sim.entries({ model: `${tag}twice` })).length).toBeLessThanOrEqual(cluster.nodes.length)
      expect(await cluster.sim.entries({ model: `${tag}leased` })).toEqual([])

      // Twice what the limit allows: what each node still holds is spent, and no more.
      const edges = await Promise.all(Array.from({ length: 40 }, (_, index) => limits("narrow limit", () =>
        send(cluster.nodes[index % 2] as InProcess, model("edge"), bearer(edge.key)))))
      expect(edges.map(({ status }) => status).filter((status) => ![200, 429, 503].includes(status))).toEqual([])

      await configuration("configuration change", () => one.operator.call("PUT", "/api/models/alias", { alias: `${tag}alias`, model: model("plain") }))
      await eventually(() => send(two, `${tag}alias`, bearer(plain.key)), ({ status }) => status === 200, "the alias on the other node", SPREAD_MS)

      if (name === "refused") {
        await eventually(() => send(one, model("patient"), bearer(patient.key)), ({ status }) => status === 503, "the end of a held block", BLOCK_MS)
        expect((await send(one, model("plain"), bearer(plain.key))).status).toBe(200)
      }
    } finally {
      await road.is("open")
    }
    const noise = ADDED_MS + 2 * late()
    for (const [what, { feature, ms }] of worst) expect(ms, what).toBeLessThan((declared(feature).addedLatencyMs ?? 0) + noise)

    for (const node of cluster.nodes) {
      await eventually(() => send(node, model("fresh"), bearer(fresh.key)), ({ status }) => status === 200, "a limited key's service", 10_000)
      for (const key of [edge, fresh, patient]) {
        await eventually(() => limitOf(node, key.id), ({ reserved }) => reserved === 0, "the end of all reservations")
      }
      expect((await limitOf(node, edge.id)).tokensUsed).toBeLessThanOrEqual(LIMIT + cluster.nodes.length * USE)
    }
    const holder = away ? generation : (await session.acquire(`held-${name}/m`)).generation
    if (!away) expect(holder).toBe(generation + 1)
    expect((await answered(() => session.status(holder))).status).toBe(200)
    const rival = new Session(two, managed.key)
    expect(codeOf(await answered(() => rival.ask({ action: "acquire", model: `held-${name}/m` })))).toBe("LEASE_CAPACITY_UNAVAILABLE")
    expect((await answered(() => send(two, `held-${name}/m`, session.headers(holder)))).status).toBe(200)
    // One that was done without being heard of is stale when it is asked for again.
    expect([200, 409]).toContain((await answered(() => session.ask({ action: "release", generation: holder }))).status)
    const next = await rival.acquire(`held-${name}/m`)
    expect(codeOf(await answered(() => send(one, `held-${name}/${tag}leased`, session.headers(holder))))).toBe("LEASE_FENCE_STALE")
    expect((await answered(() => rival.status(next.generation))).status).toBe(200)
    const calls = await expectWholeLedger(tag)
    console.log(`Redis ${name}: ${calls} calls upstream, each with its row; largest ms: ${Array.from(worst, ([what, { ms }]) => `${what} ${ms}`).join(", ")}`)
  })

  it("a claim on an idempotent call whose answer came too late is finished all the same: the other node gives the same reply", async () => {
    const { key } = await one.operator.createKey("late")
    await converged(one)
    await cluster.sim.rule({ match: { model: "late-claim" }, script: { tokens: 2, latencyMs: 1_000 } })
    const ask = (node: InProcess, name: string) => send(node, "lab/late-claim", { ...bearer(key), "idempotency-key": name })
    const calls = async () => (await cluster.sim.entries({ model: "late-claim" })).length
    const repeated: Array<string> = []
    // A Redis breaker that opened for another reason lets no claim out: then there is nothing to finish, and it is tried again.
    for (let round = 0; round < 4 && !repeated.includes("true"); round++) {
      await eventually(async () => {
        const name = `warm-${round}-${Math.random()}`
        await send(one, "lab/warm", { ...bearer(key), "idempotency-key": name })
        return (await send(two, "lab/warm", { ...bearer(key), "idempotency-key": name })).headers["x-gateway-idempotent"]
      }, (answer) => answer === "true", "a Redis that answers")
      const before = await calls()
      await road.is({ slowMs: SLOW_MS })
      try {
        const first = ask(one, `late-${round}`)
        await eventually(calls, (count) => count > before, "the call")
        await road.is("open")
        expect((await first).status).toBe(200)
      } finally {
        await road.is("open")
      }
      const repeat = await ask(two, `late-${round}`)
      expect(repeat.status).toBe(200)
      repeated.push(repeat.headers["x-gateway-idempotent"] ?? "no")
    }
    expect(repeated).toContain("true")
  })

  it("an operator who gives it more time (GATEWAY_REDIS_TIMEOUT_MS) is served by a slow Redis, too", async () => {
    const patient = await inProcess({ environment: { ...common.environment, REDIS_URL: road.url, GATEWAY_REDIS_TIMEOUT_MS: "2000", GATEWAY_NODE_ID: "three" } })
    try {
      const key = await limited("new", 1_000_000)
      await converged(one)
      await road.is({ slowMs: SLOW_MS })
      const ask = (node: InProcess) => send(node, "lab/new", bearer(key.key))
      expect((await ask(one)).status).toBe(503)
      expect((await eventually(() => ask(patient), ({ status }) => status !== 503, "an answer of Redis", 10_000)).status).toBe(200)
    } finally {
      await road.is("open")
      await patient.close()
    }
  })
})
