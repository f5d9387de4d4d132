/**
 * A defect in every loop of a running gateway: each is told of in the log, counted in the metrics, and followed by the next round. The
 * faults are a table over the supervisor's own: a loop without a fault does not compile.
 */
import { EventEmitter, once } from "node:events"
import * as fs from "node:fs"
import * as http from "node:http"
import * as os from "node:os"
import * as path from "node:path"
import type { Worker } from "node:worker_threads"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import { BatchRunner } from "#src/features/batches/run/BatchRunner.ts"
import { BatchStore } from "#src/features/batches/ports/BatchStore.ts"
import * as Supervisor from "#actors/Supervisor.ts"
import { Inference } from "#src/inference/lane/services/Inference.ts"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import * as Workers from "#src/platform/cluster/workers/Workers.ts"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import * as SupervisionTunnels from "./supervisionTunnels.ts"
import { Faults, gatewayWorld, partWorld, type World } from "./supervisionWorlds.ts"
import { managedKey, Session } from "#test/features/leases/support.ts"
import * as A2aLab from "#test/features/a2a/lab.ts"
import * as McpLab from "#test/features/mcp/lab.ts"
import { LOCAL_TOKEN_HEADER, localToken } from "#src/management/authentication/localToken.ts"
import { findServers, type Ground, ground } from "#test/support/cluster.ts"
import { inProcess, type InProcess } from "#test/support/gateway.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, longOutput, messages, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"
import { connect } from "#test/support/webSocket.ts"
import { html, type Pages, startPages } from "#test/support/pages.ts"
import { type Sink, startSink } from "#test/support/sink.ts"
import * as Records from "#test/suites/records.ts"

const servers = await findServers()
const NODE = "supervised"

let alone: Lab
let several: InProcess
let common: Ground
let sink: Sink
let pages: Pages
let otlp: http.Server
const aloneFaults = new Faults()
const severalFaults = new Faults()
const part = partWorld()
const threads = new EventEmitter()
let database: Worker | null = null
/** Emitted under the thread's name. A slow host may have given up on a database already: the newest one counts. */
const born = (worker: Worker): void => {
  const name = worker.threadName ?? ""
  if (name === "pglite") database = worker
  threads.emit(name, worker)
}

const chat = (model: string, more: Record<string, unknown> = {}, headers: Record<string, string> = {}) => alone.chat({ model, ...more }, headers)
const stop: Array<() => unknown> = []

/** Which world a loop meets its defect in, and what makes it run there; without `act` it always runs. */
interface Fault {
  readonly world: "alone" | "several" | "part"
  readonly act?: () => Promise<unknown>
  /** The work that follows the defect. */
  readonly works?: () => Promise<unknown>
}
const always: Fault = { world: "alone" }
const shared: Fault = { world: "several" }

/** A key of MCP; the transport is switched on with it. */
const mcpToken = async (): Promise<string> => {
  await alone.gateway.operator.call("PATCH", "/api/settings", { mcpEnabled: true, mcpTransport: "streamable-http" })
  return (await alone.gateway.operator.createKey("mcp", { scopes: ["mcp:connect", "*"] })).key
}

const killed = async (name: string, act: () => Promise<unknown>): Promise<void> => {
  const [[worker]] = await Promise.all([once(threads, name) as Promise<[Worker]>, act()])
  await worker.terminate()
}
const readPage = () => Http.send(alone.gateway.url, { path: "/v1/web/fetch", body: { url: `${pages.origin}/page` } })
const largeBody = () => chat("large", { metadata: { filler: "x".repeat(400_000) } })
const uncounted = async () => {
  await alone.sim.rule({ match: { model: "uncounted" }, script: { usage: "omit" } })
  expect((await chat("uncounted")).status).toBe(200)
}

