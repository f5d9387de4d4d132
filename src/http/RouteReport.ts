/**
 * What is kept of routing decisions (PROMISES 11): a bounded log by request id for whoever asks why, combo metrics, and the words of
 * a terminal error. A single model that answered at the first try leaves nothing here: its ledger row says it all.
 */
import type { ComboMetrics } from "#actors/ports/ComboMetrics.ts"
import type { AttemptNote, RouteView, SkipNote } from "#actors/Inbound.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Candidate, Order, Skipped } from "#src/routing/candidate.ts"
import { Generations } from "#src/routing/generations.ts"
import type { DecisionView, RoutingViews } from "#actors/ports/RoutingViews.ts"
import { type Route, type Router, unknownRequest } from "#src/routing/Router.ts"
import * as Trace from "#src/routing/trace.ts"

/** Decisions that are surely kept; up to twice as many are. */
const keptDecisions = 1_000
/** Characters of the trace in a header. */
const maxHeader = 2_048

/** One remembered decision. */
export interface Decision {
  readonly requestId: string
  readonly requestedModel: string
  /** ms since the epoch. */
  readonly at: number
  readonly combo: string | null
  readonly ok: boolean | null
  readonly latencyMs: number
  readonly trace: Trace.Trace
}

export class Report {
  private readonly decisions = new Generations<Decision>(keptDecisions)
  private readonly newest: Array<string> = []
  readonly metrics: ComboMetrics["Service"]
  readonly now: () => number

  constructor(metrics: ComboMetrics["Service"], now: () => number) {
    this.metrics = metrics
    this.now = now
  }

  keep(decision: Decision): void {
    this.decisions.set(decision.requestId, decision)
    this.newest.push(decision.requestId)
    if (this.newest.length > keptDecisions) this.newest.splice(0, keptDecisions / 2)
  }

  of(requestId: string): Decision | null {
    return this.decisions.get(requestId) ?? null
  }

  /** Newest first. */
  recent(limit: number): ReadonlyArray<Decision> {
    return this.newest.slice(-limit).reverse().flatMap((id) => this.of(id) ?? [])
  }
}

/** The order with what was found out on the way. */
const orderWith = (order: Order, skipped: ReadonlyArray<SkipNote>): Order => skipped.length === 0 ? order : {
  ...order,
  skipped: [...order.skipped, ...skipped.flatMap(({ index, unavailable }): ReadonlyArray<Skipped> => {
    const candidate = order.order[index]
    return candidate === undefined ? [] : [{ candidate, unavailable }]
  })]
}

const traceOf = (route: Route, attempts: ReadonlyArray<AttemptNote>, skipped: ReadonlyArray<SkipNote>): Trace.Trace =>
  Trace.explain(route.strategy, orderWith(route.order, skipped), attempts.map(({ code, index, ms, status }) => ({
    candidate: route.order.order[index] as Candidate, status, code, ms
  })))

/** What the client may see before its request was answered: who is asked in which order, and who is left out until when. */
export const headerOf = (route: Route): string => {
  const text = JSON.stringify({
    strategy: route.strategy,
    ...(route.combo === null ? {} : { combo: route.combo.name }),
    order: route.order.order.slice(0, 16).map(({ target }) => `${target.providerAlias}/${target.model}`),
    skipped: route.order.skipped.slice(0, 16).map(({ candidate: { target }, unavailable }) => ({
      target: `${target.providerAlias}/${target.model}`, reason: unavailable.reason,
      until: unavailable.until === null ? null : new Date(unavailable.until).toISOString()
    }))
  }).replace(/[^\x20-\x7e]/g, "?")
  return text.length <= maxHeader ? text : `{"strategy":${JSON.stringify(route.strategy)},"truncated":true}`
}

