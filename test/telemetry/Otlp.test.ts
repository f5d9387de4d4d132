import { assert, describe, it } from "@effect/vitest"
import * as http from "node:http"
import type { AddressInfo } from "node:net"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Option from "effect/Option"
import { attemptStart, settledRow } from "#test/accounting/support.ts"
import * as GenAi from "#src/platform/telemetry/genAi.ts"
import * as Otlp from "#src/platform/telemetry/Otlp.ts"
import { SpanBuilder, type SpanFacts, WAIT_ROUNDS } from "#src/platform/telemetry/SpanBuilder.ts"
import { requestSummary } from "./support.ts"

/** A collector that keeps what it is sent, by path. */
const collector = Effect.acquireRelease(
  Effect.callback<{ readonly url: string; readonly bodies: Map<string, string>; readonly server: http.Server }>((resume) => {
    const bodies = new Map<string, string>()
    const server = http.createServer((request, response) => {
      let body = ""
      request.setEncoding("utf8").on("data", (text: string) => (body += text)).on("end", () => {
        bodies.set(request.url!, (bodies.get(request.url!) ?? "") + body)
        response.end("{}")
      })
    })
    server.listen(0, "127.0.0.1", () => resume(Effect.succeed({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, bodies, server })))
  }),
  ({ server }) => Effect.sync(() => server.close())
)

const options = (endpoint: string): Otlp.Options => ({
  endpoint, protocol: "json", serviceName: "gateway", serviceVersion: "0.1.0", nodeId: "node-1", traces: true, metrics: true, logs: true
})

interface ExportedSpan {
  readonly traceId: string
  readonly spanId: string
  readonly parentSpanId?: string
  readonly name: string
  readonly startTimeUnixNano: string
  readonly endTimeUnixNano: string
  readonly status: { readonly code: number; readonly message?: string }
  readonly attributes: ReadonlyArray<{ readonly key: string; readonly value: Record<string, unknown> }>
}

describe("Otlp", () => {
  it.live("exports a request and its attempts as one trace, the metrics, and the log without secrets", () =>
    Effect.gen(function*() {
      const { bodies, url } = yield* collector
      yield* Effect.gen(function*() {
        const otlp = yield* Otlp.Otlp
        const first = attemptStart("a1", { requestId: "r1" })
        otlp.attemptSettled(settledRow(first, { outcome: "upstream-status", upstreamStatus: 503, errorCode: "upstream_error", ttftMs: null }))
        otlp.attemptSettled(settledRow(attemptStart("a2", { requestId: "r1", attempt: 2 }), { tokensCacheRead: 7, tokensReasoning: 3 }), "cellar")
        otlp.requestSettled(requestSummary({ requestId: "r1", attempts: 2 }))
        yield* Effect.logError("upstream refused sk-proj-CANARY0123456789").pipe(Effect.annotateLogs({ authorization: "hide-me-please" }))
      }).pipe(
        Effect.provide(Otlp.layer(options(url))),
        Effect.provideService(Metric.MetricRegistry, new Map())
      )
      const traces = JSON.parse(bodies.get("/v1/traces")!) as { resourceSpans: [{ scopeSpans: [{ spans: ReadonlyArray<ExportedSpan> }] }] }
      const spans = traces.resourceSpans[0].scopeSpans[0].spans
      assert.deepStrictEqual(spans.map((span) => span.name), ["POST /v1/chat/completions", "chat gpt-4o", "chat gpt-4o"])
      const [request, failed, answered] = spans as [ExportedSpan, ExportedSpan, ExportedSpan]
      assert.isTrue([failed, answered].every((span) => span.traceId === request.traceId && span.parentSpanId === request.spanId))
      assert.strictEqual(failed.status.code, 2)
      assert.strictEqual(answered.status.code, 1)
      assert.strictEqual(answered.startTimeUnixNano, "1760000000000000000")
      assert.strictEqual(answered.endTimeUnixNano, "1760000001234000000")
      const attributes = Object.fromEntries(answered.attributes.map(({ key, value }) => [key, Object.values(value)[0]]))
      assert.deepInclude(attributes, {
        "gen_ai.operation.name": "chat", "gen_ai.provider.name": "cellar", "gen_ai.system": "cellar", "gen_ai.request.model": "gpt-4o", "gen_ai.usage.input_tokens": 100,
        "gen_ai.usage.output_tokens": 20, "gen_ai.usage.cache_read.input_tokens": 7, "gen_ai.usage.reasoning.output_tokens": 3
      })
      assert.include(bodies.get("/v1/metrics"), "gen_ai.client.token.usage")
      assert.include(bodies.get("/v1/metrics"), "cellar")
      const logs = bodies.get("/v1/logs")!
      assert.include(logs, "upstream refused")
      for (const body of bodies.values()) {
        assert.notInclude(body, "CANARY")
        assert.notInclude(body, "hide-me-please")
      }
    }))

  it.live("without an endpoint nothing is sent, and a collector that is away costs nothing but a bounded queue", () =>
    Effect.gen(function*() {
      yield* Effect.gen(function*() {
        const otlp = yield* Otlp.Otlp
        for (let i = 0; i < Otlp.QUEUE_MAX + 10; i++) otlp.attemptSettled(settledRow(attemptStart(`a${i}`)))
        assert.strictEqual(otlp.dropped(), 10)
      }).pipe(
        Effect.provide(Otlp.layer({ ...options("http://127.0.0.1:9"), metrics: false, logs: false })),
        Effect.provideService(Metric.MetricRegistry, new Map())
      )
      yield* Effect.gen(function*() {
        const otlp = yield* Otlp.Otlp
        otlp.attemptSettled(settledRow(attemptStart("a")))
        assert.strictEqual(otlp.dropped(), 0)
      }).pipe(Effect.provide(Layer.fresh(Otlp.layerOff)))
    }))
})

