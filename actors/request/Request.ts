/**
 * The request actor: one exchange from its plan to its last row, settled exactly once.
 *
 * Admission and planning happened in a synchronous prelude (`src/inference`). What comes next is decided by the pure
 * `transition.ts`; this actor runs its intents and reports their results to it. The fiber waits for the end of all; a wait of a
 * try (token, large body, interceptor, delay) is a fiber of its own that the actor ends, and the chunks of an answer travel by
 * plain callbacks.
 *
 * An intent may bring its event at once (a call that is cut ends while it is cut). That event is handled inside, on the state
 * that the transition has left.
 */
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import { History } from "./History.ts"
import type { Inbound } from "./Inbound.ts"
import { LiveRules } from "./LiveRules.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { TurnOutcome } from "#actors/request/ports/Turns.ts"
import { Reply } from "./Reply.ts"
import { RequestWaits, type Waiting } from "#actors/request/steps/RequestWaits.ts"
import * as RequestFacts from "./requestFacts.ts"
import * as RequestState from "#actors/request/walk/RequestState.ts"
import * as Resumption from "./Resumption.ts"
import type { Services } from "./services.ts"
import type { Soon } from "#actors/request/steps/andThen.ts"
import * as CallOptions from "#actors/request/steps/callOptions.ts"
import * as Readiness from "#actors/request/steps/readiness.ts"
import * as Transition from "#actors/request/walk/transition.ts"
import { Try, type TryOwner } from "./Try.ts"
import type { PublicError } from "#schemas/errors.ts"

const started: RequestState.RequestEvent = { _tag: "Started" }

/** A request that is being served: what the front end and a shutdown may do to it. */
export class RequestActor implements Waiting, TryOwner {
  /** Place among the live requests. */
  rosterSlot = -1
  readonly inbound: Inbound
  private readonly services: Services
  readonly rules: LiveRules
  private readonly reply: Reply
  private readonly history = new History()
  /** Null unless answers that break off are continued. */
  private readonly resumption: Resumption.Resumption | null
  private state = RequestState.fresh
  /** The newest of those that are still needed. */
  private newest: Try | null = null
  /** The newest try's, or that of the answer that the client receives. */
  private currentTarget: Target
  /** Events that are being handled, one inside the other. */
  private depth = 0
  /** When the newest event came, ms. What follows from it at once has its time, but a call: its body was made meanwhile. */
  private at = 0
  private goneCode: RequestFacts.GoneCode = "client_closed_request"
  /** Null while nothing was waited for. */
  private waiting: RequestWaits | null = null
  fiber: Fiber.Fiber<unknown, unknown> | null = null
  private resume: ((effect: Effect.Effect<void>) => void) | null = null
  /** What was thrown: no further intent is run, and the fiber fails with it. */
  private defect: Cause.Cause<never> | null = null

  constructor(services: Services, inbound: Inbound) {
    const startedAt = inbound.since ?? services.now()
    this.services = services
    this.inbound = inbound
    this.rules = new LiveRules(inbound, services, startedAt)
    this.currentTarget = inbound.targets[0] as Target
    this.reply = new Reply(inbound, services.limits.pulse, this.rules, this.history, services.now)
    this.resumption = inbound.recovery.continues ? new Resumption.Resumption() : null
    services.telemetry.requestStarted(inbound.endpoint, inbound.stream)
  }

  /** The whole exchange as one effect. A finalizer beside `close` would cost 0.3 kB; bound methods, because closures keep a scope beside them. */
  get run(): Effect.Effect<void> {
    return Effect.onExitPrimitive(Effect.callback<void>(this.begin.bind(this)), this.close.bind(this))
  }

  private begin(resume: (effect: Effect.Effect<void>) => void): void {
    this.fiber = Fiber.getCurrent() ?? null
    this.resume = resume
    this.hear(started)
  }

  /** The target of the running or newest attempt. */
  get target(): Target {
    return this.currentTarget
  }

