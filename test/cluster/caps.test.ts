/** Over several nodes: what an upstream allows at once, it allows all nodes together; each has its part. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, converged, findServers, type Ground, ground, startCluster } from "#test/support/cluster.ts"
import type { InProcess } from "#test/support/gateway.ts"
import { eventually } from "#test/support/operator.ts"

const servers = await findServers()

interface RateLimits {
  readonly connections: ReadonlyArray<{ readonly connectionId: string; readonly maxConcurrent: number | null }>
}

describe.skipIf(servers.missing !== null)("caps over several nodes", { timeout: 180_000 }, () => {
  let common: Ground
  let cluster: Cluster
  beforeAll(async () => {
    common = await ground(servers.postgres)
    cluster = await startCluster(common, [{}, {}])
  }, 180_000)
  afterAll(async () => {
    await cluster.close()
    await common.close()
  })

  const capOn = (node: InProcess, cap: number) => eventually(
    async () => (await node.operator.call<RateLimits>("GET", "/api/rate-limits")).connections.find(({ connectionId }) => connectionId === cluster.connection)?.maxConcurrent,
    (seen) => seen === cap, `a part of ${cap}`, 15_000
  )

  it("maxConcurrent 4 over two nodes: never more than 4 upstream, all answered; the last node has it all", async () => {
    const [first, second] = cluster.nodes as readonly [InProcess, InProcess]
    await cluster.sim.rule({ match: { model: "slow" }, script: { latencyMs: 150, text: "done" } })
    await first.operator.changeConnection(cluster.connection, { maxConcurrent: 4 })
    await first.operator.call("PATCH", "/api/resilience", { requestQueue: { requestsPerMinute: 0, minTimeBetweenRequestsMs: 0, concurrentRequests: 0, maxWaitMs: 30_000, executionMaxWaitMs: 0, maxQueueDepth: 0 } })
    await first.operator.call("POST", "/api/rate-limits", { connectionId: cluster.connection, enabled: true })
    await converged(first)
    // Asked once, so that both nodes have a place to tell of.
    for (const node of [first, second]) expect((await cluster.chat(node, "lab/first")).status).toBe(200)
    await Promise.all([capOn(first, 2), capOn(second, 2)])
    const replies = await Promise.all(Array.from({ length: 24 }, (_, i) => cluster.chat(i % 2 === 0 ? first : second, "lab/slow")))
    expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200))
    const entries = await cluster.sim.entries({ model: "slow" })
    const most = Math.max(...entries.map((entry) => entries.filter((other) => other.at <= entry.at && (other.endedAt ?? Infinity) > entry.at).length))
    expect(most).toBeGreaterThan(2)
    expect(most).toBeLessThanOrEqual(4)
  })

  it("rpd 6 over two nodes: each has its part, 6 in all; the last node has what is left of the day", async () => {
    const [first, second] = cluster.nodes as readonly [InProcess, InProcess]
    const provider = await first.operator.createNode({ prefix: "daily", baseUrl: `${cluster.sim.url}/v1` })
    const id = await first.operator.createConnection({ provider, apiKey: "credential-of-a-day", name: "daily" })
    await first.operator.changeConnection(id, { rateLimitOverrides: { rpd: 6 } })
    await converged(first)
    const statuses = async (node: InProcess, calls: number) => {
      const seen: Array<number> = []
      for (let i = 0; i < calls; i++) seen.push((await cluster.chat(node, "daily/m")).status)
      return seen
    }
    expect(await statuses(first, 5)).toEqual([200, 200, 200, 429, 429])
    expect(await statuses(second, 2)).toEqual([200, 200])
    await second.close()
    await capOn(first, 4)
    // Five of six are used: the node that is alone reads that from the ledger.
    await expect.poll(async () => (await cluster.chat(first, "daily/m")).status, { timeout: 20_000 }).toBe(200)
    expect(await statuses(first, 2)).toEqual([429, 429])
    expect((await cluster.sim.entries({ model: "m" })).length).toBe(6)
  })
})
