/**
 * CPU of the request path alone: admission, plan, actor, attempt, answer, with a front end and an upstream that cost nothing.
 * Run: node bench/micro/request.ts [--no-ledger] [--combo] [--embeddings] [--live] [--listened]: through a combo of four targets; texts to
 * embed beside chats, and their ratio; with live events without a client, or heard by one. Prints the best and the median round in microseconds per request.
 * [--rounds n] [--requests n]: of each round. `bench/micro/instructions.ts` counts the instructions of each.
 */
import * as Effect from "effect/Effect"
import * as Fs from "node:fs"
import * as Os from "node:os"
import * as Path from "node:path"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import type { UpstreamHandler } from "#actors/request/ports/Upstream.ts"
import * as SyncedModels from "#schemas/catalogue/SyncedModels.ts"
import { defaultPolicy, type ApiKey } from "#schemas/records/ApiKey.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as GatewayAccounting from "#src/platform/accounting/GatewayAccounting.ts"
import * as JournaledLedger from "#src/platform/accounting/JournaledLedger.ts"
import { BodyWorkers } from "#src/inference/lane/bodies/BodyWorkers.ts"
import { HeldBytes } from "#src/platform/structures/HeldBytes.ts"
import * as Pages from "#src/platform/gate/pages.ts"
import * as Conversations from "#src/inference/conversations/Conversations.ts"
import * as Embeddings from "#src/inference/embeddings/Embeddings.ts"
import * as Lane from "#src/inference/lane/Lane.ts"
import { client as chat } from "#src/wire/chatCompletions/index.ts"
import * as Registry from "#src/providers/Registry.ts"
import * as ComboMetrics from "#src/features/combos/ComboMetrics.ts"
import { Handoffs } from "#src/inference/conversations/ensembles/Handoffs.ts"
import { Shadows } from "#src/inference/conversations/ensembles/Shadows.ts"
import { Teller } from "#src/features/live/events.ts"
import { LiveRequests } from "#src/inference/lane/live/LiveRequests.ts"
import { LiveSessions } from "#src/inference/lane/live/LiveSessions.ts"
import { Report } from "#src/inference/lane/RouteReport.ts"
import { unknown } from "#src/routing/ports/Quotas.ts"
import { makeRouter, RouterMemory } from "#src/routing/Router.ts"
import type { Exchange } from "#src/platform/server/Exchange.ts"
import { Metrics } from "#src/platform/telemetry/Metrics.ts"
import "effect/schema/SchemaJITCompiler/enable"

const numberOf = (name: string, otherwise: number): number => {
  const at = process.argv.indexOf(name)
  return at === -1 ? otherwise : Number(process.argv[at + 1])
}

const rounds = numberOf("--rounds", 15)
const perRound = numberOf("--requests", 20_000)
const concurrency = 32
const throughCombo = process.argv.includes("--combo")
const embeds = process.argv.includes("--embeddings")

const key: ApiKey = {
  id: "k1", name: "bench", keyHash: "h", keyPrefix: "", keySuffix: "", sealedKey: null, machineId: "", issuerId: null, policy: defaultPolicy,
  createdAt: "", updatedAt: "", lastUsedAt: null, revokedAt: null
}
const connection = {
  id: "c1", provider: "openai", authType: "apikey", name: "c", priority: 1, isActive: true, apiKey: Redacted.make("sk-upstream"),
  accessToken: null, providerSpecificData: {}, testStatus: "active", createdAt: ""
} as unknown as Connection
const snapshot = {
  version: 1, connections: [connection], connectionById: new Map([["c1", connection]]), activeByProvider: new Map([["openai", [connection]]]),
  nodes: [], nodeById: new Map(), nodeByPrefix: new Map(), customModels: [], aliases: new Map(), settings: new Map(), flagOverrides: new Map(),
  pricing: new Map(), synced: SyncedModels.none, paramFilters: new Map(), fileOwned: new Map(), comboMappings: [], egress: null, simulatorUrl: null, simulatorListed: false,
  combos: throughCombo ? [{
    id: "four", name: "four", strategy: "priority", config: {}, allowedProviders: [], system_message: null, tool_filter_regex: null, isActive: true, updatedAt: "now",
    models: ["gpt-4o-mini", "gpt-4o", "gpt-4.1", "gpt-4.1-mini"].map((name) =>
      ({ kind: "model", id: name, model: `openai/${name}`, provider: null, connectionId: null, weight: 0, label: null, tags: [], prompt: null }))
  }] : []
} as unknown as Snapshot

const chatBody = Buffer.from(JSON.stringify({ model: throughCombo ? "combo/four" : "openai/gpt-4o-mini", messages: [{ role: "user", content: "Say something short, please." }], temperature: 0.2 }))
const chatAnswer = Buffer.from(JSON.stringify({
  id: "chatcmpl-1", object: "chat.completion", created: 1, model: "gpt-4o-mini",
  choices: [{ index: 0, message: { role: "assistant", content: "Something short." }, finish_reason: "stop" }],
  usage: { prompt_tokens: 12, completion_tokens: 4, total_tokens: 16 }
}))
/** What the vendor's own client sends, and a vector of 256 dimensions. */
const embeddingBody = Buffer.from(JSON.stringify({ input: "Say something short, please.", model: "openai/text-embedding-3-small", encoding_format: "base64" }))
const vector = Buffer.from(Float32Array.from({ length: 256 }, (_, i) => Math.sin(i)).buffer).toString("base64")
const embeddingAnswer = Buffer.from(JSON.stringify({
  object: "list", data: [{ object: "embedding", index: 0, embedding: vector }], model: "text-embedding-3-small", usage: { prompt_tokens: 6, total_tokens: 6 }
}))