  get attempts(): number {
    return this.state.attempts
  }

  get startedAt(): number { return this.rules.startedAt }

  get outputText(): string {
    for (let one = this.newest; one !== null; one = one.before) {
      const text = one.outputText
      if (text !== "") return text
    }
    return ""
  }

  /** Says something on a stream that is silent; called a few times a second. */
  beat(now: number): void {
    if (!this.state.clientGone && !this.state.shuttingDown) this.reply.beat(now, this.currentTarget, this.state.attempts)
  }

  /** Interrupts the fiber and waits for its end. */
  get interrupted(): Effect.Effect<void> {
    return this.fiber === null ? Effect.void : Fiber.interrupt(this.fiber)
  }

  /** The client disconnected, or was cut because it read too slowly. Its key's policy decides whether the upstream is cancelled or read on. */
  clientLeft(wasSlow = false): void {
    if (wasSlow) this.goneCode = "slow_reader_timeout"
    this.hear({ _tag: "ClientLeft" })
  }

  /** Ends the exchange from our side: a format-correct error, a ledger row, a completed response. */
  shutDown(): void {
    this.hear({ _tag: "ShutDown" })
  }

  // ---- events and intents -------------------------------------------------------------------------------------------------------

  /** What is thrown here ends the request: thrown into an upstream's callback it would be lost, and the client would wait for ever. */
  hear(event: RequestState.RequestEvent): void {
    try {
      this.handle(event, this.services.now())
    } catch (defect) {
      this.fail(Cause.die(defect))
    }
  }

  private handle(first: RequestState.RequestEvent, at: number): void {
    this.at = at
    this.depth++
    try {
      for (let event: RequestState.RequestEvent | null = first; event !== null && this.defect === null;) event = this.take(event)
    } catch (defect) {
      this.depth--
      throw defect
    }
    this.depth--
    this.rest()
  }

  /** One step; answers the event that its intents brought at once. */
  private take(event: RequestState.RequestEvent): RequestState.RequestEvent | null {
    const [state, intents] = Transition.step(this.state, event, this.at, this.rules)
    this.state = state
    if (state.course !== null) this.history.skips = state.course.skips
    let brought: RequestState.RequestEvent | null = null
    for (const intent of intents) {
      brought = this.perform(intent)
      if (this.defect !== null) return null
    }
    return brought
  }

  fail(cause: Cause.Cause<never>): void {
    this.defect = cause
    this.rest()
  }

  /** Once nothing is being handled, the fiber ends if the request has. */
  private rest(): void {
    if (this.depth > 0 || this.resume === null) return
    if (this.defect !== null) this.resume(Effect.failCause(this.defect))
    else if (RequestState.isDone(this.state)) this.resume(Effect.void)
  }

  /** Answers the event that it brought at once; only Prepare, the last intent of a step, brings one that way. */
  private perform(intent: RequestState.Intent): RequestState.RequestEvent | null {
    switch (intent._tag) {
      case "Prepare":
        return this.prepare(intent)
      case "Call":
        this.call(this.tryOf(intent.id), intent.attempt, intent.continues)
        return null
      case "Settle":
        this.settle(this.tryOf(intent.id), intent.as)
        return null
      case "Give":
        this.give(this.tryOf(intent.id))
        return null
      case "SendHead":
        this.sendHead(this.tryOf(intent.id))
        return null
      case "EndStream":
        this.reply.end(this.endOf(intent.id), this.resumption === null ? null : this.resumption.broken)
        return null
      case "Refuse":
        this.refuse(intent.error)
        return null
      case "KeepPartial":
        this.resumption?.keep(this.endOf(intent.id))
        return null
      case "Queue":
        return this.queue(this.tryOf(intent.id), intent)
      case "Cancel":
        Try.find(this.newest, intent.id)?.cancel(this.at)
        this.newest = Try.without(this.newest, intent.id)
        return null
      case "Cut":
        this.cut(intent.id, intent.reason)
        return null
      case "Drain":
        this.drain(this.tryOf(intent.id))
        return null
      case "Delay":
        if (this.state.delayed !== null) this.waits.delay(intent.ms)
        return null
      case "StopDelay":
        this.waits.stopDelay()
        return null
      case "ArmHedge":
        if (this.state.hedgeArmed) this.waits.armHedge(intent.ms)
        return null
      case "DisarmHedge":
        this.waits.disarmHedge()
        return null
      case "Abandon":
        this.abandon()
        return null
    }
  }

