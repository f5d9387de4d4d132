/**
 * Every call of the process to an upstream has its row: what the upstream's own log says of a busy minute, against the ledger, one to
 * one; and the list of all places from which anything leaves the process.
 */
import * as Crypto from "node:crypto"
import * as Fs from "node:fs"
import * as Path from "node:path"
import { afterAll, beforeAll, describe, expect, it } from "vitest"
import { type Combos, combosOf } from "#test/support/combos.ts"
import * as Http from "#test/support/http.ts"
import { type Lab, startLab } from "#test/support/lab.ts"
import { eventually } from "#test/support/operator.ts"

let lab: Lab
let combos: Combos
/** Connection ids by the hash of their credential. */
const connections = new Map<string, string>()
const sha = (credential: string) => Crypto.hash("sha256", credential, "hex")

beforeAll(async () => {
  lab = await startLab()
  combos = combosOf(lab, "cs")
  connections.set(sha("canary_Zk93mQ7xTt51LabCredential"), lab.connection)
})
afterAll(() => lab.close())

const place = async (script: Record<string, unknown> = {}) => {
  const made = await combos.place(script)
  connections.set(sha(`${made.name}-credential-number-0`), made.connections[0] ?? "")
  return made
}
const post = (path: string, body: unknown, headers: Readonly<Record<string, string>> = {}) => Http.send(lab.gateway.url, { path, body, headers })
const say = (words: string) => [{ role: "user", content: words }]

