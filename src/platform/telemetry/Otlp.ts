/**
 * OTLP export: traces built from settled rows after the fact, the gateway's metrics, and its log. Nothing of it is on the
 * request path but one push into a bounded array, and nothing at all exists unless an endpoint is configured.
 *
 * Names follow the OpenTelemetry GenAI semantic conventions (development status, registry of 2026): one server span per
 * client request, one client span `{operation} {model}` per wire attempt. No prompt or answer text is ever exported.
 */
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as HttpClient from "effect/http/HttpClient"
import * as FetchHttpClient from "effect/http/FetchHttpClient"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as OtlpExporter from "effect/observability/OtlpExporter"
import * as OtlpLogger from "effect/observability/OtlpLogger"
import * as OtlpMetrics from "effect/observability/OtlpMetrics"
import * as OtlpSerialization from "effect/observability/OtlpSerialization"
import * as OtlpTracer from "effect/observability/OtlpTracer"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import * as Supervisor from "#actors/Supervisor.ts"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import { version } from "#schemas/version.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as GenAi from "./genAi.ts"
import * as Redact from "./redact.ts"
import { SpanBuilder } from "./SpanBuilder.ts"

/** Settled rows and requests that wait for their spans; beyond it they are dropped and counted. */
export const QUEUE_MAX = 4096
/** How often spans are built, ms. */
const BUILD_MS = 1000
/** A collector that has not answered by then has failed, ms. */
const EXPORT_DEADLINE_MS = 10_000
/** How often metrics are exported, ms. */
const METRICS_EVERY_MS = 10_000

export interface Options {
  /** Base URL of the collector, e.g. `http://localhost:4318`. */
  readonly endpoint: string
  readonly headers?: Readonly<Record<string, Redacted.Redacted>> | undefined
  readonly protocol: "json" | "protobuf"
  readonly serviceName: string
  readonly serviceVersion: string
  readonly nodeId: string
  readonly traces: boolean
  readonly metrics: boolean
  readonly logs: boolean
}

/** What the telemetry pushes into. */
export class Otlp extends Context.Service<Otlp, {
  /** `name`: what the provider of the row is called; absent: its id. */
  readonly attemptSettled: (row: LedgerRow, name?: string) => void
  readonly requestSettled: (summary: RequestSummary) => void
  /** Spans that were never built, because too many waited. */
  readonly dropped: () => number
}>()("gateway/telemetry/Otlp") {}

/** Does nothing; what runs without an endpoint. */
export const layerOff: Layer.Layer<Otlp> = Layer.succeed(Otlp, { attemptSettled: () => {}, requestSettled: () => {}, dropped: () => 0 })

/** Attributes by name, texts by shape: the one gate that every exported signal passes. */
const redacted = (data: unknown): unknown => {
  if (typeof data === "string") return Redact.text(data)
  if (typeof data !== "object" || data === null || ArrayBuffer.isView(data)) return data
  if (Array.isArray(data)) return data.map(redacted)
  const named = "key" in data && typeof data.key === "string" && Redact.isSecretName(data.key)
  const clean: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(data)) {
    clean[key] = named && key === "value" ? { stringValue: Redact.REDACTED } : redacted(value)
  }
  return clean
}

const serialization = (protocol: Options["protocol"]): Layer.Layer<OtlpSerialization.OtlpSerialization> => {
  const inner = protocol === "json" ? OtlpSerialization.layerJson : OtlpSerialization.layerProtobuf
  return Layer.effect(
    OtlpSerialization.OtlpSerialization,
    Effect.map(OtlpSerialization.OtlpSerialization, (plain) => ({
      traces: (data) => plain.traces(redacted(data) as typeof data),
      logs: (data) => plain.logs(redacted(data) as typeof data),
      metrics: plain.metrics
    }))
  ).pipe(Layer.provide(inner))
}

/** A frozen collector must not collect requests here for ever. */
const client: Layer.Layer<HttpClient.HttpClient> = Layer.effect(
  HttpClient.HttpClient,
  Effect.map(HttpClient.HttpClient, (plain) => HttpClient.transformResponse(plain, (response) => Effect.timeoutOrElse(response, {
    duration: Duration.millis(EXPORT_DEADLINE_MS),
    orElse: () => Effect.die(new Error(`the OTLP collector did not answer within ${EXPORT_DEADLINE_MS} ms`))
  })))
).pipe(Layer.provide(FetchHttpClient.layer))

const url = (options: Options, signal: string): string => `${options.endpoint.replace(/\/+$/, "")}/v1/${signal}`