  private get waits(): RequestWaits {
    return this.waiting ??= new RequestWaits(this)
  }

  private tryOf(id: number): Try {
    return Try.find(this.newest, id) as Try
  }

  private endOf(id: number): AttemptEnd {
    return this.tryOf(id).end as AttemptEnd
  }

  // ---- one try ------------------------------------------------------------------------------------------------------------------

  private prepare({ id, index, passesGuesses }: Extract<RequestState.Intent, { readonly _tag: "Prepare" }>): RequestState.RequestEvent | null {
    // An intent that was run before this one may have ended the request.
    if (!RequestState.isWaiting(this.state, id)) return null
    const target = this.rules.targetAt(index)
    const now = this.at
    const one = Try.find(this.newest, id) ?? (this.newest = new Try(this, id, index, target, now, this.newest))
    this.currentTarget = target
    one.stopWaiting = null
    const place = this.services.resilience.enter(target, now, passesGuesses, this.rules.ownFailures)
    if (!("release" in place)) return { _tag: "Blocked", id, unavailable: place }
    one.enter(place, now)
    const ready: Soon<RequestState.RequestEvent> = Readiness.of(one, this.inbound, this.services.credentials, this.partialText)
    if (!Effect.isEffect(ready)) return ready
    one.stopWaiting = this.waits.until(ready)
    return null
  }

  /** Of the answer that the next call is to continue; null when it is to make one. */
  private get partialText(): string | null {
    return this.resumption === null || this.resumption.broken === null ? null : this.resumption.broken.partialText ?? ""
  }

  /** The place of a turn `go` is taken before the call-back returns. */
  private queue(one: Try, { id, rounds, unavailable }: Extract<RequestState.Intent, { readonly _tag: "Queue" }>): RequestState.RequestEvent | null {
    let isJoining = true
    let turn: TurnOutcome | null = null
    const joined = this.services.turns?.join(this.rules.wishFor(one.index, unavailable, rounds), (came) => {
      turn = came
      one.stopWaiting = null
      if (!isJoining) this.hear({ _tag: "TurnCame", id, turn })
    }) ?? null
    isJoining = false
    if (turn !== null || typeof joined !== "function") return { _tag: "TurnCame", id, turn: typeof joined === "function" ? turn : joined }
    one.stopWaiting = joined
    return null
  }

  private call(one: Try, attempt: number, continues: boolean): void {
    one.stopWaiting = null
    one.call(CallOptions.of(one, this.inbound, this.services, this.reply.stream, this.resumption, attempt, continues, this.services.now()), this.inbound, this.services)
  }

  speaks({ id }: Try): void {
    this.handle({ _tag: "Spoke", id }, this.services.now())
  }

  commits({ id }: Try): void {
    this.handle({ _tag: "Committed", id }, this.services.now())
  }

  /** The target's health is updated with a finished call before the next step is chosen. */
  ended(one: Try, end: AttemptEnd): void {
    try {
      one.end = end
      if (end.repeatable) this.rules.askAnew(one.index, end)
      const verdict = one.judge(end, this.state.clientGone, this.rules.ownFailuresAfter(end.error))
      const isBroken = end.committed && end.outcome === "upstream-reset"
      this.handle({
        _tag: "Ended", id: one.id, end,
        retryAfterMs: verdict === null ? null : verdict.retryAfterMs,
        partialText: isBroken && this.resumption !== null ? this.resumption.partialTextOf(end) : null
      }, end.endedAt)
    } catch (defect) {
      this.fail(Cause.die(defect))
    }
  }

