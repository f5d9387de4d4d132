/** The rows of the degradation table about what happens beside a request: breakers, webhooks, the audit log. */
import * as fs from "node:fs"
import * as os from "node:os"
import * as path from "node:path"
import * as Redacted from "effect/Redacted"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { LOCAL_TOKEN_HEADER, localToken } from "#src/management/authentication/localToken.ts"
import * as Sealer from "#src/platform/secrets/Sealer.ts"
import { converged, findServers, ground, type Ground, SECRET } from "#test/support/cluster.ts"
import { contractOf, type Road, roadTo } from "#test/support/faults.ts"
import { inProcess, type InProcess, type Spawned, spawned } from "#test/support/gateway.ts"
import { chatLine, Client } from "#test/features/batches/support.ts"
import * as Forms from "#test/support/forms.ts"
import * as Http from "#test/support/http.ts"
import { CREDENTIAL, messages } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { type Sink, startSink } from "#test/support/sink.ts"
import { watchLoop } from "./support.ts"

const { missing, postgres } = await findServers()
afterAll(postgres.stop)

/** What a shared machine may add to the declared latency (ms). */
const ADDED_MS = 2_000
const FAILURES = 3
const RESET_MS = 2_000
const NODE = "rows-one"

type Node = Pick<InProcess, "url" | "operator">

