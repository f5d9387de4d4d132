/**
 * The gateway's metrics on effect's registry: updated in place, rendered as Prometheus text, exported by
 * OTLP from the same registry. Label sets are bounded; what comes beyond a bound is counted under `other`. Models that
 * neither the registry nor the configuration names are counted under `unknown`, so that no client can use the bound up.
 */
import * as Context from "effect/Context"
import * as Metric from "effect/Metric"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import type { IsKnown } from "./knownModels.ts"
import { Histogram } from "./Histogram.ts"
import * as PrometheusText from "./prometheusText.ts"

/** Pairs of provider and known model with series of their own. */
export const TARGETS_MAX = 100
/** Endpoint and status pairs with series of their own. */
export const ENDPOINTS_MAX = 200

const OTHER = "other"
const UNKNOWN = "unknown"

/** Bucket bounds, seconds. */
const DURATION = [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600]
const FIRST_TOKEN = [0.025, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2.5, 5, 10, 30]

type Labels = Readonly<Record<string, string>>

/** A gauge or counter whose value is read at a scrape. */
export interface Reading {
  readonly name: string
  readonly help: string
  readonly type: "gauge" | "counter"
  readonly read: () => number
  readonly labels?: Labels | undefined
}

/** A counter that costs one addition; the registry reads it. */
interface Count {
  value: number
}

interface TargetSeries {
  readonly labels: Labels
  readonly outcomes: Map<string, Count>
  readonly units: Map<string, Count>
  readonly input: Count
  readonly output: Count
  readonly cacheRead: Count
  readonly cacheCreation: Count
  readonly reasoning: Count
  readonly cost: Count
  readonly estimated: Count
  readonly duration: Histogram
  readonly firstToken: Histogram
}

interface EndpointSeries {
  readonly total: Count
  readonly duration: Histogram
  readonly bytes: Count
}

const positive = (value: number): number => value > 0 ? value : 0

export class Metrics {
  /** Requests that are being served now, and those of them that stream. */
  liveRequests = 0
  liveStreams = 0
  readonly #context: Context.Context<never>
  readonly #isKnown: IsKnown
  readonly #targets = new Map<string, Map<string, TargetSeries>>()
  #targetCount = 0
  /** By provider: its models that only clients name. */
  readonly #unknownModels = new Map<string, TargetSeries>()
  #otherTarget: TargetSeries | null = null
  readonly #endpoints = new Map<string, Map<number, EndpointSeries>>()
  #endpointCount = 0
  #otherEndpoint: EndpointSeries | null = null
  readonly #byEndpoint = new Map<string, Pick<EndpointSeries, "duration" | "bytes">>()
  readonly #cached: Count
  readonly #fallbacks: Count

  /** The metrics live in the registry of `context`. */
  constructor(context: Context.Context<never>, isKnown: IsKnown) {
    this.#context = context
    this.#isKnown = isKnown
    this.#cached = this.#count("gateway_cache_hits_total", "Requests answered from the response cache.", {})
    this.#fallbacks = this.#count("gateway_fallback_attempts_total", "Attempts beyond the first of their request.", {})
    this.reading({ name: "gateway_requests_live", help: "Client requests that are being served.", type: "gauge", read: () => this.liveRequests })
    this.reading({ name: "gateway_streams_live", help: "Streaming client requests that are being served.", type: "gauge", read: () => this.liveStreams })
  }

  requestStarted(stream: boolean): void {
    this.liveRequests++
    if (stream) this.liveStreams++
  }

  /** `name`: what the provider is called; a label, so that a deleted node and a new one with its prefix share their series. */
  attemptSettled(row: LedgerRow, name = row.provider): void {
    const series = this.#target(name, row.provider, row.model)
    let outcome = series.outcomes.get(row.outcome)
    if (outcome === undefined) {
      outcome = this.#count("gateway_attempts_total", "Upstream attempts by outcome.", { ...series.labels, outcome: row.outcome })
      series.outcomes.set(row.outcome, outcome)
    }
    outcome.value++
    series.input.value += positive(row.tokensIn)
    series.output.value += positive(row.tokensOut)
    series.cacheRead.value += positive(row.tokensCacheRead)
    series.cacheCreation.value += positive(row.tokensCacheCreation)
    series.reasoning.value += positive(row.tokensReasoning)
    series.cost.value += positive(row.costUsd)
    if (row.units !== null) for (const [unit, amount] of Object.entries(row.units)) this.#unitsOf(series, unit).value += positive(amount)
    if (row.estimated) series.estimated.value++
    if (row.attempt > 1) this.#fallbacks.value++
    series.duration.observe(row.latencyMs / 1000)
    if (row.ttftMs !== null) series.firstToken.observe(row.ttftMs / 1000)
  }

  requestSettled(summary: RequestSummary): void {
    if (this.liveRequests > 0) this.liveRequests--
    if (summary.stream && this.liveStreams > 0) this.liveStreams--
    const series = this.#endpoint(summary.endpoint, summary.status)
    series.total.value++
    series.duration.observe(summary.latencyMs / 1000)
    series.bytes.value += positive(summary.bytesOut)
    if (summary.cache === "hit") this.#cached.value++
  }