/** The views of the management surface over this log and a router. */
export const views = (report: Report, router: () => Router, now: () => number): RoutingViews["Service"] => ({
  explain: (model, key, face) => {
    const route = router().route({ model, key, face, session: null, headers: {}, about: () => unknownRequest, now: now(), dry: true })
    if (route instanceof PublicError) return route
    const named = ({ executionKey, target }: Candidate) => ({
      target: executionKey, provider: target.providerAlias, model: target.publicModel, connectionId: target.connection?.id ?? null, format: target.wireFormat
    })
    return {
      strategy: route.strategy,
      combo: route.combo === null ? null : route.combo.name,
      lastResort: route.lastResort,
      relaxed: route.order.relaxed ?? [],
      targets: [
        ...route.order.order.map((candidate, i) => ({ ...named(candidate), position: i + 1, skipped: null })),
        ...route.order.skipped.map(({ candidate, unavailable: { detail, reason, until } }) => ({
          ...named(candidate), position: null, skipped: { reason, until: until === null ? null : new Date(until).toISOString(), detail }
        }))
      ]
    }
  },
  decision: (requestId) => {
    const decision = report.of(requestId)
    return decision === null ? null : jsonOf(decision)
  },
  decisions: (limit) => report.recent(limit).map(jsonOf)
})

/** Plain JSON, as it leaves the gateway. */
const jsonOf = (decision: Decision): DecisionView => JSON.parse(JSON.stringify({ ...decision, at: new Date(decision.at).toISOString() })) as DecisionView

export const viewOf = (report: Report, route: Route, requestId: string, requestedModel: string): RouteView => ({
  strategy: route.strategy,
  combo: route.combo === null ? null : route.combo.name,
  policy: route.policy,
  lastResort: route.lastResort,
  succeeded: route.succeeded,
  finished: (ok, attempts, skipped, latencyMs) => {
    const { combo } = route
    if (combo === null && attempts.length <= 1 && skipped.length === 0 && route.order.skipped.length === 0 && ok !== false) return
    const at = report.now()
    // Told now: a route kept for later would keep its request with it.
    report.keep({
      requestId, requestedModel, at, combo: combo === null ? null : combo.name, ok, latencyMs, trace: traceOf(route, attempts, skipped)
    })
    if (combo === null || ok === null || !route.tracked) return
    report.metrics.record({
      combo: combo.name, strategy: combo.strategy, ok, latencyMs, at,
      attempts: attempts.flatMap(({ code, index, ms }) => {
        const candidate = route.order.order[index]
        return candidate === undefined ? [] : [{
          executionKey: candidate.executionKey, provider: candidate.target.providerAlias, model: candidate.target.publicModel,
          connectionId: candidate.target.connection?.id ?? null, ok: code === null, latencyMs: ms
        }]
      })
    })
  },
  terminal: (error, attempts, skipped) => route.combo === null ? error : withDiagnostics(error, route, attempts, skipped)
})

/** Diagnostics and the recovery hint of a combo's terminal error (supplement 2.5). */
const withDiagnostics = (error: PublicError, route: Route, attempts: ReadonlyArray<AttemptNote>, skipped: ReadonlyArray<SkipNote>): PublicError => {
  const seconds = error.retryAfterSeconds
  const trace = traceOf(route, attempts, skipped)
  return new PublicError(error.code, error.status, error.type, error.message, seconds, {
    ...error.extra,
    diagnostics: {
      poolSize: route.order.order.length + route.order.skipped.length,
      attempted: attempts.length,
      excluded: Trace.excludedOf(trace),
      attemptOrder: attempts.map(({ code, index, status }) => ({ model: route.targets[index]?.publicModel ?? "", status, code })),
      terminalReason: attempts.length === 0 ? "no_target_available" : "all_targets_failed"
    },
    recovery_hint: seconds === null
      ? { action: "retry", retry_after_seconds: null, next_step: "Repeat the request, or ask for another model." }
      : { action: "wait", retry_after_seconds: Math.min(3_600, seconds), next_step: `Repeat the request in ${seconds} s.` }
  })
}
