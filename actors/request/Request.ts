/**
 * The request actor: admit -> plan -> attempts -> commit -> pump -> settle, one exchange, settled exactly once.
 *
 * Admission and planning happened in a synchronous prelude (`src/http`); this fiber owns the rest. It walks the plan inside ONE
 * attempt and deadline budget, holds each attempt in one `Effect.callback`, and leaves exactly one ledger row per
 * attempt however it ends: answered, failed, interrupted by the client, or cut by a shutdown. A hedged combo may have
 * two tries at once; the one that answers, or that ends as the only one left, decides what comes next.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Redacted from "effect/Redacted"
import type { AttemptEnd } from "./Attempt.ts"
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import * as Companions from "#actors/request/steps/companions.ts"
import { Course, secondsUntil } from "./Course.ts"
import { History } from "./History.ts"
import * as Hedging from "#actors/request/steps/hedging.ts"
import { type Next, parted } from "#actors/request/steps/hedging.ts"
import type { Inbound } from "./Inbound.ts"
import * as InLine from "#actors/request/steps/inLine.ts"
import type { Refusal } from "#actors/request/ports/Companion.ts"
import type { StreamTap } from "#actors/request/ports/Face.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Wish } from "#actors/request/ports/Turns.ts"
import { policyAt } from "#actors/request/ports/WalkPolicy.ts"
import { Reply } from "./Reply.ts"
import * as Facts from "./requestFacts.ts"
import * as Resumption from "./Resumption.ts"
import type { Services } from "./services.ts"
import * as TargetToken from "#actors/request/steps/targetToken.ts"
import { Try } from "./Try.ts"
import { notAsked, type Step } from "./Walk.ts"
import { PublicError } from "#schemas/errors.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"

export type { Services } from "./services.ts"
export type { Client, Inbound, Limits, Recovery, ResponseFacts } from "./Inbound.ts"

/** How long STREAM_RECOVERY_ENABLED holds the first bytes, ms. */
const recoveryHoldMs = 250

/** A request that is being served: what the front end and a shutdown may do to it. */
export class RequestActor {
  /** Place among the live requests. */
  rosterSlot = -1
  readonly inbound: Inbound
  private readonly reply: Reply
  private readonly history = new History()
  /** Null when an answer that breaks off is not gone on with. */
  private readonly resumption: Resumption.Resumption | null
  private readonly services: Services
  private readonly startedAt: number
  private attempts = 0
  /** The newest try, or the one that the client hears. */
  private currentTarget: Target
  /** The try that goes by the walk. */
  private lead: Try | null = null
  /** The one that joined it. */
  private second: Try | null = null
  /** What becomes of the request is settled; a try that ends later only leaves its row. */
  private decided = false
  private course: Course | null = null
  /** No other target may be asked. */
  private barred = false
  /** The target whose rest is waited for; -1 = none. */
  private restsAt = -1
  private rounds = 0
  private clientGone = false
  private goneCode: Facts.GoneCode = "client_closed_request"
  private shuttingDown = false
  private drainTimer: ReturnType<typeof setTimeout> | null = null
  private fiber: Fiber.Fiber<void> | null = null

  constructor(services: Services, inbound: Inbound) {
    this.services = services
    this.inbound = inbound
    this.startedAt = inbound.since ?? services.now()
    this.currentTarget = inbound.targets[0] as Target
    this.reply = new Reply(inbound, services.limits.pulse, this.startedAt, services.now, this.history)
    this.resumption = inbound.recovery.continues ? new Resumption.Resumption(inbound.recovery) : null
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
    if (!this.clientGone && !this.shuttingDown) this.reply.beat(now, this.currentTarget, this.attempts)
  }

  attach(fiber: Fiber.Fiber<void>): void {
    this.fiber = fiber
  }

  /** Interrupts the fiber and waits for its end: the registry's last resort when its scope closes. */
  get interrupted(): Effect.Effect<void> {
    return this.fiber === null ? Effect.void : Fiber.interrupt(this.fiber)
  }

