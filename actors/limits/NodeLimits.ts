/**
 * The limits of all keys on this node: which rules a key has, whether a request may begin, what it reserved and used, and the upkeep
 * that tells the other nodes. A key without limits costs one look into a weak map.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Semaphore from "effect/Semaphore"
import * as Supervisor from "#actors/Supervisor.ts"
import { amountOf, type LimitFailure, heldPermit, KeyLimits, type Permit } from "./KeyLimits.ts"
import type { Rate } from "./Rate.ts"
import type { RuleCounter } from "./RuleCounter.ts"
import { LimitInterceptor } from "./LimitInterceptor.ts"
import * as LimitSources from "./LimitSources.ts"
import * as Meter from "./Meter.ts"
import * as Notices from "./notices.ts"
import * as Refusals from "./refusals.ts"
import * as Rules from "./rules.ts"
import * as Steady from "./steady.ts"
import { spanAt } from "./window.ts"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { ShortWait, LimitLedger, type Used } from "#actors/limits/ports/LimitLedger.ts"
import { type LimitQuestion, Limits } from "#actors/limits/ports/Limits.ts"
import { LimitStore } from "#actors/limits/ports/LimitStore.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"

/** A session ends after this time without a request, ms. */
const sessionIdleMs = 300_000
/** A known session is marked again at most so often, ms. */
const sessionMarkMs = 60_000
/** How often spending is reported to the other nodes, ms. */
const upkeepMs = 250
/** How often what is booked is compared with the ledger, ms. */
const reconcileMs = 60_000
/** A key is forgotten after this time without a request, ms. */
const forgetMs = 3_600_000
/** A store that is away is said to be so at most so often, ms. */
const quietMs = 10_000

