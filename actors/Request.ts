/**
 * The request actor: admit -> plan -> attempts -> commit -> pump -> settle, one exchange, settled exactly once.
 *
 * Admission and planning happened in a synchronous prelude (`src/http`); this fiber owns the rest. It walks the plan inside ONE
 * attempt and deadline budget (PROMISES 4), holds each attempt in one `Effect.callback`, and leaves exactly one ledger row per
 * attempt however it ends: answered, failed, interrupted by the client, or cut by a shutdown (PROMISES 1).
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import { Attempt, type AttemptEnd } from "#actors/Attempt.ts"
import * as AttemptFailure from "#actors/attemptFailure.ts"
import type { Accounting } from "#actors/ports/Accounting.ts"
import type { Face, Usage } from "#actors/ports/Face.ts"
import type { Ledger } from "#actors/ports/Ledger.ts"
import type { Target } from "#actors/ports/Target.ts"
import type { RequestSummary, Telemetry } from "#actors/ports/Telemetry.ts"
import type { Timeouts, Upstream } from "#actors/ports/Upstream.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { AttemptStart, LedgerRow, Outcome } from "#schemas/records/LedgerRow.ts"

/** The client as the actor needs it; `src/server`'s Exchange has this shape. */
export interface Client {
  readonly start: (status: number, headers: ReadonlyArray<string>) => void
  readonly write: (chunk: Uint8Array) => boolean
  readonly onDrain: (listener: () => void) => void
  readonly end: (chunk?: Uint8Array | string) => void
  readonly respond: (status: number, headers: ReadonlyArray<string>, body: Uint8Array | string) => void
  readonly close: () => void
}

/** What the response headers say (inference document, "Response headers"). */
export interface ResponseFacts {
  readonly target: Target
  readonly latencyMs: number
  readonly fallbackAttempts: number
  /** Null for a stream, whose headers leave before its usage is known. */
  readonly settled: { readonly usage: Usage; readonly costUsd: number } | null
  readonly upstreamHeaders: ReadonlyArray<string>
}

/** One admitted request with its plan. */
export interface Inbound {
  readonly requestId: string
  readonly client: Client
  readonly face: Face
  readonly endpoint: string
  readonly requestedModel: string
  readonly stream: boolean
  readonly forwardUsage: boolean
  readonly key: ApiKey | null
  readonly sessionTag: string | null
  /** In the order of preference; never empty. */
  readonly targets: ReadonlyArray<Target>
  readonly bodyFor: (target: Target) => Uint8Array
  readonly headersFor: (target: Target) => ReadonlyArray<string>
  /** Text of the prompt for the tokenizer, when the upstream gave no usage. */
  readonly promptText: () => string
  /** Called at the commit point: the body will not be sent again, so a long prompt need not live as long as its stream. */
  readonly release: () => void
  readonly responseHeaders: (facts: ResponseFacts) => ReadonlyArray<string>
  readonly errorHeaders: (error: PublicError, fallbackAttempts: number) => ReadonlyArray<string>
}

export interface Limits {
  readonly timeouts: Timeouts
  /** Wire calls one request may cost. */
  readonly maxAttempts: number
  /** How long a stream is read on for its usage after the client left, under the policy drain-for-usage. */
  readonly drainForUsageMs: number
}

export interface Services {
  readonly ledger: Ledger["Service"]
  readonly upstream: Upstream["Service"]
  readonly accounting: Accounting["Service"]
  readonly telemetry: Telemetry["Service"]
  readonly limits: Limits
  readonly nodeId: string
  /** ms since the epoch. */
  readonly now: () => number
  readonly makeAttemptId: () => string
  /** Hears of a target's failure or success, to mark its connection. */
  readonly report: (target: Target, end: AttemptEnd) => void
  /** Hears of a defect; the one place where unexpected failures of requests end. */
  readonly defect: (requestId: string, cause: Cause.Cause<unknown>) => void
  /** Hears that a request is over. */
  readonly closed: (request: RequestActor) => void
}

const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

/** A request that is being served: what the front end and a shutdown may do to it. */
export class RequestActor {
  /** Place among the live requests. */
  rosterSlot = -1
  readonly inbound: Inbound
  private readonly services: Services
  private readonly startedAt: number
  private attempts = 0
  private currentTarget: Target
  private current: Attempt | null = null
  private start: AttemptStart | null = null
  private newest: LedgerRow | null = null
  private bytesOut = 0
  private answered = false
  private clientGone = false
  /** Error code of the rows of a client that has gone. */
  private goneCode: "client_closed_request" | "slow_reader_timeout" = "client_closed_request"
  private shuttingDown = false
  private drainTimer: ReturnType<typeof setTimeout> | null = null
  private fiber: Fiber.Fiber<void> | null = null

  constructor(services: Services, inbound: Inbound) {
    this.services = services
    this.inbound = inbound
    this.startedAt = services.now()
    this.currentTarget = inbound.targets[0] as Target
    services.telemetry.requestStarted(inbound.endpoint, inbound.stream)
  }