const common = (options: Options) => ({
  resource: { serviceName: options.serviceName, serviceVersion: options.serviceVersion, attributes: { "service.instance.id": options.nodeId } },
  headers: Object.fromEntries(Object.entries(options.headers ?? {}).map(([name, value]) => [name, Redacted.value(value)]))
})

const make = (options: Options): Effect.Effect<
  Otlp["Service"],
  never,
  OtlpExporter.Flusher | OtlpSerialization.OtlpSerialization | HttpClient.HttpClient | Scope.Scope
> =>
  Effect.gen(function*() {
    const context = yield* Effect.context<never>()
    const tracer = options.traces ? yield* OtlpTracer.make({ ...common(options), url: url(options, "traces") }) : null
    const builder = new SpanBuilder((span) => {
      if (tracer === null) return { traceId: "", spanId: "" }
      const made = tracer.span({
        name: span.name, parent: span.parent, annotations: Context.empty(), links: [], startTime: span.startTime, kind: span.kind,
        root: span.parent._tag === "None", sampled: true
      })
      for (const [key, value] of span.attributes) made.attribute(key, value)
      made.end(span.endTime, span.failure === null ? Exit.void : Exit.fail(span.failure))
      return made
    })
    let rows: Array<LedgerRow> = []
    let names: Array<string> = []
    let summaries: Array<RequestSummary> = []
    let dropped = 0
    const tokenUsage = new Map<string, Metric.Histogram<number>>()
    const measure = (row: LedgerRow) => {
      for (const { attributes, boundaries, description, name, value } of GenAi.measurements(row)) {
        const key = `${name}\0${Object.values(attributes).join("\0")}`
        let histogram = tokenUsage.get(key)
        if (histogram === undefined) {
          if (tokenUsage.size >= GenAi.SERIES_MAX) continue
          histogram = Metric.histogram(name, { description, attributes, boundaries })
          tokenUsage.set(key, histogram)
        }
        histogram.updateUnsafe(value, context)
      }
    }
    const build = Effect.sync(() => {
      const settledSummaries = summaries
      const settledRows = rows.map((row, i) => ({ ...row, provider: names[i] ?? row.provider }))
      rows = []
      names = []
      summaries = []
      if (options.metrics) settledRows.forEach(measure)
      if (tracer !== null) builder.add(settledRows, settledSummaries)
    })
    yield* Effect.addFinalizer(() => Effect.andThen(build, Effect.sync(() => builder.flush())))
    yield* Supervisor.loop("span export", Effect.delay(build, Duration.millis(BUILD_MS)))
    return {
      attemptSettled: (row, name = row.provider) => {
        if (rows.length < QUEUE_MAX) {
          rows.push(row)
          names.push(name)
        } else dropped++
      },
      requestSettled: (summary) => {
        if (summaries.length < QUEUE_MAX) summaries.push(summary)
        else dropped++
      },
      dropped: () => dropped
    }
  })

/** Exports what the options name; the log's events go to the collector beside the existing loggers. */
export const layer = (options: Options): Layer.Layer<Otlp> => {
  const exporters = Layer.mergeAll(
    options.metrics
      ? OtlpMetrics.layer({ ...common(options), url: url(options, "metrics"), exportInterval: Duration.millis(METRICS_EVERY_MS) })
      : Layer.empty,
    options.logs
      ? OtlpLogger.layer({ ...common(options), url: url(options, "logs"), mergeWithExisting: true })
      : Layer.empty
  )
  // Built on the exporters, so that the last spans and measurements are made before the last export.
  return Layer.effect(Otlp, make(options)).pipe(Layer.provideMerge(exporters), Layer.provide(OtlpExporter.layerFlusher), Layer.provide(serialization(options.protocol)), Layer.provide(client))
}

/** `name=value,name=value`, as the OpenTelemetry variable has it. */
const headersOf = (text: Redacted.Redacted<string> | null): Record<string, Redacted.Redacted> => {
  const headers: Record<string, Redacted.Redacted> = {}
  for (const pair of text === null ? [] : Redacted.value(text).split(",")) {
    const equals = pair.indexOf("=")
    if (equals > 0) headers[pair.slice(0, equals).trim()] = Redacted.make(pair.slice(equals + 1).trim())
  }
  return headers
}

/** Everything to the collector that the operator named; nothing without one. */
export const layerOf = (settings: Values): Layer.Layer<Otlp> => settings.otlpEndpoint === null ? layerOff : layer({
  endpoint: settings.otlpEndpoint,
  headers: headersOf(settings.otlpHeaders),
  protocol: "json",
  serviceName: "gateway",
  serviceVersion: version,
  nodeId: processIdOf(settings),
  traces: true,
  metrics: true,
  logs: true
})