  /**
   * The client disconnected, or was cut because it read too slowly. The key's disconnect policy decides whether the upstream
   * is cancelled or read to its end.
   */
  clientLeft(wasSlow = false): void {
    this.clientGone = true
    if (wasSlow) this.goneCode = "slow_reader_timeout"
    const drains = this.inbound.key !== null && this.inbound.key.policy.disconnectPolicy !== "cancel"
    if (drains && (this.lead?.detach() === true || this.second?.detach() === true)) {
      this.drainTimer = setTimeout(() => this.fiber?.interruptUnsafe(), this.services.limits.drainForUsageMs)
      return
    }
    this.fiber?.interruptUnsafe()
  }

  /** Ends the exchange from our side: a format-correct error, a ledger row, a completed response. */
  shutDown(): void {
    this.shuttingDown = true
    const { lead, second } = this
    lead?.cut("policy", AttemptFailure.shuttingDown())
    second?.cut("policy", AttemptFailure.shuttingDown())
  }

  /** One target after another, until one answers, the failure is final or the budget is spent. */
  private tryTarget(index: number, repeated = false, insists = false): Effect.Effect<void> {
    const one = this.lead = new Try(this.inbound.targets[index] as Target, index, repeated, insists)
    const { hedgeDelayMs } = policyAt(this.inbound.route.policy, one.target)
    const attempt = hedgeDelayMs === null || this.broken !== null
      ? this.attempt(one)
      : Hedging.race(this.losable(one), Effect.suspend(() => this.join()), hedgeDelayMs)
    return Effect.flatMap(attempt, (step) => {
      if (step === null || step === parted) return Effect.void
      const next = Effect.suspend(() => this.tryTarget(step.index, step.index === index && step.index !== this.restsAt && step.delayMs === 0, step.repeats))
      return step.delayMs === 0 ? next : Effect.delay(next, step.delayMs)
    })
  }

  /** The next free target, beside one that is silent: inside the attempt and deadline budget, at most two at once. */
  private join(): Effect.Effect<Next> {
    const step = this.mayJoin() ? this.courseNow().beside() : null
    if (step === null) return Effect.succeed(parted)
    const { index } = step
    const one = this.second = new Try(this.inbound.targets[index] as Target, index, false, step.repeats)
    // One that could not be called makes room for the next.
    return Effect.flatMap(this.losable(one), (next) => next === parted && !one.called && !one.lost ? this.join() : Effect.succeed(next))
  }

  private mayJoin(): boolean {
    const { lead } = this
    const { maxAttempts, timeouts } = this.services.limits
    if (lead === null || lead.speaks || this.decided || this.barred || this.clientGone || this.shuttingDown) return false
    // The call that the first one is still waiting to make is counted.
    return this.attempts + (lead.called ? 0 : 1) < maxAttempts && (timeouts.total === 0 || this.services.now() - this.startedAt < timeouts.total)
  }

  private losable(one: Try): Effect.Effect<Next> {
    return Hedging.losable(one, Effect.suspend(() => this.attempt(one)))
  }

  /** Answers the step to go on with, or null. Everything about this attempt is settled before the fiber goes on. */
  private attempt(one: Try): Effect.Effect<Next> {
    const { insists, repeated, target } = one
    // A repetition passes over the pause that followed from the failure: it is our own guess.
    const place = this.services.resilience.enter(target, this.services.now(), repeated || insists || this.inbound.route.lastResort, this.course?.blame)
    this.currentTarget = target
    if (!("release" in place)) return this.inLine(one, place)
    one.pass = place
    const { tokenFrom } = target
    if (tokenFrom === null || tokenFrom === undefined) return this.prepared(one, null)
    const { credentials } = this.services
    const held = credentials.peek(tokenFrom)
    if (held !== null) return this.prepared(one, held)
    return Effect.matchEffect(credentials.token(tokenFrom), {
      onFailure: (failure) => Effect.sync(() => this.passOver(one, TargetToken.errorOf(failure, target))),
      onSuccess: ({ value }) => this.stopped(one) ?? this.prepared(one, Redacted.value(value))
    })
  }

