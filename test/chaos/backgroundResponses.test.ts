/** Responses in the background whose process stops, is killed or freezes: another process makes them, and they end once. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, converged, findServers, type Ground, ground, startCluster } from "#test/support/cluster.ts"
import { inProcess, type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

/** A process is silent for 30 s before another one takes its responses over. */
const SILENT_MS = 90_000

type Body = Readonly<Record<string, unknown>>
const words = (one: Body): string => JSON.stringify(one["output"])

const client = (url: () => string, key: () => string) => {
  const send = async (method: string, path: string, body?: Body): Promise<Body> => {
    const reply = await Http.send(url(), { method, path, headers: { authorization: `Bearer ${key()}` }, body })
    if (reply.status !== 200) throw new Error(`${reply.status}: ${reply.text}`)
    return JSON.parse(reply.text) as Body
  }
  const read = (id: string) => send("GET", `/v1/responses/${id}`)
  return {
    send, read,
    begin: async (model: string, more: Body = {}): Promise<string> => String((await send("POST", "/v1/responses", { model: `lab/${model}`, input: "Go on", background: true, ...more }))["id"]),
    ended: (id: string) => eventually(() => read(id), ({ status }) => status !== "queued" && status !== "in_progress", "the end of the response", SILENT_MS)
  }
}

describe("responses in the background and the end of their gateway", { timeout: 300_000 }, () => {
  let gateway: Spawned
  let sim: Sim
  let key: string
  const one = client(() => gateway.url, () => key)

  beforeAll(async () => {
    sim = await startSim({ models: { "*": {} } })
    gateway = await spawned()
    const node = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await gateway.operator.createConnection({ provider: node, apiKey: CREDENTIAL })
    key = (await gateway.operator.createKey("background")).key
  }, 180_000)
  afterAll(async () => {
    await gateway.close()
    await sim.stop()
  })

  /** The first call hangs, every later one answers. */
  const held = async (model: string): Promise<void> => {
    await sim.rule({ match: { model }, times: 1, script: { hangAfter: { frames: 0 } } })
    await sim.rule({ match: { model }, script: { text: "Made again." } })
  }
  const calls = (model: string, count: number) => eventually(() => sim.entries({ model }), ({ length }) => length === count, "the calls")

  it("after kill -9 the next process makes them again under their id, with a row for each call, and appends to the conversation once", async () => {
    await held("killed")
    const conversation = String((await one.send("POST", "/v1/conversations", { items: [{ role: "user", content: "My name is Ada." }] }))["id"])
    const id = await one.begin("killed", { conversation })
    await calls("killed", 1)
    await gateway.kill9()
    await gateway.start()
    expect(await one.read(id)).toMatchObject({ id, status: "in_progress", background: true, conversation: { id: conversation } })
    const done = await one.ended(id)
    expect([done["id"], done["status"], done["background"], done["conversation"], words(done).includes("Made again.")]).toEqual([id, "completed", true, { id: conversation }, true])
    const [first, second] = await calls("killed", 2)
    expect(second?.body).toEqual(first?.body)
    expect(JSON.stringify(second?.body)).toContain("My name is Ada.")
    const rows = await eventually(() => gateway.operator.callLogs(), (all) => all.filter(({ model }) => model === "killed").length === 2, "both rows")
    expect(new Set(rows.filter(({ model }) => model === "killed").map(({ requestId }) => requestId)).size).toBe(1)
    const items = await eventually(() => one.send("GET", `/v1/conversations/${conversation}/items`), ({ data }) => (data as ReadonlyArray<unknown>).length > 1, "what was said")
    expect(items["data"]).toHaveLength(3)
  })

  it("a stop leaves them to the next process, which begins at once", async () => {
    await held("stopped")
    const id = await one.begin("stopped")
    await calls("stopped", 1)
    await gateway.stop()
    await gateway.start()
    expect(await one.ended(id)).toMatchObject({ id, status: "completed" })
  })

  it("one that ends a process each time has failed after three", async () => {
    await sim.rule({ match: { model: "deadly" }, script: { hangAfter: { frames: 0 } } })
    const id = await one.begin("deadly")
    for (let run = 1; run <= 3; run++) {
      await calls("deadly", run)
      await gateway.stop()
      await gateway.start()
    }
    expect(await one.ended(id)).toMatchObject({ id, status: "failed", error: { code: "server_error", message: expect.stringContaining("3 processes") as unknown } })
    expect(await sim.entries({ model: "deadly" })).toHaveLength(3)
  })
})

describe.skipIf(missing !== null)(`responses in the background on two nodes${missing === null ? "" : ` (${missing})`}`, { timeout: 300_000 }, () => {
  let common: Ground
  let cluster: Cluster
  let key: string
  const at = (index: number) => client(() => cluster.nodes[index]!.url, () => key)

  beforeAll(async () => {
    common = await ground(postgres)
    cluster = await startCluster(common, [{}, {}])
    key = (await cluster.nodes[0]!.operator.createKey("background")).key
    await converged(cluster.nodes[0]!)
  }, 180_000)
  afterAll(async () => {
    await cluster.close()
    await common.close()
  })

  it("are read at the other node, which makes them when theirs stops", async () => {
    await cluster.sim.rule({ match: { model: "moved" }, times: 1, script: { hangAfter: { frames: 0 } } })
    await cluster.sim.rule({ match: { model: "moved" }, script: { text: "Made elsewhere." } })
    const third = await inProcess({ environment: common.environment })
    const id = await client(() => third.url, () => key).begin("moved")
    await eventually(() => cluster.sim.entries({ model: "moved" }), ({ length }) => length === 1, "the call")
    expect(await at(1).read(id)).toMatchObject({ id, status: "in_progress" })
    await third.close()
    const done = await at(0).ended(id)
    expect([done["status"], words(done).includes("Made elsewhere.")]).toEqual(["completed", true])
  })

  it("end with their call when the other node cancels or deletes them, and nothing brings them back", async () => {
    await cluster.sim.rule({ match: { model: "left" }, script: { hangAfter: { frames: 0 } } })
    const [cancelled, deleted] = [await at(0).begin("left"), await at(0).begin("left")]
    await eventually(() => cluster.sim.entries({ model: "left" }), ({ length }) => length === 2, "the calls")
    expect(await at(1).send("POST", `/v1/responses/${cancelled}/cancel`)).toMatchObject({ id: cancelled, status: "cancelled" })
    expect(await at(1).send("DELETE", `/v1/responses/${deleted}`)).toMatchObject({ deleted: true })
    await eventually(() => cluster.sim.entries({ model: "left" }), (all) => all.every(({ outcome }) => outcome === "client-aborted"), "the end of both calls", 30_000)
    expect(await at(0).read(cancelled)).toMatchObject({ status: "cancelled" })
    await expect(at(0).read(deleted)).rejects.toThrow(/404/)
  })
})
