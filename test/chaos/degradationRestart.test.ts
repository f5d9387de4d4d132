/**
 * What a Postgres server may lose: one that is killed and started again loses nothing; one that was emptied has lost
 * what only it had, and the gateway goes on with what it has itself.
 */
import Postgres from "postgres"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { converged } from "#test/support/cluster.ts"
import { contractOf } from "#test/support/faults.ts"
import { type InProcess, inProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type SpawnedServer, spawnServer } from "#test/support/postgres.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { chance } from "./support.ts"

/** A server of its own: others must not be killed. */
const server: SpawnedServer | null = await spawnServer()
afterAll(async () => {
  await server?.stop()
})

const WORKERS = 3
/** Until the management API answers after a restart (ms): the server's own recovery and a connection. */
const RECOVERY_MS = 20_000
/** A shared machine's noise (ms). */
const NOISE_MS = 3_000

describe.skipIf(server === null && process.env["CI"] !== "true")("a Postgres server that is killed, and one that was emptied", { timeout: 180_000 }, () => {
  let sim: Sim
  let node: InProcess

  beforeAll(async () => {
    if (server === null) throw new Error("no Postgres is installed")
    sim = await startSim({ models: { "*": { tokens: 2 } } })
    node = await inProcess({ environment: { DATABASE_URL: server.url, GATEWAY_DATABASE_POOL: "3", GATEWAY_SECRET: "a master secret of its own" } })
    const lab = await node.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await node.operator.createConnection({ provider: lab, apiKey: CREDENTIAL })
  }, 180_000)
  afterAll(async () => {
    await node.close()
    await sim.stop()
  })

  const chat = (model: string, key: string) =>
    Http.send(node.url, { path: "/v1/chat/completions", headers: key === "" ? {} : { authorization: `Bearer ${key}` }, body: { model: `lab/${model}`, messages } })
  const named = (prefix: string, names: ReadonlyArray<string | null>) => names.filter((name) => name?.startsWith(prefix) === true).sort()

  it("killed and started again under load: every call is answered, and each has exactly one row", async () => {
    const random = chance()
    const { key } = await node.operator.createKey("load")
    // A key whose change a node hears of is read again.
    await converged(node)
    expect((await chat("first", key)).status).toBe(200)
    let calls = 0
    let over = false
    const workers = Array.from({ length: WORKERS }, async () => {
      while (!over) {
        const reply = await chat(`load-${calls++}`, key)
        expect(reply.status, reply.text).toBe(200)
      }
    })
    const more = (count: number) => {
      const from = calls
      return eventually(async () => calls, (seen) => seen >= from + count, `${count} further calls`)
    }
    for (let round = 0; round < 2; round++) {
      await more(20 + random.below(30))
      await server?.kill()
      await more(20 + random.below(30))
      await server?.restart()
      await more(20)
    }
    over = true
    await Promise.all(workers)
    await sim.idle()
    await eventually(() => node.operator.raw("GET", "/api/providers"), ({ status }) => status === 200, "the management API", RECOVERY_MS)
    expect(await node.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    const rows = await node.rows()
    const models = named("load-", rows.map(({ model }) => model))
    expect(models).toEqual(named("load-", (await sim.entries()).map(({ model }) => model)))
    expect(new Set(models).size).toBe(models.length)
    console.log(`Postgres killed twice under load: ${models.length} calls, each with its row`)
  })

  it("emptied: what only it had is gone within the declared time, what the journal has comes, and a first start's way leads back", async () => {
    const declared = await contractOf(node.operator, "postgres-flushed")
    const outcomes = ["inference", "ledger", "api-keys", "configuration", "leases", "webhooks", "management"].map((feature) => [feature, declared(feature).outcome])
    expect(Object.fromEntries(outcomes)).toEqual({
      inference: "denied", ledger: "admitted", "api-keys": "denied", configuration: "admitted", leases: "denied", webhooks: "denied", management: "denied"
    })
    const [known, unknown] = [await node.operator.createKey("known"), await node.operator.createKey("unknown")]
    expect((await chat("emptied-before", known.key)).status).toBe(200)
    await node.operator.settled()
    const sql = Postgres(server?.url ?? "", { max: 1, onnotice: () => undefined })
    try {
      const tables = await sql<ReadonlyArray<{ readonly name: string }>>`
        SELECT tablename AS name FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'gateway_migrations'`
      await sql.unsafe(`TRUNCATE ${tables.map(({ name }) => `"${name}"`).join(", ")}`)
    } finally {
      await sql.end()
    }
    const within = (feature: string) => (declared(feature).stalenessMs ?? 0) + NOISE_MS
    await eventually(() => chat("emptied-known", known.key), ({ status }) => status === 401, "the end of a key that was known", within("api-keys"))
    await eventually(() => chat("emptied-nobody", ""), ({ status }) => status !== 200, "the end of what was configured", within("configuration"))
    const stranger = await chat("emptied-unknown", unknown.key)
    expect([stranger.status, stranger.text.includes("invalid_api_key")]).toEqual([401, true])
    expect((await node.operator.raw("GET", "/api/providers")).status).toBe(401)
    await node.operator.login()
    expect(await node.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    expect(named("emptied-before", (await node.rows()).map(({ model }) => model))).toEqual([])
    const lab = await node.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await node.operator.createConnection({ provider: lab, apiKey: CREDENTIAL })
    const fresh = await node.operator.createKey("fresh")
    await eventually(() => chat("emptied-fresh", fresh.key), ({ status }) => status === 200, "service with a new key")
    await sim.idle()
    expect(await node.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    expect(named("emptied-fresh", (await node.rows()).map(({ model }) => model))).toEqual(["emptied-fresh"])
  })
})