describe("SpanBuilder", () => {
  const build = () => {
    const spans: Array<SpanFacts> = []
    const builder = new SpanBuilder((span) => {
      spans.push(span)
      return { traceId: `trace-${spans.length}`, spanId: `span-${spans.length}` }
    })
    return { builder, spans }
  }

  it("an attempt waits for its request, and one that comes later finds it", () => {
    const { builder, spans } = build()
    builder.add([settledRow(attemptStart("a1", { requestId: "r" }))], [])
    assert.strictEqual(spans.length, 0)
    builder.add([], [requestSummary({ requestId: "r" })])
    builder.add([settledRow(attemptStart("a2", { requestId: "r" }))], [])
    assert.deepStrictEqual(spans.map((span) => Option.getOrNull(span.parent)?.spanId ?? null), [null, "span-1", "span-1"])
  })

  it("an attempt whose request never comes stands alone in the end", () => {
    const { builder, spans } = build()
    builder.add([settledRow(attemptStart("a"))], [])
    for (let i = 0; i < WAIT_ROUNDS; i++) builder.add([], [])
    assert.strictEqual(spans.length, 1)
    builder.add([settledRow(attemptStart("b"))], [])
    builder.flush()
    assert.strictEqual(spans.length, 2)
  })
})

describe("genAi", () => {
  it("speaks the conventions' names for operations and providers", () => {
    assert.strictEqual(GenAi.operation("/v1/chat/completions"), "chat")
    assert.strictEqual(GenAi.operation("/v1/completions"), "text_completion")
    assert.strictEqual(GenAi.operation("/v1/embeddings"), "embeddings")
    assert.strictEqual(GenAi.operation("/v1/messages"), "chat")
    assert.strictEqual(GenAi.providerName("gemini"), "gcp.gemini")
    assert.strictEqual(GenAi.providerName("my-node"), "my-node")
  })

  it("reports no tokens that were only estimated", () => {
    const names = GenAi.measurements(settledRow(attemptStart("a"), { estimated: true })).map((one) => one.name)
    assert.notInclude(names, "gen_ai.client.token.usage")
  })
})
