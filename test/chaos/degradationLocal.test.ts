/** Faults of what a node has for itself: a full disk, and an output that is not read. The ledger stays whole, and the process can end. */
import { execFileSync } from "node:child_process"
import { Agent } from "node:http"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Scope from "effect/Scope"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { formOf } from "#test/support/audio.ts"
import { errorIn, messages } from "#test/support/lab.ts"
import { contractOf, type Road, roadTo, type Unheard, unheard } from "#test/support/faults.ts"
import * as Forms from "#test/support/forms.ts"
import * as Http from "#test/support/http.ts"
import { eventually } from "#test/support/operator.ts"
import { findServer, freshDatabase } from "#test/support/postgres.ts"
import { type Sim, startSim } from "#test/support/sim.ts"
import { type Sink, startSink } from "#test/support/sink.ts"
import { CREDENTIAL, watchLoop } from "./support.ts"

const postgres = await findServer()
afterAll(postgres.stop)

/** A call beside a blocked output, with a shared machine's noise (ms). */
const ADDED_MS = 1_000
/** A pipe holds 64 kB, and the sink 1 MB more: longer than both, with lines of 250 bytes at least. */
const CALLS = 6_000
const WORKERS = 32
/** Grace of a drain, and what may pass until the process is gone (ms). */
const GRACE_MS = 1_000
const GONE_MS = GRACE_MS + 2_000

const program = (name: string): boolean => {
  try {
    execFileSync(name, ["--version"], { stdio: "ignore" })
    return true
  } catch {
    return false
  }
}
const missing = postgres.url === null ? postgres.reason : process.env["CI"] !== "true" && !(program("prlimit") && program("mkfifo")) ? "no prlimit and mkfifo" : null