describe("the census of upstream calls", () => {
  it("each has its row and each row its call: conversations, counts, ensembles, copies, hedges, summaries, evals, tests, repetitions, cuts", { timeout: 180_000 }, async () => {
    const { operator } = lab.gateway
    const [a, b, c, scribe] = [await place(), await place(), await place(), await place({ text: "They talked." })]
    const [bad, slow, endless] = [await place({ status: 503, error: { message: "away" } }), await place({ latencyMs: 5_000 }), await place({ text: "word ".repeat(500), paceMs: 100 })]
    const vendor = "sk-ant-census-00000000001"
    connections.set(sha(vendor), await operator.createConnection({ provider: "anthropic", apiKey: vendor, providerSpecificData: { baseUrl: `${lab.sim.url}/v1` } }))
    const google = "AIza-census-000000000001"
    connections.set(sha(google), await operator.createConnection({ provider: "gemini", apiKey: google, providerSpecificData: { baseUrl: `${lab.sim.url}/v1beta` } }))
    const conversation = (model: string) => Promise.all([
      lab.chat({ model }), lab.chat({ model, stream: true }), post("/v1/messages", { model, max_tokens: 50, messages: say("Hi.") }), post("/v1/responses", { model, input: "Hi." }),
      post("/v1/completions", { model, prompt: "Hi." }), post("/v1/api/chat", { model, messages: say("Hi.") }),
      post(`/v1beta/models/${encodeURIComponent(model)}:generateContent`, { contents: [{ role: "user", parts: [{ text: "Hi." }] }] })
    ])
    for (const model of [a.model, "anthropic/claude-sonnet-4-5", "gemini/gemini-2.5-flash"]) await conversation(model)
    await lab.sim.rule({ match: { model: "cs-vectors" }, times: 1, script: { status: 503, error: { message: "away" } } })
    for (const model of [a.model, "gemini/gemini-embedding-001", "lab/cs-vectors"]) await post("/v1/embeddings", { model, input: "Hi." })
    await post("/v1/images/generations", { model: "lab/cs-images", prompt: "Hi." })
    await post("/v1/moderations", { model: "lab/cs-moderated", input: "Hi." })
    await post("/v1/audio/speech", { model: "lab/cs-spoken", input: "Hi.", voice: "alloy" })
    await post("/v1/rerank", { model: await combos.combo("priority", [bad.model, a.model], { config: { maxRetries: 0 } }), query: "Hi.", documents: ["Hi.", "Ho."] })
    await post("/v1/embeddings", { model: await combos.combo("priority", [bad.model, a.model], { config: { maxRetries: 0 } }), input: ["Hi.", "Ho."] })
    for (const model of ["anthropic/claude-sonnet-4-5", a.model]) await post("/v1/messages/count_tokens", { model, messages: say("Count me.") })
    await post("/v1beta/models/gemini%2Fgemini-2.5-flash:countTokens", { contents: [{ role: "user", parts: [{ text: "Count me." }] }] })
    const brisk = { maxRetries: 1, retryDelayMs: 0, fallbackDelayMs: 0, fusionTuning: { stragglerGraceMs: 50 } }
    for (const strategy of ["fusion", "pipeline", "debate", "priority"]) await lab.chat({ model: await combos.combo(strategy, [a.model, b.model, c.model], { config: brisk }) })
    await lab.chat({ model: await combos.combo("priority", [bad.model, a.model], { config: brisk }) })
    await lab.chat({ model: await combos.combo("priority", [bad.model], { config: { ...brisk, maxSetRetries: 1 } }) })
    await lab.chat({ model: await combos.combo("priority", [slow.model, b.model], { config: { ...brisk, hedging: true, hedgeDelayMs: 5 } }) })
    await lab.chat({ model: await combos.combo("priority", [a.model], { config: { shadowRouting: { enabled: true, targets: [b.model, bad.model] } } }) })
    // A session whose first target goes away is handed over with a summary.
    const relay = await combos.combo("context-relay", [c.model, b.model], { context_length: 1_000, config: { handoffModel: scribe.model } })
    const session = { "x-session-id": "census" }
    await lab.chat({ model: relay }, session)
    await operator.changeConnection(c.connections[0] ?? "", { isActive: false })
    await lab.chat({ model: relay, messages: [...say("and so on ".repeat(200)), { role: "assistant", content: "this and that ".repeat(120) }, ...say("What now?")] }, session)
    expect((await combos.seen(scribe)).length).toBe(1)
    const suite = await operator.call<{ suite: { id: string } }>("POST", "/api/evals/suites", {
      name: "census", cases: [{ id: "one", name: "one", input: { messages: say("?") }, expected: { strategy: "exact", value: "!" } }]
    })
    await operator.call("POST", "/api/evals", { suiteId: suite.suite.id, target: { type: "model", id: a.model } })
    await operator.call("POST", "/api/combos/test", { comboName: (await combos.combo("priority", [a.model, bad.model])).slice("combo/".length) })
    // An early end is repeated; a stream that broke off is continued.
    await lab.sim.rule({ match: { model: "cs-early" }, times: 1, script: { tokens: 20, endAfter: { frames: 0 } } })
    await lab.chat({ model: "lab/cs-early", stream: true })
    await operator.setFlag("STREAM_RECOVERY_MIDSTREAM_ENABLED", "true")
    await lab.sim.rule({ match: { model: "cs-cut" }, times: 1, script: { text: "The quick brown fox jumps over it.", endAfter: { frames: 5 } } })
    await lab.chat({ model: "lab/cs-cut", stream: true })
    const opened = await lab.stream({ model: endless.model })
    await combos.asked(endless)
    opened.leave()
    await eventually(() => operator.reconciliation(), ({ live }) => live === 0, "the end of all calls")
    await lab.sim.idle()
    const calls = (await lab.sim.entries({})).filter(({ method }) => method === "POST")
    const rows = await lab.gateway.rows()
    const heard = calls.map(({ key, model, path }) =>
      `${connections.get(key?.sha256 ?? "") ?? "unknown"} ${model} ${/count_?tokens/i.test(path) ? "count" : "talk"}`)
    const told = rows.map(({ connectionId, endpoint, model }) => `${connectionId} ${model} ${/count_?tokens/i.test(endpoint) ? "count" : "talk"}`)
    expect(calls.length).toBeGreaterThan(40)
    expect(heard.filter((line) => line.endsWith("count")).length).toBe(2)
    expect(told.toSorted()).toEqual(heard.toSorted())
  })

  it("nothing leaves the process but from the places that are named here", () => {
    /** Why a call from there needs no row. */
    const named: Readonly<Record<string, string>> = {
      "actors/request/Attempt.ts": "the wire call of an attempt, which has its row",
      "src/features/bodies/Capture.ts": "stands in front of the port Upstream for an attempt, which has its row",
      "src/platform/upstream/egress/chosenCall.ts": "stands within the port Upstream: the next of several proxies is asked",
      "src/platform/upstream/egress/ControlCalls.ts": "stands in front of the port Upstream for the two below",
      "src/features/oauth/tokens/tokenEndpoint.ts": "tokens of connections, from a vendor's sign-in server",
      "src/features/cloudAgents/AgentCalls.ts": "tasks of cloud agents, at an operator's word; vendors bill them, and no row counts them",
      "src/features/sync/cloud/BundleCalls.ts": "the bundle of the gateway that the operator follows",
      "src/features/oidc/IssuerCalls.ts": "sign-ins to the gateway itself, at the operator's issuer",
      "src/features/pricing/sync/SourceFile.ts": "public lists of prices and facts of models, from the places that the operator named",
      "src/management/markets/Market.ts": "lists and packages of marketplaces, from the places that the operator named",
      "src/features/providers/probe/UpstreamProviderProbe.ts": "an operator's check of a connection: its list of models, or one token where there is none",
      "src/features/proxies/ProxyTest.ts": "an operator's test of a proxy, to the service that GATEWAY_PUBLIC_IP_URL names",
      "src/features/proxies/subscriptions/Subscriptions.ts": "lists of proxies, from the places that the operator named",
      "src/features/quotas/polls/QuotaPolls.ts": "what is left of a connection's account, from its vendor's own endpoint",
      "src/features/mcpServers/client/HttpTransport.ts": "tools of the operator's MCP servers, each call in the audit of tools",
      "src/features/files/stores/S3Client.ts": "files to and from the operator's own bucket",
      "src/features/keys/issued/RepositoryIssues.ts": "issues that clients reported, to the operator's own repository",
      "src/platform/telemetry/Otlp.ts": "spans and metrics to the operator's collector",
      "src/platform/upstream/post/GuardedPost.ts": "webhooks, and word of agents' tasks to their receivers",
      "src/platform/upstream/Dialer.ts": "the sockets of the port Upstream itself",
      "src/platform/media/MediaFetch.ts": "media that a request names by URL; the call that needs them has its row",
      "src/inference/webFetch/Reader.ts": "stands in front of the port Upstream for the gateway's own reader, whose calls have their rows",
      "src/platform/postgres/tcp.ts": "the database",
      "src/cli/doctor/network.ts": "the command line looks whether the servers answer",
      "src/cli/remote/Remote.ts": "the command line asks a gateway's management API",
      "src/cli/remote/chat.ts": "the command line is a client of a gateway"
    }
    const leaving = /\.dispatch\(|\bfetch\(|FetchHttpClient|\bhttps?\.(?:request|get)\(|\b(?:net|tls)\.connect\(|new WebSocket\(/i
    const root = Path.resolve(import.meta.dirname, "../..")
    const found = ["src", "actors"].flatMap((folder) => Fs.readdirSync(Path.join(root, folder), { recursive: true, encoding: "utf8" }).map((file) => `${folder}/${file}`))
      .filter((file) => file.endsWith(".ts") && !file.startsWith("src/simulator/") && leaving.test(Fs.readFileSync(Path.join(root, file), "utf8")))
    expect(found.toSorted()).toEqual(Object.keys(named).toSorted())
  })
})
