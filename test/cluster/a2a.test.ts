/** Tasks of agents on two nodes: begun on one, read, followed and ended at the other; and what becomes of them when their node dies. */
import { TaskState } from "@a2a-js/sdk"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Cluster, converged, findServers, type Ground, ground, startCluster } from "#test/support/cluster.ts"
import { eventually } from "#test/support/operator.ts"
import { startSink } from "#test/support/sink.ts"
import { all, atOnce, clientOf, message, taskIn, textIn } from "#test/features/a2a/lab.ts"

const { missing, postgres } = await findServers()

describe.skipIf(missing !== null)(`agents' tasks on two nodes${missing === null ? "" : ` (${missing})`}`, () => {
  let common: Ground
  let cluster: Cluster
  let key: string
  const client = (index: number) => clientOf(cluster.nodes[index]!.url, key)
  const named = (id: string) => ({ tenant: "", id, historyLength: undefined })

  beforeAll(async () => {
    common = await ground(postgres)
    cluster = await startCluster(common, [{}, {}])
    const { operator } = cluster.nodes[0]!
    await operator.call("PATCH", "/api/settings", { a2aEnabled: true })
    key = (await operator.createKey("agent")).key
    await converged(cluster.nodes[0]!)
  })

  afterAll(async () => {
    await cluster.close()
    await common.close()
  })

  const begin = async (model: string, index = 0) => taskIn(await (await client(index)).sendMessage(message("Work", { model: `lab/${model}` }, atOnce))).id

  it("a task of one node is read and followed to its end at the other", async () => {
    const text = "word ".repeat(60).trim()
    await cluster.sim.rule({ match: { model: "followed" }, script: { text, paceMs: 40 } })
    const id = await begin("followed")
    expect((await (await client(1)).getTask(named(id))).id).toBe(id)
    const seen = await all((await client(1)).resubscribeTask({ tenant: "", id }))
    const states = seen.flatMap((event) => event.$case === "statusUpdate" ? [event.value.status?.state] : [])
    expect([seen[0]?.$case, states.at(-1)]).toEqual(["task", TaskState.TASK_STATE_COMPLETED])
    expect(seen.filter(({ $case }) => $case === "artifactUpdate").length).toBeGreaterThan(0)
    expect(textIn(await (await client(1)).getTask(named(id)))).toBe(text)
  })

  it("a task that the other node cancels ends its upstream call, and its receiver hears of it", async () => {
    const sink = await startSink()
    await cluster.nodes[0]!.operator.setFlag("OUTBOUND_SSRF_GUARD_ENABLED", "false")
    await converged(cluster.nodes[0]!)
    await cluster.sim.rule({ match: { model: "endless" }, script: { text: "word ".repeat(5_000), paceMs: 50 } })
    const id = await begin("endless")
    const { operator } = cluster.nodes[0]!
    await eventually(() => operator.reconciliation(), ({ live }) => live === 1, "the call's start")
    await (await client(1)).createTaskPushNotificationConfig({ tenant: "", id: "", taskId: id, url: sink.url, token: "t", authentication: undefined })
    expect((await (await client(1)).cancelTask({ tenant: "", id, metadata: undefined })).status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    await eventually(() => operator.reconciliation(), ({ live }) => live === 0, "the call's end")
    expect((await (await client(0)).getTask(named(id))).status?.state).toBe(TaskState.TASK_STATE_CANCELED)
    await sink.arrived(1)
    expect(JSON.stringify(sink.received.at(-1)?.json)).toMatch(/cancel/i)
    await sink.close()
  })

  it("a task is another key's neither here nor there", async () => {
    await cluster.sim.rule({ match: { model: "short" }, script: { text: "Short." } })
    const id = await begin("short")
    const stranger = (await cluster.nodes[0]!.operator.createKey("stranger")).key
    await converged(cluster.nodes[0]!)
    for (const { url } of cluster.nodes) await expect((await clientOf(url, stranger)).getTask(named(id))).rejects.toThrow(/not found/i)
  })
})