/** What is asked in a round: its path, the request, and the upstream's answer. */
const kindOf = (name: string, path: string, requestBody: Buffer, answerBody: Buffer) => ({
  name, path, requestBody, answerBody,
  upstreamHead: ["content-type", "application/json", "x-request-id", "req_1", "content-length", String(answerBody.length)],
  clientHead: ["host", "localhost", "authorization", "Bearer sk-0123456789abcdef0123456789abcdef", "content-type", "application/json", "content-length", String(requestBody.length)]
})
const chatKind = kindOf("chat", "/v1/chat/completions", chatBody, chatAnswer)
const embeddingsKind = kindOf("embeddings", "/v1/embeddings", embeddingBody, embeddingAnswer)
/** Rounds of both kinds alternate, so that their ratio holds on a busy machine, too. */
let kind = chatKind

/** Upstream calls that wait for their answer; answered a turn later, as sockets would. */
let waiting: Array<UpstreamHandler> = []
const answerAll = () => {
  const batch = waiting
  waiting = []
  for (const handler of batch) {
    handler.onHead(200, kind.upstreamHead)
    handler.onData(kind.answerBody)
    handler.onEnd()
  }
}

class FakeExchange implements Exchange {
  readonly method = "POST"
  readonly path = kind.path
  readonly query = ""
  readonly headers = kind.clientHead
  readonly peerAddress = "127.0.0.1"
  readonly remoteAddress = "127.0.0.1"
  readonly pendingBytes = 0
  closed = false
  private readonly done: () => void
  constructor(done: () => void) {
    this.done = done
  }
  header(name: string): string | undefined {
    const { headers } = this
    for (let i = 0; i < headers.length; i += 2) if (headers[i] === name) return headers[i + 1]
    return undefined
  }
  readBody(_limit: number, done: (body: Uint8Array | null, failure: null) => void): void {
    done(kind.requestBody, null)
  }
  streamBody(): never {
    throw new Error("no form is measured")
  }
  onRelease(): void {}
  releaseBody(): void {}
  onAbort(): void {}
  addHeaders(): void {}
  start(): void {}
  startSized(): void {}
  write(): boolean {
    return true
  }
  relay(): boolean {
    return true
  }
  onDrain(): void {}
  end(): void {}
  respond(status: number): void {
    if (status !== 200) throw new Error(`status ${status}`)
    this.closed = true
    this.done()
  }
  close(): void {}
}

