/** What live events say, and the pure step from what requests do to events. */
import type { LiveRequest } from "#actors/request/LiveRequest.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { RequestSummary } from "#actors/request/ports/Telemetry.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

export const channels = ["requests", "combo", "credentials"] as const
export type Channel = typeof channels[number]

export const isChannel = (name: unknown): name is Channel => channels.includes(name as Channel)

export interface LiveEvent {
  readonly channel: Channel
  readonly event: string
  /** Node that served the request. */
  readonly node: string
  readonly data: Readonly<Record<string, unknown>>
}

/** A provider's name as clients know it. */
export type Shown = (provider: string) => string

/** Characters per token, for an answer whose tokens were not counted yet. */
const CHARACTERS_PER_TOKEN = 4
/** How often the progress of one request is told, ms. */
const PROGRESS_MS = 1_000
/** Requests whose progress is looked at in one round; the rest follows in later rounds. */
const LOOKED_AT = 100
/** Requests that are known at once; one that never ends must not fill the memory. */
const MOST_REQUESTS = 20_000

/** What was told of a request, and what its later events repeat. */
interface Told {
  readonly startedAt: number
  readonly combo: string | null
  readonly strategy: string | null
  readonly targets: ReadonlyArray<Target>
  attempts: number
  progressAt: number
  tokensIn: number
  tokensOut: number
}

const of = (node: string, channel: Channel, event: string, data: Readonly<Record<string, unknown>>): LiveEvent => ({ channel, event, node, data })

const iso = (ms: number): string => new Date(ms).toISOString()

/** Makes events of what an onlooker of requests hears. Each method answers the events that it makes. */
export class Teller {
  private readonly node: string
  private readonly shown: Shown
  private readonly told = new Map<string, Told>()

  constructor(node: string, shown: Shown) {
    this.node = node
    this.shown = shown
  }

  /** A request begins; a part of a known one says nothing. */
  began({ inbound, target }: LiveRequest, now: number): ReadonlyArray<LiveEvent> {
    if (this.told.has(inbound.requestId)) return []
    const { requestedModel, requestId, route, since = now, targets } = inbound
    if (this.told.size >= MOST_REQUESTS) this.told.clear()
    this.told.set(requestId, { startedAt: since, combo: route.combo, strategy: route.strategy, targets, attempts: 0, progressAt: now, tokensIn: 0, tokensOut: 0 })
    return [this.start(requestId, requestedModel, (target ?? targets[0])?.providerAlias ?? null, route.combo, since)]
  }

  /** Looks at what runs: attempts that began, and progress. */
  looked(running: Iterable<LiveRequest>, now: number): ReadonlyArray<LiveEvent> {
    const events: Array<LiveEvent> = []
    let left = LOOKED_AT
    for (const request of running) {
      const { attempts, inbound, target } = request
      const told = this.told.get(inbound.requestId)
      if (told === undefined || target === null) continue
      if (inbound.route.combo !== null && attempts > told.attempts) {
        told.attempts = attempts
        events.push(of(this.node, "combo", "combo.target.attempt", {
          comboName: inbound.route.combo, targetIndex: inbound.targets.indexOf(target), provider: target.providerAlias, model: target.model,
          timestamp: iso(now), strategy: inbound.route.strategy
        }))
      }
      if (!inbound.stream || left === 0 || now - told.progressAt < PROGRESS_MS) continue
      left--
      told.progressAt = now
      const characters = request.outputText.length
      if (characters > 0) {
        events.push(of(this.node, "requests", "request.streaming", {
          id: inbound.requestId, tokensGenerated: Math.ceil(characters / CHARACTERS_PER_TOKEN), elapsedMs: now - told.startedAt
        }))
      }
    }
    return events
  }

  attempted(row: LedgerRow): ReadonlyArray<LiveEvent> {
    const told = this.told.get(row.requestId)
    if (told !== undefined) {
      told.tokensIn += row.tokensIn
      told.tokensOut += row.tokensOut
    }
    if (row.combo === null) return []
    const index = told?.targets.findIndex(({ connection, model, provider }) => provider === row.provider && model === row.model && (connection?.id ?? null) === row.connectionId) ?? -1
    const same = { comboName: row.combo, targetIndex: index === -1 ? row.attempt - 1 : index, provider: this.shown(row.provider), model: row.model }
    const at = { ...same, timestamp: iso(row.startedAt), strategy: told?.strategy ?? null }
    const events: Array<LiveEvent> = []
    if (told !== undefined && row.attempt > told.attempts) {
      told.attempts = row.attempt
      events.push(of(this.node, "combo", "combo.target.attempt", at))
    }
    events.push(row.outcome === "completed"
      ? of(this.node, "combo", "combo.target.succeeded", { ...same, latencyMs: row.latencyMs })
      : of(this.node, "combo", "combo.target.failed", { ...at, error: row.errorCode ?? row.outcome, latencyMs: row.latencyMs }))
    return events
  }

  ended(summary: RequestSummary): ReadonlyArray<LiveEvent> {
    const told = this.told.get(summary.requestId)
    this.told.delete(summary.requestId)
    const provider = summary.provider === null ? null : this.shown(summary.provider)
    const same = { id: summary.requestId, model: summary.model ?? summary.requestedModel, provider, latencyMs: summary.latencyMs }
    const last = summary.outcome === "completed"
      ? of(this.node, "requests", "request.completed", { ...same, status: summary.status, tokensInput: told?.tokensIn ?? 0, tokensOutput: told?.tokensOut ?? 0, ...comboOf(told?.combo ?? null) })
      : of(this.node, "requests", "request.failed", { ...same, error: summary.errorCode ?? summary.outcome, statusCode: summary.status })
    // It began before the first onlooker came, or was answered without a call.
    return told === undefined ? [this.start(summary.requestId, summary.requestedModel, provider, null, summary.startedAt), last] : [last]
  }

  private start(id: string, model: string | null, provider: string | null, combo: string | null, startedAt: number): LiveEvent {
    return of(this.node, "requests", "request.started", { id, model, provider, timestamp: iso(startedAt), ...comboOf(combo) })
  }
}

const comboOf = (combo: string | null): { readonly comboName?: string } => combo === null ? {} : { comboName: combo }