describe.skipIf(missing !== null)("a node's own surroundings fail", { timeout: 180_000 }, () => {
  const scope = Scope.makeUnsafe()
  let sim: Sim
  let gateway: Unheard
  let road: Road
  let sink: Sink

  beforeAll(async () => {
    sim = await startSim({ models: { "*": { tokens: 1 } } })
    // The embedded database would write to the same disk: here only the journal does.
    const database = await Effect.runPromise(Scope.provide(freshDatabase(postgres.url ?? ""), scope))
    road = await roadTo(database)
    sink = await startSink()
    gateway = await unheard({
      DATABASE_URL: road.url, GATEWAY_DATABASE_POOL: "3", GATEWAY_ACCESS_LOG: "all", OUTBOUND_SSRF_GUARD_ENABLED: "false", LOG_LEVEL: "info", SHUTDOWN_TIMEOUT_MS: String(GRACE_MS)
    })
    await gateway.operator.letFailuresPass()
    const node = await gateway.operator.createNode({ prefix: "lab", baseUrl: `${sim.url}/v1` })
    await gateway.operator.createConnection({ provider: node, apiKey: CREDENTIAL })
  }, 180_000)
  afterAll(async () => {
    await road.is("open")
    await gateway.close()
    await sim.stop()
    await sink.close()
    await road.close()
    await Effect.runPromise(Scope.close(scope, Exit.void))
  })

  const chat = (model: string) => Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: `lab/${model}`, messages } })

  it("a full disk: what cannot be journaled is not sent (503 ledger_unavailable), and service returns with the space", async () => {
    gateway.drain()
    expect((await chat("disk")).status).toBe(200)
    // Every write that makes a file longer fails from now on; sockets and pipes are no files.
    execFileSync("prlimit", ["--pid", String(gateway.pid), "--fsize=1:unlimited"])
    try {
      for (let i = 0; i < 20; i++) {
        const refused = await chat("disk-full")
        expect([refused.status, errorIn(refused)["code"], refused.headers["retry-after"]]).toEqual([503, "ledger_unavailable", "1"])
      }
      expect((await Http.send(gateway.url, { path: "/api/health/ping" })).status).toBe(200)
      const health = await Http.send(gateway.url, { path: "/api/health" })
      expect([health.status, JSON.parse(health.text)]).toMatchObject([503, {
        status: "refusing", reason: expect.stringContaining("GATEWAY_DATA_DIR"), checks: { ledger: { status: "failed", gap: 0 } }
      }])
    } finally {
      execFileSync("prlimit", ["--pid", String(gateway.pid), "--fsize=unlimited:unlimited"])
    }
    // Without a request that would show that the disk is back.
    await eventually(() => Http.send(gateway.url, { path: "/api/health" }), ({ status }) => status === 200, "readiness after the disk has space again", 5_000)
    await eventually(() => chat("disk"), ({ status }) => status === 200, "service after the disk has space again", 5_000)
    expect(await sim.entries({ model: "disk-full" })).toEqual([])
    expect(await gateway.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    const rows = (await gateway.operator.callLogs()).filter(({ model }) => model.startsWith("disk"))
    expect(rows.map(({ model }) => model)).toEqual((await sim.entries({ model: "disk" })).map(() => "disk"))
  })

  it("a full disk: an upload that does not fit into memory is refused with 507 before it is sent on, and the next one passes", async () => {
    const declared = (await contractOf(gateway.operator, "disk-full"))("uploads")
    expect(declared.outcome).toBe("denied")
    const upload = (model: string) => Http.send(gateway.url, {
      path: "/v1/audio/transcriptions", headers: { "content-type": "multipart/form-data; boundary=----b0undary" }, body: formOf({ model: `lab/${model}` }, Buffer.alloc(2_000_000, 7))
    })
    gateway.drain()
    execFileSync("prlimit", ["--pid", String(gateway.pid), "--fsize=1:unlimited"])
    try {
      const refused = await upload("disk-full")
      expect([refused.status, errorIn(refused)["code"]]).toEqual([507, "insufficient_storage"])
    } finally {
      execFileSync("prlimit", ["--pid", String(gateway.pid), "--fsize=unlimited:unlimited"])
    }
    await eventually(() => upload("disk"), ({ status }) => status === 200, "service after the disk has space again", 5_000)
    expect(await sim.entries({ model: "disk-full" })).toEqual([])
    expect(await gateway.operator.settled()).toMatchObject({ gap: 0, live: 0 })
  })

  it("a full disk: events of failures that have no row are lost and logged; the next ones are told", async () => {
    const declared = (await contractOf(gateway.operator, "disk-full"))("webhooks")
    expect(declared.outcome).toBe("denied")
    const { webhook } = await gateway.operator.call<{ readonly webhook: { readonly id: string } }>("POST", "/api/webhooks", { url: sink.url, events: ["request.failed"] })
    await sim.rule({ match: { model: "told" }, script: { status: 500 } })
    const traced = (reply: Http.Reply) => sink.received.some(({ json }) => json.data?.["trace_id"] === reply.headers["x-gateway-request-id"])
    const told = async () => {
      const reply = await chat("told")
      expect(reply.status).toBeGreaterThanOrEqual(500)
      await eventually(async () => traced(reply), (seen) => seen, "an event")
    }
    await told()
    gateway.drain()
    execFileSync("prlimit", ["--pid", String(gateway.pid), "--fsize=1:unlimited"])
    let lost: Http.Reply
    try {
      lost = await chat("disk-full")
      expect(lost.status).toBe(503)
      const output: Array<string> = []
      await eventually(async () => {
        output.push(gateway.drain())
        return output.join("")
      }, (text) => text.includes("events for webhooks cannot be kept and are lost"), "a line about lost events")
    } finally {
      execFileSync("prlimit", ["--pid", String(gateway.pid), "--fsize=unlimited:unlimited"])
    }
    await eventually(() => chat("disk"), ({ status }) => status === 200, "service after the disk has space again", 5_000)
    await told()
    expect(traced(lost)).toBe(false)
    await gateway.operator.call("DELETE", `/api/webhooks/${webhook.id}`)
  })

  it("a full disk: an upload is 507 and nothing of it is kept; files that are there are served", async () => {
    expect((await contractOf(gateway.operator, "disk-full"))("files").outcome).toBe("denied")
    const { key } = await gateway.operator.createKey("files")
    const headers = { authorization: `Bearer ${key}` }
    const upload = (text: string) => Forms.upload(gateway.url, [Forms.field("purpose", "batch"), Forms.file(text)], headers)
    const { id } = JSON.parse((await upload("before")).text) as { readonly id: string }
    gateway.drain()
    execFileSync("prlimit", ["--pid", String(gateway.pid), "--fsize=1:unlimited"])
    try {
      const refused = await upload("a file of more than a byte")
      expect([refused.status, errorIn(refused)["code"]]).toEqual([507, "insufficient_storage"])
      expect((await Http.send(gateway.url, { path: `/v1/files/${id}/content`, headers })).text).toBe("before")
    } finally {
      execFileSync("prlimit", ["--pid", String(gateway.pid), "--fsize=unlimited:unlimited"])
    }
    expect((JSON.parse((await Http.send(gateway.url, { path: "/v1/files", headers })).text) as { data: ReadonlyArray<{ id: string }> }).data.map((file) => file.id)).toEqual([id])
    expect((await upload("a file of more than a byte")).status).toBe(200)
  })

  it("a full disk while Postgres is away: nothing goes out that could not be written down, and what was is in the ledger afterwards", async () => {
    gateway.drain()
    const declared = await contractOf(gateway.operator, "disk-full", "postgres-refused")
    expect([declared("inference").outcome, declared("ledger").outcome, declared("management").outcome]).toEqual(["denied", "denied", "denied"])
    const several = async (model: string, status: number) => {
      for (let i = 0; i < 5; i++) {
        const late = watchLoop()
        const began = performance.now()
        const reply = await chat(model)
        expect([model, reply.status], reply.text).toEqual([model, status])
        expect(performance.now() - began).toBeLessThan((declared("inference").addedLatencyMs ?? 0) + ADDED_MS + 2 * late())
        if (status === 503) expect([errorIn(reply)["code"], reply.headers["retry-after"]]).toEqual(["ledger_unavailable", "1"])
      }
    }
    await road.is("refused")
    try {
      await several("both-before", 200)
      execFileSync("prlimit", ["--pid", String(gateway.pid), "--fsize=1:unlimited"])
      try {
        await several("both-full", 503)
        expect((await Http.send(gateway.url, { path: "/api/health/ping" })).status).toBe(200)
      } finally {
        execFileSync("prlimit", ["--pid", String(gateway.pid), "--fsize=unlimited:unlimited"])
      }
      await eventually(() => chat("both-after"), ({ status }) => status === 200, "service after the disk has space again", 5_000)
      await several("both-after", 200)
    } finally {
      await road.is("open")
    }
    await eventually(() => gateway.operator.raw("GET", "/api/providers"), ({ status }) => status === 200, "the management API", 20_000)
    expect(await gateway.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    expect(await sim.entries({ model: "both-full" })).toEqual([])
    const tagged = (models: ReadonlyArray<string | null>) => models.filter((model) => model?.startsWith("both-") === true).sort()
    const calls = tagged((await sim.entries()).map(({ model }) => model))
    expect(calls.length).toBeGreaterThanOrEqual(11)
    expect(tagged((await gateway.operator.callLogs()).map(({ model }) => model))).toEqual(calls)
  })

  it("an output that nobody reads: requests are answered, the ledger is whole, lines are dropped and counted", async () => {
    gateway.drain()
    const agent = new Agent({ keepAlive: true, maxSockets: WORKERS })
    let left = CALLS
    const statuses = new Map<number, number>()
    await Promise.all(Array.from({ length: WORKERS }, async () => {
      while (left-- > 0) {
        const { status } = await Http.send(gateway.url, { path: "/v1/chat/completions", body: { model: "lab/unread", messages }, agent })
        statuses.set(status, (statuses.get(status) ?? 0) + 1)
      }
    }))
    agent.destroy()
    expect([...statuses]).toEqual([[200, CALLS]])
    const late = watchLoop()
    const began = performance.now()
    expect((await chat("unread")).status).toBe(200)
    expect(performance.now() - began).toBeLessThan(ADDED_MS + 2 * late())
    expect(await gateway.operator.settled()).toMatchObject({ gap: 0, live: 0, journaled: 0 })
    const output: Array<string> = []
    await eventually(async () => {
      output.push(gateway.drain())
      return output.join("").includes("log lines were dropped")
    }, (seen) => seen, "the count of dropped lines")
    await chat("unread")
    await eventually(async () => output.push(gateway.drain()) > 0 && output.at(-1) !== "", (seen) => seen, "lines again")
  })

  it("a blocked output does not keep the process from ending", async () => {
    // The pipe fills once more.
    for (let i = 0; i < 20; i++) await Promise.all(Array.from({ length: 32 }, () => chat("last")))
    const late = watchLoop()
    const began = performance.now()
    expect(await gateway.stop()).toBe(0)
    expect(performance.now() - began).toBeLessThan(GONE_MS + ADDED_MS + 2 * late())
  })
})