  /** A target without a free place is skipped; if it is the only target, the request waits for its turn. */
  private inLine(one: Try, unavailable: Unavailable): Effect.Effect<Next> {
    const { inbound, services: { turns } } = this
    if (turns === undefined || (inbound.targets.length > 1 && one.index !== this.restsAt)) return Effect.sync(() => this.skipped(one, unavailable))
    return Effect.flatMap(InLine.turnOf(turns, this.wishFor(one.target, unavailable, this.rounds++)), (turn) => this.stopped(one) ??
      (turn === "go" ? this.attempt(one) : Effect.sync(() => turn instanceof PublicError ? this.passOver(one, turn) : this.skipped(one, unavailable))))
  }

  private wishFor(target: Target, unavailable: Unavailable, rounds: number): Wish {
    const { inbound, services: { limits: { timeouts: { total } } }, startedAt } = this
    return { blocked: [{ target, unavailable }], combo: inbound.route.combo !== null, since: startedAt, deadline: total === 0 ? Number.POSITIVE_INFINITY : startedAt + total, rounds }
  }

  /** All connections rest because their upstream said so: asks the first one that is back, if the settings allow the wait. */
  private afterRest(): Step | null {
    const { inbound: { route, targets }, services: { now, resilience, turns } } = this
    if (turns === undefined || route.combo !== null) return null
    const first = InLine.firstBack(targets, resilience.check, now())
    if (first === null || !turns.mayJoin(this.wishFor(first.target, first.unavailable, this.rounds))) return null
    this.restsAt = first.index
    return { index: first.index, delayMs: 0, repeats: false }
  }

  /** While a try waited, the request may have come to its end. */
  private stopped(one: Try): Effect.Effect<Next> | null {
    if (one.lost) return Effect.succeed(parted)
    return this.shuttingDown ? Effect.sync(() => this.passOver(one, AttemptFailure.shuttingDown())) : null
  }

  /** A large body is made elsewhere, while others are served. */
  private prepared(one: Try, token: string | null): Effect.Effect<Next> {
    const { broken, inbound } = this
    const made = inbound.prepare === undefined ? null : inbound.prepare(one.target, broken === null ? null : broken.partialText ?? "")
    return made === null ? this.fenced(one, token) : Effect.flatMap(made, () => this.stopped(one) ?? this.fenced(one, token))
  }

  /** The key's and the companions' leave, immediately before the wire call. */
  private fenced(one: Try, token: string | null): Effect.Effect<Next> {
    const { companions, refusalOf } = this.inbound
    const refused = refusalOf(one.target)
    if (refused !== null) return Effect.sync(() => this.passOver(one, refused, this.history.failure ?? refused))
    if (companions.length === 0) return this.call(one, token)
    return Companions.leave(companions, one.target, (refusal) =>
      refusal !== null ? Effect.sync(() => this.turnedAway(one, refusal)) : this.stopped(one) ?? this.call(one, token))
  }

  private turnedAway(one: Try, { error, final, skip }: Refusal): Next {
    this.barred ||= final
    if (skip !== undefined) this.courseNow().skips.push({ index: one.index, unavailable: skip })
    // What was really tried has the last word.
    return this.passOver(one, error, final ? error : this.history.failure ?? error)
  }

