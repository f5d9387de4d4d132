/** What one request is bound by, read from its plan, its key, the settings and the health of its targets. */
import type { AttemptEnd } from "#actors/request/steps/attemptValues.ts"
import * as AttemptFailure from "#actors/request/steps/attemptFailure.ts"
import * as SecondCall from "#actors/request/steps/secondCall.ts"
import { OwnFailures } from "./OwnFailures.ts"
import { secondsUntil } from "#actors/request/walk/Course.ts"
import type { Inbound, RecoveryOptions } from "./Inbound.ts"
import type { Unavailable } from "#actors/request/ports/Resilience.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Wish } from "#actors/request/ports/Turns.ts"
import { policyAt, type WalkPolicy } from "#actors/request/ports/WalkPolicy.ts"
import type { WalkRules } from "#actors/request/walk/RequestState.ts"
import type { Services } from "./services.ts"
import type { PublicError } from "#schemas/errors.ts"

/** Calls that may continue one answer. */
const maxContinuations = 2

export class LiveRules implements WalkRules {
  readonly startedAt: number
  readonly #inbound: Inbound
  readonly #services: Services
  /** Made with the first failure. */
  #ownFailures: OwnFailures | null = null
  /** Targets that are asked in another way than planned, by their place; null while there is none. */
  #moved: Array<Target | undefined> | null = null

  constructor(inbound: Inbound, services: Services, startedAt: number) {
    this.startedAt = startedAt
    this.#inbound = inbound
    this.#services = services
  }

  get deadline(): number {
    const { total } = this.#services.limits.timeouts
    return total === 0 ? Number.POSITIVE_INFINITY : this.startedAt + total
  }

  get size(): number {
    return this.#inbound.targets.length
  }

  get isCombo(): boolean {
    return this.#inbound.route.combo !== null
  }

  get lastResort(): boolean {
    return this.#inbound.route.lastResort
  }

  get policy(): WalkPolicy {
    return this.#inbound.route.policy
  }

  get maxAttempts(): number {
    return this.#services.limits.maxAttempts
  }

  get recovery(): RecoveryOptions {
    return this.#inbound.recovery
  }

  get maxContinuations(): number {
    return maxContinuations
  }

  get mayQueue(): boolean {
    return this.#services.turns !== undefined
  }

  get drains(): boolean {
    const { key } = this.#inbound
    return key !== null && key.policy.disconnectPolicy !== "cancel"
  }

  /** What this request's own failures began; null before the first one. */
  get ownFailures(): OwnFailures | null {
    return this.#ownFailures
  }

  /** The first failure makes it. */
  ownFailuresAfter(failure: PublicError | null): OwnFailures | null {
    return failure === null ? null : this.#ownFailures ??= new OwnFailures()
  }

  policyOf(index: number): WalkPolicy {
    return policyAt(this.policy, this.targetAt(index))
  }

  isSameModel(one: number, other: number): boolean {
    const a = this.targetAt(one)
    const b = this.targetAt(other)
    return a.provider === b.provider && a.model === b.model
  }

  sharesEgress(one: number, other: number): boolean {
    if (this.#services.guardsEgress?.() !== true) return false
    const a = this.targetAt(one)
    const b = this.targetAt(other)
    return a.proxy === null && b.proxy === null && a.provider === b.provider && a.origin === b.origin &&
      a.connection !== null && b.connection !== null && a.connection.id !== b.connection.id
  }

  blocked(index: number, at: number): Unavailable | null {
    return this.#services.resilience.check(this.targetAt(index), at, this.#ownFailures)
  }

  resting(index: number, at: number): Unavailable | null {
    return this.#services.resilience.check(this.targetAt(index), at)
  }

  mayWaitFor(index: number, unavailable: Unavailable, rounds: number): boolean {
    const { turns } = this.#services
    return turns !== undefined && turns.mayJoin(this.wishFor(index, unavailable, rounds))
  }

  wishFor(index: number, unavailable: Unavailable, rounds: number): Wish {
    const { key } = this.#inbound
    return {
      blocked: [{ target: this.targetAt(index), unavailable }], keyId: key === null ? null : key.id, combo: this.isCombo, since: this.startedAt,
      deadline: this.deadline, rounds
    }
  }

  errorOf(index: number, { reason, until }: Unavailable, now: number): PublicError {
    return AttemptFailure.unavailable(this.targetAt(index), reason, until === null ? 1 : secondsUntil(until, now))
  }

  targetAt(index: number): Target {
    return this.#moved?.[index] ?? this.#inbound.targets[index] as Target
  }

  /** From now on the target is asked in another way, where the refusal of its call says in which. */
  askAnew(index: number, { error, upstreamStatus }: Pick<AttemptEnd, "error" | "upstreamStatus">): void {
    const next = error === null ? null : SecondCall.targetAfter(this.targetAt(index), upstreamStatus, error)
    if (next === null) return
    this.#moved ??= []
    this.#moved[index] = next
  }
}
