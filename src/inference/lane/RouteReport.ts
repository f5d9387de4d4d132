/**
 * What is kept of routing decisions: a bounded log by request id that explains each one, combo metrics, and the text of a
 * terminal error. A single model that answered at the first try leaves nothing here: its ledger row has the facts.
 */
import type { ComboMetrics, ComboPromotions } from "#src/inference/ports/ComboMetrics.ts"
import type { AttemptNote, RouteView, SkipNote, RouteNotes } from "#actors/request/Inbound.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Accounting } from "#actors/request/ports/Accounting.ts"
import { type ErrorCode, PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { CallFormat } from "#schemas/wire/formats.ts"
import * as TerminalErrors from "./terminalErrors.ts"
import type { Candidate, Order, Skipped } from "#src/routing/models/candidate.ts"
import type { DecisionView, RoutingViews } from "#src/inference/ports/RoutingViews.ts"
import { unknownRequest } from "#src/routing/RequestMoment.ts"
import type { Route, Router } from "#src/routing/Router.ts"
import * as Trace from "#src/routing/trace.ts"
import { Blocked, withoutTarget } from "#src/routing/unavailable.ts"
import { Ring } from "#src/platform/structures/Ring.ts"
import * as StatusReason from "#schemas/statusReason.ts"

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

/** A session that moves to another connection or model, and the outcome of the summary that was due. */
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

/** A routing decision before it is read: what happened to which candidates, built in full only on demand. */
interface Kept extends Omit<Decision, "trace" | "handoff"> {
  handoff?: HandoffNote
  readonly strategy: string
  /** Candidates live as long as their configuration; nothing here may lead to a request. */
  readonly order: Omit<Order, "memory">
  readonly attempts: ReadonlyArray<AttemptNote>
  readonly skipped: ReadonlyArray<SkipNote>
}

/** The targets that automatic routing would ask now, without remembering that it was asked; null when there are none. */
export type Automatic = (key: ApiKey | null, face: CallFormat) => ReadonlyArray<Target> | null

const noPromotions: ComboPromotions["Service"] = { answered: () => {} }

export class Report {
  private readonly decisions = new Ring<Kept>(keptDecisions)
  readonly metrics: ComboMetrics["Service"]
  readonly now: () => number
  readonly rules: () => TerminalErrors.TerminalRules
  private readonly automatic: Automatic
  readonly promotions: ComboPromotions["Service"]

  constructor(
    metrics: ComboMetrics["Service"], now: () => number, rules = () => TerminalErrors.noRules, automatic: Automatic = () => null,
    promotions: ComboPromotions["Service"] = noPromotions
  ) {
    this.promotions = promotions
    this.metrics = metrics
    this.now = now
    this.rules = rules
    this.automatic = automatic
  }

  /** Automatic routing has a target that is none of these. */
  leadsElsewhere(key: ApiKey | null, face: CallFormat, inVain: ReadonlyArray<Candidate>): boolean {
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

/** Targets that a header or a line names of each kind. */
const maxNamed = 16

const publicName = ({ target }: Candidate): string => `${target.providerAlias}/${target.model}`

/** Which targets failed and how; an answer is not a failure. */
const failuresOf = (route: Pick<Route, "order">, notes: ReadonlyArray<AttemptNote>) => notes.flatMap(({ code, index, status }) => {
  const candidate = route.order.order[index]
  return code === null || candidate === undefined ? [] : [{ target: publicName(candidate), status, code }]
}).slice(0, maxNamed)

const skippedIn = (skipped: ReadonlyArray<Skipped>) => skipped.slice(0, maxNamed).map(({ candidate, unavailable }) => ({
  target: publicName(candidate), reason: unavailable.reason, until: Trace.isoOf(unavailable.until)
}))

const printable = (text: string): string => text.replace(/[^\x20-\x7e]/g, "?")

/**
 * What the client may see of its request so far: which targets are tried in which order, which failed, and which are left out
 * until when.
 */
export const headerOf = (route: Route, { notes, skips }: RouteNotes): string => {
  const failed = failuresOf(route, notes)
  const text = printable(JSON.stringify({
    strategy: route.strategy,
    ...(route.combo === null ? {} : { combo: route.combo.name }),
    order: route.order.order.slice(0, maxNamed).map(publicName),
    ...(failed.length === 0 ? {} : { failed }),
    skipped: skippedIn(orderWith(route.order, skips).skipped)
  }))
  return text.length <= maxHeader ? text : `{"strategy":${printable(JSON.stringify(route.strategy))},"truncated":true}`
}

/** The same for a request without a callable target. */
export const headerOfBlocked = ({ skipped }: Blocked): string => {
  const text = printable(JSON.stringify({ order: [], skipped: skippedIn(skipped) }))
  return text.length <= maxHeader ? text : `{"order":[],"truncated":true}`
}

const skipText = ({ reason, target, until }: ReturnType<typeof skippedIn>[number]): string => `${target} skipped ${reason}${until === null ? "" : ` until ${until}`}`

/** Failures and skips in one line for the log: `a/m failed 500 bad_gateway; b/m skipped connection-cooldown until 2026-...`. */
export const lineOf = (route: Pick<Route, "order">, { notes, skips }: RouteNotes): string => [
  ...failuresOf(route, notes).map(({ code, status, target }) => `${target} failed ${status} ${code}`),
  ...skippedIn(orderWith(route.order, skips).skipped).map(skipText)
].join("; ")

/** Why each target of a request without a usable one was left out, in one line for the log. */
export const lineOfBlocked = ({ skipped }: Blocked): string => skippedIn(skipped).map(skipText).join("; ")

/** Automatic routing over a router; a candidate is not its own alternative. */
export const automaticOver = (router: () => Router, now: () => number): Automatic => (key, face) => {
  const route = router().route({ model: "auto", key, face, session: null, headers: {}, prompt: unknownRequest, now: now(), dry: true })
  return route instanceof PublicError || route.lastResort ? null : route.targets
}

/** Routers as the views need them. */
interface Routers {
  readonly now: () => Router
  readonly withDraft: (draft: Combo) => Router
  readonly rehearsal: (draft: Combo) => Router
  readonly lastGood: RoutingViews["Service"]["lastGood"]
}

/** The views of the management surface over this log and a router. */
export const views = (report: Report, routers: Routers, now: () => number, accounting: Pick<Accounting["Service"], "cost">): RoutingViews["Service"] => ({
  rehearse: (draft) => {
    const router = routers.rehearsal(draft)
    return (key, face) => {
      const route = router.route({ model: draft.name, key, face, session: null, headers: {}, prompt: unknownRequest, now: now() })
      return route instanceof PublicError ? route : {
        answered: route.succeeded,
        targets: route.targets.map((target) => ({
          provider: target.provider, model: target.model, connectionId: target.connection?.id ?? null, publicModel: target.publicModel,
          costOf: (usage) => target.price === null ? null : accounting.cost(target, usage, null)
        }))
      }
    }
  },
  lastGood: routers.lastGood,
  planned: (model, face) => routers.now().planner.plan(model, face),
  explain: (model, key, face, draft) => {
    const route = (draft === undefined ? routers.now() : routers.withDraft(draft)).route({ model, key, face, session: null, headers: {}, prompt: unknownRequest, now: now(), dry: true })
    const named = ({ executionKey, target }: Candidate) => ({
      target: executionKey, provider: target.providerAlias, model: target.publicModel, connectionId: target.connection?.id ?? null, format: target.wireFormat
    })
    const leftOut = (skipped: ReadonlyArray<Skipped>) => skipped.map(({ candidate, unavailable: { detail, reason, until } }) => ({
      ...named(candidate), position: null, skipped: { reason, until: until === null ? null : new Date(until).toISOString(), detail }
    }))
    if (route instanceof PublicError) {
      // An invalid request has no route; one that no target can serve now has a route and its end.
      if (!StatusReason.isServers(route.status) && !(route instanceof Blocked)) return route
      const pool = route instanceof Blocked ? route.pool : null
      const { code, message, retryAfterSeconds, status } = TerminalErrors.ofPlan(route, report.rules(), () => report.leadsElsewhere(key, face, []))
      return {
        strategy: pool?.combo?.strategy ?? "single", combo: pool?.combo?.name ?? null, lastResort: false, relaxed: [],
        targets: pool === null ? [] : leftOut([...pool.skipped, ...(pool.forbidden ?? [])]), error: { status, code, message, retryAfterSeconds }
      }
    }
    return {
      strategy: route.strategy,
      combo: route.combo === null ? null : route.combo.name,
      lastResort: route.lastResort,
      relaxed: route.order.relaxed ?? [],
      targets: [
        ...route.order.order.map((candidate, i) => ({ ...named(candidate), position: i + 1, skipped: null })),
        ...leftOut([...route.order.skipped, ...route.forbidden()])
      ],
      error: null
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

/** A route as the request sees it. A class, because each request has one: three closures cost it 0.2 kB. */
class ReportedRoute implements RouteView {
  private readonly report: Report
  private readonly route: Route
  private readonly requestId: string
  private readonly requestedModel: string
  private readonly key: ApiKey | null
  private readonly face: CallFormat
  private readonly said: Terminal | undefined

  constructor(report: Report, route: Route, requestId: string, requestedModel: string, key: ApiKey | null, face: CallFormat, said: Terminal | undefined) {
    this.report = report
    this.route = route
    this.requestId = requestId
    this.requestedModel = requestedModel
    this.key = key
    this.face = face
    this.said = said
  }

  get strategy(): string {
    return this.route.strategy
  }

  get combo(): string | null {
    return this.route.combo === null ? null : this.route.combo.name
  }

  get policy(): RouteView["policy"] {
    return this.route.policy
  }

  get lastResort(): boolean {
    return this.route.lastResort
  }

  succeeded(index: number): void {
    this.route.succeeded(index)
  }

  finished(ok: boolean | null, told: RouteNotes, latencyMs: number): void {
    const { report, requestedModel, requestId, route } = this
    const { combo } = route
    if (combo === null && route.meant === undefined && told.tried <= 1 && told.skips.length === 0 && route.order.skipped.length === 0 && ok !== false) return
    const { notes: attempts, skips: skipped } = told
    const at = report.now()
    const { strategy, order: { order, relaxed, skipped: leftOut } } = route
    // Not the route itself: it would keep its request with it.
    report.keep({
      requestId, requestedModel, at, combo: combo === null ? null : combo.name, ok, latencyMs, strategy, attempts, skipped,
      order: { order, skipped: leftOut, ...(relaxed === undefined ? {} : { relaxed }) }
    })
    if (combo !== null && ok === true && told.tried > 1) report.promotions.answered(combo, order, attempts)
    if (combo === null || ok === null || !route.tracked) return
    report.metrics.record({
      combo: combo.name, strategy: combo.strategy, ok, latencyMs, at,
      attempts: attempts.flatMap(({ code, index, ms }) => {
        const candidate = route.order.order[index]
        // A try that lost a race did not fail.
        return candidate === undefined || code === hedgeLost ? [] : [{
          executionKey: candidate.executionKey, provider: candidate.target.providerAlias, model: candidate.target.publicModel,
          connectionId: candidate.target.connection?.id ?? null, ok: code === null, latencyMs: ms
        }]
      })
    })
  }

  terminal(error: PublicError, attempts: ReadonlyArray<AttemptNote>, skipped: ReadonlyArray<SkipNote>): PublicError {
    const { face, key, report, route, said } = this
    const told = route.combo === null
      ? error
      : TerminalErrors.ofCombo(error, poolOf(route, attempts, skipped), report.rules(), () => report.leadsElsewhere(key, face, route.order.order))
    return said === undefined ? told : said(told, route)
  }

  line(notes: RouteNotes): string {
    return lineOf(this.route, notes)
  }
}

/** What a kind of request makes of a terminal error. */
type Terminal = (error: PublicError, route: Route) => PublicError

/** `key` and `face`: the caller and its format. */
export const viewOf = (
  report: Report, route: Route, requestId: string, requestedModel: string, key: ApiKey | null, face: CallFormat, terminal?: Terminal
): RouteView => new ReportedRoute(report, route, requestId, requestedModel, key, face, terminal)

const poolOf = (route: Route, attempts: ReadonlyArray<AttemptNote>, skipped: ReadonlyArray<SkipNote>, refused = route.refused()): TerminalErrors.TriedPool => ({
  poolSize: route.order.order.length + route.order.skipped.length + refused.length,
  attempted: attempts.length,
  excluded: [...Trace.excludedOf(traceOf(route, attempts, skipped)), ...withoutTarget(refused)].slice(0, Trace.maxTraceEntries),
  attemptOrder: attempts.map(({ code, index, status }) => ({ model: route.targets[index]?.publicModel ?? "", status, code }))
})