  /** The whole exchange as one effect; the caller forks it under the front end's scope and hands the fiber to `attach`. */
  readonly run: Effect.Effect<void> = Effect.onExit(Effect.suspend(() => this.tryTarget(0)), (exit) => Effect.sync(() => this.close(exit)))

  /** The target of the running or newest attempt. */
  get target(): Target {
    return this.currentTarget
  }

  attach(fiber: Fiber.Fiber<void>): void {
    this.fiber = fiber
  }

  /** Interrupts the fiber and waits for its end: the registry's last resort when its scope closes. */
  get interrupted(): Effect.Effect<void> {
    return this.fiber === null ? Effect.void : Fiber.interrupt(this.fiber)
  }

  /**
   * The client has gone, or was cut because it took nothing. The key's disconnect policy decides whether the upstream is cut
   * or read on (PROMISES 3).
   */
  clientLeft(wasSlow = false): void {
    this.clientGone = true
    if (wasSlow) this.goneCode = "slow_reader_timeout"
    const drains = this.inbound.key !== null && this.inbound.key.policy.disconnectPolicy !== "cancel"
    if (drains && this.current !== null && this.current.detach()) {
      this.drainTimer = setTimeout(() => this.fiber?.interruptUnsafe(), this.services.limits.drainForUsageMs)
      return
    }
    this.fiber?.interruptUnsafe()
  }

  /** Ends the exchange from our side: a format-correct error, a ledger row, a completed response. */
  shutDown(): void {
    this.shuttingDown = true
    this.current?.cut("policy", AttemptFailure.shuttingDown())
  }

  /** One target after another, until one answers, the failure is final or the budget is spent. */
  private tryTarget(index: number, repeated = false): Effect.Effect<void> {
    const target = this.inbound.targets[index] as Target
    return Effect.flatMap(this.attempt(target, index, repeated), (next) => next === null ? Effect.void : this.tryTarget(next, next === index))
  }

  /** Answers the index of the target to try next, or null. Everything about this attempt is settled before the fiber goes on. */
  private attempt(target: Target, index: number, repeated: boolean): Effect.Effect<number | null> {
    return Effect.callback<number | null>((resume) => {
      this.currentTarget = target
      this.attempts++
      const start = this.startOf(target)
      this.start = start
      const attempt = new Attempt({
        start,
        target,
        body: this.inbound.bodyFor(target),
        requestHeaders: this.inbound.headersFor(target),
        face: this.inbound.face,
        stream: this.inbound.stream,
        forwardUsage: this.inbound.forwardUsage,
        timeouts: this.timeouts(),
        now: this.services.now,
        client: this.inbound.client,
        commit: () => this.commit(attempt)
      }, (end) => {
        const next = this.nextTarget(end, index, repeated)
        this.current = null
        try {
          this.settle(end, next === null)
          if (next === null) this.answer(end)
          resume(Effect.succeed(next))
        } catch (defect) {
          // Thrown into the upstream's callback it would be lost, and the client would wait for ever.
          resume(Effect.die(defect))
        }
      })
      this.current = attempt
      attempt.run(this.services.ledger, this.services.upstream)
      return Effect.sync(() => {
        if (this.clientGone) attempt.cut("client-abort", null)
        else attempt.cut("policy", AttemptFailure.shuttingDown())
      })
    })
  }

  /**
   * The fallback rule: inside one attempt and deadline budget, before the commit point, while somebody waits (PROMISES 4). A
   * stream without content is asked for once more on the same connection (supplement 10.4).
   */
  private nextTarget(end: AttemptEnd, index: number, repeated: boolean): number | null {
    const { maxAttempts, timeouts } = this.services.limits
    const next = end.emptyStream && !repeated ? index : index + 1
    const may = end.retryable && !end.committed && !this.clientGone && !this.shuttingDown &&
      next < this.inbound.targets.length && this.attempts < maxAttempts &&
      (timeouts.total === 0 || this.services.now() - this.startedAt < timeouts.total)
    return may ? next : null
  }

  /** The deadline of the whole request is one for all its attempts. */
  private timeouts(): Timeouts {
    const { timeouts } = this.services.limits
    if (this.attempts === 1 || timeouts.total === 0) return timeouts
    return { ...timeouts, total: Math.max(1, timeouts.total - (this.services.now() - this.startedAt)) }
  }

  private startOf(target: Target): AttemptStart {
    const { inbound, services } = this
    return {
      attemptId: services.makeAttemptId(),
      requestId: inbound.requestId,
      attempt: this.attempts,
      startedAt: services.now(),
      nodeId: services.nodeId,
      endpoint: inbound.endpoint,
      requestedModel: inbound.requestedModel,
      provider: target.provider,
      model: target.model,
      connectionId: target.connection === null ? null : target.connection.id,
      apiKeyId: inbound.key === null ? null : inbound.key.id,
      apiKeyName: inbound.key === null ? null : inbound.key.name,
      combo: null,
      sessionTag: inbound.sessionTag,
      sourceFormat: inbound.face.name,
      targetFormat: target.wireFormat,
      stream: inbound.stream
    }
  }

