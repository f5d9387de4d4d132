/**
 * What the calls of one request have in common when it is served by several request actors: attempts are numbered through, one row
 * is final, tokens and cost are summed, and the interceptors are notified of every attempt but of one end only.
 *
 * A part of a panel does not know whether its answer will be the client's. The row of the first answer is therefore held until the
 * second one is there, or the panel is over: its start is in the journal, so that a crash in between still leaves a row.
 */
import * as Errors from "#schemas/errors.ts"
import type { Interceptor } from "#actors/request/ports/Interceptor.ts"
import type { Usage } from "#actors/request/ports/Face.ts"
import type { Ledger } from "#actors/request/ports/Ledger.ts"
import type { RequestSummary, Telemetry } from "#actors/request/ports/Telemetry.ts"
import type { Services } from "#actors/request/services.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

/** How a part's rows are distinguished from the others. */
export interface EnsemblePart {
  /**
   * `last`: its answer or error is the client's. `step`: its error is, its answer is not. `panel`: its answer is when it stays the
   * only one, its error when no member answers. `turn`: both are, unless `release` says that another call follows. `aside`: never.
   */
  readonly role: "last" | "step" | "panel" | "turn" | "aside"
  /** Error code of its row when the gateway cuts it; null while it may continue. */
  cut: string | null
  /** What its answer used as the ledger estimates it; null until it answered, and where its provider counted. */
  estimate: Usage | null
}

type AttemptSinks = Pick<Telemetry["Service"], "attemptSettled"> & { readonly ledger: Pick<Ledger["Service"], "open" | "settle"> }

const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

export class Tally {
  /** Wire calls so far. */
  attempts = 0
  costUsd = 0
  usage: Usage = noUsage
  /** The newest row that became final. */
  final: LedgerRow | null = null
  /** Summary of the part whose answer or error was the client's. */
  summary: RequestSummary | null = null
  /** Repetitions and fallbacks that may still be made, over all parts. */
  spare: number
  /** Parts that have not ended. */
  private running = 0
  private ending = false
  /** Answers of the panel so far. */
  private answers = 0
  private held: LedgerRow | null = null
  private readonly services: Services
  private readonly interceptors: ReadonlyArray<Interceptor>
  private readonly startedAt: number
  private readonly told: AttemptSinks

  /** `spare`: see there. `startedAt`: ms since the epoch, from which the deadline of all parts counts. */
  constructor(services: Services, interceptors: ReadonlyArray<Interceptor>, spare: number, startedAt: number) {
    this.services = services
    this.interceptors = interceptors
    this.spare = spare
    this.startedAt = startedAt
    this.told = { ledger: services.ledger, attemptSettled: (row) => services.telemetry.attemptSettled(row) }
  }

  /** The services of one part; `timeoutMs` is its own limit, null = the request's alone. */
  servicesOf(part: EnsemblePart, timeoutMs: number | null = null): Services {
    const { services } = this
    const { ledger, limits, telemetry } = services
    const numbers = new Map<string, number>()
    this.running++
    let open = true
    return {
      ...services,
      limits: { ...limits, maxAttempts: Math.min(limits.maxAttempts, 1 + this.spare), timeouts: { ...limits.timeouts, total: this.remaining(timeoutMs) } },
      ledger: {
        open: (start, opening) => {
          const attempt = ++this.attempts
          if (numbers.size > 0) this.spare = Math.max(0, this.spare - 1)
          numbers.set(start.attemptId, attempt)
          this.told.ledger.open({ ...start, attempt }, opening)
        },
        settle: (row) => this.settle({ ...row, attempt: numbers.get(row.attemptId) ?? row.attempt }, part),
        journal: () => ledger.journal(),
        reconciliation: () => ledger.reconciliation(),
        flush: (timeout) => ledger.flush(timeout)
      },
      telemetry: {
        requestStarted: () => undefined,
        attemptSettled: () => undefined,
        requestSettled: (summary) => {
          if (part.role === "last") this.summary = summary
        },
        render: () => telemetry.render()
      },
      closed: (request) => {
        if (open) this.running--
        open = false
        services.closed(request)
      }
    }
  }

  /** The interceptors of one part: they decide each call as usual, and the tally notifies them. */
  interceptorsOf(): ReadonlyArray<Interceptor> {
    let asked = false
    const bounded: Interceptor = {
      beforeAttempt: () => {
        if (asked && this.spare <= 0) return { error: Errors.make("bad_gateway", "The request has used up the calls it may cost (GATEWAY_MAX_ATTEMPTS)."), final: true }
        asked = true
        return null
      },
      attemptSettled: () => undefined,
      closed: () => undefined
    }
    return [bounded, ...this.interceptors.map((interceptor): Interceptor => ({
      beforeAttempt: (target) => interceptor.beforeAttempt(target),
      unused: (target) => interceptor.unused?.(target),
      attemptSettled: () => undefined,
      ...(interceptor.watch === undefined ? {} : { watch: interceptor.watch }),
      closed: () => undefined
    }))]
  }

  /** The client has gone, or the gateway stops: the last row is the final one. */
  end(): void {
    this.ending = true
    if (this.running > 0) this.release(false)
  }

  /** Decides about the answer that was held; `final`: it is the client's. */
  release(final: boolean): void {
    const { held } = this
    this.held = null
    if (held !== null) this.publish({ ...held, final })
  }

  /** Everything is over. */
  close(): void {
    this.release(true)
    for (const interceptor of this.interceptors) interceptor.closed()
  }

  private settle(row: LedgerRow, part: EnsemblePart): void {
    this.costUsd += row.costUsd
    this.usage = {
      input: this.usage.input + row.tokensIn,
      output: this.usage.output + row.tokensOut,
      cacheRead: this.usage.cacheRead + row.tokensCacheRead,
      cacheCreation: this.usage.cacheCreation + row.tokensCacheCreation,
      reasoning: this.usage.reasoning + row.tokensReasoning
    }
    const answered = row.outcome === "completed"
    part.estimate = answered && row.estimated ? { input: row.tokensIn, output: row.tokensOut, cacheRead: 0, cacheCreation: 0, reasoning: 0 } : null
    const alone = this.running <= 1 && row.final
    if (part.role === "last") this.publish(row)
    else if (this.ending) this.publish({ ...row, final: alone })
    else if (part.role === "step") this.publish({ ...row, final: row.final && !answered })
    else if (part.role === "turn") {
      if (answered) this.held = row
      else this.publish(row)
    } else if (part.role === "aside") this.publish({ ...row, final: false })
    else if (answered && ++this.answers === 1) this.held = row
    else {
      if (answered) this.release(false)
      const told = part.cut === null || answered ? row : { ...row, status: 504, errorCode: part.cut }
      this.publish({ ...told, final: alone && this.answers === 0 })
    }
  }

  private publish(row: LedgerRow): void {
    if (row.final) this.final = row
    this.told.ledger.settle(row)
    this.told.attemptSettled(row)
    for (const interceptor of this.interceptors) interceptor.attemptSettled(row)
  }

  /** ms; 0 = no limit. */
  private remaining(timeoutMs: number | null): number {
    const { total } = this.services.limits.timeouts
    const left = total === 0 ? null : Math.max(1, total - (this.services.now() - this.startedAt))
    if (timeoutMs === null) return left ?? 0
    return left === null ? timeoutMs : Math.min(left, timeoutMs)
  }
}
