/**
 * What one try holds: its wait, its place at the target, its start record and its wire call, each given back or settled exactly once.
 */
import { Attempt } from "./Attempt.ts"
import type { AttemptRow } from "#actors/request/steps/AttemptRow.ts"
import type { AttemptEnd, AttemptOptions, AttemptOwner } from "#actors/request/steps/attemptValues.ts"
import * as Interceptors from "#actors/request/steps/interceptors.ts"
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import type { Body } from "#actors/request/ports/Body.ts"
import type { OwnFailures } from "./OwnFailures.ts"
import type { Inbound } from "./Inbound.ts"
import type { LiveRules } from "./LiveRules.ts"
import type { Pass, Verdict } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Services } from "./services.ts"
import type * as RequestFacts from "./requestFacts.ts"
import { verdictOf } from "./verdict.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { LedgerRow, Outcome } from "#schemas/records/LedgerRow.ts"
import * as StatusReason from "#schemas/statusReason.ts"

const nothing: ReadonlyArray<string> = []

/** The request, as a try tells it of its call. */
export interface TryOwner {
  readonly rules: Pick<LiveRules, "startedAt">
  speaks(one: Try): void
  commits(one: Try): void
  ended(one: Try, end: AttemptEnd): void
}

export class Try implements AttemptOwner {
  /** As in the request's state. */
  readonly id: number
  /** Place among the targets. */
  readonly index: number
  readonly target: Target
  /** The one before it among those of its request that are still needed; a list would cost a request with one try 50 bytes. */
  before: Try | null
  /** ms since the epoch: of this try's turn, and of its place at the target. */
  readonly beganAt: number
  placedAt: number
  /** The place at the target while it is taken. */
  pass: Pass | null = null
  /** Ends its wait; no callback follows. */
  stopWaiting: (() => void) | null = null
  /** What the target's headers do not hold. */
  token: string | null = null
  /** Forgotten with its call. */
  body: Body | null = null
  /** Fields of the client's request that were left out for this target. */
  omitted = nothing
  /** How its call ended; null before. */
  end: AttemptEnd | null = null
  /** Its final row; null before it is settled. */
  row: LedgerRow | null = null
  private readonly owner: TryOwner
  private attempt: Attempt | null = null
  /** Null before it is called, and once it is settled. */
  private start: AttemptRow | null = null
  /** The client chose the account of the credential: its refusal belongs to the request. */
  private namesAccount = false
  /** Cuts a call that takes longer than its line allows. */
  private limit: ReturnType<typeof setTimeout> | null = null

  constructor(owner: TryOwner, id: number, index: number, target: Target, beganAt: number, before: Try | null) {
    this.owner = owner
    this.before = before
    this.id = id
    this.index = index
    this.target = target
    this.beganAt = beganAt
    this.placedAt = beganAt
  }

  /** That with the id, from the newest one on; null when it is not needed any more. */
  static find(newest: Try | null, id: number): Try | null {
    let one = newest
    while (one !== null && one.id !== id) one = one.before
    return one
  }

  /** The newest one when that with the id is not needed any more. */
  static without(newest: Try | null, id: number): Try | null {
    if (newest === null) return null
    if (newest.id === id) return newest.before
    newest.before = Try.without(newest.before, id)
    return newest
  }

  /** Its target has a place for it. */
  enter(pass: Pass, now: number): void {
    this.pass = pass
    this.placedAt = now
  }

  get requestedAt(): number {
    return this.owner.rules.startedAt
  }

  speaks(): void {
    this.owner.speaks(this)
  }

  commit(): void {
    this.owner.commits(this)
  }

  ended(end: AttemptEnd): void {
    this.owner.ended(this, end)
  }

  call(options: AttemptOptions, inbound: Inbound, services: Services): void {
    this.start = options.start
    this.namesAccount = inbound.namesAccount?.(this.target) === true
    const attempt = this.attempt = new Attempt(options, this)
    const executionMs = this.pass === null ? 0 : this.pass.executionMs ?? 0
    if (executionMs > 0) {
      this.limit = setTimeout(() => attempt.cut("gateway-timeout", AttemptFailure.executionTimeout(this.target, executionMs)), executionMs)
    }
    const watch = Interceptors.watchOf(inbound.interceptors)
    attempt.run(services.ledger, watch === null ? services.upstream : watch(options.start, this.target, services.upstream))
  }

  /** Upstream response headers, flat; empty before the head. */
  get responseHeaders(): ReadonlyArray<string> {
    return this.attempt === null ? nothing : this.attempt.headers
  }

  /** Model text of a stream so far. */
  get outputText(): string {
    return this.attempt?.tap?.outputText() ?? ""
  }

  cut(outcome: Outcome, error: PublicError | null): void {
    this.attempt?.cut(outcome, error)
  }

  /** False when there is nothing worth reading on. */
  detach(): boolean {
    return this.attempt !== null && this.attempt.detach()
  }

  /** It will not be called: it waits for nothing any more, and its place is free. */
  cancel(now: number): void {
    this.stopWaiting?.()
    this.releasePlace(now)
    this.body = null
  }

  /** Gives the place back when nothing was learned there. */
  releasePlace(now: number): void {
    this.pass?.release(null, now)
    this.pass = null
  }

  /** Tells the target's health of the attempt before the next step is chosen, so that the choice knows of it. */
  judge(end: AttemptEnd, clientGone: boolean, ownFailures: OwnFailures | null): Verdict | null {
    const { pass, start } = this
    this.pass = null
    if (this.limit !== null) clearTimeout(this.limit)
    const verdict = start === null || this.isOwnDoing(end) ? null : verdictOf(end, clientGone ? "client-abort" : end.outcome, start.startedAt)
    pass?.release(verdict, end.endedAt, ownFailures)
    return verdict
  }

  /**
   * Makes the outcome, tokens and cost final: exactly once, whatever ended the attempt; null when that was done before.
   * `at`: when, ms; `clientStatus`: the HTTP status that it gives the client, 0 = none.
   */
  settle(end: AttemptEnd, at: number, final: boolean, clientStatus: number, gone: RequestFacts.GoneCode | null, inbound: Inbound, services: Services): LedgerRow | null {
    const { start, target } = this
    if (start === null) return null
    this.start = null
    const row = start.settle(this, end, at, inbound, services.accounting, final, clientStatus, gone)
    const { outcome } = row
    if (!end.opened) return row
    services.ledger.settle(row)
    services.resilience.spent(target, row.tokensIn + row.tokensOut, at)
    services.telemetry.attemptSettled(row)
    for (const interceptor of inbound.interceptors) interceptor.attemptSettled(row)
    // Only the upstream's own error classes count for its health; a client that leaves never does.
    if (outcome !== "client-abort" && outcome !== "policy" && !this.isOwnDoing(end)) services.report(target, end)
    return row
  }

  /** The account that the client chose was refused: the stored credential may be well, and other clients need it. */
  private isOwnDoing(end: AttemptEnd): boolean {
    if (!this.namesAccount) return false
    const reason = StatusReason.of(end.upstreamStatus)
    return reason === "credential" || reason === "forbidden"
  }
}