const program = Effect.gen(function*() {
  const ledger = yield* Ledger
  const context = yield* Effect.context<never>()
  const metrics = new Metrics(context, () => true)
  const fork = Effect.runForkWith(context)
  const free = { check: () => null, enter: () => ({ answered: () => {}, release: () => {} }), onFree: () => () => {}, spent: () => {}, health: (): never => { throw new Error("not asked") } }
  const router = makeRouter({
    resilience: free, quotas: unknown, memory: new RouterMemory(), random: Math.random, snapshot, registry: Registry.builtin, noThinkingAliases: true, thinkingLevels: true, priceOf: () => ({ input: 0.15, output: 0.6 })
  })
  let id = 0
  const held = new HeldBytes(Number.POSITIVE_INFINITY)
  const bodies = new BodyWorkers({ threads: 1, heapMb: 512, onDefect: (text) => { throw new Error(text) }, onLost: (error) => { throw error } })
  const off = process.argv.includes("--no-ledger")
  const isHeard = process.argv.includes("--listened")
  const roster = new LiveRequests((error) => { throw error })
  const teller = new Teller("bench", (provider) => provider)
  if (isHeard) roster.onlooker = { began: (request) => void teller.began(request, Date.now()), attempted: () => {}, ended: () => {} }
  const live = isHeard || process.argv.includes("--live") ? roster : { add: () => {}, remove: () => {} }
  const services: Conversations.ConversationServices = {
    sessions: new LiveSessions(),
    media: { check: () => Effect.die("not asked"), take: () => Effect.die("not asked") },
    admission: {
      feed: { isBehind: () => false, caughtUp: Effect.void },
      keys: { hash: () => "h", peek: () => key, find: () => Effect.succeed(key), touch: () => {}, forget: () => {}, onForget: () => () => {} },
      limits: { of: () => null },
      pages: Pages.make(() => null),
      addresses: { guard: () => false },
      flags: { isOn: () => true, value: () => "", source: () => "default" },
      environmentKeys: new Map(), now: Date.now, makeRequestId: () => `req_${++id}`, runLookup: () => {}, seen: () => {}
    },
    request: {
      resilience: free,
      ledger: off ? { ...ledger, open: (_start, opening) => opening.go(null), settle: () => {} } : ledger,
      credentials: { peek: () => null, token: () => Effect.die("not asked") },
      upstream: {
        dispatch: (_request, handler) => {
          waiting.push(handler)
          return { pause: () => {}, resume: () => {}, abort: () => {}, useful: () => {} }
        },
        stats: () => []
      },
      accounting: GatewayAccounting.make((text) => text.length),
      telemetry: { requestStarted: (_e, s) => metrics.requestStarted(s), attemptSettled: (row) => metrics.attemptSettled(row), requestSettled: (s) => metrics.requestSettled(s), render: () => "" },
      limits: { timeouts: { connect: 1, headers: 1, firstEvent: 1, idle: 1, total: 0 }, maxAttempts: 6, drainForUsageMs: 0, pulse: { heartbeatMs: 0, earlyMs: 0 } },
      nodeId: "n", now: Date.now, makeAttemptId: () => `a-${++id}`, report: () => {}, defect: (_id, cause) => console.error(cause), closed: () => {}
    },
    router: () => router, shadows: new Shadows(Math.random), handoffs: new Handoffs(() => true), signatures: { remember: () => {}, recall: () => null }, keptReasoning: { remember: () => {}, recall: () => null, list: () => [], counts: () => ({ hits: 0, misses: 0 }), forget: () => 0 }, expand: (body, _key, done) => done(body, { inBackground: false, conversation: null, previous: null, makes: null }), compact: (body, _key, done) => done(body, { inBackground: false, conversation: null, previous: null, makes: null }), report: new Report(ComboMetrics.make(), Date.now), maxBodyBytes: () => 1e7, held, spool: { open: () => { throw new Error("no form is measured") }, backlog: { isFull: false, onRoom: () => {} }, stored: held, failed: () => 0, files: () => 0 }, bodies, previousResponseId: () => "auto", promptCache: () => ({ strategy: "auto", preserve: "auto" }), systemPrompt: () => null, thinkingRule: () => null, compression: () => null, savings: { note: () => undefined }, tools: { version: () => 0, all: () => [], has: () => false, missing: () => "unknown_tool", call: () => Effect.die("not asked"), denied: () => Effect.void }, toolLoopSteps: 8, interceptions: () => null, askOwn: () => Effect.die("not asked"), sseComments: true, recovery: () => ({ holds: false, sibling: false, continues: false, stopsAtEmpty: false }), makeResponseId: () => "r", fork, live, draining: () => false, refused: (_e, _t, error) => { throw new Error(error.message) },
    stages: [], waits: { turns: { join: () => null, mayJoin: () => false, pause: () => () => {}, close: () => {} }, totalMs: 0, now: Date.now }
  }
  const routes = new Map([
    [chatKind, Conversations.route(services, { endpoint: "/v1/chat/completions", codec: chat })],
    [embeddingsKind, Lane.route(services, Embeddings.operation)]
  ])
  const round = () => new Promise<number>((resolve) => {
    const route = routes.get(kind)
    if (route === undefined) throw new Error(kind.name)
    // Where a counter of instructions begins anew.
    process.uptime()
    const begun = process.cpuUsage()
    let started = 0
    let finished = 0
    const next = () => {
      if (started >= perRound) return
      started++
      route(new FakeExchange(() => {
        finished++
        if (finished === perRound) {
          const used = process.cpuUsage(begun)
          resolve((used.user + used.system) / perRound)
        } else setImmediate(next)
      }))
    }
    const pump = () => {
      answerAll()
      if (finished < perRound) setImmediate(pump)
    }
    for (let i = 0; i < concurrency; i++) next()
    pump()
  })
  const kinds = embeds ? [chatKind, embeddingsKind] : [chatKind]
  const times = new Map(kinds.map((one) => [one, [] as Array<number>]))
  for (let i = 0; i < rounds; i++) {
    for (const [one, measured] of times) {
      kind = one
      measured.push(yield* Effect.promise(round))
    }
  }
  const median = (measured: ReadonlyArray<number>): number => measured.toSorted((a, b) => a - b)[rounds >> 1] ?? 0
  for (const [{ name }, measured] of times) console.log(`${name}, us/request: best ${Math.min(...measured).toFixed(1)}, median ${median(measured).toFixed(1)}`)
  const chats = times.get(chatKind) ?? []
  const embeddings = times.get(embeddingsKind)
  if (embeddings !== undefined) console.log(`embeddings x chat: ${median(embeddings.map((us, i) => us / (chats[i] ?? us))).toFixed(2)}`)
})

const directory = Fs.mkdtempSync(Path.join(Os.tmpdir(), "gateway-micro-"))
const store = Layer.succeed(UsageStore, {
  insert: (rows: ReadonlyArray<unknown>) => Effect.succeed(rows.length)
} as unknown as UsageStore["Service"])
await Effect.runPromise(Effect.scoped(program).pipe(
  Effect.provide(JournaledLedger.layer({ directory, nodeId: "micro" }).pipe(Layer.provide(store)))
))
Fs.rmSync(directory, { recursive: true, force: true })
