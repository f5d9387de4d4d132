/**
 * Three gateways on one Postgres and one Redis, under load: one is killed with -9 and started again, one is paused and goes on. Each call
 * that reached the upstream has exactly one row, and what a paused node held passes nothing twice.
 */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { codeOf, managedKey, Session } from "#test/features/leases/support.ts"
import { findServers, ground, type Ground } from "#test/support/cluster.ts"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { chance } from "./support.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

const LEASE_MS = 4_000
/** Calls before the killed node is back, and in all: their rows must fit one page of the call log. */
const CALLS_BEFORE = 330
const CALLS = 480
const WORKERS = 4
const USE = 20
const LIMIT = 40 * USE
/** Calls of the node that is paused, right before. */
const UNREPORTED = 6
/** A block is its node's for ten seconds, paused or not; then it counts as spent until the node has spoken. */
const BLOCK_MS = 20_000

describe.skipIf(missing !== null)("three nodes, of which one dies and one pauses", { timeout: 180_000 }, () => {
  let common: Ground
  let sim: Sim
  let nodes: ReadonlyArray<Spawned> = []

  beforeAll(async () => {
    common = await ground(postgres)
    sim = await startSim({ models: { "*": {} } })
    const environment = { ...common.environment, GATEWAY_EXCLUSIVE_LEASE_TTL_MS: String(LEASE_MS) }
    // The first migrates; the others start at once.
    const first = await spawned({ environment: { ...environment, GATEWAY_NODE_ID: "n1" } })
    nodes = [first]
    nodes = [first, ...await Promise.all(["n2", "n3"].map((id) => spawned({ environment: { ...environment, GATEWAY_NODE_ID: id } })))]
    await first.operator.letFailuresPass()
    const node = await first.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await first.operator.createConnection({ provider: node, apiKey: CREDENTIAL })
  }, 180_000)
  afterAll(async () => {
    for (const node of nodes) if (node.pid() > 0) process.kill(node.pid(), "SIGCONT")
    for (const node of nodes) await node.close()
    await sim.stop()
    await common.close()
  })

  const three = (): readonly [Spawned, Spawned, Spawned] => nodes as unknown as readonly [Spawned, Spawned, Spawned]
  const everywhere = (headers: Readonly<Record<string, string>>, status: number) => Promise.all(nodes.map((node) =>
    eventually(() => Http.send(node.url, { path: "/v1/chat/completions", headers, body: { model: "lab/warm", messages, max_tokens: 4 } }),
      (reply) => reply.status === status, "the configuration on every node", 10_000)))

  it("kill -9 of one and a pause of another: after the replay no row is missing and none is double", async () => {
    const [one, two, third] = three()
    const random = chance()
    const key = await one.operator.createKey("load")
    const headers = { authorization: `Bearer ${key.key}` }
    await everywhere(headers, 200)
    let calls = 0
    let most = CALLS_BEFORE
    let over = false
    const worker = async (node: Spawned): Promise<void> => {
      while (!over && calls < most) {
        const model = `load-${calls++}`
        await sim.rule({
          match: { model },
          script: random.one([{ tokens: 3 }, { tokens: 40, paceMs: 10 }, { tokens: 20, endAfter: { frames: 9 } }, { status: 503 }, { tokens: 3, latencyMs: 600 }])
        })
        const stream = random.below(3) > 0
        try {
          await Http.send(node.url, { path: "/v1/chat/completions", headers, body: { model: `lab/${model}`, messages, stream } })
        } catch {
          // Its node is gone.
          return
        }
      }
    }
    const load = (node: Spawned) => Array.from({ length: WORKERS }, () => worker(node))
    const arrived = async () => (await sim.entries()).filter(({ model }) => model?.startsWith("load-") === true).length
    const more = async (count: number): Promise<void> => {
      const from = await arrived()
      await eventually(arrived, (seen) => seen >= from + count, `${count} further calls`)
    }
    const workers = nodes.flatMap(load)
    await more(50 + random.below(20))
    await two.kill9()
    await more(20)
    process.kill(third.pid(), "SIGSTOP")
    await more(30)
    await two.start()
    process.kill(third.pid(), "SIGCONT")
    most = CALLS
    workers.push(...nodes.flatMap(load))
    await more(50)
    over = true
    await Promise.all(workers)
    await sim.idle()

    for (const node of nodes) expect(await node.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    const rows = (await one.operator.callLogs()).filter(({ model }) => model.startsWith("load-"))
    const entries = (await sim.entries()).filter(({ model }) => model?.startsWith("load-") === true)
    const counted = (list: ReadonlyArray<{ readonly model: string | null }>) => {
      const counts = new Map<string, number>()
      for (const { model } of list) counts.set(model ?? "", (counts.get(model ?? "") ?? 0) + 1)
      return counts
    }
    const [has, saw] = [counted(rows), counted(entries)]
    const lost = [...saw].filter(([model, count]) => (has.get(model) ?? 0) < count).map(([model]) => model)
    // A row above the calls is an attempt whose start was on disk before its first byte left: it must say that its process died.
    const double = [...has].filter(([model, count]) => count > (saw.get(model) ?? 0)
      && rows.filter((row) => row.model === model && row.outcome === "crashed").length < count - (saw.get(model) ?? 0)).map(([model]) => model)
    const crashed = rows.filter(({ outcome }) => outcome === "crashed").length
    console.log(`kill and pause: ${entries.length} calls upstream, ${rows.length} rows, ${crashed} crashed, ${lost.length} missing, ${double.length} double`)
    expect({ seed: random.seed, lost, double }).toEqual({ seed: random.seed, lost: [], double: [] })
    expect(new Set(rows.map(({ id }) => id)).size).toBe(rows.length)
    expect(entries.length).toBeGreaterThan(150)
  })

  it("a node that was paused past its leases and blocks passes nothing with them", async () => {
    const [one, two, third] = three()
    await sim.rule({ match: { model: "spend" }, script: { tokens: 2, usage: { promptTokens: USE - 1, completionTokens: 1, totalTokens: USE } } })
    const provider = await one.operator.createNode({ prefix: "held", baseUrl: `${sim.url}/v1` })
    const connection = await one.operator.createConnection({ provider, apiKey: CREDENTIAL })
    const managed = await managedKey(one, "managed", [connection])
    const limited = await one.operator.createKey("limited")
    await one.operator.call("POST", "/api/usage/token-limits", { apiKeyId: limited.id, scopeType: "global", tokenLimit: LIMIT })
    await eventually(() => one.operator.call<{ readonly converged: boolean }>("GET", "/api/nodes"), (view) => view.converged, "the limit on every node")
    const spend = (node: Spawned) => Http.send(node.url, {
      path: "/v1/chat/completions", headers: { authorization: `Bearer ${limited.key}` }, body: { model: "lab/spend", messages, max_tokens: 4 }
    })
    /** A Redis that did not answer in time on a busy machine is asked again, as any client would. */
    const leased = (node: Spawned, session: Session, generation: number, model: string) => eventually(() =>
      Http.send(node.url, { path: "/v1/chat/completions", headers: session.headers(generation), body: { model: `held/${model}`, messages } }),
      ({ status }) => status !== 503, "the lease store")

    const old = new Session(third, managed.key)
    const { generation } = await eventually(() => old.acquire("held/m").catch(() => null), (lease) => lease !== null, "the first lease") ?? { generation: 0 }
    await Promise.all(Array.from({ length: UNREPORTED }, () => eventually(() => spend(third), ({ status }) => status === 200, "a block on the third node")))
    expect((await leased(third, old, generation, "before")).status).toBe(200)

    process.kill(third.pid(), "SIGSTOP")
    let waiting: ReadonlyArray<Promise<Http.Reply>>
    const rival = new Session(one, managed.key)
    try {
      // They stand in the paused node's sockets until it goes on.
      waiting = [leased(third, old, generation, "paused"), ...Array.from({ length: 10 }, () => spend(third))]
      const granted = await eventually(() => rival.ask({ action: "acquire", model: "held/m" }), ({ status }) => status === 200, "the lease's end", 4 * LEASE_MS)
      const { generation: newer } = JSON.parse(granted.text) as { generation: number }
      expect((await leased(one, rival, newer, "rival")).status).toBe(200)
      await eventually(async () => [await spend(one), await spend(two)], (replies) =>
        replies.every((reply) => reply.status === 429 && reply.text.includes("fell silent")), "all but the paused node's block used up by the other two", BLOCK_MS)
    } finally {
      process.kill(third.pid(), "SIGCONT")
    }
    const [late, ...spends] = await Promise.all(waiting)
    expect(late === undefined ? null : [late.status, codeOf(late)]).toEqual([409, "LEASE_FENCE_STALE"])
    expect(await sim.entries({ model: "paused" })).toEqual([])
    expect(spends.map(({ status }) => status).filter((status) => ![200, 429, 503].includes(status))).toHaveLength(0)
    // What the paused node held and had not spent is there again, once.
    await eventually(async () => [await spend(one), await spend(two)], (replies) =>
      replies.every((reply) => reply.status === 429 && reply.text.includes("is used up")), "the end of the limit", BLOCK_MS)
    expect((await eventually(() => old.status(generation), ({ status }) => status !== 503, "the lease store")).status).toBe(409)
    const next = await rival.acquire("held/m")
    expect((await leased(third, rival, next.generation, "rival")).status).toBe(200)
    const spent = (await sim.entries({ model: "spend" })).length * USE
    expect(spent).toBeLessThanOrEqual(LIMIT + nodes.length * USE)
    expect(spent).toBeGreaterThanOrEqual(LIMIT)
    for (const node of nodes) {
      expect(await node.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
      const reserved = async () => (await node.operator.call<{ limits: ReadonlyArray<{ reserved: number; tokensUsed: number }> }>(
        "GET", `/api/usage/token-limits?apiKeyId=${limited.id}`)).limits[0]
      await eventually(reserved, (limit) => limit?.reserved === 0 && limit.tokensUsed === spent, "the same figures on every node", 10_000)
    }
  })
})