  private cut(id: number, reason: RequestState.CutReason): void {
    const one = Try.find(this.newest, id)
    if (one !== null) one.cut(reason === "client-gone" ? "client-abort" : "policy", AttemptFailure.ofCut(reason, one.target))
  }

  private drain(one: Try): void {
    if (one.detach()) this.waits.drainFor(this.services.limits.drainForUsageMs)
    else one.cut("client-abort", null)
  }

  /** The commit point. */
  private sendHead(one: Try): void {
    one.pass?.answered(this.at)
    this.currentTarget = one.target
    this.reply.start(one, this.state.attempts, this.at)
    if (this.resumption === null) this.inbound.release()
  }

  // ---- what is left behind ------------------------------------------------------------------------------------------------------

  /** Makes the outcome, tokens and cost of a try final. */
  private settle(one: Try, as: "final" | "failed" | "late"): void {
    const end = one.end as AttemptEnd
    const isFinal = as === "final"
    if (isFinal) this.currentTarget = one.target
    else this.newest = Try.without(this.newest, one.id)
    const row = one.settle(end, this.at, isFinal, isFinal ? this.statusFor(end) : 0, this.state.clientGone ? this.goneCode : null, this.inbound, this.services)
    if (row === null) return
    one.row = row
    this.history.note(one.index, row)
    // The late result of a try that no longer matters does not affect the request.
    if (as === "late") return
    this.history.count(end, row)
    if (row.outcome === "completed") this.inbound.route.succeeded(one.index)
  }

  /** The HTTP status that the client is given by the end of its last attempt; 0 = it had left before. */
  private statusFor(end: AttemptEnd): number {
    if (this.reply.headSent) return 200
    if (this.state.clientGone) return 0
    return end.error === null ? 200 : this.inbound.route.terminal(end.error, this.history.notes, this.history.skips).status
  }

  private give(one: Try): void {
    this.reply.give(one, one.end as AttemptEnd, one.row, this.state.attempts, this.at)
  }

  private refuse(error: PublicError): void {
    this.reply.refuse(this.inbound.route.terminal(error, this.history.notes, this.history.skips), this.state.attempts)
  }

  /** After an exception: a client that received nothing gets an error, any other is cut off. */
  private abandon(): void {
    if (this.reply.answered) this.inbound.client.close()
    else this.refuse(AttemptFailure.internal())
  }

  /** Ends the exchange, however the fiber ended. */
  private close(exit: Exit.Exit<void>): undefined {
    const { inbound, services } = this
    this.resume = null
    this.waiting?.close()
    if (Exit.isFailure(exit)) this.end(exit.cause)
    const now = services.now()
    const { attempts, clientGone, refusal } = this.state
    const { startedAt } = this.rules
    const goneCode = clientGone ? this.goneCode : null
    services.telemetry.requestSettled(this.history.summary(inbound, refusal, attempts, startedAt, now, this.reply.headSent, goneCode))
    inbound.route.finished?.(clientGone ? null : this.history.completed, this.history, now - startedAt)
    for (const interceptor of inbound.interceptors) interceptor.closed()
    services.closed(this)
  }

  /** Ends what still runs when the fiber did not end by itself. */
  private end(cause: Cause.Cause<never>): void {
    const isDefect = !Cause.hasInterruptsOnly(cause)
    this.defect = null
    if (isDefect) this.services.defect(this.inbound.requestId, cause)
    this.handle({ _tag: isDefect ? "Defect" : "ShutDown" }, this.services.now())
    // The defect may have kept a call that is over from being settled.
    for (let one = this.newest; one !== null; one = one.before) if (one.end !== null && one.row === null) this.settle(one, "late")
  }
}