  /** One wire call; `token` is what the target's headers do not hold. */
  private call(one: Try, token: string | null): Effect.Effect<Next> {
    return Effect.callback<Next>((resume) => {
      const { target } = one
      const { broken, inbound, services } = this
      const body = broken === null ? inbound.bodyFor(target) : inbound.continuationFor(target, broken.partialText ?? "")
      if (body instanceof PublicError) {
        resume(Effect.sync(() => this.passOver(one, body)))
        return
      }
      one.omitted = inbound.omittedFor(target)
      const dialect = inbound.dialectFor(target)
      const policy = policyAt(inbound.route.policy, target)
      this.attempts++
      one.call({
        start: Facts.startOf(inbound, target, { attemptId: services.makeAttemptId(), attempt: this.attempts, startedAt: services.now(), nodeId: services.nodeId }),
        target,
        body,
        query: inbound.queryFor?.(target) ?? "",
        namesAccount: inbound.namesAccount?.(target) === true,
        requestHeaders: token === null ? inbound.headersFor(target) : TargetToken.withToken(inbound.headersFor(target), token),
        dialect,
        makeTap: () => Resumption.tapOf(this.resumption, dialect, inbound.forwardUsage),
        check: broken === null ? policy.answers : null,
        continues: broken !== null,
        stream: inbound.stream,
        forwardUsage: inbound.forwardUsage,
        timeouts: Facts.timeoutsOf(services.limits.timeouts, policy, inbound.since === undefined ? this.attempts : this.attempts + 1, this.startedAt, services.now),
        holdMs: inbound.recovery.holds ? recoveryHoldMs : 0,
        now: services.now,
        client: this.reply.stream,
        commit: () => this.commit(one)
      }, services, (end) => {
        try {
          resume(Effect.succeed(this.ended(one, end)))
        } catch (defect) {
          // Thrown into the upstream's callback it would be lost, and the client would wait for ever.
          this.decided = true
          resume(Effect.die(defect))
        }
      })
      return Effect.sync(() => {
        if (this.clientGone) one.cut("client-abort", null)
        else one.cut("policy", this.decided ? AttemptFailure.internal() : AttemptFailure.shuttingDown())
      })
    })
  }

  /** A try is over: its target hears of it, then the next step is chosen, then its row is final. */
  private ended(one: Try, end: AttemptEnd): Next {
    const { index, target } = one
    const other = this.leave(one)
    const verdict = one.judge(end, this.clientGone, this.services.now(), end.error === null ? null : this.courseNow().blame)
    if (end.error !== null) this.courseNow().hear(one.index, end.error, verdict)
    if (one.lost || this.decided) {
      this.settle(one, end, false)
      return parted
    }
    if (other !== null && end.error !== null && !end.committed && !this.clientGone && !this.shuttingDown) {
      this.courseNow().note(index, this.courseNow().failed(index, end))
      this.settle(one, end, false)
      return parted
    }
    this.currentTarget = target
    const next = this.nextStep(end, one)
    if (next === null) {
      this.decided = true
      if (!this.clientGone) other?.lose(this.shuttingDown ? AttemptFailure.shuttingDown() : AttemptFailure.hedgeLost(other.target), this.services.now())
    }
    const row = this.settle(one, end, next === null)
    if (next === null) this.answer(one, end, row)
    return next
  }

  /** The try that still runs, now that `one` does not. */
  private leave(one: Try): Try | null {
    if (this.lead === one) this.lead = null
    else if (this.second === one) this.second = null
    return this.lead ?? this.second
  }

  /** A target that cannot say the request costs no wire call: the next one may, and the client hears of it when none can. */
  private passOver(one: Try, error: PublicError, last = error): Next {
    const other = this.leave(one)
    one.letGo(this.services.now())
    if (one.lost || this.decided) return parted
    this.history.refusal = error
    if (other !== null && !this.clientGone && !this.shuttingDown) return parted
    const step = this.clientGone || this.shuttingDown || this.barred ? null : this.courseNow().after(one.index, notAsked)
    if (step === null) {
      this.decided = true
      if (!this.clientGone) this.refuse(last)
    }
    return step
  }

  /** Skips a target that became unavailable after planning; the error of a target that was tried takes precedence. */
  private skipped(one: Try, unavailable: Unavailable): Next {
    this.courseNow().leaveOut(one.index, unavailable)
    const { reason, until } = unavailable
    const error = AttemptFailure.unavailable(one.target, reason, until === null ? 1 : secondsUntil(until, this.services.now()))
    return this.passOver(one, error, this.history.failure ?? error)
  }

  private get broken(): StreamTap | null {
    return this.resumption === null ? null : this.resumption.broken
  }

  private courseNow(): Course {
    if (this.course === null) {
      this.course = new Course(this.inbound, this.services.resilience.check, this.services.now)
      this.history.skips = this.course.skips
    }
    return this.course
  }

  private refuse(failure: PublicError): void {
    const hinted = this.course === null ? failure : this.course.hinted(failure)
    this.reply.refuse(this.inbound.route.terminal(hinted, this.history.notes, this.history.skips), this.attempts)
  }