const faults: Readonly<Record<Supervisor.Loop, Fault>> = {
  request: {
    world: "alone",
    act: async () => {
      const { request } = Context.get(alone.gateway.services(), Inference)
      const whole = request.report
      Object.assign(request, {
        report: () => {
          Object.assign(request, { report: whole })
          throw new Error("injected into request")
        }
      })
      await chat("defect")
    },
    works: async () => expect((await chat("after-defect")).status).toBe(200)
  },
  "stream heartbeats": always,
  "progress of tools": {
    world: "alone",
    act: async () => {
      await alone.sim.rule({ match: { model: "held" }, script: { latencyMs: 2_500 } })
      const token = await mcpToken()
      const headers = await McpLab.session(alone.gateway.url, token)
      const call = McpLab.frame("tools/call", { name: "gateway_route_request", _meta: { progressToken: "p" }, arguments: { model: "lab/held", messages } })
      const reply = McpLab.post(alone.gateway.url, token, call, headers)
      stop.push(() => reply)
    }
  },
  "beats of gateway mcp": {
    world: "alone",
    act: async () => {
      await alone.gateway.operator.call("PATCH", "/api/settings", { mcpEnabled: true, mcpTransport: "stdio" })
      const token = localToken(Context.get(alone.gateway.services(), Secrets), NODE)
      const local = { accept: "application/json, text/event-stream", [LOCAL_TOKEN_HEADER]: token, "x-gateway-mcp-transport": "stdio" }
      const { headers: { "mcp-session-id": id = "" } } = await Http.send(alone.gateway.url, { path: "/api/mcp/stream", headers: local, body: McpLab.opening("2025-06-18") })
      const headers = { ...local, accept: "text/event-stream", "mcp-session-id": id }
      const opened = await Http.stream(alone.gateway.url, { path: "/api/mcp/stream", method: "GET", headers })
      stop.push(() => opened.leave())
    }
  },
  "MCP server": {
    world: "alone",
    // Nothing listens there: the server fails, and is tried again.
    act: () => alone.gateway.operator.call("POST", "/api/mcp/servers", { name: "supervised", url: `${alone.sim.url}/nothing` })
  },
  ...SupervisionTunnels.faults(NODE, () => alone.gateway),
  "body threads": { world: "alone", act: () => killed("bodies", largeBody), works: async () => expect((await largeBody()).status).toBe(200) },
  "idempotency claims": {
    world: "several",
    act: async () => {
      await alone.sim.rule({ match: { model: "claimed" }, script: { latencyMs: 2_000 } })
      const reply = Http.send(several.url, { path: "/v1/chat/completions", headers: { "idempotency-key": "k" }, body: { model: "lab/claimed", messages } })
      stop.push(() => reply)
    }
  },
  "limit reconciliation": always, "limit renewal": shared,
  "limit handover": shared, "limit notices": always, "lease sweep": always,
  "lease records": {
    world: "alone",
    act: async () => {
      const key = await managedKey(alone.gateway, "supervised", [alone.connection])
      await new Session(alone.gateway, key.key).acquire("lab/leased")
    }
  },
  "page threads": {
    world: "alone",
    act: () => killed("pages", readPage),
    works: async () => expect((await readPage()).status).toBe(200)
  },
  "cache writes": { world: "alone", act: () => chat("cached", { temperature: 0 }) },
  "compression statistics": { world: "alone", act: () => alone.gateway.operator.call("PUT", "/api/settings/compression", { enabled: true, defaultMode: "lite" }).then(() => chat("compressed")) },
  "raw outputs": { world: "alone", act: () => alone.gateway.operator.call("PUT", "/api/settings/compression", { enabled: true, defaultMode: "rtk", rtkConfig: { rawOutputRetention: "always" } }).then(() => chat("kept", { messages: longOutput })) },
  "memory vectors": { world: "alone", act: () => alone.gateway.operator.call("PUT", "/api/settings/memory", { memoryEnabled: true, embeddingSource: "lab/vectors" }).then(() => alone.gateway.operator.call("POST", "/api/memory", { key: "note", content: "is embedded" })) },
  "search statistics": {
    world: "alone",
    act: async () => {
      await alone.gateway.operator.createConnection({ provider: "serper-search", apiKey: "search-credential-000001", providerSpecificData: { baseUrl: `${alone.sim.url}/serper` } })
      expect((await Http.send(alone.gateway.url, { path: "/v1/search", body: { query: "counted" } })).status).toBe(200)
    }
  },
  "proxy health": {
    world: "alone",
    act: async () => {
      const { id: proxyId } = await alone.gateway.operator.call<{ id: string }>("POST", "/api/v1/management/proxies", { name: "away", host: "127.0.0.1", port: 9 })
      await alone.gateway.operator.call("POST", "/api/settings/proxy/test", { proxyId })
    }
  },
  "cache eviction": always, "configuration file": always, "model lists": always,
  "connection tests": { world: "alone", act: () => alone.gateway.operator.call("PATCH", "/api/resilience", { credentialHealthCheck: { intervalMinutes: 60 } }) },
  "journal delivery": { world: "alone", works: async () => expect(await alone.rows(await chat("delivered"))).toHaveLength(1) },
  "journal retention": always, "journal replay": always,
  "journal fsync": {
    world: "part",
    act: () => part.run(Effect.scoped(Effect.gen(function*() {
      const directory = fs.mkdtempSync(path.join(os.tmpdir(), "gateway-fsync-"))
      yield* Layer.build(JournaledLedger.layer({ directory, nodeId: "fsync", fsyncIntervalMs: 5 }).pipe(
        Layer.provide(Layer.succeed(UsageStore, Context.get(alone.gateway.services(), UsageStore)))
      ))
      yield* Effect.promise(() => followed(part.world, "journal fsync"))
      fs.rmSync(directory, { recursive: true, force: true })
    })))
  },
  tokenizer: { world: "alone", act: () => killed("tokenizer", uncounted), works: uncounted },
  "event loop watch": always,
  "webhook events": always, "webhook leftovers": always,
  "webhook queue": shared,
  "webhook backlog": always,
  "webhook lane": {
    world: "alone",
    act: async () => {
      const { webhook } = await alone.gateway.operator.call<{ webhook: { id: string } }>("POST", "/api/webhooks", { url: sink.url, active: true })
      await alone.gateway.operator.call("POST", `/api/webhooks/${webhook.id}/test`, {})
      await alone.sim.rule({ match: { model: "told" }, script: { status: 500 } })
      await chat("told")
    },
    works: () => eventually(async () => sink.received.map(({ json }) => json.event), (seen) => seen.some((event) => event !== "test.ping"), "a delivery of the lane")
  },
  "sweep/webhooks": always,
  "sweep/responses": always,
  "call bodies": {
    world: "alone",
    act: async () => {
      await alone.gateway.operator.call("PATCH", "/api/settings", { callLogBodies: true })
      await chat("bodies")
      await alone.gateway.operator.call("PATCH", "/api/settings", { callLogBodies: false })
    }
  },
  "sweep/call bodies": always,
  "agent tasks": {
    world: "alone",
    act: async () => {
      await alone.gateway.operator.call("PATCH", "/api/settings", { a2aEnabled: true })
      await alone.sim.rule({ match: { model: "agent-slow" }, script: { text: "word ".repeat(400), paceMs: 50 } })
      const { key } = await alone.gateway.operator.createKey("agent")
      const asked = A2aLab.frame("message/stream", { skill: "smart-routing", messages: [{ role: "user", content: "Go on" }], metadata: { model: "lab/agent-slow" } })
      const opened = await Http.stream(alone.gateway.url, { path: "/a2a", headers: { authorization: `Bearer ${key}` }, body: asked })
      await opened.until((seen) => seen.includes("chunk"))
      stop.push(() => opened.leave())
    }
  },
  "sweep/agent tasks": always,
  batches: always,
  batch: {
    world: "alone",
    act: async () => {
      const services = alone.gateway.services()
      await Effect.runPromise(Effect.andThen(Context.get(services, BatchStore).insert(Records.batchRecord("batch_defect")), Context.get(services, BatchRunner).wake))
    },
    works: () => eventually(
      () => Effect.runPromise(Context.get(alone.gateway.services(), BatchStore).find("batch_defect", "all")), (batch) => batch?.state.status === "expired", "the end of a batch whose window is over"
    )
  },
  "sweep/batches": always, "sweep/memories": always, "scheduled backups": always, "model catalogues": always, "proxy subscriptions": always, "database check": always,
  "sweep/files": always,
  "sweep/file bytes": always,
  "background responses": always,
  "token refresh": {
    world: "alone",
    act: () => Effect.runPromise(Effect.gen(function*() {
      const services = alone.gateway.services()
      yield* Context.get(services, Configuration).commit(Context.get(services, ConnectionStore).insert(Records.connection({
        id: "signed-in", provider: "huggingface", authType: "oauth", apiKey: null, accessToken: Redacted.make("canary-access"), refreshToken: Redacted.make("canary-refresh"),
        tokenExpiresAt: new Date(Date.now() + 86_400_000).toISOString(), expiresIn: 86_400
      })))
    }))
  },
  "quota history": {
    world: "alone",
    act: async () => {
      await alone.sim.rule({ match: { model: "metered" }, script: {
        headers: { "anthropic-ratelimit-unified-5h-utilization": "0.5", "anthropic-ratelimit-unified-5h-reset": String(Math.ceil(Date.now() / 1_000) + 3_600) }
      } })
      await chat("metered")
    }
  },
  "connection days": always,
  "quota polls": always, "quota polls elsewhere": shared, "quota eviction": always,
  "cooldown records": {
    world: "alone",
    act: async () => {
      const breaker = { degradationThreshold: 1, failureThreshold: 2 }
      await alone.gateway.operator.call("PATCH", "/api/resilience", {
        waitForCooldown: { enabled: false }, providerBreaker: { oauth: breaker, apikey: breaker, local: breaker }
      })
      await alone.pool("breaks", ["credential-that-breaks"])
      await alone.sim.rule({ match: { model: "broken" }, script: { status: 500 } })
      for (let at = 0; at < 2; at++) await alone.chat({ model: "breaks/broken" })
    }
  },
  "node count": shared,
  "cooldown feed": shared,
  "upstream deadlines": { world: "alone", act: () => chat("deadline") },
  "simulator pace": { world: "alone", act: () => alone.chat({ model: "sim/echo" }) },
  "sweep/nodes and changes": always, "sweep/sessions": always, "sweep/usage": always, "sweep/audit log": always, "sweep/lease changes": always,
  "change feed": shared,
  "stand-still watch": shared,
  "Redis probe": {
    world: "several",
    act: async () => common.redis.freeze(),
    works: async () => {
      common.redis.thaw()
      await eventually(async () => several.output(), (text) => text.includes("Redis does not answer"), "Redis was missed")
      await eventually(async () => Context.get(several.services(), RedisStore).state(), (state) => state === "closed", "Redis is back")
    }
  },
  "Redis pulse": shared,
  "Redis listeners": {
    world: "several",
    act: () => Effect.runPromise(Effect.scoped(Effect.gen(function*() {
      const redis = Context.get(several.services(), RedisStore)
      const heard = yield* Deferred.make<void>()
      yield* redis.subscribe("supervised", {
        message: () => {
          throw new Error("injected into Redis listeners")
        },
        gap: () => {}
      })
      yield* redis.subscribe("supervised", { message: () => void Deferred.doneUnsafe(heard, Effect.void), gap: () => {} })
      yield* redis.publish("supervised", "hello")
      yield* Deferred.await(heard)
    })))
  },
  "embedded database": {
    world: "alone",
    act: async () => await database?.terminate(),
    works: () => eventually(async () => (await alone.gateway.operator.raw("GET", "/api/keys")).status, (status) => status === 200, "the database is back")
  },
  "database lock": always,
  "span export": always,
  "live events": {
    world: "alone",
    act: async () => {
      const { token } = await alone.gateway.operator.call<{ token: string }>("POST", "/api/cli/tokens", { name: "live", scope: "read" })
      const client = await connect(alone.gateway.url, "/api/live", { headers: { authorization: `Bearer ${token}` } })
      stop.push(() => client.ws.terminate())
    }
  },
  "slow clients": {
    world: "alone",
    act: async () => {
      const url = new URL(alone.gateway.url)
      const slow = http.request({ host: url.hostname, port: url.port, path: "/v1/chat/completions", method: "POST", headers: { "content-length": 1_000, "content-type": "application/json" } })
      slow.on("error", () => undefined)
      slow.write("{\"model\":")
      stop.push(() => slow.destroy())
    }
  },
  worker: {
    world: "part",
    act: () => part.run(Effect.gen(function*() {
      const serves = yield* Deferred.make<void>()
      const script = "process.send({ gateway: 'ready', banner: 'well' }); process.on('message', () => process.exit(0))"
      yield* Effect.raceFirst(
        Workers.run({ workers: 1, command: [process.execPath, "-e", script], environment: process.env, reloads: false, graceMs: 5_000 }, Deferred.succeed(serves, undefined)),
        Deferred.await(serves)
      )
    }))
  }
}

