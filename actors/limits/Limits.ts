/**
 * The limits of all keys on this node: which rules a key has, whether a request may begin, what it reserved and used, and the upkeep
 * that tells the other nodes. A key without limits costs one look into a weak map.
 */
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as FiberSet from "effect/FiberSet"
import * as Latch from "effect/Latch"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Semaphore from "effect/Semaphore"
import * as Supervisor from "#actors/Supervisor.ts"
import { amountOf, type Counter, type Failure, heldPermit, KeyLimits, type Permit, type Rate } from "./KeyLimits.ts"
import { LimitCompanion } from "./LimitCompanion.ts"
import * as Meter from "./Meter.ts"
import * as Refusals from "./refusals.ts"
import * as Rules from "./rules.ts"
import * as Steady from "./steady.ts"
import { spanAt } from "./window.ts"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { Events } from "#actors/webhook/Events.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { Hasty, LimitLedger, type Used } from "#actors/limits/ports/LimitLedger.ts"
import { BudgetStore, TokenLimitStore } from "#actors/limits/ports/LimitRecords.ts"
import { type Ask, Limits } from "#actors/limits/ports/Limits.ts"
import { LimitStore } from "#actors/limits/ports/LimitStore.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { QuotaExceeded } from "#schemas/events.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Budget, TokenLimit } from "#schemas/records/Limits.ts"

/** A session is over when it made no request for so long, ms. */
const sessionIdleMs = 300_000
/** A known session is marked again at most so often, ms. */
const sessionMarkMs = 60_000
/** How often what was spent is told to the other nodes, ms. */
const upkeepMs = 250
/** How often what is booked is compared with the ledger, ms. */
const reconcileMs = 60_000
/** A key that made no request for so long is forgotten, ms. */
const forgetMs = 3_600_000
/** A store that is away is said to be so at most so often, ms. */
const quietMs = 10_000
/** Kind of the documents that remember which limits were told to be used up. */
const toldKind = "quota-told"

export interface Options {
  /** DEFAULT_RATE_LIMIT_PER_DAY: requests of keys without rate limits of their own; 0 = none. */
  readonly defaultPerDay: number
  /** The canonical id of a registered provider's id or alias; null for others. */
  readonly providerOf: (name: string) => string | null
}