  /**
   * The fallback rule: inside one attempt and deadline budget, before the commit point, while the client waits. A stream
   * that ended without content is repeated once on the same connection.
   */
  private nextStep(end: AttemptEnd, { index, repeated }: Try): Step | null {
    const { maxAttempts, timeouts } = this.services.limits
    this.restsAt = -1
    // Another provider of a combo may accept a request that this one refused.
    const refused = this.inbound.route.combo !== null && end.outcome === "upstream-status"
    if (this.clientGone || this.shuttingDown || this.barred || this.attempts >= maxAttempts) return null
    if (this.resumption !== null && this.resumption.take(end)) return { index, delayMs: 0, repeats: true }
    if (!(end.retryable || refused) || end.committed) return null
    if (end.repeatable && !repeated) return { index, delayMs: 0, repeats: true }
    if (end.repeatable) this.courseNow().leaveSiblings(index)
    const step = this.courseNow().after(index, this.courseNow().failed(index, end)) ?? this.afterRest()
    const late = step !== null && timeouts.total > 0 && this.services.now() + step.delayMs - this.startedAt >= timeouts.total
    return late ? null : step
  }

  /** The commit point: from here on nothing is tried again, and nobody else is needed. */
  private commit(one: Try): void {
    const now = this.services.now()
    one.pass?.answered(now)
    const other = this.leave(one)
    other?.lose(AttemptFailure.hedgeLost(other.target), now)
    this.lead = one
    this.second = null
    this.currentTarget = one.target
    this.reply.start(one, this.attempts)
    if (this.resumption === null) this.inbound.release()
  }

  /** Makes the outcome, tokens and cost of a try final: exactly once, whoever ended it. */
  private settle(one: Try, end: AttemptEnd, final: boolean): LedgerRow | null {
    const row = one.settle(end, final, final ? this.statusFor(end) : 0, this.clientGone ? this.goneCode : null, this.inbound, this.services)
    if (row === null) return null
    this.history.note(one.index, end, row)
    // What a try leaves that came too late to matter says nothing of the request.
    if (!final && (one.lost || this.decided)) return row
    this.history.count(end, row)
    if (row.outcome === "completed") this.inbound.route.succeeded(one.index)
    return row
  }

  /** The HTTP status that the client is given by the end of its last attempt; 0 = it had left before. */
  private statusFor(end: AttemptEnd): number {
    if (this.reply.headSent) return 200
    if (this.clientGone) return 0
    return end.error === null ? 200 : this.inbound.route.terminal(end.error, this.history.notes, this.history.skips).status
  }

  /** Gives the client its answer, or the one error of the whole request. */
  private answer(one: Try, end: AttemptEnd, row: LedgerRow | null): void {
    if (this.clientGone || end.outcome === "client-abort") return
    if (end.committed) this.reply.end(end, this.broken)
    else if (end.error !== null) this.refuse(end.error)
    else this.reply.give(one, end, row, this.attempts)
  }

  /** The last word of the exchange, however the fiber ended. */
  private close(exit: Exit.Exit<void>): void {
    if (this.drainTimer !== null) clearTimeout(this.drainTimer)
    const now = this.services.now()
    const { lead, second } = this
    lead?.letGo(now)
    second?.letGo(now)
    if (Exit.isFailure(exit) && !Cause.hasInterruptsOnly(exit.cause)) {
      this.decided = true
      lead?.cut("policy", AttemptFailure.internal())
      second?.cut("policy", AttemptFailure.internal())
      this.services.defect(this.inbound.requestId, exit.cause)
      if (this.reply.answered) this.inbound.client.close()
      else this.refuse(AttemptFailure.internal())
    }
    this.services.telemetry.requestSettled(this.history.summary(this.inbound, this.attempts, this.startedAt, now, this.reply.headSent, this.clientGone ? this.goneCode : null))
    const { finished } = this.inbound.route
    if (finished !== null) {
      finished(this.clientGone ? null : this.history.completed, this.history.notes, this.history.skips, now - this.startedAt)
    }
    for (const companion of this.inbound.companions) companion.closed()
    this.services.closed(this)
  }
}
