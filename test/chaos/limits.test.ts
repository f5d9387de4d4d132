/** Limits of keys over two nodes, with a Redis that is flushed, frozen or gone, and over kill -9. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, converged, findServers, ground, type Ground, startCluster } from "#test/support/cluster.ts"
import { type InProcess, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, messages } from "#test/support/lab.ts"
import { eventually, type Operator } from "#test/support/operator.ts"
import { startSim } from "#test/support/sim.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

interface Limit {
  readonly tokensUsed: number
  readonly remaining: number
  readonly reserved: number
}

const limitOf = async (operator: Operator, id: string): Promise<Limit> => {
  const [limit] = (await operator.call<{ limits: ReadonlyArray<Limit> }>("GET", `/api/usage/token-limits?apiKeyId=${id}`)).limits
  if (limit === undefined) throw new Error(`key ${id} has no token limit`)
  return limit
}

describe.skipIf(missing !== null)("limits over two nodes", () => {
  let common: Ground
  let cluster: Cluster
  let nodes: ReadonlyArray<InProcess>
  beforeAll(async () => {
    common = await ground(postgres)
    cluster = await startCluster(common, ["one", "two"].map((GATEWAY_NODE_ID) => ({ environment: { GATEWAY_NODE_ID, GATEWAY_REDIS_TIMEOUT_MS: "1000" } })))
    nodes = cluster.nodes
    await nodes[0]?.operator.letFailuresPass()
  })
  afterAll(async () => {
    await cluster.close()
    await common.close()
  })

  const tokens = (model: string, count: number, script: Record<string, unknown> = {}) =>
    cluster.sim.rule({ match: { model }, script: { tokens: 2, usage: { promptTokens: count - 1, completionTokens: 1, totalTokens: count }, ...script } })

  const keyed = async (policy: Record<string, unknown>, tokenLimit: number | null) => {
    const first = nodes[0] as InProcess
    const key = await first.operator.createKey("k", policy)
    if (tokenLimit !== null) await first.operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", tokenLimit })
    await converged(first)
    return key
  }
  const send = (node: InProcess, model: string, key: string) => Http.send(node.url, {
    path: "/v1/chat/completions", headers: { authorization: `Bearer ${key}` }, body: { model: `lab/${model}`, messages, max_tokens: 4 }
  })
  const rest = (id: string) => Promise.all(nodes.map((node) => eventually(() => limitOf(node.operator, id), (seen) => seen.reserved === 0, "the end of all reservations")))

  it("two hundred calls at once pass a token limit by one request of each node at most", async () => {
    await tokens("crowd", 20, { paceMs: 10 })
    const key = await keyed({}, 1_000)
    const statuses: Array<number> = []
    await Promise.all(Array.from({ length: 200 }, async (_, index) => {
      const node = nodes[index % 2] as InProcess
      const stream = await Http.stream(node.url, {
        path: "/v1/chat/completions", headers: { authorization: `Bearer ${key.key}` }, body: { model: "lab/crowd", messages, max_tokens: 4, stream: true }
      })
      statuses.push(stream.status)
      if (stream.status === 200 && index % 5 === 0) stream.leave()
      else await stream.ended
    }))
    expect(statuses.filter((status) => status !== 200 && status !== 429)).toEqual([])
    // What was left over at the edge is used up one by one, on either node, as reservations of calls that were left come back.
    await eventually(async () => {
      for (const node of nodes) await send(node, "crowd", key.key)
      return limitOf((nodes[0] as InProcess).operator, key.id)
    }, ({ tokensUsed }) => tokensUsed >= 1_000, "the end of the limit")
    for (const limit of await rest(key.id)) {
      expect(limit.tokensUsed).toBeLessThanOrEqual(1_000 + 2 * 20)
      expect(limit.tokensUsed).toBeGreaterThanOrEqual(1_000)
    }
    for (const node of nodes) expect((await send(node, "crowd", key.key)).status).toBe(429)
  })

  it("a rate counts over both nodes, and so do sessions", async () => {
    const key = await keyed({ rateLimits: [{ limit: 20, window: 600 }], maxSessions: 2 }, null)
    const replies = await Promise.all(Array.from({ length: 60 }, (_, index) => send(nodes[index % 2] as InProcess, "rate", key.key)))
    const served = replies.filter(({ status }) => status === 200).length
    expect(served).toBeLessThanOrEqual(20)
    expect(served).toBeGreaterThanOrEqual(18)
    const sessions = await keyed({ maxSessions: 2 }, null)
    const as = async (node: number, session: string) => (await Http.send((nodes[node] as InProcess).url, {
      path: "/v1/chat/completions", headers: { authorization: `Bearer ${sessions.key}`, "x-session-id": session }, body: { model: "lab/s", messages }
    })).status
    expect([await as(0, "a"), await as(1, "b"), await as(0, "c"), await as(1, "a")]).toEqual([200, 200, 429, 200])
  })

  it("a flushed Redis forgets nothing that the ledger knows", async () => {
    await tokens("flush", 40)
    const key = await keyed({}, 100)
    for (const node of nodes) expect((await send(node, "flush", key.key)).status).toBe(200)
    await rest(key.id)
    await common.redis.client().flushall()
    // Until its lease is given back the other node may hold what is left.
    await eventually(() => send(nodes[0] as InProcess, "flush", key.key), ({ status }) => status === 200, "service on what is left")
    for (const node of nodes) {
      await eventually(() => send(node, "flush", key.key), ({ status }) => status === 429, "the refusal after the flush")
      expect((await limitOf(node.operator, key.id)).tokensUsed).toBeLessThanOrEqual(160)
    }
  })

  it("without Redis keys without limits are served; a key with limits is once its block is spent refused with 503, and served again afterwards", async () => {
    const node = nodes[0] as InProcess
    const plain = await keyed({}, null)
    const limited = await keyed({}, 1_000_000)
    const fresh = await keyed({}, 1_000_000)
    expect((await send(node, "gone", limited.key)).status).toBe(200)
    await send(node, "gone", plain.key)
    common.redis.freeze()
    try {
      const begin = performance.now()
      expect((await send(node, "gone", plain.key)).status).toBe(200)
      const refused = await send(node, "gone", fresh.key)
      expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "1"])
      expect(performance.now() - begin).toBeLessThan(2_000)
    } finally {
      common.redis.thaw()
    }
    await eventually(() => send(node, "gone", fresh.key), ({ status }) => status === 200, "service after the thaw")
    await common.redis.kill()
    expect((await send(node, "gone", plain.key)).status).toBe(200)
    await common.redis.start()
    for (const key of [limited, fresh]) await eventually(() => send(node, "gone", key.key), ({ status }) => status === 200, "service after the restart")
  })
})

describe("limits over kill -9", () => {
  it("what was used before the kill is counted after it, and nothing stays reserved", async () => {
    const sim = await startSim({ models: { "*": {} } })
    await sim.rule({ match: { model: "spend" }, script: { tokens: 2, usage: { promptTokens: 39, completionTokens: 1, totalTokens: 40 } } })
    await sim.rule({ match: { model: "slowly" }, script: { tokens: 50, paceMs: 200 } })
    const gateway = await spawned()
    try {
      const { operator } = gateway
      const node = await operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
      await operator.createConnection({ provider: node, apiKey: CREDENTIAL })
      const key = await operator.createKey("k")
      await operator.call("POST", "/api/usage/token-limits", { apiKeyId: key.id, scopeType: "global", tokenLimit: 100 })
      const call = (model: string, cap = 4): Http.Call => ({
        path: "/v1/chat/completions", headers: { authorization: `Bearer ${key.key}` }, body: { model: `lab/${model}`, messages, max_tokens: cap, stream: true }
      })
      const use = async () => {
        const stream = await Http.stream(gateway.url, call("spend"))
        await stream.ended
        return stream.status
      }
      expect([await use(), await use()]).toEqual([200, 200])
      const open = await Http.stream(gateway.url, call("slowly", 50))
      expect(open.status).toBe(200)
      await open.until((text) => text.includes("data:"))
      expect((await limitOf(operator, key.id)).reserved).toBeGreaterThan(0)
      await gateway.kill9()
      await gateway.start()
      expect(await limitOf(operator, key.id)).toMatchObject({ tokensUsed: 80, reserved: 0 })
      expect([await use(), await use()]).toEqual([200, 429])
    } finally {
      await gateway.close()
      await sim.stop()
    }
  }, 300_000)
})