describe.skipIf(missing !== null)("what happens beside requests while a store is away", { timeout: 180_000 }, () => {
  let common: Ground
  let roads: { readonly redis: Road; readonly postgres: Road }
  let sim: Sim
  let sink: Sink
  let one: Spawned
  let two: InProcess
  const files = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-rows-files-"))

  beforeAll(async () => {
    common = await ground(postgres)
    roads = { redis: await roadTo(common.redis.url), postgres: await roadTo(common.database) }
    sim = await startSim({ models: { "*": { tokens: 2 } } })
    sink = await startSink()
    const environment = { ...common.environment, DATABASE_URL: roads.postgres.url, REDIS_URL: roads.redis.url, GATEWAY_LOOKUP_TIMEOUT_MS: "1000", GATEWAY_REDIS_TIMEOUT_MS: "250", GATEWAY_FILES_DIR: files, OUTBOUND_SSRF_GUARD_ENABLED: "false" }
    one = await spawned({ environment: { ...environment, GATEWAY_NODE_ID: NODE } })
    two = await inProcess({ environment: { ...environment, GATEWAY_NODE_ID: "rows-two" } })
    const each = <A>(section: A) => ({ oauth: section, apikey: section, local: section })
    await one.operator.call("PATCH", "/api/resilience", {
      providerBreaker: each({ degradationThreshold: 2, failureThreshold: FAILURES, resetTimeoutMs: RESET_MS }),
      connectionCooldown: each({ baseCooldownMs: 0, rateLimitCooldownMs: 0, useUpstreamRetryHints: false }),
      waitForCooldown: { enabled: false }
    })
    const lab = await one.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await one.operator.createConnection({ provider: lab, apiKey: CREDENTIAL })
    await converged(one)
  }, 180_000)
  afterAll(async () => {
    await Promise.all([roads.redis.is("open"), roads.postgres.is("open")])
    await one?.close()
    await two?.close()
    await sim.stop()
    await sink.close()
    fs.rmSync(files, { recursive: true, force: true })
    await Promise.all([roads.redis.close(), roads.postgres.close()])
    await common.close()
  })

  const chat = (node: Node, model: string) => Http.send(node.url, { path: "/v1/chat/completions", body: { model, messages } })
  const timed = async <A>(addedMs: number, what: string, run: () => Promise<A>): Promise<A> => {
    const late = watchLoop()
    const began = performance.now()
    const result = await run()
    expect(performance.now() - began, what).toBeLessThan(addedMs + ADDED_MS + 2 * late())
    return result
  }

  it.each(["refused", "frozen"] as const)("breakers without Redis (%s): each node decides by its own failures, and each probes and closes for itself", async (mood) => {
    const declared = (await contractOf(one.operator, `redis-${mood}`))("breakers")
    expect([declared.outcome, declared.stalenessMs, declared.addedLatencyMs]).toEqual(["admitted", null, 0])
    const prefix = `breaks-${mood}`
    const id = await one.operator.createNode({ prefix, baseUrl: `${sim.url}/v1` })
    await one.operator.createConnection({ provider: id, apiKey: CREDENTIAL })
    await converged(one)
    // Of one model's failures only that model's breaker would speak.
    for (const name of ["bad", "worse"]) await sim.rule({ match: { model: `${name}-${mood}` }, script: { status: 500 } })
    const failing = (index: number) => `${prefix}/${index % 2 === 0 ? "bad" : "worse"}-${mood}`
    const stateOn = async (node: Node) => (await node.operator.call<{ readonly breakers: ReadonlyArray<{ readonly provider: string; readonly state: string }> }>("GET", "/api/resilience"))
      .breakers.find((breaker) => breaker.provider === prefix)?.state ?? "closed"
    const calls = async () => (await sim.entries({ model: `good-${mood}` })).length
    await roads.redis.is(mood)
    try {
      for (let index = 0; index < FAILURES; index++) await timed(0, "a failure", () => chat(one, failing(index)))
      expect(await stateOn(one)).toBe("open")
      const refused = await timed(0, "a refusal", () => chat(one, `${prefix}/good-${mood}`))
      expect([refused.status, await calls()]).toEqual([503, 0])
      // The other one has seen no failure.
      expect((await timed(0, "a call on the other node", () => chat(two, `${prefix}/good-${mood}`))).status).toBe(200)
      expect(await stateOn(two)).toBe("closed")
      for (let index = 0; index < FAILURES; index++) await chat(two, failing(index))
      expect(await stateOn(two)).toBe("open")
      for (const node of [one, two]) await eventually(() => chat(node, `${prefix}/good-${mood}`), ({ status }) => status === 200, "the end of the breaker", RESET_MS + 10_000)
    } finally {
      await roads.redis.is("open")
    }
    // They hear of each other again.
    await eventually(async () => {
      for (let index = 0; index < FAILURES; index++) await chat(one, failing(index))
      return [await stateOn(one), await stateOn(two)]
    }, (states) => states.every((state) => state !== "closed"), "an opening that both hear of", 15_000)
  })

  it.each(["refused", "frozen"] as const)("files without Postgres (%s): every call is 503 in time, and files are there afterwards", async (mood) => {
    const declared = (await contractOf(one.operator, `postgres-${mood}`))("files")
    expect(declared.outcome).toBe("denied")
    const headers = { authorization: `Bearer ${(await one.operator.createKey(`files-${mood}`)).key}` }
    const upload = () => Forms.upload(one.url, [Forms.field("purpose", "batch"), Forms.file("kept")], headers)
    const { id } = JSON.parse((await upload()).text) as { readonly id: string }
    // A deletion that was sent may still be done when the server goes on.
    const other = JSON.parse((await upload()).text) as { readonly id: string }
    await roads.postgres.is(mood)
    try {
      const calls: ReadonlyArray<() => Promise<Http.Reply>> = [upload, ...[["GET", "/v1/files"], ["GET", `/v1/files/${id}`], ["GET", `/v1/files/${id}/content`], ["DELETE", `/v1/files/${other.id}`]]
        .map(([method = "", path = ""]) => () => Http.send(one.url, { method, path, headers }))]
      for (const reply of await Promise.all(calls.map((call) => timed(declared.addedLatencyMs ?? 0, "a call about files", call)))) expect([reply.status, reply.text]).toEqual([503, expect.any(String)])
    } finally {
      await roads.postgres.is("open")
    }
    await eventually(() => Http.send(one.url, { path: `/v1/files/${id}/content`, headers }), ({ status, text }) => status === 200 && text === "kept", "the file")
  })

  it.each(["refused", "frozen"] as const)("batches without Postgres (%s): calls about them are 503 in time, and one that runs goes on afterwards", async (mood) => {
    const declared = (await contractOf(one.operator, `postgres-${mood}`))("batches")
    expect(declared.outcome).toBe("queued")
    const { key } = await one.operator.createKey(`batches-${mood}`)
    const headers = { authorization: `Bearer ${key}` }
    const model = `batched-${mood}`
    await sim.rule({ match: { model }, script: { latencyMs: 300 } })
    const client = new Client(one.url, { id: "", key })
    const { id } = await client.create(Array.from({ length: 24 }, (_, n) => chatLine(`line-${n}`, `lab/${model}`)))
    const get = () => Http.send(one.url, { path: `/v1/batches/${id}`, headers })
    await eventually(async () => (await client.openai.batches.retrieve(id)).request_counts?.completed ?? 0, (completed) => completed >= 4, "some answers")
    await roads.postgres.is(mood)
    try {
      expect((await timed(declared.addedLatencyMs ?? 0, "a call about batches", get)).status).toBe(503)
    } finally {
      await roads.postgres.is("open")
    }
    await eventually(get, ({ status }) => status === 200, "the records")
    const over = await client.over(id, 50_000)
    expect(over).toMatchObject({ status: "completed", request_counts: { total: 24, completed: 24, failed: 0 } })
    expect((await client.answers(over.output_file_id)).map(({ custom_id }) => custom_id)).toEqual(Array.from({ length: 24 }, (_, n) => `line-${n}`))
  })

  it.each(["refused", "frozen"] as const)("webhooks without Postgres (%s): nobody waits, events are kept, and each is told when it is back", async (mood) => {
    const declared = (await contractOf(one.operator, `postgres-${mood}`))("webhooks")
    expect([declared.outcome, declared.addedLatencyMs]).toEqual(["queued", 0])
    const { webhook } = await one.operator.call<{ readonly webhook: { readonly id: string } }>("POST", "/api/webhooks", { url: `${sink.url}/${mood}`, events: ["request.completed", "request.failed"] })
    const down = await one.operator.createNode({ prefix: `down-${mood}`, baseUrl: `${sim.url}/v1` })
    await one.operator.createConnection({ provider: down, apiKey: CREDENTIAL })
    await sim.rule({ match: { model: `down-${mood}` }, script: { status: 500 } })
    await converged(one)
    const arrived = () => new Set(sink.received.filter(({ path }) => path === `/${mood}`).map(({ json }) => `${json.event} ${String(json.data?.["trace_id"])}`))
    // The node knows of the webhook.
    const first = (await chat(one, `lab/told-${mood}`)).headers["x-gateway-request-id"]
    await eventually(async () => arrived(), (seen) => seen.has(`request.completed ${first}`), "the first event")
    const wanted = new Set<string>()
    await roads.postgres.is(mood)
    try {
      for (let index = 0; index < 5; index++) {
        const done = await timed(declared.addedLatencyMs ?? 0, "a call", () => chat(one, `lab/told-${mood}`))
        expect(done.status).toBe(200)
        wanted.add(`request.completed ${done.headers["x-gateway-request-id"]}`)
        // Once the breaker is open there is no attempt: such an event is in no ledger row.
        const failed = await timed(declared.addedLatencyMs ?? 0, "a call that fails", () => chat(one, `down-${mood}/down-${mood}`))
        expect(failed.status).toBeGreaterThanOrEqual(500)
        wanted.add(`request.failed ${failed.headers["x-gateway-request-id"]}`)
      }
      expect((await sim.entries({ model: `down-${mood}` })).length).toBeLessThan(5)
      expect([...arrived()].filter((event) => wanted.has(event))).toEqual([])
    } finally {
      await roads.postgres.is("open")
    }
    await eventually(async () => [...wanted].filter((event) => !arrived().has(event)), (missing) => missing.length === 0, "every event", 25_000)
    await one.operator.call("DELETE", `/api/webhooks/${webhook.id}`)
  })

  it.each(["refused", "frozen"] as const)("the audit log without Postgres (%s): the call is done in time, and its missing entry is logged", async (mood) => {
    const declared = (await contractOf(one.operator, `postgres-${mood}`))("audit")
    expect(declared.outcome).toBe("admitted")
    // The command line on the same machine, which is known without a store.
    const token = localToken(Sealer.make({ current: Redacted.make(SECRET), previous: [] }), NODE)
    const reset = () => Http.send(one.url, { path: "/api/resilience/reset", body: {}, headers: { [LOCAL_TOKEN_HEADER]: token } })
    const logged = () => one.output().split("\n").filter((line) => line.includes("audit entry resilience.reset was not stored")).length
    const before = logged()
    await roads.postgres.is(mood)
    try {
      const reply = await timed(declared.addedLatencyMs ?? 0, "an audited call", reset)
      expect(reply.status, reply.text).toBe(200)
      await eventually(async () => logged(), (count) => count === before + 1, "a line about the entry")
    } finally {
      await roads.postgres.is("open")
    }
    const entries = () => one.operator.raw("GET", "/api/compliance/audit-log?limit=200")
    const had = await eventually(entries, ({ status }) => status === 200, "the audit log", 20_000)
    const count = (text: string) => text.split("resilience.reset").length - 1
    expect((await eventually(reset, ({ status }) => status === 200, "an audited call", 10_000)).status).toBe(200)
    await eventually(entries, ({ status, text }) => status === 200 && count(text) > count(had.text), "an entry again", 10_000)
  })
})
