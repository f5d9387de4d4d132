/**
 * A batch whose process is killed with -9 in the middle goes on: on the same node when it starts again, or on another one. Each line has
 * exactly one answer, and the ledger has a row for each call that reached the upstream.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chatLine, Client } from "#test/features/batches/support.ts"
import { findServers, ground, type Ground } from "#test/support/cluster.ts"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import { CREDENTIAL } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

const LINES = 160
const LATENCY_MS = 40
const CONCURRENCY = 4

const modelOf = (n: number): string => `batched-${n}`
const input = Array.from({ length: LINES }, (_, n) => chatLine(`line-${n}`, `lab/${modelOf(n)}`))

const connect = async (gateway: Spawned, sim: Sim): Promise<Client> => {
  await gateway.operator.letFailuresPass()
  const node = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
  await gateway.operator.createConnection({ provider: node, apiKey: CREDENTIAL })
  return new Client(gateway.url, await gateway.operator.createKey("batches"))
}

const progress = (client: Client, id: string, lines: number) =>
  eventually(async () => (await client.openai.batches.retrieve(id)).request_counts?.completed ?? 0, (completed) => completed >= lines, `${lines} answers`, 60_000)

/** `kills`: how often calls may have been in flight without a future. Answers which nodes ran lines. */
const check = async (client: Client, gateway: Spawned, sim: Sim, id: string, kills: number, revive = async (): Promise<void> => undefined): Promise<ReadonlySet<string>> => {
  const over = await client.over(id, 90_000)
  expect(over).toMatchObject({ status: "completed", error_file_id: null, request_counts: { total: LINES, completed: LINES, failed: 0 } })
  const answers = await client.answers(over.output_file_id)
  expect(answers.map(({ custom_id }) => custom_id)).toEqual(Array.from({ length: LINES }, (_, n) => `line-${n}`))
  await sim.idle()
  // What a dead process had not delivered stands in its journal.
  await revive()
  await gateway.operator.settled()
  const rows = await eventually(
    async () => (await gateway.operator.callLogs()).filter(({ model }) => model.startsWith("batched-")), (rows) => new Set(rows.map(({ model }) => model)).size === LINES, "a row of each line"
  )
  const entries = (await sim.entries()).filter(({ model }) => model?.startsWith("batched-") === true)
  const calls = (model: string) => entries.filter((entry) => entry.model === model).length
  const rowsOf = (model: string) => rows.filter((row) => row.model === model)
  const models = Array.from({ length: LINES }, (_, n) => modelOf(n))
  const lost = models.filter((model) => rowsOf(model).length < calls(model) || rowsOf(model).every(({ outcome }) => outcome !== "completed"))
  const again = models.reduce((sum, model) => sum + calls(model) - 1, 0)
  console.log(`batch of ${LINES} lines, ${kills} kills: ${entries.length} calls upstream, ${rows.length} rows, ${again} calls made again`)
  expect(lost).toEqual([])
  // Only what was in flight when a process died is asked again.
  expect(again).toBeLessThanOrEqual(kills * CONCURRENCY)
  return new Set(rows.map((row) => row.id.split("-")[0] ?? ""))
}

describe("kill -9 of the only node, again and again", () => {
  let gateway: Spawned
  let sim: Sim
  beforeAll(async () => {
    sim = await startSim({ models: { "*": { latencyMs: LATENCY_MS } } })
    gateway = await spawned({ environment: { GATEWAY_BATCH_CONCURRENCY: String(CONCURRENCY) } })
  })
  afterAll(async () => {
    await gateway.close()
    await sim.stop()
  })

  it("leaves each line with one answer", async () => {
    const client = await connect(gateway, sim)
    const { id } = await client.create(input)
    const kills = 3
    for (let n = 1; n <= kills; n++) {
      await progress(client, id, n * 30)
      await gateway.kill9()
      await gateway.start()
    }
    await check(client, gateway, sim, id, kills)
  }, 240_000)
})

describe.skipIf(missing !== null)("kill -9 of the node that runs a batch", () => {
  let common: Ground
  let sim: Sim
  let nodes: ReadonlyArray<Spawned> = []
  const files = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-batch-files-"))
  beforeAll(async () => {
    common = await ground(postgres)
    sim = await startSim({ models: { "*": { latencyMs: LATENCY_MS } } })
    const environment = { ...common.environment, GATEWAY_BATCH_CONCURRENCY: String(CONCURRENCY), GATEWAY_FILES_DIR: files }
    const first = await spawned({ environment: { ...environment, GATEWAY_NODE_ID: "n1" } })
    nodes = [first, await spawned({ environment: { ...environment, GATEWAY_NODE_ID: "n2" } })]
  }, 80_000)
  afterAll(async () => {
    for (const node of nodes) await node.close()
    await sim.stop()
    await common.close()
    fs.rmSync(files, { recursive: true, force: true })
  })

  it("has another node go on with it", async () => {
    const [one, two] = nodes as readonly [Spawned, Spawned]
    const client = await connect(one, sim)
    const { id } = await client.create(input)
    await progress(client, id, 30)
    const ran = await eventually(async () => (await one.operator.callLogs()).filter(({ model }) => model.startsWith("batched-")), (rows) => rows.length > 0, "rows of the batch")
    const isFirst = ran[0]!.id.startsWith("n1-")
    const [runner, other] = isFirst ? [one, two] : [two, one]
    await runner.kill9()
    const left = isFirst ? Object.assign(Object.create(Client.prototype) as Client, client, { openai: client.openai.withOptions({ baseURL: `${other.url}/v1` }) }) : client
    expect(await check(left, other, sim, id, 1, runner.start)).toEqual(new Set(["n1", "n2"]))
  }, 180_000)
})