  /** Registers a value that is read on every render; the registration ends with the answered function. */
  reading(reading: Reading): () => void {
    const options = { description: reading.help, attributes: reading.labels ?? {} }
    const { remove } = reading.type === "gauge"
      ? Metric.registerUnsafe(Metric.gauge(reading.name, options), this.#context, {
        get: () => ({ value: reading.read() }), update: () => {}, modify: () => {}
      })
      : Metric.registerUnsafe(Metric.counter(reading.name, { ...options, incremental: true }), this.#context, {
        get: () => ({ count: reading.read(), incremental: true }), update: () => {}, modify: () => {}
      })
    return remove
  }

  /** Prometheus text format 0.0.4. */
  render(): string {
    return PrometheusText.format(Metric.snapshotUnsafe(this.#context))
  }

  #target(name: string, provider: string, model: string): TargetSeries {
    const models = this.#targets.get(name)
    const known = models?.get(model)
    if (known !== undefined) return known
    if (!this.#isKnown(provider, model)) return this.#unknownModel(name)
    if (this.#targetCount >= TARGETS_MAX) return this.#otherTarget ??= this.#targetSeries(OTHER, OTHER)
    this.#targetCount++
    const series = this.#targetSeries(name, model)
    if (models === undefined) this.#targets.set(name, new Map([[model, series]]))
    else models.set(model, series)
    return series
  }

  /** Providers are the operator's: there are few. */
  #unknownModel(provider: string): TargetSeries {
    let series = this.#unknownModels.get(provider)
    if (series === undefined) {
      series = this.#targetSeries(provider, UNKNOWN)
      this.#unknownModels.set(provider, series)
    }
    return series
  }

  #endpoint(endpoint: string, status: number): EndpointSeries {
    const statuses = this.#endpoints.get(endpoint)
    const known = statuses?.get(status)
    if (known !== undefined) return known
    if (this.#endpointCount >= ENDPOINTS_MAX) return this.#otherEndpoint ??= this.#endpointSeries(OTHER, OTHER)
    this.#endpointCount++
    const series = this.#endpointSeries(endpoint, String(status))
    if (statuses === undefined) this.#endpoints.set(endpoint, new Map([[status, series]]))
    else statuses.set(status, series)
    return series
  }

  /** The label is no `unit`: the registry takes that name for the unit of the metric itself. */
  #unitsOf({ labels, units }: TargetSeries, unit: string): Count {
    let count = units.get(unit)
    if (count === undefined) {
      count = this.#count("gateway_units_total", "What attempts used beside tokens, by kind of unit.", { ...labels, kind: unit })
      units.set(unit, count)
    }
    return count
  }

  #count(name: string, help: string, labels: Labels): Count {
    const count: Count = { value: 0 }
    this.reading({ name, help, type: "counter", read: () => count.value, labels })
    return count
  }

  /** In the registry once it has a value. */
  #histogram(name: string, help: string, bounds: ReadonlyArray<number>, labels: Labels): Histogram {
    return new Histogram(bounds, (histogram) => {
      Metric.registerUnsafe(Metric.histogram(name, { description: help, attributes: labels, boundaries: bounds }), this.#context, {
        get: () => histogram.state, update: () => {}, modify: () => {}
      })
    })
  }

  #targetSeries(provider: string, model: string): TargetSeries {
    const labels = { provider, model }
    const tokens = (direction: string) =>
      this.#count("gateway_tokens_total", "Tokens by direction; input includes cache reads and writes, output includes reasoning.", { ...labels, direction })
    return {
      labels,
      outcomes: new Map(),
      units: new Map(),
      input: tokens("input"),
      output: tokens("output"),
      cacheRead: tokens("cache_read"),
      cacheCreation: tokens("cache_creation"),
      reasoning: tokens("reasoning"),
      cost: this.#count("gateway_cost_usd_total", "Cost of settled attempts in USD.", labels),
      estimated: this.#count("gateway_estimated_attempts_total", "Attempts whose tokens were estimated because the upstream gave no usage.", labels),
      duration: this.#histogram("gateway_attempt_duration_seconds", "Attempt, from its start to its settle.", DURATION, labels),
      firstToken: this.#histogram("gateway_time_to_first_token_seconds", "Attempt, from its start to the first content frame.", FIRST_TOKEN, labels)
    }
  }

  #endpointSeries(endpoint: string, status: string): EndpointSeries {
    let shared = this.#byEndpoint.get(endpoint)
    if (shared === undefined) {
      shared = {
        duration: this.#histogram("gateway_request_duration_seconds", "Client request, socket to socket.", DURATION, { endpoint }),
        bytes: this.#count("gateway_response_bytes_total", "Body bytes given to clients.", { endpoint })
      }
      this.#byEndpoint.set(endpoint, shared)
    }
    return {
      ...shared,
      total: this.#count("gateway_requests_total", "Client requests by endpoint and HTTP status; 499 = the client had left.", { endpoint, status })
    }
  }
}