export const make = Effect.fnUntraced(function*(options: Options) {
  const accounting = yield* Accounting
  const budgetStore = yield* BudgetStore
  const clock = yield* Clock.Clock
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const feed = yield* ChangeFeed
  const events = Option.getOrNull(yield* Effect.serviceOption(Events))
  const ledger = yield* LimitLedger
  const lifecycle = yield* Lifecycle
  const store = yield* LimitStore
  const tokenLimitStore = yield* TokenLimitStore
  const fork = yield* FiberSet.makeRuntime<never, void, never>()
  const now = () => clock.currentTimeMillisUnsafe()

  let budgets: ReadonlyMap<string, Budget> = new Map()
  let tokenLimits: ReadonlyArray<TokenLimit> = []
  let compiled = new WeakMap<ApiKey, KeyLimits | "none">()
  const keys = new Map<string, KeyLimits>()
  /** Open while there are such keys: no timer runs for a feature that nobody uses. */
  const inUse = Latch.makeUnsafe(false)
  let sources: Rules.Sources = { budgets, tokenLimits: new Map(), defaultPerDay: options.defaultPerDay, providerOf: () => null, nameOf: (provider) => provider }
  let sequence = 0

  const providerOf = (name: string): string | null =>
    options.providerOf(name) ?? configuration.current().nodeByPrefix.get(name)?.id ?? (configuration.current().nodeById.has(name) ? name : null)

  const nameOf = (provider: string): string => shownProvider(configuration.current(), provider)

  const reload = Effect.map(Effect.all([budgetStore.list, tokenLimitStore.list]), ([budgetRows, limitRows]) => {
    budgets = new Map(budgetRows.map((budget) => [budget.apiKeyId, budget]))
    tokenLimits = limitRows
    const byKey = new Map<string, Array<TokenLimit>>()
    for (const limit of limitRows) {
      const known = byKey.get(limit.apiKeyId)
      if (known === undefined) byKey.set(limit.apiKeyId, [limit])
      else known.push(limit)
    }
    sources = { budgets, tokenLimits: byKey, defaultPerDay: options.defaultPerDay, providerOf, nameOf }
    compiled = new WeakMap()
  })
  yield* reload
  yield* feed.hear(({ changes }) =>
    changes === null || changes.some(({ kind }) => kind === "budget" || kind === "token-limit") ? reload : Effect.void)
  // A scope may name a provider that came, went or has another prefix now.
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(() => {
    compiled = new WeakMap()
  })), (stop) => Effect.sync(stop))

  const publish = (data: QuotaExceeded["data"], start: number): void => {
    if (events === null || !events.wants("quota.exceeded")) return
    const at = now()
    const mine = `${lifecycle.nodeId}:${at}:${++sequence}`
    const name = `${data.api_key_id}:${data.quota}:${data.scope}:${data.limit}:${start}`
    // Once per key, limit and window, over nodes and restarts: the first to write it down is the one that tells.
    fork(documents.putIfAbsent(toldKind, name, mine).pipe(
      Effect.orElseSucceed(() => mine),
      Effect.map((standing) => {
        if (standing === mine) events.publish({ type: "quota.exceeded", at, data })
      })
    ))
  }

  const crossed = (keyId: string, { meter, rule }: Counter): void => {
    const used = Meter.used(meter)
    const shown = (amount: number) => rule.kind === "usd" ? amount / Rules.unitsPerUsd : amount
    publish({
      api_key_id: keyId, quota: rule.quota, scope: rule.scope, used: shown(used), limit: shown(rule.limit),
      pct: Math.round(used / rule.limit * 10_000) / 100, resets_at: new Date(meter.end).toISOString()
    }, meter.start)
  }

  const rateCrossed = (keyId: string, { rule }: Rate, waitMs: number): void => {
    const every = Math.max(rule.windowMs, 60_000)
    publish({
      api_key_id: keyId, quota: "rate_limit", scope: `${rule.windowMs / 1_000}s`, used: rule.limit, limit: rule.limit, pct: 100,
      resets_at: new Date(now() + waitMs).toISOString()
    }, Math.floor(now() / every) * every)
  }

  const steady = Steady.make(clock)
  // A block of this life is younger than the word that earlier lives are in the ledger, so that word never stands for this one.
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
    const rules = Rules.of(key, sources)
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
  const usedUp = (limits: KeyLimits, ask: Ask): PublicError | null => {
    const at = now()
    let refusal: PublicError | null = null
    for (const { meter, rule } of limits.counters) {
      if (rule.within !== null || (ask.free && rule.kind === "usd") || Meter.used(meter) < meter.limit || meter.held === null) continue
      const error = Refusals.ofAmount(rule, "exhausted", Meter.used(meter), meter.end, at)
      if (refusal === null || (error.retryAfterSeconds ?? 0) > (refusal.retryAfterSeconds ?? 0)) refusal = error
    }
    return refusal
  }

  const session = (limits: KeyLimits, tag: string): Effect.Effect<PublicError | null, Failure> => Effect.suspend(() => {
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
      const permit = rate.refusedUntil > at
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

  const open = (limits: KeyLimits, ask: Ask): PublicError | null | Effect.Effect<PublicError | null> => {
    const at = now()
    let unknown: Array<readonly [Counter, number]> | null = null
    for (const counter of limits.counters) {
      limits.roll(counter, at)
      if (counter.meter.held === null && counter.rule.within === null) (unknown ??= []).push([counter, 1])
    }
    const tag = limits.rules.maxSessions > 0 ? ask.session : null
    if (unknown === null && limits.rates.length === 0 && tag === null) return usedUp(limits, ask)
    return Effect.gen(function*() {
      if (unknown !== null) yield* Effect.provideService(limits.supply(unknown), Hasty, true)
      return usedUp(limits, ask) ?? (tag === null ? null : yield* session(limits, tag)) ?? (yield* rates(limits))
    }).pipe(Effect.catch((failure: Failure) => {
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

  const each = (turn: (limits: KeyLimits) => Effect.Effect<void, Failure>) => Effect.suspend(() => Effect.forEach(
    Array.from(keys.values()),
    (limits) => turn(limits).pipe(Effect.catch((failure: Failure) => Effect.sync(() => failed(limits.id, failure.message)))),
    { concurrency: 16, discard: true }
  ))
  const forgotten = Effect.sync(() => {
    const at = now()
    for (const [id, limits] of keys) {
      if (at - limits.lastUsedAt > forgetMs && limits.counters.every(({ isCounted, meter, unsure }) => meter.reserved === 0 && (!store.shared || !(isCounted || unsure)))) keys.delete(id)
    }
    if (keys.size === 0) inUse.closeUnsafe()
  })
  // The last windows' documents: a month and a bit is the longest window.
  const forgetTold = Effect.ignore(Effect.flatMap(documents.list(toldKind), (told) => Effect.forEach(told.keys(), (name) => {
    const start = Number(name.slice(name.lastIndexOf(":") + 1))
    return start + 40 * 86_400_000 < now() ? documents.remove(toldKind, name) : Effect.void
  }, { discard: true })))
  const reconciled = Effect.andThen(each((limits) => limits.reconcile), forgotten)
  const whileInUse = (loop: "limit reconciliation" | "limit renewal", round: Effect.Effect<void>, everyMs: number) =>
    Supervisor.loop(loop, Effect.andThen(inUse.await, Effect.delay(round, everyMs)))
  yield* whileInUse("limit reconciliation", reconciled, reconcileMs)
  yield* Supervisor.loop("limit notices", Effect.delay(forgetTold, Duration.hours(24)))
  if (store.shared) {
    yield* whileInUse("limit renewal", each((limits) => limits.renew), upkeepMs)
    // Other nodes wait for the word that this one's earlier lives are in the ledger, whether their keys are used here or not.
    const begin: Effect.Effect<void> = Effect.andThen(Effect.ignore(begun), Effect.suspend(() => hasBegun ? Effect.void : Effect.delay(begin, upkeepMs)))
    yield* Supervisor.loop("limit handover", begin)
    // What this node holds goes back when it stops.
    yield* Effect.addFinalizer(() => each((limits) => limits.leave))
  }

  return Limits.of({
    of, open, status,
    reload: Effect.tap(reload, () => Effect.sync(feed.announce)),
    companion: (limits, ask) => new LimitCompanion(limits, ask, { accounting, now, steady, failed }),
    rulesOf: (key) => Rules.of(key, sources)?.amounts ?? [],
    ruleOf: (limit) => Rules.ofTokenLimit(limit, { providerOf, nameOf }),
    budgets: () => budgets,
    tokenLimits: () => tokenLimits
  })
})

export const layer = (options: Options) => Layer.effect(Limits, make(options))
