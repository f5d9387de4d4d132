/**
 * A batch whose process is killed with -9 in the middle goes on: on the same node when it starts again, or on another one. Each line has
 * exactly one answer, and the ledger has a row for each call that reached the upstream.
 */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { afterAll, describe, expect, it, onTestFinished } from "vitest"
import type { CallLog } from "#src/features/usage/api.ts"
import { chatLine, Client } from "#test/features/batches/support.ts"
import { findServers, ground } from "#test/support/cluster.ts"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import { CREDENTIAL } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { startSink } from "#test/support/sink.ts"
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
  const entries = (await sim.entries()).filter(({ model }) => model?.startsWith("batched-") === true)
  const calls = (model: string) => entries.filter((entry) => entry.model === model).length
  const models = Array.from({ length: LINES }, (_, n) => modelOf(n))
  const lost = (rows: ReadonlyArray<CallLog>) => models.filter((model) => {
    const own = rows.filter((row) => row.model === model)
    return own.length < calls(model) || own.every(({ outcome }) => outcome !== "completed")
  })
  // The journal is read after the start, beside requests: its rows may come later.
  const rows = await eventually(
    async () => (await gateway.operator.callLogs()).filter(({ model }) => model.startsWith("batched-")), (seen) => lost(seen).length === 0, "a row of each call"
  )
  const again = models.reduce((sum, model) => sum + calls(model) - 1, 0)
  console.log(`batch of ${LINES} lines, ${kills} kills: ${entries.length} calls upstream, ${rows.length} rows, ${again} calls made again`)
  // Only what was in flight when a process died is asked again, and what was just being stored: twice as many at most.
  expect(again).toBeLessThanOrEqual(kills * 3 * CONCURRENCY)
  return new Set(rows.map((row) => row.id.split("-")[0] ?? ""))
}

// Each try has servers of its own: a second one must not find what the first left.
describe("kill -9 of the only node, again and again", () => {
  it("leaves each line with one answer, and tells webhooks of its end", async () => {
    const sim = await startSim({ models: { "*": { latencyMs: LATENCY_MS } } })
    onTestFinished(() => sim.stop())
    const sink = await startSink()
    onTestFinished(() => sink.close())
    const gateway = await spawned({ environment: { GATEWAY_BATCH_CONCURRENCY: String(CONCURRENCY), OUTBOUND_SSRF_GUARD_ENABLED: "false" } })
    onTestFinished(() => gateway.close())
    const client = await connect(gateway, sim)
    await gateway.operator.call("POST", "/api/webhooks", { url: sink.url, events: ["batch.completed"] })
    const { id } = await client.create(input)
    const kills = 3
    for (let n = 1; n <= kills; n++) {
      await progress(client, id, n * 30)
      await gateway.kill9()
      await gateway.start()
    }
    await check(client, gateway, sim, id, kills)
    await sink.arrived(1)
    expect(sink.received.map(({ json }) => [json.event, json.data?.["id"], json.data?.["requests_completed"]])).toEqual([["batch.completed", id, LINES]])
  }, 300_000)
})

describe.skipIf(missing !== null)("kill -9 of the node that runs a batch", () => {
  it("has another node go on with it", async () => {
    const files = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-batch-files-"))
    onTestFinished(() => fs.rmSync(files, { recursive: true, force: true }))
    const common = await ground(postgres)
    onTestFinished(() => common.close())
    const sim = await startSim({ models: { "*": { latencyMs: LATENCY_MS } } })
    onTestFinished(() => sim.stop())
    const environment = { ...common.environment, GATEWAY_BATCH_CONCURRENCY: String(CONCURRENCY), GATEWAY_FILES_DIR: files }
    const one = await spawned({ environment: { ...environment, GATEWAY_NODE_ID: "n1" } })
    onTestFinished(() => one.close())
    const two = await spawned({ environment: { ...environment, GATEWAY_NODE_ID: "n2" } })
    onTestFinished(() => two.close())
    const client = await connect(one, sim)
    // All slots wait in the middle until the node is killed, however slowly this test comes to it.
    const stuck = Array.from({ length: CONCURRENCY }, (_, n) => modelOf(LINES / 2 + n))
    for (const model of stuck) await sim.rule({ match: { model }, times: 1, script: { latencyMs: 120_000 } })
    const { id } = await client.create(input)
    await eventually(() => sim.entries({ outcome: "open" }), (calls) => stuck.every((model) => calls.some((call) => call.model === model)), "calls in all slots", 60_000)
    const ran = await eventually(async () => (await one.operator.callLogs()).filter(({ model }) => model.startsWith("batched-")), (rows) => rows.length > 0, "rows of the batch")
    const isFirst = ran[0]!.id.startsWith("n1-")
    const [runner, other] = isFirst ? [one, two] : [two, one]
    await runner.kill9()
    const left = isFirst ? Object.assign(Object.create(Client.prototype) as Client, client, { openai: client.openai.withOptions({ baseURL: `${other.url}/v1` }) }) : client
    expect(await check(left, other, sim, id, 1, runner.start)).toEqual(new Set(["n1", "n2"]))
  }, 300_000)
})
