/** Over several nodes: every cooldown and lockout is known to all of them, with its reason, and ends for all of them. */
import postgres from "postgres"
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest"
import { type Cluster, converged, findServers, type Ground, startTwo } from "#test/support/cluster.ts"
import type { InProcess } from "#test/support/gateway.ts"
import { errorIn } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

const servers = await findServers()

interface Lockouts {
  readonly items: ReadonlyArray<{ readonly model: string; readonly connectionId: string; readonly remainingMs: number; readonly failureCount: number }>
}
interface RateLimits {
  readonly connections: ReadonlyArray<{ readonly connectionId: string; readonly rateLimitedUntil: string | null; readonly backoffLevel: number; readonly reason: string | null }>
}

describe.skipIf(servers.missing !== null)("cooldowns and lockouts over several nodes", { timeout: 180_000 }, () => {
  let common: Ground
  let cluster: Cluster
  let first: InProcess
  let second: InProcess
  let close: () => Promise<void>

  beforeAll(async () => {
    ({ close, cluster, common, first, second } = await startTwo(servers.postgres))
    const each = <A>(section: A) => ({ oauth: section, apikey: section, local: section })
    await first.operator.call("PATCH", "/api/resilience", {
      providerBreaker: each({ degradationThreshold: 900, failureThreshold: 1_000 }),
      connectionCooldown: each({ baseCooldownMs: 60_000 }),
      waitForCooldown: { enabled: false }
    })
    await converged(first)
  }, 180_000)
  afterAll(() => close())

  const calls = async () => (await cluster.sim.entries()).length
  const lockouts = async (node: InProcess) => (await node.operator.call<Lockouts>("GET", "/api/resilience/model-cooldowns")).items
  const rest = async (node: InProcess, connection = cluster.connection) =>
    (await node.operator.call<RateLimits>("GET", "/api/rate-limits")).connections.find(({ connectionId }) => connectionId === connection)

  it("a provider that broke down on one node rests on the other, until it is cleared on either", async () => {
    const setting = async (enabled: boolean) => {
      await first.operator.call("PATCH", "/api/resilience", { providerCooldown: { enabled, minMs: 60_000 } })
      await converged(first)
    }
    await setting(true)
    await cluster.sim.rule({ match: { model: "down" }, script: { status: 503 } })
    await cluster.chat(first, "lab/down")
    const rests = async () => (await lockouts(second)).filter(({ model }) => model === "*")
    const [row] = await eventually(rests, (items) => items.length === 1, "the rest on the other node", 2_500)
    expect([row?.connectionId, row?.failureCount]).toEqual([null, 1])
    await second.operator.call("DELETE", "/api/resilience/model-cooldowns", { all: true })
    await eventually(() => lockouts(first), (items) => items.length === 0, "the clearing on the other node", 2_500)
    await setting(false)
  })

  it("a model that is unknown to one node's call is not asked for on the other, until it is cleared on either", async () => {
    await cluster.sim.rule({ match: { model: "gone" }, script: { status: 404 } })
    await cluster.chat(first, "lab/gone")
    const [locked] = await eventually(() => lockouts(second), (items) => items.length === 1, "the lockout on the other node", 2_500)
    expect(locked).toMatchObject({ model: "gone", connectionId: cluster.connection, failureCount: 1 })
    expect(locked?.remainingMs).toBeGreaterThan(90_000)
    expect((await cluster.chat(second, "lab/well")).status).toBe(200)
    expect(await second.operator.call("DELETE", "/api/resilience/model-cooldowns", { all: true })).toMatchObject({ cleared: 1 })
    await eventually(() => lockouts(first), (items) => items.length === 0, "the clearing on the other node", 2_500)
    const before = await calls()
    await cluster.chat(first, "lab/gone")
    expect(await calls()).toBe(before + 1)
    await first.operator.call("DELETE", "/api/resilience/model-cooldowns", { all: true })
    await eventually(() => lockouts(second), (items) => items.length === 0, "the end of the test's lockout", 2_500)
  })

  it("our own guess is known as a guess on the other node: it shows its reason there, and refuses no whole model", async () => {
    // One model's failure rests that model alone; the second one's rests the connection.
    for (const model of ["weak", "weaker"]) {
      await cluster.sim.rule({ match: { model }, script: { status: 503 } })
      await cluster.chat(first, `lab/${model}`)
    }
    const [own, heard] = [await rest(first), await eventually(() => rest(second), (row) => row?.rateLimitedUntil !== null, "the cooldown on the other node", 10_000)]
    expect(heard).toMatchObject({ reason: "model_capacity", backoffLevel: own?.backoffLevel })
    // The record does not hold the reason, and takes none away.
    // The API shows what the node knows; only the database tells that it is written.
    const sql = postgres(common.database, { max: 1 })
    onTestFinished(() => sql.end())
    await eventually(() => sql<Array<{ until: string | null }>>`SELECT rate_limited_until AS until FROM connections WHERE id = ${cluster.connection}`, ([row]) => row?.until != null, "the record")
    await converged(first)
    expect(await rest(second)).toMatchObject({ reason: "model_capacity" })
    const reply = await cluster.chat(second, "lab/well")
    expect(reply.status, reply.text).toBe(200)
    await first.operator.changeConnection(cluster.connection, { rateLimitedUntil: null })
    await eventually(async () => [(await rest(first))?.rateLimitedUntil, (await rest(second))?.rateLimitedUntil], ([a, b]) => a === null && b === null, "its end on both", 10_000)
  })

  it("the upstream's word holds on both nodes: the other one refuses without a call, and says until when", async () => {
    await cluster.sim.rule({ match: { model: "full" }, script: { status: 429, headers: { "Retry-After": "300" } } })
    await cluster.chat(first, "lab/full")
    await eventually(() => rest(second), (row) => row?.rateLimitedUntil !== null, "the cooldown on the other node", 10_000)
    const before = await calls()
    const reply = await cluster.chat(second, "lab/well")
    expect([reply.status, errorIn(reply)["code"]]).toEqual([429, "model_cooldown"])
    expect(Number(reply.headers["retry-after"])).toBeGreaterThan(200)
    expect(Number(reply.headers["retry-after"])).toBeLessThanOrEqual(300)
    expect(await calls()).toBe(before)
  })

  it("without Redis a cooldown is known through the records, and each node learns of a locked model by its own call", async () => {
    const node = await first.operator.createNode({ prefix: "spare", baseUrl: `${cluster.sim.url}/v1` })
    const connection = await first.operator.createConnection({ provider: node, apiKey: "key-of-spare" })
    await converged(first)
    await common.redis.kill()
    const before = await calls()
    for (const one of cluster.nodes) expect((await cluster.chat(one, "spare/gone")).status).toBe(404)
    expect(await calls()).toBe(before + 2)
    await cluster.sim.rule({ match: { model: "fuller" }, script: { status: 429, headers: { "Retry-After": "300" } } })
    for (const model of ["full", "fuller"]) await cluster.chat(first, `spare/${model}`)
    await eventually(() => rest(second, connection), (row) => row?.rateLimitedUntil !== null, "the cooldown on the other node", 5_000)
    expect((await cluster.chat(second, "spare/well")).status).toBeGreaterThanOrEqual(429)
    expect(await calls()).toBe(before + 4)
  })
})