const worldOf = ({ world }: Fault): World =>
  world === "alone" ? gatewayWorld(aloneFaults, () => alone.gateway) : world === "several" ? gatewayWorld(severalFaults, () => several) : part.world

/** The round after the defect has begun. */
const followed = (world: World, loop: Supervisor.Loop) =>
  eventually(async () => world.faults.rounds.get(loop) ?? 0, (rounds) => rounds >= 2, `the round of ${loop} after its defect`)

const countIn = (text: string, loop: string): number => Number(text.split("\n").find((line) => line.startsWith(`gateway_loop_restarts_total{loop="${loop}"}`))?.split(" ").at(-1))

describe.skipIf(servers.missing !== null)("a defect in a loop of the running gateway", { timeout: 180_000 }, () => {
  beforeAll(async () => {
    process.on("worker", born)
    sink = await startSink()
    otlp = http.createServer((request, response) => void request.resume().on("end", () => response.end())).listen(0, "127.0.0.1")
    await once(otlp, "listening")
    const { port } = otlp.address() as { port: number }
    pages = await startPages({ "/page": html("<p>A page</p>") })
    stop.push(pages.stop)
    const configFile = path.join(fs.mkdtempSync(path.join(os.tmpdir(), "gateway-supervised-")), "gateway.yaml")
    fs.writeFileSync(configFile, "")
    alone = await startLab({
      network: pages.network,
      probe: aloneFaults.probe,
      resilience: "awake",
      environment: {
        GATEWAY_NODE_ID: NODE, GATEWAY_SIM_PROVIDER: "true", GATEWAY_MODEL_LISTS_REFRESH_MS: "3600000", OUTBOUND_SSRF_GUARD_ENABLED: "false",
        OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`, GATEWAY_CONFIG: configFile, GATEWAY_TUNNELS: "on", PATH: SupervisionTunnels.programs.directory
      }
    })
    common = await ground(servers.postgres)
    several = await inProcess({ probe: severalFaults.probe, environment: { ...common.environment, OUTBOUND_SSRF_GUARD_ENABLED: "false" } })
    const provider = await several.operator.createNode({ prefix: "lab", baseUrl: `${alone.sim.url}/v1` })
    await several.operator.createConnection({ provider, apiKey: "key-of-lab" })
  }, 300_000)
  afterAll(async () => {
    process.off("worker", born)
    await common.close()
    await sink.close()
    otlp.close()
    otlp.closeAllConnections()
  }, 180_000)

  it.each(Object.entries(faults) as ReadonlyArray<[Supervisor.Loop, Fault]>)("of %s is told and counted, and the loop goes on", async (loop, fault) => {
    const { kind, restart } = Supervisor.loops[loop]
    const world = worldOf(fault)
    await fault.act?.()
    if (kind !== "thread" && kind !== "actor" && loop !== "Redis listeners") await followed(world, loop)
    await fault.works?.()
    await eventually(async () => world.output(), (text) => text.includes(`${loop}: a defect, and it `), `the log line of ${loop}`)
    if (kind === "fiber") expect(world.output()).toContain(`injected into ${loop}`)
    if (restart === "never") expect(await world.metrics()).not.toContain(`gateway_loop_restarts_total{loop="${loop}"}`)
    else expect(countIn(await world.metrics(), loop)).toBe(1)
  })

  it("harms no other: a stop ends every loop, in the order of the table", async () => {
    for (const end of stop) await end()
    for (const [world, close] of [[aloneFaults, () => alone.close()], [severalFaults, () => several.close()]] as const) {
      const begun = [...world.rounds.keys()] as ReadonlyArray<Supervisor.Loop>
      const over = new Set(world.ended)
      world.ended = []
      await close()
      const lasting = begun.filter((loop) => Supervisor.loops[loop].kind === "fiber" && Supervisor.loops[loop].restart === "always" && !over.has(loop))
      expect(lasting.length).toBeGreaterThan(15)
      expect(lasting.filter((loop) => !world.ended.includes(loop))).toEqual([])
      const steps = world.ended.map((loop) => Supervisor.loops[loop].drain)
      expect(steps).toEqual([...steps].sort((a, b) => Supervisor.drainOrder.indexOf(a) - Supervisor.drainOrder.indexOf(b)))
    }
  })
})
