/**
 * A batch and uploads of two nodes while things fail: the node that runs stands still, Postgres is away or silent, Redis is away or silent.
 * Each line has one line of output and its rows, and a file is whole or not there.
 */
import { createHash, randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import { setTimeout as sleep } from "node:timers/promises"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { chatLine, Client } from "#test/features/batches/support.ts"
import { converged, findServers, ground, type Ground } from "#test/support/cluster.ts"
import { type Mood, type Road, roadTo } from "#test/support/faults.ts"
import * as Forms from "#test/support/forms.ts"
import { type Spawned, spawned } from "#test/support/gateway.ts"
import { CREDENTIAL } from "#test/support/lab.ts"
import { eventually, type Key } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

const LINES = 240
const LATENCY_MS = 40
const CONCURRENCY = 4
/** Longer than a silent node keeps its work, ms. */
const STANDS_MS = 14_000
const AWAY_MS = 6_000

describe.skipIf(missing !== null)("two nodes", { timeout: 300_000 }, () => {
  let common: Ground
  let records: Road
  let shared: Road
  let sim: Sim
  let nodes: ReadonlyArray<Spawned> = []
  let key: Key
  const files = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-fault-files-"))

  beforeAll(async () => {
    common = await ground(postgres)
    records = await roadTo(common.database)
    shared = await roadTo(common.redis.url)
    sim = await startSim({ models: { "*": { latencyMs: LATENCY_MS } } })
    const environment = {
      ...common.environment, DATABASE_URL: records.url, REDIS_URL: shared.url, GATEWAY_BATCH_CONCURRENCY: String(CONCURRENCY), GATEWAY_FILES_DIR: files, GATEWAY_FILES_RESERVE_MB: "0"
    }
    const first = await spawned({ environment: { ...environment, GATEWAY_NODE_ID: "f1" } })
    nodes = [first, await spawned({ environment: { ...environment, GATEWAY_NODE_ID: "f2" } })]
    await first.operator.letFailuresPass()
    const node = await first.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await first.operator.createConnection({ provider: node, apiKey: CREDENTIAL })
    key = await first.operator.createKey("faults")
    await converged(first)
  }, 300_000)
  afterAll(async () => {
    await records.is("open")
    await shared.is("open")
    for (const node of nodes) await node.close()
    await sim.stop()
    await records.close()
    await shared.close()
    await common.close()
    fs.rmSync(files, { recursive: true, force: true })
  })

  const at = (index: number): Spawned => nodes[index]!
  const clientOf = (index: number) => new Client(at(index).url, key)
  const begin = async (name: string) => {
    const client = clientOf(0)
    const { id } = await client.create(Array.from({ length: LINES }, (_, n) => chatLine(`line-${n}`, `lab/${name}-${n}`)))
    await eventually(async () => (await client.openai.batches.retrieve(id)).request_counts?.completed ?? 0, (completed) => completed >= 30, "30 answers", 60_000)
    return id
  }
  /** `faults`: how often calls may have been in flight without a future. */
  const check = async (id: string, name: string, faults: number) => {
    const client = clientOf(1)
    const over = await eventually(
      () => client.openai.batches.retrieve(id).catch(() => null), (batch) => batch !== null && ["completed", "failed", "expired", "cancelled"].includes(batch.status), "the end of the batch", 120_000
    )
    expect(over).toMatchObject({ status: "completed", error_file_id: null, request_counts: { total: LINES, completed: LINES, failed: 0 } })
    const answers = await client.answers(over!.output_file_id)
    expect(answers.map(({ custom_id }) => custom_id)).toEqual(Array.from({ length: LINES }, (_, n) => `line-${n}`))
    await sim.idle()
    const calls = (await sim.entries()).filter(({ model }) => model?.startsWith(`${name}-`) === true)
    const rows = await eventually(
      async () => (await at(1).operator.callLogs()).filter(({ model }) => model.startsWith(`${name}-`)), (rows) => rows.length >= calls.length, "a row of each call", 30_000
    )
    console.log(`${name}: ${calls.length} calls, ${rows.length} rows of ${LINES} lines`)
    expect(new Set(rows.filter(({ outcome }) => outcome === "completed").map(({ model }) => model)).size).toBe(LINES)
    expect(calls.length - LINES).toBeLessThanOrEqual(faults * 3 * CONCURRENCY)
  }

  it("go on with a batch whose runner stands still, and whose runner wakes again", async () => {
    const id = await begin("still")
    const ran = (await eventually(async () => (await at(0).operator.callLogs()).filter(({ model }) => model.startsWith("still-")), (rows) => rows.length > 0, "rows of the batch"))[0]!
    const runner = ran.id.startsWith("f1-") ? at(0) : at(1)
    process.kill(runner.pid(), "SIGSTOP")
    try {
      await sleep(STANDS_MS)
    } finally {
      process.kill(runner.pid(), "SIGCONT")
    }
    await check(id, "still", 2)
  })

  it.each([["records", "refused"], ["records", "frozen"], ["shared", "refused"], ["shared", "frozen"]] as const)("go on with a batch after its %s were %s", async (which, mood: Mood) => {
    const road = which === "records" ? records : shared
    const name = `${which}-${mood as string}`
    const id = await begin(name)
    await road.is(mood)
    await sleep(AWAY_MS)
    await road.is("open")
    await check(id, name, 2)
  })

  it("keep whole files or none while records and shared state come and go", async () => {
    const kept = new Map<string, string>()
    const statuses: Array<number> = []
    const upload = async (index: number) => {
      const bytes = randomBytes(300_000)
      const reply = await Forms.upload(at(index).url, [Forms.field("purpose", "user_data"), Forms.file(bytes)], { authorization: `Bearer ${key.key}` })
      statuses.push(reply.status)
      if (reply.status === 200) kept.set((JSON.parse(reply.text) as { id: string }).id, createHash("sha256").update(bytes).digest("hex"))
    }
    for (const [road, mood] of [[records, "refused"], [shared, "refused"], [records, "frozen"], [shared, "frozen"]] as const) {
      const running = [0, 1, 0, 1].map((index) => upload(index))
      await road.is(mood)
      running.push(upload(0), upload(1))
      await Promise.all(running)
      await road.is("open")
      await eventually(() => Promise.all([clientOf(0), clientOf(1)].map((client) => client.openai.files.list().then(() => true, () => false))), (both) => both.every((one) => one), "both nodes", 30_000)
    }
    expect([...new Set(statuses)].filter((status) => status !== 200 && status !== 503)).toEqual([])
    expect(statuses).toContain(503)
    const listed = new Set<string>()
    for await (const { id } of clientOf(1).openai.files.list({ purpose: "user_data" })) listed.add(id)
    for (const id of kept.keys()) expect(listed).toContain(id)
    for (const id of listed) {
      const content = Buffer.from(await (await clientOf(1).openai.files.content(id)).arrayBuffer())
      // One whose record got no answer may be there: whole.
      expect([id, content.length]).toEqual([id, 300_000])
      if (kept.has(id)) expect(createHash("sha256").update(content).digest("hex")).toBe(kept.get(id))
    }
    expect(fs.readdirSync(path.join(files, "incoming"))).toEqual([])
  })
})