  /** The commit point: from here on nothing is tried again. */
  private commit(attempt: Attempt): void {
    this.inbound.client.start(200, this.inbound.responseHeaders({
      target: this.currentTarget,
      latencyMs: this.services.now() - this.startedAt,
      fallbackAttempts: this.attempts - 1,
      settled: null,
      upstreamHeaders: attempt.responseHeaders
    }))
    this.answered = true
    this.inbound.release()
  }

  /** Makes an attempt's outcome, tokens and cost final: exactly once, whoever ended it. */
  private settle(end: AttemptEnd, final: boolean): void {
    const start = this.start
    if (start === null) return
    this.start = null
    const { currentTarget: target, services } = this
    const outcome: Outcome = this.clientGone ? "client-abort" : end.outcome
    const ranModel = end.usage !== null || end.committed || end.answer !== null
    const usage = end.usage ?? (ranModel ? this.estimate(end) : noUsage)
    const settledAt = services.now()
    this.bytesOut = end.bytesOut + (end.answer === null ? 0 : end.answer.length)
    const row: LedgerRow = {
      ...start,
      final,
      settledAt,
      outcome,
      upstreamStatus: end.upstreamStatus,
      status: outcome === "client-abort" ? 499 : end.error !== null && !end.committed ? end.error.status : 200,
      errorCode: outcome === "client-abort" ? this.goneCode : end.error === null ? null : end.error.code,
      phase: end.phase,
      tokensIn: usage.input,
      tokensOut: usage.output,
      tokensCacheRead: usage.cacheRead,
      tokensCacheCreation: usage.cacheCreation,
      tokensReasoning: usage.reasoning,
      estimated: ranModel && end.usage === null,
      costUsd: services.accounting.cost(target, usage),
      latencyMs: settledAt - start.startedAt,
      ttftMs: end.firstContentAt === null ? null : end.firstContentAt - start.startedAt
    }
    this.newest = row
    if (!end.opened) return
    services.ledger.settle(row)
    services.telemetry.attemptSettled(row)
    // Only the upstream's own classes speak about its health; a client that leaves never does.
    if (outcome !== "client-abort" && outcome !== "policy") services.report(target, end)
  }

  private estimate(end: AttemptEnd): Usage {
    const { accounting } = this.services
    return {
      ...noUsage,
      input: accounting.estimate(this.inbound.promptText()),
      output: accounting.estimate(end.outputText())
    }
  }

  /** Gives the client its answer, or the one error of the whole request. */
  private answer(end: AttemptEnd): void {
    if (this.clientGone || end.outcome === "client-abort") return
    const { client, face } = this.inbound
    const row = this.newest
    if (end.committed) {
      if (end.error === null || end.terminated) client.end()
      else client.end(face.errorFrames(end.error))
      return
    }
    if (end.error !== null) {
      client.respond(end.error.status, this.inbound.errorHeaders(end.error, this.attempts - 1), face.errorBody(end.error))
      this.answered = true
      return
    }
    client.respond(200, this.inbound.responseHeaders({
      target: this.currentTarget,
      latencyMs: this.services.now() - this.startedAt,
      fallbackAttempts: this.attempts - 1,
      settled: row === null ? null : {
        usage: { input: row.tokensIn, output: row.tokensOut, cacheRead: row.tokensCacheRead, cacheCreation: row.tokensCacheCreation, reasoning: row.tokensReasoning },
        costUsd: row.costUsd
      },
      upstreamHeaders: end.headers
    }), end.answer as Uint8Array)
    this.answered = true
  }

  /** The last word of the exchange, however the fiber ended. */
  private close(exit: Exit.Exit<void>): void {
    if (this.drainTimer !== null) clearTimeout(this.drainTimer)
    if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
      this.current?.cut("policy", AttemptFailure.internal())
      this.services.defect(this.inbound.requestId, exit.cause)
      if (this.answered) this.inbound.client.close()
      else {
        const error = AttemptFailure.internal()
        this.inbound.client.respond(error.status, this.inbound.errorHeaders(error, this.attempts - 1), this.inbound.face.errorBody(error))
      }
    }
    this.services.telemetry.requestSettled(this.summary())
    this.services.closed(this)
  }

  private summary(): RequestSummary {
    const { inbound, newest: row } = this
    const answered = row !== null && row.outcome === "completed"
    return {
      requestId: inbound.requestId,
      method: "POST",
      endpoint: inbound.endpoint,
      requestedModel: inbound.requestedModel,
      provider: answered ? row.provider : null,
      model: answered ? row.model : null,
      apiKeyId: inbound.key === null ? null : inbound.key.id,
      status: row === null ? 500 : row.status,
      outcome: row === null ? "policy" : row.outcome,
      errorCode: row === null ? "internal_server_error" : row.errorCode,
      stream: inbound.stream,
      attempts: this.attempts,
      cache: "off",
      startedAt: this.startedAt,
      latencyMs: this.services.now() - this.startedAt,
      ttftMs: row === null || row.ttftMs === null ? null : row.startedAt + row.ttftMs - this.startedAt,
      bytesOut: this.bytesOut
    }
  }
}
