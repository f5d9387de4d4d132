/**
 * What is kept of routing decisions (PROMISES 11): a bounded log by request id for whoever asks why, combo metrics, and the words of
 * a terminal error. A single model that answered at the first try leaves nothing here: its ledger row says it all.
 */
import type { ComboMetrics } from "#actors/ports/ComboMetrics.ts"
import type { AttemptNote, RouteView, SkipNote } from "#actors/Inbound.ts"
import type { Target } from "#actors/ports/Target.ts"
import { type ErrorCode, PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { FormatName } from "#schemas/wire/conversation.ts"
import * as TerminalErrors from "#src/http/terminalErrors.ts"
import type { Candidate, Order, Skipped } from "#src/routing/candidate.ts"
import type { DecisionView, RoutingViews } from "#actors/ports/RoutingViews.ts"
import { type Route, type Router, unknownRequest } from "#src/routing/Router.ts"
import * as Trace from "#src/routing/trace.ts"
import { Ring } from "#src/structures/Ring.ts"

/** Decisions that are kept. */
const keptDecisions = 2_000
/** Error code of the call that was cut because the other one answered. */
const hedgeLost: ErrorCode = "hedge_lost"
/** Characters of the trace in a header. */
const maxHeader = 2_048

interface HandoffPlace {
  /** Public alias. */
  readonly provider: string
  readonly model: string
  readonly connectionId: string | null
}

/** A session that goes on somewhere else, and what became of the summary that was due (supplement 2.3, 2.4). */
export interface HandoffNote {
  readonly from: HandoffPlace
  readonly to: HandoffPlace
  /** `none`: there was nothing to summarise. */
  readonly summary: "given" | "failed" | "none"
  /** Public id of the model that was asked for it; null when none was. */
  readonly by: string | null
  /** How long that took. */
  readonly ms: number
}

/** One remembered decision. */
export interface Decision {
  readonly requestId: string
  readonly requestedModel: string
  /** ms since the epoch. */
  readonly at: number
  readonly combo: string | null
  readonly ok: boolean | null
  readonly latencyMs: number
  readonly handoff: HandoffNote | null
  readonly trace: Trace.Trace
}

/** A decision before anybody asks for it: what happened to which candidates, told in full only on demand. */
interface Kept extends Omit<Decision, "trace" | "handoff"> {
  handoff?: HandoffNote
  readonly strategy: string
  /** Candidates live as long as their configuration; nothing here may lead to a request. */
  readonly order: Omit<Order, "memory">
  readonly attempts: ReadonlyArray<AttemptNote>
  readonly skipped: ReadonlyArray<SkipNote>
}

/** The targets that automatic routing would ask now, without remembering that it was asked; null when there are none. */
export type Automatic = (key: ApiKey | null, face: FormatName) => ReadonlyArray<Target> | null

export class Report {
  private readonly decisions = new Ring<Kept>(keptDecisions)
  readonly metrics: ComboMetrics["Service"]
  readonly now: () => number
  readonly rules: () => TerminalErrors.TerminalRules
  private readonly automatic: Automatic

  constructor(metrics: ComboMetrics["Service"], now: () => number, rules = () => TerminalErrors.noRules, automatic: Automatic = () => null) {
    this.metrics = metrics
    this.now = now
    this.rules = rules
    this.automatic = automatic
  }

  /** Automatic routing has a target that is none of these. */
  leadsElsewhere(key: ApiKey | null, face: FormatName, inVain: ReadonlyArray<Candidate>): boolean {
    const others = this.automatic(key, face) ?? []
    return others.some((other) => !inVain.some(({ target }) => target.connection?.id === other.connection?.id && target.model === other.model))
  }

  keep(decision: Kept): void {
    this.decisions.push(decision)
  }

  /** Adds to a decision that is kept already. */
  noteHandoff(requestId: string, handoff: HandoffNote): void {
    const kept = this.find(requestId)
    if (kept !== undefined) kept.handoff = handoff
  }

  of(requestId: string): Decision | null {
    const kept = this.find(requestId)
    return kept === undefined ? null : decisionOf(kept)
  }

  /** Newest first. */
  recent(limit: number): ReadonlyArray<Decision> {
    return this.decisions.newest(limit).map(decisionOf)
  }

  private find(requestId: string): Kept | undefined {
    return this.decisions.find((kept) => kept.requestId === requestId)
  }
}

const decisionOf = ({ attempts, handoff, order, skipped, strategy, ...decision }: Kept): Decision =>
  ({ ...decision, handoff: handoff ?? null, trace: traceOf({ strategy, order }, attempts, skipped) })

/** The order with what was found out on the way. */
const orderWith = (order: Omit<Order, "memory">, skipped: ReadonlyArray<SkipNote>): Omit<Order, "memory"> => skipped.length === 0 ? order : {
  ...order,
  skipped: [...order.skipped, ...skipped.flatMap(({ index, unavailable }): ReadonlyArray<Skipped> => {
    const candidate = order.order[index]
    return candidate === undefined ? [] : [{ candidate, unavailable }]
  })]
}

const traceOf = (route: Pick<Kept, "strategy" | "order">, attempts: ReadonlyArray<AttemptNote>, skipped: ReadonlyArray<SkipNote>): Trace.Trace =>
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

/** Automatic routing over a router; nobody is its own way out. */
export const automaticOver = (router: () => Router, now: () => number): Automatic => (key, face) => {
  const route = router().route({ model: "auto", key, face, session: null, headers: {}, about: () => unknownRequest, now: now(), dry: true })
  return route instanceof PublicError || route.lastResort ? null : route.targets
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

/** `key` and `face`: who asked, in which format. */
export const viewOf = (report: Report, route: Route, requestId: string, requestedModel: string, key: ApiKey | null, face: FormatName): RouteView => ({
  strategy: route.strategy,
  combo: route.combo === null ? null : route.combo.name,
  policy: route.policy,
  lastResort: route.lastResort,
  succeeded: route.succeeded,
  finished: (ok, attempts, skipped, latencyMs) => {
    const { combo } = route
    if (combo === null && attempts.length <= 1 && skipped.length === 0 && route.order.skipped.length === 0 && ok !== false) return
    const at = report.now()
    const { strategy, order: { order, relaxed, skipped: leftOut } } = route
    // Not the route itself: it would keep its request with it.
    report.keep({
      requestId, requestedModel, at, combo: combo === null ? null : combo.name, ok, latencyMs, strategy, attempts, skipped,
      order: { order, skipped: leftOut, ...(relaxed === undefined ? {} : { relaxed }) }
    })
    if (combo === null || ok === null || !route.tracked) return
    report.metrics.record({
      combo: combo.name, strategy: combo.strategy, ok, latencyMs, at,
      attempts: attempts.flatMap(({ code, index, ms }) => {
        const candidate = route.order.order[index]
        // Who lost a race did not fail.
        return candidate === undefined || code === hedgeLost ? [] : [{
          executionKey: candidate.executionKey, provider: candidate.target.providerAlias, model: candidate.target.publicModel,
          connectionId: candidate.target.connection?.id ?? null, ok: code === null, latencyMs: ms
        }]
      })
    })
  },
  terminal: (error, attempts, skipped) =>
    route.combo === null ? error : TerminalErrors.ofCombo(error, poolOf(route, attempts, skipped), report.rules(), () => report.leadsElsewhere(key, face, route.order.order))
})

const poolOf = (route: Route, attempts: ReadonlyArray<AttemptNote>, skipped: ReadonlyArray<SkipNote>): TerminalErrors.Pool => ({
  poolSize: route.order.order.length + route.order.skipped.length,
  attempted: attempts.length,
  excluded: Trace.excludedOf(traceOf(route, attempts, skipped)),
  attemptOrder: attempts.map(({ code, index, status }) => ({ model: route.targets[index]?.publicModel ?? "", status, code }))
})
