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
import * as Redacted from "effect/Redacted"
import { Attempt, type AttemptEnd } from "#actors/Attempt.ts"
import * as AttemptFailure from "#actors/attemptFailure.ts"
import type { Inbound, Limits } from "#actors/Inbound.ts"
import type { AttemptNote, SkipNote } from "#actors/Inbound.ts"
import { Outlet } from "#actors/Outlet.ts"
import type { Accounting } from "#actors/ports/Accounting.ts"
import type { Dialect, StreamTap, Usage } from "#actors/ports/Face.ts"
import type { Ledger } from "#actors/ports/Ledger.ts"
import type { Pass, Resilience, Unavailable } from "#actors/ports/Resilience.ts"
import type { Target } from "#actors/ports/Target.ts"
import type { Credentials } from "#actors/ports/Credentials.ts"
import * as TargetToken from "#actors/targetToken.ts"
import type { Telemetry } from "#actors/ports/Telemetry.ts"
import type { Timeouts, Upstream } from "#actors/ports/Upstream.ts"
import * as Facts from "#actors/requestFacts.ts"
import { verdictOf } from "#actors/verdict.ts"
import { type Step, Walk } from "#actors/Walk.ts"
import { PublicError } from "#schemas/errors.ts"
import type { AttemptStart, LedgerRow, Outcome } from "#schemas/records/LedgerRow.ts"

export type { Client, Inbound, Limits, Recovery, ResponseFacts } from "#actors/Inbound.ts"

export interface Services {
  readonly ledger: Ledger["Service"]
  readonly upstream: Upstream["Service"]
  readonly resilience: Pick<Resilience["Service"], "check" | "enter">
  readonly credentials: Pick<Credentials["Service"], "peek" | "token">
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

/** Calls that may go on with one answer. */
const maxContinuations = 2
/** How long STREAM_RECOVERY_ENABLED holds the first bytes, ms. */
const recoveryHoldMs = 250

const noHeaders: ReadonlyArray<string> = []
const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheCreation: 0, reasoning: 0 }

/** A request that is being served: what the front end and a shutdown may do to it. */
export class RequestActor {
  /** Place among the live requests. */
  rosterSlot = -1
  readonly inbound: Inbound
  /** Where a streamed answer goes; null for a whole one. */
  private readonly outlet: Outlet | null
  private readonly services: Services
  private readonly startedAt: number
  private attempts = 0
  private currentTarget: Target
  private current: Attempt | null = null
  private start: AttemptStart | null = null
  private newest: LedgerRow | null = null
  private bytesOut = 0
  private answered = false
  private siblingTried = false
  private walk: Walk | null = null
  private pass: Pass | null = null
  private readonly notes: Array<AttemptNote> = []
  private skips: Array<SkipNote> | null = null
  /** Seconds; the earliest time any upstream named. */
  private earliestRetry: number | null = null
  /** The tap of an answer that broke off and is being gone on with. */
  private broken: StreamTap | null = null
  private continuations = 0
  /** Why the newest target was passed over without a wire call. */
  private refusal: PublicError | null = null
  /** How the newest wire call failed. */
  private failure: PublicError | null = null
  private clientGone = false
  private goneCode: Facts.GoneCode = "client_closed_request"
  private shuttingDown = false
  private drainTimer: ReturnType<typeof setTimeout> | null = null
  private fiber: Fiber.Fiber<void> | null = null

  constructor(services: Services, inbound: Inbound) {
    this.services = services
    this.inbound = inbound
    this.startedAt = services.now()
    this.currentTarget = inbound.targets[0] as Target
    this.outlet = inbound.stream ? new Outlet(inbound.client, inbound.face, services.limits.pulse, inbound.progress, this.startedAt) : null
    services.telemetry.requestStarted(inbound.endpoint, inbound.stream)
  }

  /** The whole exchange as one effect; the caller forks it under the front end's scope and hands the fiber to `attach`. */
  readonly run: Effect.Effect<void> = Effect.onExit(Effect.suspend(() => this.tryTarget(0)), (exit) => Effect.sync(() => this.close(exit)))

  /** The target of the running or newest attempt. */
  get target(): Target {
    return this.currentTarget
  }

  /** Says something on a stream that is silent; called a few times a second. */
  beat(now: number): void {
    if (this.outlet === null || this.clientGone || this.shuttingDown) return
    this.outlet.beat(now, () => this.streamHeaders(noHeaders))
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
    return Effect.flatMap(this.attempt(target, index, repeated), (step) => {
      if (step === null) return Effect.void
      const next = Effect.suspend(() => this.tryTarget(step.index, step.index === index && step.delayMs === 0))
      return step.delayMs === 0 ? next : Effect.delay(next, step.delayMs)
    })
  }

