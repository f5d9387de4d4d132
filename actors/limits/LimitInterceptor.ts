/** A request's reservations: taken before each wire call, settled with what the call really used, never twice for one attempt. */
import * as Effect from "effect/Effect"
import type { KeyLimits } from "#actors/limits/KeyLimits.ts"
import type { RuleCounter } from "#actors/limits/RuleCounter.ts"
import * as Meter from "#actors/limits/Meter.ts"
import * as Refusals from "#actors/limits/refusals.ts"
import { unitsPerUsd } from "#actors/limits/rules.ts"
import type { Accounting } from "#actors/request/ports/Accounting.ts"
import type { Interceptor, CallRefusal } from "#actors/request/ports/Interceptor.ts"
import { ShortWait } from "#actors/limits/ports/LimitLedger.ts"
import type { LimitQuestion } from "#actors/limits/ports/Limits.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as Units from "#schemas/records/Units.ts"

/** Answers up to this length are reserved for, unless the client or the model caps them lower, or the key's own answers were longer. */
const usualAnswerTokens = 4_096
/** How fast a long answer is forgotten. */
const fading = 0.98

export interface LimitServices {
  readonly accounting: Pick<Accounting["Service"], "cost">
  /** ms since the epoch. */
  readonly now: () => number
  /** ms by the clock of blocks. */
  readonly steady: () => number
  /** The store could not be asked; said in the log. */
  readonly failed: (keyId: string, message: string) => void
}

/** The answer that is reserved for: the client's cap, the model's, or twice the longest of late. */
const answerTokens = (cap: number | null, modelMax: number | null, largestLately: number): number =>
  Math.min(cap ?? Number.POSITIVE_INFINITY, modelMax ?? Number.POSITIVE_INFINITY, Math.max(usualAnswerTokens, 2 * largestLately))

/** What one wire call reserved. */
interface Held {
  readonly target: Target
  readonly parts: ReadonlyArray<{ readonly counter: RuleCounter; readonly reservation: Meter.Reservation }>
}

interface Need {
  readonly counter: RuleCounter
  readonly amount: number
}

export class LimitInterceptor implements Interceptor {
  private readonly limits: KeyLimits
  private readonly ask: LimitQuestion
  private readonly services: LimitServices
  /** One for each wire call that has leave and is not settled; several of an ensemble may run at once. */
  private calls: Array<Held> = []
  /** Attempts that were settled. */
  private readonly settled: Array<string> = []

  constructor(limits: KeyLimits, ask: LimitQuestion, services: LimitServices) {
    this.limits = limits
    this.ask = ask
    this.services = services
  }

  beforeAttempt(target: Target): CallRefusal | null | Effect.Effect<CallRefusal | null> {
    const { limits, services } = this
    if (this.ask.free && !this.isFree(target)) {
      const error = this.notFree(target)
      return { error, final: false, skip: { reason: "limit", until: null, detail: `limit: ${error.message}` } }
    }
    const needs = this.needsOf(target)
    const now = services.now()
    for (const { counter } of needs) limits.roll(counter, now)
    const steady = services.steady()
    const lacking = needs.filter(({ amount, counter }) => limits.lacks(counter, amount, steady))
    if (lacking.length === 0) return this.reserve(target, needs)
    return Effect.match(Effect.provideService(limits.supply(lacking.map(({ amount, counter }) => [counter, amount] as const)), ShortWait, true), {
      onFailure: (failure) => {
        services.failed(limits.id, failure.message)
        return this.reserve(target, needs, true)
      },
      onSuccess: () => this.reserve(target, needs)
    })
  }

