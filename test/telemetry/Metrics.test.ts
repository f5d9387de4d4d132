import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import { Configuration, type Snapshot } from "#actors/ports/Configuration.ts"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { builtin } from "#src/providers/Registry.ts"
import { Telemetry } from "#actors/request/ports/Telemetry.ts"
import { Upstream } from "#actors/request/ports/Upstream.ts"
import { attemptStart, settledRow } from "#test/accounting/support.ts"
import * as GatewayTelemetry from "#src/platform/telemetry/GatewayTelemetry.ts"
import { LogOutput } from "#src/platform/telemetry/Log.ts"
import { LogSink } from "#src/platform/telemetry/LogSink.ts"
import type { IsKnown } from "#src/platform/telemetry/knownModels.ts"
import * as Metrics from "#src/platform/telemetry/Metrics.ts"
import * as Otlp from "#src/platform/telemetry/Otlp.ts"
import { Output, requestSummary } from "./support.ts"

const fresh = (isKnown: IsKnown = () => true) => new Metrics.Metrics(Context.make(Metric.MetricRegistry, new Map()) as Context.Context<never>, isKnown)

/** Sample lines as a map from name and labels to value; checks that every line is a comment or a sample. */
const parse = (text: string): Map<string, number> => {
  const samples = new Map<string, number>()
  for (const line of text.split("\n")) {
    if (line === "" || line.startsWith("# HELP ") || line.startsWith("# TYPE ")) continue
    const match = /^([a-zA-Z_:][a-zA-Z0-9_:]*(?:\{(?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*",?)*\})?) (\S+)$/.exec(line)
    assert.isNotNull(match, line)
    assert.isFalse(samples.has(match![1]!), `repeated ${line}`)
    samples.set(match![1]!, Number(match![2]))
  }
  return samples
}

describe("Metrics", () => {
  it("counts attempts, tokens and cost by provider and model", () => {
    const metrics = fresh()
    const row = settledRow(attemptStart("a"), { tokensIn: 100, tokensOut: 20, tokensCacheRead: 40, tokensReasoning: 5, costUsd: 0.25, units: { image: 2, second: 0.5 } })
    metrics.attemptSettled(row)
    metrics.attemptSettled({ ...row, outcome: "upstream-reset", attempt: 2, estimated: true, ttftMs: null })
    const samples = parse(metrics.render())
    assert.strictEqual(samples.get(`gateway_attempts_total{provider="openai",model="gpt-4o",outcome="completed"}`), 1)
    assert.strictEqual(samples.get(`gateway_attempts_total{provider="openai",model="gpt-4o",outcome="upstream-reset"}`), 1)
    assert.strictEqual(samples.get(`gateway_tokens_total{provider="openai",model="gpt-4o",direction="input"}`), 200)
    assert.strictEqual(samples.get(`gateway_tokens_total{provider="openai",model="gpt-4o",direction="cache_read"}`), 80)
    assert.strictEqual(samples.get(`gateway_units_total{provider="openai",model="gpt-4o",kind="image"}`), 4)
    assert.strictEqual(samples.get(`gateway_units_total{provider="openai",model="gpt-4o",kind="second"}`), 1)
    assert.strictEqual(samples.get(`gateway_cost_usd_total{provider="openai",model="gpt-4o"}`), 0.5)
    assert.strictEqual(samples.get(`gateway_estimated_attempts_total{provider="openai",model="gpt-4o"}`), 1)
    assert.strictEqual(samples.get("gateway_fallback_attempts_total"), 1)
    assert.strictEqual(samples.get(`gateway_time_to_first_token_seconds_count{provider="openai",model="gpt-4o"}`), 1)
    assert.strictEqual(samples.get(`gateway_attempt_duration_seconds_bucket{provider="openai",model="gpt-4o",le="2.5"}`), 2)
    assert.strictEqual(samples.get(`gateway_attempt_duration_seconds_bucket{provider="openai",model="gpt-4o",le="1"}`), 0)
  })

  it("counts requests by endpoint and status, and comes to rest at exactly zero", () => {
    const metrics = fresh()
    for (let i = 0; i < 10; i++) metrics.requestStarted(i % 2 === 0)
    let samples = parse(metrics.render())
    assert.strictEqual(samples.get("gateway_requests_live"), 10)
    assert.strictEqual(samples.get("gateway_streams_live"), 5)
    for (let i = 0; i < 10; i++) metrics.requestSettled(requestSummary({ stream: i % 2 === 0, status: i < 8 ? 200 : 502 }))
    samples = parse(metrics.render())
    assert.strictEqual(samples.get("gateway_requests_live"), 0)
    assert.strictEqual(samples.get("gateway_streams_live"), 0)
    assert.strictEqual(samples.get(`gateway_requests_total{endpoint="/v1/chat/completions",status="200"}`), 8)
    assert.strictEqual(samples.get(`gateway_requests_total{endpoint="/v1/chat/completions",status="502"}`), 2)
    assert.strictEqual(samples.get(`gateway_request_duration_seconds_count{endpoint="/v1/chat/completions"}`), 10)
  })

  it("models that a client invents are one series per provider, and leave the known ones theirs", () => {
    const metrics = fresh((_, model) => model === "known" || model === "known-late")
    metrics.attemptSettled(settledRow(attemptStart("a", { provider: "one", model: "known" })))
    for (let i = 0; i < 5 * Metrics.TARGETS_MAX; i++) metrics.attemptSettled(settledRow(attemptStart("a", { provider: i % 2 === 0 ? "one" : "two", model: `invented-${i}` })))
    metrics.attemptSettled(settledRow(attemptStart("a", { provider: "one", model: "known-late" })))
    const attempts = [...parse(metrics.render())].filter(([name]) => name.startsWith("gateway_attempts_total"))
    const half = 2.5 * Metrics.TARGETS_MAX
    assert.sameDeepMembers(attempts, [["one", "known", 1], ["one", "unknown", half], ["two", "unknown", half], ["one", "known-late", 1]].map(
      ([provider, model, count]) => [`gateway_attempts_total{provider="${provider}",model="${model}",outcome="completed"}`, count] as [string, number]
    ))
  })

  it("beyond the bound everything ends in one series, and nothing is lost", () => {
    const metrics = fresh()
    for (let i = 0; i < 5000; i++) {
      metrics.attemptSettled(settledRow(attemptStart("a", { model: `model-${i}"\n\\` })))
      metrics.requestSettled(requestSummary({ endpoint: `/v1/${i}` }))
    }
    const samples = [...parse(metrics.render())]
    const attempts = samples.filter(([name]) => name.startsWith("gateway_attempts_total"))
    assert.strictEqual(attempts.length, Metrics.TARGETS_MAX + 1)
    assert.strictEqual(attempts.reduce((sum, [, value]) => sum + value, 0), 5000)
    const requests = samples.filter(([name]) => name.startsWith("gateway_requests_total"))
    assert.strictEqual(requests.length, Metrics.ENDPOINTS_MAX + 1)
    assert.strictEqual(requests.reduce((sum, [, value]) => sum + value, 0), 5000)
  })
})

describe("GatewayTelemetry", () => {
  it.effect("shows the process, the ledger, the upstream and the log beside the requests, and removes its readings at the end", () =>
    Effect.gen(function*() {
      const output = new Output()
      const registry: Metric.MetricRegistry = new Map()
      const services = Layer.mergeAll(
        Layer.succeed(Ledger, {
          open: () => {},
          settle: () => {},
          journal: () => {},
          flush: () => Effect.succeed(0),
          reconciliation: () => ({ started: 7, settled: 5, journaled: 2, stored: 3, live: 2, gap: 0, oldestPendingMs: 1500, lastError: "down" })
        }),
        Layer.succeed(Configuration, {
          current: () => ({ nodeById: new Map([["openai", { prefix: "cellar" }]]) }) as unknown as Snapshot,
          commit: (write) => write, reload: Effect.void, onChange: () => () => {}
        }),
        Layer.succeed(Upstream, {
          dispatch: () => {
            throw new Error("not used")
          },
          stats: () => [{ origin: "https://a", running: 3, pending: 1 }, { origin: "https://b", running: 4, pending: 0 }]
        }),
        Layer.succeed(LogOutput, { sink: new LogSink({ destination: output, schedule: (run) => run() }), format: "json" as const }),
        Otlp.layerOff
      )
      yield* Effect.gen(function*() {
        const telemetry = yield* Telemetry
        telemetry.requestStarted("/v1/chat/completions", true)
        telemetry.attemptSettled(settledRow(attemptStart("a")))
        telemetry.requestSettled(requestSummary())
        const samples = parse(telemetry.render())
        assert.strictEqual(samples.get(`gateway_attempts_total{provider="cellar",model="gpt-4o",outcome="completed"}`), 1)
        assert.strictEqual(samples.get("gateway_ledger_started_total"), 7)
        assert.strictEqual(samples.get("gateway_ledger_backlog_rows"), 2)
        assert.strictEqual(samples.get("gateway_ledger_failing"), 1)
        assert.strictEqual(samples.get("gateway_upstream_calls_running"), 7)
        assert.strictEqual(samples.get("gateway_log_dropped_lines_total"), 0)
        assert.isAbove(samples.get("process_resident_memory_bytes")!, 1e7)
        assert.isTrue(samples.has(`gateway_event_loop_lag_seconds{quantile="0.99"}`))
        assert.isTrue(samples.has("gateway_event_loop_stall_seconds_count"))
      }).pipe(
        Effect.provide(GatewayTelemetry.layer({ accessLogEvery: 1, startedAt: 0, registry: builtin, heldBodies: { bytes: 0, most: 1, refused: 0 } }).pipe(Layer.provide(services))),
        Effect.provideService(Metric.MetricRegistry, registry)
      )
      assert.strictEqual(output.lines.length, 1)
      assert.deepInclude(JSON.parse(output.lines[0]!), { requestId: "request-1", provider: "cellar", status: 200, attempts: 1, message: "request" })
      assert.isFalse([...registry.keys()].some((key) => key.includes("gateway_ledger")))
    }))
})