  /** Answers the step to go on with, or null. Everything about this attempt is settled before the fiber goes on. */
  private attempt(target: Target, index: number, repeated: boolean): Effect.Effect<Step | null> {
    // The same connection at once after its stream broke off: the pause that followed from it is our own guess.
    const place = this.services.resilience.enter(target, this.services.now(), repeated || this.inbound.route.lastResort)
    if (!("release" in place)) {
      this.currentTarget = target
      return Effect.sync(() => this.skipped(place, index))
    }
    this.pass = place
    const { tokenFrom } = target
    if (tokenFrom === null || tokenFrom === undefined) return this.call(target, index, repeated, null)
    const { credentials } = this.services
    const held = credentials.peek(tokenFrom)
    if (held !== null) return this.call(target, index, repeated, held)
    this.currentTarget = target
    return Effect.matchEffect(credentials.token(tokenFrom), {
      onFailure: (failure) => Effect.sync(() => this.passOver(TargetToken.errorOf(failure, target), index)),
      onSuccess: ({ value }) => this.shuttingDown
        ? Effect.sync(() => this.passOver(AttemptFailure.shuttingDown(), index))
        : this.call(target, index, repeated, Redacted.value(value))
    })
  }

  /** One wire call; `token` is what the target's headers do not hold. */
  private call(target: Target, index: number, repeated: boolean, token: string | null): Effect.Effect<Step | null> {
    return Effect.callback<Step | null>((resume) => {
      this.currentTarget = target
      const { broken } = this
      const body = broken === null ? this.inbound.bodyFor(target) : this.inbound.continuationFor(target, broken.partialText ?? "")
      if (body instanceof PublicError) {
        resume(Effect.sync(() => this.passOver(body, index)))
        return
      }
      const dialect = this.inbound.dialectFor(target)
      this.attempts++
      const start = Facts.startOf(this.inbound, target, { attemptId: this.services.makeAttemptId(), attempt: this.attempts, startedAt: this.services.now(), nodeId: this.services.nodeId })
      this.start = start
      const attempt = new Attempt({
        start,
        target,
        body,
        requestHeaders: token === null ? this.inbound.headersFor(target) : TargetToken.withToken(this.inbound.headersFor(target), token),
        dialect,
        makeTap: () => this.makeTap(dialect),
        continues: broken !== null,
        stream: this.inbound.stream,
        forwardUsage: this.inbound.forwardUsage,
        timeouts: this.timeouts(),
        holdMs: this.inbound.recovery.holds ? recoveryHoldMs : 0,
        now: this.services.now,
        client: this.outlet ?? this.inbound.client,
        commit: () => this.commit(attempt)
      }, (end) => {
        this.current = null
        try {
          this.judge(end)
          const next = this.nextStep(end, index, repeated)
          this.settle(end, next === null, index)
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

  /** Tells the target's health of the attempt before the next step is chosen, so that the choice knows of it. */
  private judge(end: AttemptEnd): void {
    const { pass, start } = this
    this.pass = null
    const now = this.services.now()
    const verdict = start === null ? null : verdictOf(end, this.clientGone ? "client-abort" : end.outcome, start.startedAt, now)
    pass?.release(verdict, now)
    if (end.error !== null && end.error.retryAfterSeconds !== null) this.hint(end.error.retryAfterSeconds)
    // An error inside a stream says in its text when to come back.
    else if (verdict !== null && verdict.retryAfterMs !== null) this.hint(Math.max(1, Math.ceil(verdict.retryAfterMs / 1000)))
  }

  /** A target that cannot say the request costs no wire call: the next one may, and the client hears of it when none can. */
  private passOver(error: PublicError, index: number, last = error): Step | null {
    this.refusal = error
    this.letGo()
    const step = this.clientGone || this.shuttingDown ? null : this.freeStep(index, { status: 0, asked: false, tooLate: false })
    if (step === null && !this.clientGone) this.refuse(last)
    return step
  }

  /** A target that became unavailable since the plan was made: what was really tried has the last word (supplement 2.5). */
  private skipped(unavailable: Unavailable, index: number): Step | null {
    this.noteSkip(unavailable, index)
    const { reason, until } = unavailable
    const error = AttemptFailure.unavailable(this.currentTarget, reason, until === null ? 1 : Math.max(1, Math.ceil((until - this.services.now()) / 1000)))
    return this.passOver(error, index, this.failure ?? error)
  }

  private noteSkip(unavailable: Unavailable, index: number): void {
    (this.skips ??= []).push({ index, unavailable })
    if (unavailable.until !== null) this.hint(Math.max(1, Math.ceil((unavailable.until - this.services.now()) / 1000)))
  }

  private hint(seconds: number): void {
    if (this.earliestRetry === null || seconds < this.earliestRetry) this.earliestRetry = seconds
  }

  /** Gives the place at a target back when nothing was learned there. */
  private letGo(): void {
    this.pass?.release(null, this.services.now())
    this.pass = null
  }

  /** The next target of the plan that is free when its turn comes. */
  private freeStep(index: number, failed: Parameters<Walk["after"]>[1]): Step | null {
    const { route, targets } = this.inbound
    const walk = this.walk ??= new Walk(targets.length, route.policy)
    let step = walk.after(index, failed)
    while (step !== null) {
      const blocked = this.services.resilience.check(targets[step.index] as Target, this.services.now() + step.delayMs)
      if (blocked === null || (blocked.soft === true && route.lastResort)) return step
      this.noteSkip(blocked, step.index)
      step = walk.after(step.index, { status: 0, asked: false, tooLate: false })
    }
    return null
  }

  private refuse(failure: PublicError): void {
    const { client, face, route } = this.inbound
    const hinted = this.earliestRetry === null || (failure.retryAfterSeconds !== null && failure.retryAfterSeconds <= this.earliestRetry)
      ? failure
      : AttemptFailure.withRetryAfter(failure, this.earliestRetry)
    const error = route.terminal(hinted, this.notes, this.skips ?? [])
    // The head went ahead of a silent upstream: the error comes as a frame (supplement 10.1).
    if (this.outlet !== null && this.outlet.started) this.outlet.end(face.errorFrames(error))
    else client.respond(error.status, this.inbound.errorHeaders(error, Math.max(0, this.attempts - 1)), face.errorBody(error))
    this.answered = true
  }

  /**
   * The fallback rule: inside one attempt and deadline budget, before the commit point, while somebody waits (PROMISES 4). A
   * stream without content is asked for once more on the same connection (supplement 10.4).
   */
  private nextStep(end: AttemptEnd, index: number, repeated: boolean): Step | null {
    const { maxAttempts, timeouts } = this.services.limits
    if (this.mayContinue(end)) return { index, delayMs: 0 }
    // What one provider of a combo refuses, another may take (supplement 2.5).
    const refused = this.inbound.route.combo !== null && end.outcome === "upstream-status"
    const may = (end.retryable || refused) && !end.committed && !this.clientGone && !this.shuttingDown && this.attempts < maxAttempts
    if (!may) return null
    if (end.repeatable && !repeated) return { index, delayMs: 0 }
    if (end.repeatable) this.leaveSiblings(index)
    const status = end.upstreamStatus >= 200 && end.upstreamStatus < 300 && end.error !== null ? end.error.status : end.upstreamStatus
    const step = this.freeStep(index, { status, asked: true, tooLate: end.phase === "first-event" })
    const late = step !== null && timeouts.total > 0 && this.services.now() + step.delayMs - this.startedAt >= timeouts.total
    return late ? null : step
  }

  private makeTap(dialect: Dialect): StreamTap {
    const { forwardUsage, recovery } = this.inbound
    if (this.broken !== null) return dialect.continueTap(this.broken)
    return recovery.continues ? dialect.makeRecoverableTap({ forwardUsage }) : dialect.makeTap({ forwardUsage })
  }

  /** An answer that broke off in mid-stream is gone on with, a bounded number of times (supplement 10.5). */
  private mayContinue(end: AttemptEnd): boolean {
    const { recovery } = this.inbound
    if (!recovery.continues || !end.committed || end.outcome !== "upstream-reset" || this.clientGone || this.shuttingDown) return false
    const tap = end.tap ?? this.broken
    const text = tap === null ? null : tap.partialText ?? null
    if (tap === null || text === null || this.continuations >= maxContinuations || this.attempts >= this.services.limits.maxAttempts) return false
    if (recovery.stopsAtEmpty && this.broken !== null && text === this.broken.partialText) return false
    this.continuations++
    this.broken = tap
    return true
  }

  /**
   * A stream ended early twice on one connection: other connections of the same model are left out, but for one when the flag
   * asks for it (supplement 10.4, 10.5).
   */
  private leaveSiblings(index: number): void {
    const { recovery, route, targets } = this.inbound
    const failed = targets[index] as Target
    let spared = recovery.sibling && !this.siblingTried
    this.siblingTried = true
    const walk = this.walk ??= new Walk(targets.length, route.policy)
    walk.drop((other) => {
      const target = targets[other] as Target
      if (target.provider !== failed.provider || target.model !== failed.model) return false
      if (!spared) return true
      spared = false
      return false
    })
  }

  /** The deadline of the whole request is one for all its attempts. */
  private timeouts(): Timeouts {
    const { timeouts } = this.services.limits
    const { targetTimeoutMs } = this.inbound.route.policy
    if (targetTimeoutMs === null && (this.attempts === 1 || timeouts.total === 0)) return timeouts
    const least = (limit: number) => targetTimeoutMs === null ? limit : limit === 0 ? targetTimeoutMs : Math.min(limit, targetTimeoutMs)
    return {
      ...timeouts,
      headers: least(timeouts.headers),
      firstEvent: least(timeouts.firstEvent),
      total: timeouts.total === 0 ? 0 : Math.max(1, timeouts.total - (this.services.now() - this.startedAt))
    }
  }

  /** The commit point: from here on nothing is tried again. */
  private commit(attempt: Attempt): void {
    this.pass?.answered(this.services.now())
    this.outlet?.start(this.streamHeaders(attempt.responseHeaders))
    this.answered = true
    if (!this.inbound.recovery.continues) this.inbound.release()
  }

  private streamHeaders(upstreamHeaders: ReadonlyArray<string>): ReadonlyArray<string> {
    return this.inbound.responseHeaders({
      target: this.currentTarget,
      latencyMs: this.services.now() - this.startedAt,
      fallbackAttempts: Math.max(0, this.attempts - 1),
      strategy: this.inbound.route.strategy,
      settled: null,
      upstreamHeaders,
      omitted: this.inbound.omittedFor(this.currentTarget)
    })
  }

  /** Makes an attempt's outcome, tokens and cost final: exactly once, whoever ended it. */
  private settle(end: AttemptEnd, final: boolean, index: number): void {
    const start = this.start
    if (start === null) return
    this.start = null
    const { currentTarget: target, services } = this
    const outcome: Outcome = this.clientGone ? "client-abort" : end.outcome
    const usage = end.usage ?? (Facts.ranModel(end) ? this.estimate(end) : noUsage)
    this.bytesOut = end.bytesOut + (end.answer === null ? 0 : end.answer.length)
    const row = Facts.rowOf(start, end, {
      final, outcome, usage, settledAt: services.now(), goneCode: this.goneCode, costUsd: services.accounting.cost(target, usage)
    })
    this.newest = row
    this.failure = end.error
    this.notes.push({ index, status: end.upstreamStatus, code: row.errorCode, ms: row.latencyMs })
    if (outcome === "completed") this.inbound.route.succeeded(index)
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
      const out = this.outlet ?? client
      if (end.error === null || end.terminated) out.end()
      else {
        const tap = end.tap ?? this.broken
        out.end(tap === null ? face.errorFrames(end.error) : tap.fail(end.error))
      }
      return
    }
    if (end.error !== null) {
      this.refuse(end.error)
      return
    }
    client.respond(200, this.inbound.responseHeaders({
      target: this.currentTarget,
      latencyMs: this.services.now() - this.startedAt,
      fallbackAttempts: this.attempts - 1,
      strategy: this.inbound.route.strategy,
      settled: row === null ? null : {
        usage: { input: row.tokensIn, output: row.tokensOut, cacheRead: row.tokensCacheRead, cacheCreation: row.tokensCacheCreation, reasoning: row.tokensReasoning },
        costUsd: row.costUsd
      },
      upstreamHeaders: end.headers,
      omitted: this.inbound.omittedFor(this.currentTarget)
    }), end.answer as Uint8Array)
    this.answered = true
  }

  /** The last word of the exchange, however the fiber ended. */
  private close(exit: Exit.Exit<void>): void {
    if (this.drainTimer !== null) clearTimeout(this.drainTimer)
    this.letGo()
    if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
      this.current?.cut("policy", AttemptFailure.internal())
      this.services.defect(this.inbound.requestId, exit.cause)
      if (this.answered) this.inbound.client.close()
      else {
        this.refuse(AttemptFailure.internal())
      }
    }
    this.services.telemetry.requestSettled(Facts.summaryOf(this.inbound, this.newest, {
      refusal: this.refusal, attempts: this.attempts, startedAt: this.startedAt, now: this.services.now(), bytesOut: this.bytesOut,
      goneCode: this.clientGone ? this.goneCode : null
    }))
    const { finished } = this.inbound.route
    if (finished !== null) {
      const ok = this.clientGone ? null : this.newest !== null && this.newest.outcome === "completed"
      finished(ok, this.notes, this.skips ?? [], this.services.now() - this.startedAt)
    }
    this.services.closed(this)
  }
}
