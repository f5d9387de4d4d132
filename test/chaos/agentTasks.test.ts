/** Tasks of agents whose gateway stops or is killed: none is at work for ever, and each says that it may be sent again. */
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Frame, frame, jsonOf, post } from "#test/features/a2a/lab.ts"
import { type Cluster, findServers, startRemote } from "#test/support/cluster.ts"
import { contractOf, type Road } from "#test/support/faults.ts"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

/** A node is silent for 20 s before its tasks count as failed. */
const SILENT_MS = 60_000

interface Task { readonly id: string; readonly state: string; readonly artifacts: ReadonlyArray<{ readonly type: string; readonly content: string }>; readonly metadata: { readonly restartable?: boolean } }

describe("agents' tasks and the end of their gateway", { timeout: 300_000 }, () => {
  let gateway: Spawned
  let sim: Sim
  let key: string

  beforeAll(async () => {
    sim = await startSim({ models: { "*": {} } })
    gateway = await spawned()
    const node = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await gateway.operator.createConnection({ provider: node, apiKey: CREDENTIAL })
    await gateway.operator.call("PATCH", "/api/settings", { a2aEnabled: true })
    key = (await gateway.operator.createKey("agent")).key
    await sim.rule({ match: { model: "endless" }, script: { text: "word ".repeat(20_000), paceMs: 50 } })
  }, 180_000)
  afterAll(async () => {
    await gateway.close()
    await sim.stop()
  })

  const read = async (id: string): Promise<Task> =>
    jsonOf<{ task: Task }>(await Http.send(gateway.url, { path: `/api/a2a/tasks/${id}`, headers: { authorization: `Bearer ${key}` } })).task

  const listed = async (): Promise<ReadonlyArray<Task>> =>
    jsonOf<{ tasks: ReadonlyArray<Task> }>(await Http.send(gateway.url, { path: "/api/a2a/tasks", headers: { authorization: `Bearer ${key}` } })).tasks

  /** At work, with words of its answer in a checkpoint. */
  const atWork = async (): Promise<string> => {
    const reply = await post(gateway.url, key, frame("SendMessage", {
      message: { messageId: "m", role: "ROLE_USER", parts: [{ text: "Go on" }] }, configuration: { returnImmediately: true }, metadata: { model: "lab/endless" }
    }), { "a2a-version": "1.0" })
    const id = jsonOf<Frame>(reply).result?.task.id ?? ""
    await eventually(() => read(id), ({ artifacts }) => artifacts.length > 0, "the first words")
    return id
  }

  it("a stop ends them at once", async () => {
    const id = await atWork()
    await gateway.stop()
    await gateway.start()
    const task = await read(id)
    expect([task.state, task.artifacts.at(-1)?.type]).toEqual(["failed", "error"])
  })

  it("after kill -9 they count as failed, keep what was checkpointed, and may be sent again", async () => {
    const id = await atWork()
    // Lists are read from the store.
    await eventually(listed, (tasks) => tasks.find((task) => task.id === id)?.artifacts.length === 1, "the checkpoint")
    await gateway.kill9()
    await gateway.start()
    const task = await eventually(() => read(id), ({ state }) => state === "failed", "the task's failure", SILENT_MS)
    expect([task.metadata.restartable, task.artifacts[0]?.content.startsWith("word"), task.artifacts.at(-1)?.type]).toEqual([true, true, "error"])
    const again = jsonOf<Frame>(await post(gateway.url, key, frame("message/send", { skill: "health-report", messages: [{ role: "user", content: "Alive?" }] })))
    expect(again.result?.task.state).toBe("completed")
  })
})

describe.skipIf(missing !== null)("agents' tasks while Postgres is away", { timeout: 180_000 }, () => {
  let road: Road
  let cluster: Cluster
  let close: () => Promise<void>
  let key: string

  beforeAll(async () => {
    ({ close, cluster, road } = await startRemote(postgres, [{}]))
    const { operator } = cluster.nodes[0]!
    await operator.call("PATCH", "/api/settings", { a2aEnabled: true })
    key = (await operator.createKey("agent")).key
  }, 180_000)
  afterAll(() => close())

  it("a running one goes on and is stored when the store is back; a new one is refused", async () => {
    const { operator, url } = cluster.nodes[0]!
    const text = "word ".repeat(60).trim()
    await cluster.sim.rule({ match: { model: "outlasting" }, script: { text, paceMs: 40 } })
    const body = frame("message/stream", { skill: "smart-routing", messages: [{ role: "user", content: "Go on" }], metadata: { model: "lab/outlasting" } })
    const opened = await Http.stream(url, { path: "/a2a", headers: { authorization: `Bearer ${key}` }, body })
    const begun = await opened.until((seen) => seen.includes("chunk"))
    const contract = await contractOf(operator, "postgres-refused")
    await road.is("refused")
    expect(contract("agent-tasks").outcome).toBe("denied")
    const refused = await post(url, key, frame("message/send", { skill: "health-report", messages: [{ role: "user", content: "?" }] }))
    expect([refused.status, jsonOf<Frame>(refused).error?.code]).toEqual([503, -32000])
    await opened.until((seen) => seen.includes("completed"))
    opened.leave()
    await road.is("open")
    const id = /"task":\{"id":"([^"]+)"/.exec(begun)?.[1] ?? ""
    const stored = async () => jsonOf<{ tasks?: ReadonlyArray<Task> }>(await Http.send(url, { path: "/api/a2a/tasks", headers: { authorization: `Bearer ${key}` } })).tasks?.find((task) => task.id === id)
    const task = await eventually(stored, (seen) => seen?.state === "completed", "the checkpoint")
    expect(task?.artifacts[0]?.content).toBe(text)
  })
})