  attemptSettled(row: LedgerRow): void {
    if (this.settled.includes(row.attemptId)) return
    this.settled.push(row.attemptId)
    const { limits } = this
    limits.largestAnswer = Math.max(row.tokensOut, limits.largestAnswer * fading)
    const at = this.calls.findIndex(({ target }) =>
      target.provider === row.provider && target.model === row.model && (target.connection?.id ?? null) === row.connectionId)
    const [call] = at < 0 ? [] : this.calls.splice(at, 1)
    for (const { counter, reservation } of call?.parts ?? []) {
      const actual = counter.rule.kind === "tokens" ? row.tokensIn + row.tokensOut : row.costUsd * unitsPerUsd
      limits.apply(counter, { _tag: "Settle", reservation, actual })
    }
  }

  unused(target: Target): void {
    const at = this.calls.findLastIndex((call) => call.target === target)
    for (const { parts } of at < 0 ? [] : this.calls.splice(at, 1)) this.giveBack(parts)
  }

  closed(): void {
    const { calls } = this
    this.calls = []
    for (const { parts } of calls) this.giveBack(parts)
  }

  /** For a call that was not made after all. */
  private giveBack(parts: Held["parts"]): void {
    for (const { counter, reservation } of parts) this.limits.apply(counter, { _tag: "Release", reservation })
  }

  private needsOf(target: Target): ReadonlyArray<Need> {
    const output = answerTokens(this.ask.maxOutputTokens, target.maxOutputTokens, this.limits.largestAnswer)
    const input = this.ask.promptTokens
    const needs: Array<Need> = []
    let usd = -1
    for (const counter of this.limits.counters) {
      const { rule } = counter
      if (rule.within !== null && !rule.within(target)) continue
      if (rule.kind === "usd") {
        if (this.ask.free) continue
        if (usd < 0) usd = Math.ceil(this.costOf(target, input, output) * unitsPerUsd)
      }
      needs.push({ counter, amount: Math.max(1, rule.kind === "usd" ? usd : input + output) })
    }
    return needs
  }

  /**
   * All or nothing; the client gets the refusal that lasts longest. `storeDown`: the store could not be asked for the missing
   * amount.
   */
  private reserve(target: Target, needs: ReadonlyArray<Need>, storeDown = false): CallRefusal | null {
    const { limits, services } = this
    const now = services.now()
    let worst: PublicError | null = null
    let until = now
    let final = false
    const parts: Array<Held["parts"][number]> = []
    for (const { amount, counter } of needs) {
      limits.roll(counter, now)
      const reply = limits.apply(counter, { _tag: "Reserve", amount })
      if (reply._tag === "Reserved") {
        counter.lastUsedAt = services.steady()
        counter.typical = Math.max(amount, Math.floor(counter.typical * fading))
        parts.push({ counter, reservation: reply.reservation })
      } else if (reply._tag === "Refused") {
        const { meter, rule } = counter
        const error = reply.reason === "unknown" || (storeDown && reply.reason === "short") ? Refusals.unavailable() : Refusals.ofAmount(rule, reply.reason, Meter.used(meter), meter.end, now)
        if (worst === null || (error.retryAfterSeconds ?? 0) > (worst.retryAfterSeconds ?? 0)) {
          worst = error
          until = reply.reason === "exhausted" ? meter.end : now + 1_000 * (error.retryAfterSeconds ?? 1)
        }
        // Another target may be cheaper, unless nothing is left for any target.
        final ||= rule.within === null && (reply.reason !== "short" || rule.kind === "tokens")
      }
    }
    if (worst === null) {
      this.calls.push({ target, parts })
      return null
    }
    this.giveBack(parts)
    return { error: worst, final, skip: { reason: "limit", until, detail: `limit: ${worst.message}` } }
  }

  private isFree(target: Target): boolean {
    return this.costOf(target, 1_000, 1_000) === 0
  }

  private costOf(target: Target, input: number, output: number): number {
    const usage = { input, output, cacheRead: 0, cacheCreation: 0, reasoning: 0 }
    return this.services.accounting.cost(target, usage, Units.withRequest(this.ask.units, target.price))
  }

  private notFree(target: Target): PublicError {
    return Errors.make("budget_exceeded", `The budget of this API key is used up, and '${target.publicModel}' is not free.`, { retryAfterSeconds: 1 })
  }
}
