/** GATEWAY_WORKERS: several processes on one port of one machine are one gateway to whoever calls, starts and stops it. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { findServers, type Ground, ground, type NodeView } from "#test/support/cluster.ts"
import { spawned, type Spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { watchLate } from "#test/support/late.ts"
import { eventually } from "#test/support/operator.ts"
import { startSim, type Sim } from "#test/support/sim.ts"

const servers = await findServers()
const WORKERS = 3
const GRACE_MS = 8_000

interface View {
  readonly converged: boolean
  readonly nodes: ReadonlyArray<NodeView>
}

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

describe.skipIf(servers.missing !== null)("several workers on one port", { timeout: 180_000 }, () => {
  let common: Ground
  let gateway: Spawned
  let sim: Sim

  const viewOf = () => gateway.operator.call<View>("GET", "/api/nodes")
  /** The workers, once all of them live, none under one of the `former` process ids. */
  const workers = (former: ReadonlyArray<number> = []) => eventually(
    viewOf,
    ({ nodes }) => nodes.filter((node) => node.status === "alive" && isAlive(node.pid) && !former.includes(node.pid)).length === WORKERS,
    "all workers"
  )

  beforeAll(async () => {
    common = await ground(servers.postgres)
    sim = await startSim({ models: { "*": {} } })
    gateway = await spawned({ environment: { ...common.environment, GATEWAY_WORKERS: String(WORKERS), SHUTDOWN_TIMEOUT_MS: String(GRACE_MS) } })
    const node = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await gateway.operator.createConnection({ provider: node, apiKey: "key-of-lab" })
  }, 180_000)
  afterAll(async () => {
    await gateway.close()
    await sim.stop()
    await common.close()
  })

  it("serve together, each under a name of its own, and one banner is shown", async () => {
    const { nodes } = await workers()
    expect(nodes.map((node) => [node.id.slice(-3), node.worker])).toEqual([["-w1", 1], ["-w2", 2], ["-w3", 3]])
    expect(new Set([...nodes.map((node) => node.pid), gateway.pid()]).size).toBe(WORKERS + 1)
    expect(gateway.output().match(/listens on/g)).toHaveLength(1)
    expect(gateway.output()).toContain(`processes: ${WORKERS}`)
    // Every worker takes connections, and knows the session that another one opened.
    const answered = new Set<string>()
    await eventually(async () => {
      const view = await viewOf()
      answered.add(view.nodes.find((node) => node.self)?.id ?? "")
      return answered.size
    }, (size) => size === WORKERS, "an answer of every worker")
  })

  it("replace one that dies, and the others serve meanwhile", async () => {
    const { nodes: [victim] } = await workers()
    const pid = victim?.pid ?? 0
    process.kill(pid, "SIGKILL")
    await eventually(async () => isAlive(pid), (alive) => !alive, "the death of the worker")
    for (let i = 0; i < 20; i++) {
      expect((await Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: "lab/m", messages: [{ role: "user", content: "hi" }] } })).status).toBe(200)
    }
    await workers([pid])
    expect(gateway.output()).toMatch(/worker 1 ended \(SIGKILL\)/)
  })

  it("are one to whoever reads the metrics: sums over all, also while one is frozen and after one has died", async () => {
    const { nodes } = await workers()
    const [one, two] = nodes
    const scrape = async (): Promise<ReadonlyMap<string, number>> => {
      // A frozen worker takes connections, too: somebody else answers first.
      const text = await Promise.any(Array.from({ length: 16 }, async () => {
        const reply = await Http.send(gateway.url, { path: "/metrics" })
        if (reply.status !== 200) throw new Error(reply.text)
        return reply.text
      }))
      const samples = text.split("\n").filter((line) => line !== "" && !line.startsWith("#")).map((line) => [line.slice(0, line.lastIndexOf(" ")), Number(line.slice(line.lastIndexOf(" ") + 1))] as const)
      const found = new Map(samples)
      expect(found.size).toBe(samples.length)
      return found
    }
    const served = `gateway_requests_total{endpoint="/v1/chat/completions",status="200"}`
    const full = (samples: ReadonlyMap<string, number>): boolean => samples.get("gateway_workers") === WORKERS
    const before = (await eventually(scrape, full, "the figures of all workers")).get(served) ?? 0
    for (let i = 0; i < 24; i++) {
      expect((await Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: "lab/m", messages: [{ role: "user", content: "hi" }] } })).status).toBe(200)
    }
    const all = await eventually(scrape, (samples) => samples.get(served) === before + 24, "the sum over all workers")
    expect(all.get(`gateway_request_duration_seconds_count{endpoint="/v1/chat/completions"}`)).toBe(all.get(served))
    expect([all.get("gateway_workers"), all.get("gateway_workers_silent"), all.get("gateway_requests_live")]).toEqual([WORKERS, 0, 0])
    for (let worker = 1; worker <= WORKERS; worker++) expect(all.get(`process_resident_memory_bytes{worker="${worker}"}`)).toBeGreaterThan(1e7)

    process.kill(two?.pid ?? 0, "SIGSTOP")
    try {
      const without = await scrape()
      expect([without.get("gateway_workers"), without.get("gateway_workers_silent"), without.get(served)]).toEqual([WORKERS - 1, 1, before + 24])
      expect(without.has(`process_resident_memory_bytes{worker="2"}`)).toBe(false)
    } finally {
      process.kill(two?.pid ?? 0, "SIGCONT")
    }
    await eventually(scrape, full, "the thawed worker's figures")
    process.kill(one?.pid ?? 0, "SIGKILL")
    await eventually(async () => isAlive(one?.pid ?? 0), (alive) => !alive, "the death of a worker")
    expect((await eventually(scrape, (samples) => !full(samples), "a scrape without it")).get(served)).toBe(before + 24)
    await workers([one?.pid ?? 0])
    expect((await eventually(scrape, full, "a scrape with the next life")).get(served)).toBe(before + 24)
  })

  it("stop together: a live stream ends within the grace, and nobody stays behind", async () => {
    const { nodes } = await workers()
    await sim.rule({ match: { model: "long-*" }, script: { tokens: 100_000, paceMs: 15 } })
    const streams = await Promise.all(Array.from({ length: 9 }, (_, index) => Http.stream(gateway.url, {
      path: "/v1/chat/completions", body: { model: `lab/long-${index}`, stream: true, messages: [{ role: "user", content: "hi" }] }
    })))
    await Promise.all(streams.map((stream) => stream.until((text) => text.includes("data:"))))
    const late = watchLate()
    const before = performance.now()
    const exited = await gateway.stop()
    expect(exited).toEqual({ code: 0, signal: null })
    // Drained one after another they would need three graces; busy processes beside them take less than one.
    expect(performance.now() - before).toBeLessThan(2 * GRACE_MS + late())
    for (const { ended } of streams) expect((await ended).text).toContain("shutting_down")
    expect(nodes.filter((node) => isAlive(node.pid))).toEqual([])
    await gateway.start()
  })

  it("restart together when one of them is asked to over HTTP", async () => {
    const { nodes } = await workers()
    await gateway.operator.call("POST", "/api/restart")
    await eventually(async () => nodes.some((node) => isAlive(node.pid)), (some) => !some, "the end of the former workers")
    await eventually(() => Http.send(gateway.url, { path: "/api/health/ping" }).then((reply) => reply.status, () => 0), (status) => status === 200, "readiness")
    await workers(nodes.map((node) => node.pid))
  })

  it("end when their supervisor is killed", async () => {
    const { nodes } = await workers()
    await gateway.kill9()
    await eventually(async () => nodes.some((node) => isAlive(node.pid)), (some) => !some, "the end of the orphans")
    await gateway.start()
    await workers()
  })

  it("shut down together when one of them is asked to over HTTP", async () => {
    const { nodes } = await workers()
    await gateway.operator.call("POST", "/api/shutdown")
    await eventually(async () => nodes.some((node) => isAlive(node.pid)), (some) => !some, "the end of the workers")
    expect(await gateway.stop()).toEqual({ code: 0, signal: null })
  })
})