export const make = Effect.fnUntraced(function*(options: LimitSources.Options) {
  const accounting = yield* Accounting
  const clock = yield* Clock.Clock
  const ledger = yield* LimitLedger
  const lifecycle = yield* Lifecycle
  const store = yield* LimitStore
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const now = () => clock.currentTimeMillisUnsafe()

  let compiled = new WeakMap<ApiKey, KeyLimits | "none">()
  const keys = new Map<string, KeyLimits>()
  /** Open while there are such keys: no timer runs for a feature that is not in use. */
  const inUse = Latch.makeUnsafe(false)
  const sources = yield* LimitSources.make(options, () => {
    compiled = new WeakMap()
  })
  const { crossed, rateCrossed } = yield* Notices.make(now, fork)
  const steady = Steady.make(clock)
  // A block of this run is younger than the report that earlier runs are in the ledger, so that report never covers it.
  const first = Semaphore.makeUnsafe(1)
  let hasBegun = false
  const begun = Effect.suspend(() => hasBegun ? Effect.void : first.withPermits(1)(Effect.suspend(() => hasBegun ? Effect.void : ledger.settled.pipe(
    Effect.andThen(store.replayed),
    Effect.andThen(Effect.sync(() => {
      hasBegun = true
    }))
  ))))

  const world = { store, ledger, now, steady, nodeId: lifecycle.nodeId, begun, crossed }

  const of = (key: ApiKey): KeyLimits | null => {
    const known = compiled.get(key)
    if (known !== undefined) {
      if (known === "none") return null
      known.lastUsedAt = now()
      return known
    }
    const rules = Rules.of(key, sources.current())
    if (rules === null) {
      compiled.set(key, "none")
      return null
    }
    const standing = keys.get(key.id)
    const limits = standing ?? new KeyLimits(world, key.id, rules)
    if (standing !== undefined) standing.follow(rules)
    limits.lastUsedAt = now()
    keys.set(key.id, limits)
    inUse.openUnsafe()
    compiled.set(key, limits)
    return limits
  }

  let saidAt = 0
  const failed = (keyId: string, message: string): void => {
    const at = now()
    if (at - saidAt < quietMs) return
    saidAt = at
    fork(Effect.annotateLogs(Effect.logWarning("Limits could not be read from their store"), { apiKeyId: keyId, error: message }))
  }

  /** The amounts that hold everywhere: the longest refusal of those that are used up. */
  const usedUp = (limits: KeyLimits, ask: LimitQuestion): PublicError | null => {
    const at = now()
    let refusal: PublicError | null = null
    for (const { meter, rule } of limits.counters) {
      if (rule.within !== null || (ask.free && rule.kind === "usd") || Meter.used(meter) < meter.limit || meter.held === null) continue
      const error = Refusals.ofAmount(rule, "exhausted", Meter.used(meter), meter.end, at)
      if (refusal === null || (error.retryAfterSeconds ?? 0) > (refusal.retryAfterSeconds ?? 0)) refusal = error
    }
    return refusal
  }

  const session = (limits: KeyLimits, tag: string): Effect.Effect<PublicError | null, LimitFailure> => Effect.suspend(() => {
    const { maxSessions } = limits.rules
    const at = now()
    if ((limits.sessions.get(tag) ?? 0) > at) return Effect.succeed(null)
    return Effect.map(store.session(limits.id, tag, maxSessions, sessionIdleMs), (active) => {
      if (!active) return Refusals.ofSessions(maxSessions, sessionIdleMs)
      if (limits.sessions.size > 2 * maxSessions) for (const [known, until] of limits.sessions) if (until <= at) limits.sessions.delete(known)
      limits.sessions.set(tag, at + sessionMarkMs)
      return null
    })
  })

  const rates = Effect.fnUntraced(function*(limits: KeyLimits) {
    const taken: Array<readonly [Rate, Permit]> = []
    let waitMs = 0
    let worst: Rate | null = null
    for (const rate of limits.rates) {
      const at = now()
      const permit = rate.isRefused(at)
        ? { waitMs: Math.max(1, rate.freeAt - at), slot: null }
        : limits.takePermit(rate, at) ? heldPermit : yield* limits.askPermit(rate)
      if (permit.waitMs === 0) taken.push([rate, permit])
      else if (permit.waitMs > waitMs) {
        waitMs = permit.waitMs
        worst = rate
      }
    }
    if (worst === null) return null
    // Refused by one, the places in the others are for the next request.
    for (const [rate, permit] of taken) yield* limits.returnPermit(rate, permit)
    rateCrossed(limits.id, worst, waitMs)
    return Refusals.ofRate(worst.rule, waitMs)
  })

  const open = (limits: KeyLimits, ask: LimitQuestion): PublicError | null | Effect.Effect<PublicError | null> => {
    const at = now()
    let unknown: Array<readonly [RuleCounter, number]> | null = null
    for (const counter of limits.counters) {
      limits.roll(counter, at)
      if (counter.meter.held === null && counter.rule.within === null) (unknown ??= []).push([counter, 1])
    }
    const tag = limits.rules.maxSessions > 0 ? ask.session : null
    if (unknown === null && limits.rates.length === 0 && tag === null) return usedUp(limits, ask)
    return Effect.gen(function*() {
      if (unknown !== null) yield* Effect.provideService(limits.supply(unknown), ShortWait, true)
      return usedUp(limits, ask) ?? (tag === null ? null : yield* session(limits, tag)) ?? (yield* rates(limits))
    }).pipe(Effect.catch((failure: LimitFailure) => {
      failed(limits.id, failure.message)
      return Effect.succeed(Refusals.unavailable())
    }))
  }

  const status = Effect.fnUntraced(function*(apiKeyId: string, rules: ReadonlyArray<Rules.AmountRule>) {
    const at = yield* Clock.currentTimeMillis
    const standing = keys.get(apiKeyId)
    const spans = rules.map((rule) => spanAt(rule.window, at))
    const sums = new Map<number, ReadonlyArray<Used>>()
    for (const { start } of spans) if (!sums.has(start)) sums.set(start, yield* ledger.used(apiKeyId, start))
    return rules.map((rule, index) => {
      const span = spans[index] ?? spanAt(rule.window, at)
      const counter = standing?.counters.find((one) => one.rule.id === rule.id && one.meter.start === span.start)
      const used = amountOf(rule, sums.get(span.start) ?? [])
      return {
        rule, ...span, used: counter === undefined ? used : Math.max(used, Meter.used(counter.meter)), reserved: counter?.meter.reserved ?? 0,
        unsettled: counter?.unsettled.reduce((sum, { amount }) => sum + amount, 0) ?? 0
      }
    })
  })

  const each = (turn: (limits: KeyLimits) => Effect.Effect<void, LimitFailure>) => Effect.suspend(() => Effect.forEach(
    Array.from(keys.values()),
    (limits) => turn(limits).pipe(Effect.catch((failure: LimitFailure) => Effect.sync(() => failed(limits.id, failure.message)))),
    { concurrency: 16, discard: true }
  ))
  const forgotten = Effect.sync(() => {
    const at = now()
    for (const [id, limits] of keys) {
      if (at - limits.lastUsedAt > forgetMs && limits.counters.every(({ isCounted, meter, unsure }) => meter.reserved === 0 && (!store.shared || !(isCounted || unsure)))) keys.delete(id)
    }
    if (keys.size === 0) inUse.closeUnsafe()
  })
  const reconciled = Effect.andThen(each((limits) => limits.reconcile), forgotten)
  const whileInUse = (loop: "limit reconciliation" | "limit renewal", round: Effect.Effect<void>, everyMs: number) =>
    Supervisor.loop(loop, Effect.andThen(inUse.await, Effect.delay(round, everyMs)))
  yield* whileInUse("limit reconciliation", reconciled, reconcileMs)
  if (store.shared) {
    yield* whileInUse("limit renewal", each((limits) => limits.renew), upkeepMs)
    // Other nodes wait for the report that this node's earlier runs are in the ledger, whether their keys are used here or not.
    const begin: Effect.Effect<void> = Effect.andThen(Effect.ignore(begun), Effect.suspend(() => hasBegun ? Effect.void : Effect.delay(begin, upkeepMs)))
    yield* Supervisor.loop("limit handover", begin)
    // What this node holds goes back when it stops.
    yield* Effect.addFinalizer(() => each((limits) => limits.leave))
  }

  return Limits.of({
    of, open, status,
    reload: sources.reload,
    interceptor: (limits, ask) => new LimitInterceptor(limits, ask, { accounting, now, steady, failed }),
    rulesOf: (key) => Rules.of(key, sources.current())?.amounts ?? [],
    ruleOf: (limit) => Rules.ofTokenLimit(limit, sources),
    budgets: sources.budgets,
    tokenLimits: sources.tokenLimits
  })
})

export const layer = (options: LimitSources.Options) => Layer.effect(Limits, make(options))
