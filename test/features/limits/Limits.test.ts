/** The limits actor without HTTP: events once per window, windows that end, settles that come twice, keys without limits. */
import { assert, describe, it } from "@effect/vitest"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as TestClock from "effect/testing/TestClock"
import * as NodeLimits from "#actors/limits/NodeLimits.ts"
import { Accounting } from "#actors/request/ports/Accounting.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Events } from "#actors/webhook/Events.ts"
import { LimitLedger, type Used } from "#actors/limits/ports/LimitLedger.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { BudgetStore, TokenLimitStore } from "#actors/limits/ports/LimitRecords.ts"
import { LimitStore } from "#actors/limits/ports/LimitStore.ts"
import { type LimitQuestion, Limits } from "#actors/limits/ports/Limits.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { PublicError } from "#schemas/errors.ts"
import type { GatewayEvent } from "#schemas/events.ts"
import { type ApiKey, type ApiKeyPolicy, defaultPolicy } from "#schemas/records/ApiKey.ts"
import type { LedgerRow } from "#schemas/records/LedgerRow.ts"
import * as AloneFeed from "#src/platform/cluster/AloneFeed.ts"
import * as LocalRecordLocks from "#src/platform/cluster/LocalRecordLocks.ts"
import * as StoredConfiguration from "#src/platform/configuration/StoredConfiguration.ts"
import * as MemoryLimitStore from "#src/features/limits/MemoryLimitStore.ts"
import { target as targetOf } from "#test/features/resilience/support.ts"
import { connection, ledgerRow } from "#test/suites/records.ts"
import * as MemoryStores from "#test/support/memoryStores.ts"

const hour = 3_600_000
const target = targetOf(connection(), { model: "m" })
const ask: LimitQuestion = { session: null, promptTokens: 10, maxOutputTokens: 10, units: null, free: false }

const keyWith = (policy: Partial<ApiKeyPolicy>): ApiKey => ({
  id: "k", name: "k", keyHash: "", keyPrefix: "", keySuffix: "", sealedKey: null, machineId: "", issuerId: null, createdAt: "", updatedAt: "",
  lastUsedAt: null, revokedAt: null, policy: { ...defaultPolicy, ...policy }
})

const row = (attemptId: string, tokens: number, costUsd = 0): LedgerRow =>
  ledgerRow({ attemptId, provider: target.provider, model: target.model, connectionId: target.connection?.id ?? null, tokensIn: tokens, tokensOut: 0, costUsd })

const worldOver = Effect.fnUntraced(function*(store: LimitStore["Service"] | null) {
  const events: Array<GatewayEvent> = []
  const ledger = { used: [] as ReadonlyArray<Used>, down: false }
  const doubles = Layer.mergeAll(
    Layer.succeed(Events, { wants: () => true, publish: (event) => void events.push(event) }),
    Layer.succeed(Accounting, { cost: (_target, usage) => usage.output / 1_000, estimate: () => 0 }),
    Layer.succeed(LimitLedger, {
      journal: () => undefined,
      used: () => Effect.suspend(() => ledger.down
        ? Effect.fail(new StoreError({ store: "s", operation: "o", reason: "unavailable", message: "gone" }))
        : Effect.succeed(ledger.used)),
      settled: Effect.suspend(() => ledger.down ? Effect.fail(new StoreError({ store: "s", operation: "o", reason: "unavailable", message: "gone" })) : Effect.void),
      requests: () => Effect.succeed([])
    }),
    Layer.succeed(Lifecycle, {
      version: "1", startedAt: 0, nodeId: "n", ready: () => true, draining: () => false, migrated: () => true, requestShutdown: () => {}
    }),
    store === null ? MemoryLimitStore.layer("n") : Layer.succeed(LimitStore, store), AloneFeed.layerFeed, LocalRecordLocks.layer, MemoryStores.layer
  )
  const context = yield* Layer.build(NodeLimits.layer({ defaultPerDay: 0, providerOf: () => null }).pipe(
    Layer.provideMerge(StoredConfiguration.layer({ simulatorUrl: null, simulatorMode: "never" })),
    Layer.provideMerge(doubles)
  ))
  const limits = Context.get(context, Limits)
  /** Begins a request and asks for its first call; answers how it was refused, or how to go on. */
  const begin = (key: ApiKey) => Effect.gen(function*() {
    const own = limits.of(key)
    if (own === null) return null
    const opened = limits.open(own, ask)
    const refusal = Effect.isEffect(opened) ? yield* opened : opened
    if (refusal !== null) return refusal
    const interceptor = limits.interceptor(own, ask)
    const leave = interceptor.beforeAttempt(target)
    const refused = Effect.isEffect(leave) ? yield* leave : leave
    return refused === null ? interceptor : refused.error
  })
  const use = (key: ApiKey, id: string, tokens: number, costUsd = 0) => Effect.gen(function*() {
    const interceptor = yield* begin(key)
    if (interceptor === null || interceptor instanceof PublicError) return interceptor
    interceptor.attemptSettled(row(id, tokens, costUsd))
    interceptor.closed()
    return interceptor
  })
  return { limits, events, ledger, begin, use, context, budgets: Context.get(context, BudgetStore), tokenLimits: Context.get(context, TokenLimitStore), configuration: Context.get(context, Configuration) }
})

const world = worldOver(null)
const daily = keyWith({ usageLimitEnabled: true, dailyUsageLimitUsd: 1 })

describe("limits of keys", () => {
  it.effect("a key without limits has none", () => Effect.scoped(Effect.gen(function*() {
    const { limits } = yield* world
    assert.isNull(limits.of(keyWith({})))
    assert.isNull(limits.of(keyWith({ usageLimitEnabled: false, dailyUsageLimitUsd: 1 })))
    assert.isNotNull(limits.of(daily))
  })))

  it.effect("quota.exceeded is told once per limit and window, and again in the next", () => Effect.scoped(Effect.gen(function*() {
    const { events, use } = yield* world
    for (const [index, cost] of [0.5, 0.6, 0.1].entries()) yield* use(daily, `a-${index}`, 1, cost)
    yield* TestClock.adjust(1)
    assert.deepStrictEqual(events.map(({ type }) => type), ["quota.exceeded"])
    assert.deepStrictEqual(events[0]?.data, {
      api_key_id: "k", quota: "daily_usd", scope: "daily", used: 1.1, limit: 1, pct: 110, resets_at: "1970-01-01T03:00:00.000Z"
    })
    yield* TestClock.adjust(3 * hour)
    yield* use(daily, "b", 1, 2)
    yield* TestClock.adjust(1)
    assert.lengthOf(events, 2)
  })))

  it.effect("a window that ended is empty, and the refusal before it names its end", () => Effect.scoped(Effect.gen(function*() {
    const { use } = yield* world
    yield* use(daily, "a", 1, 5)
    const refusal = yield* use(daily, "b", 1)
    assert.isTrue(refusal instanceof PublicError && refusal.code === "budget_exceeded" && refusal.retryAfterSeconds === 3 * 3_600)
    yield* TestClock.adjust(3 * hour - 1)
    assert.isTrue((yield* use(daily, "c", 1)) instanceof PublicError)
    yield* TestClock.adjust(1)
    assert.isFalse((yield* use(daily, "d", 1)) instanceof PublicError)
  })))

  it.effect("an attempt that is settled twice counts once, and what was not called is given back", () => Effect.scoped(Effect.gen(function*() {
    const { begin, limits } = yield* world
    const interceptor = yield* begin(daily)
    assert.isTrue(interceptor !== null && !(interceptor instanceof PublicError))
    if (interceptor === null || interceptor instanceof PublicError) return
    const status = () => Effect.map(limits.status("k", limits.rulesOf(daily)), ([one]) => [one?.used, one?.reserved])
    assert.deepStrictEqual(yield* status(), [0, 0.01 * 1e10])
    interceptor.attemptSettled(row("a", 1, 0.25))
    interceptor.attemptSettled(row("a", 1, 0.25))
    assert.deepStrictEqual(yield* status(), [0.25 * 1e10, 0])
    const leave = interceptor.beforeAttempt(target)
    assert.isNull(leave)
    interceptor.closed()
    interceptor.closed()
    assert.deepStrictEqual(yield* status(), [0.25 * 1e10, 0])
  })))

  it.effect("of two calls to one target at once each keeps its own reservation, whoever is settled twice", () => Effect.scoped(Effect.gen(function*() {
    const { begin, limits } = yield* world
    const interceptor = yield* begin(daily)
    if (interceptor === null || interceptor instanceof PublicError) return assert.fail("the request was refused")
    assert.isNull(interceptor.beforeAttempt(target))
    interceptor.attemptSettled(row("a", 1, 0.25))
    interceptor.attemptSettled(row("a", 1, 0.25))
    const [one] = yield* limits.status("k", limits.rulesOf(daily))
    assert.deepStrictEqual([one?.used, one?.reserved], [0.25 * 1e10, 0.01 * 1e10])
    interceptor.closed()
  })))

  it.effect("of two nodes that see a limit used up one tells", () => Effect.scoped(Effect.gen(function*() {
    const { context, events, use } = yield* world
    yield* use(daily, "a", 1, 2)
    yield* TestClock.adjust(1)
    const other = Context.get(yield* Layer.build(NodeLimits.layer({ defaultPerDay: 0, providerOf: () => null }).pipe(Layer.provide([
      Layer.succeedContext(context), Layer.fresh(MemoryLimitStore.layer("n"))
    ]))), Limits)
    const own = other.of(daily)
    if (own === null) return assert.fail("the key has limits")
    const opened = other.open(own, ask)
    if (Effect.isEffect(opened)) yield* opened
    const interceptor = other.interceptor(own, ask)
    assert.isNull(interceptor.beforeAttempt(target))
    interceptor.attemptSettled(row("b", 1, 3))
    yield* TestClock.adjust(1)
    assert.lengthOf(events, 1)
  })))

  it.effect("a window begins with what the ledger knows; while that cannot be read the key is refused with 503", () => Effect.scoped(Effect.gen(function*() {
    const { ledger, use } = yield* world
    ledger.down = true
    const refused = yield* use(daily, "a", 1)
    assert.isTrue(refused instanceof PublicError && refused.status === 503 && refused.retryAfterSeconds === 1)
    ledger.down = false
    ledger.used = [{ nodeId: "n", provider: "p", model: "m", tokens: 5, costUsd: 1 }]
    const full = yield* use(daily, "b", 1)
    assert.isTrue(full instanceof PublicError && full.status === 429)
  })))

  it.effect("what the ledger knows and this node does not is found within a minute", () => Effect.scoped(Effect.gen(function*() {
    const { ledger, use } = yield* world
    assert.isFalse((yield* use(daily, "a", 1, 0.1)) instanceof PublicError)
    ledger.used = [{ nodeId: "n", provider: "p", model: "m", tokens: 5, costUsd: 3 }]
    yield* TestClock.adjust(60_000)
    assert.isTrue((yield* use(daily, "b", 1)) instanceof PublicError)
  })))

  it.effect("a limit that is used up refuses requests that it holds for, told by the one that lasts longest", () => Effect.scoped(Effect.gen(function*() {
    const { limits, use } = yield* world
    const both = keyWith({ usageLimitEnabled: true, dailyUsageLimitUsd: 1, weeklyUsageLimitUsd: 1 })
    yield* use(both, "a", 1, 1)
    const refused = yield* use(both, "b", 1)
    assert.isTrue(refused instanceof PublicError && refused.code === "budget_exceeded" && (refused.retryAfterSeconds ?? 0) > 24 * 3_600)
    const own = limits.of(both)
    if (own === null) return assert.fail("the key has limits")
    assert.isNull(limits.open(own, { ...ask, free: true }), "a request that costs nothing goes on")
  })))

  it.effect("a session is known for a minute, and counts for five from its last request", () => Effect.scoped(Effect.gen(function*() {
    const alone = MemoryLimitStore.make({ node: "n", now: () => 0 })
    const marked: Array<string> = []
    let free = true
    const { limits } = yield* worldOver({ ...alone, session: (_, name) => Effect.sync(() => {
      marked.push(name)
      return free
    }) })
    const own = limits.of(keyWith({ maxSessions: 1 }))
    if (own === null) return assert.fail("the key has limits")
    const come = (session: string | null) => {
      const opened = limits.open(own, { ...ask, session })
      return Effect.isEffect(opened) ? opened : Effect.succeed(opened)
    }
    for (const session of ["a", "a", null, "b"]) assert.isNull(yield* come(session))
    assert.deepStrictEqual(marked, ["a", "b"])
    yield* TestClock.adjust(59_999)
    assert.isNull(yield* come("a"))
    assert.lengthOf(marked, 2)
    yield* TestClock.adjust(1)
    assert.isNull(yield* come("a"))
    assert.deepStrictEqual(marked, ["a", "b", "a"])
    free = false
    const refused = yield* come("c")
    assert.deepStrictEqual([refused?.code, refused?.retryAfterSeconds], ["rate_limit_exceeded", 300])
    assert.include(refused?.message, "may have 1 sessions at once")
    free = true
    for (const session of ["c", "d", "e", "f"]) yield* come(session)
    yield* TestClock.adjust(60_001)
    yield* come("g")
    assert.deepStrictEqual([...own.sessions.keys()], ["g"], "those that are over are forgotten")
  })))

  it.effect("a key that changes keeps what it used; one that is idle for an hour is forgotten, and what its calls hold is not", () => Effect.scoped(Effect.gen(function*() {
    const { begin, limits, use } = yield* world
    yield* use(daily, "a", 1, 0.6)
    const raised = keyWith({ usageLimitEnabled: true, dailyUsageLimitUsd: 2 })
    assert.isFalse((yield* use(raised, "b", 1, 0.6)) instanceof PublicError)
    const lowered = keyWith({ usageLimitEnabled: true, dailyUsageLimitUsd: 1 })
    assert.isTrue((yield* use(lowered, "c", 1)) instanceof PublicError, "1.2 of 1 is used")
    const [status] = yield* limits.status("k", limits.rulesOf(lowered))
    assert.deepStrictEqual([status?.used, status?.reserved], [1.2e10, 0])
    const other = { ...keyWith({ usageLimitEnabled: true, dailyUsageLimitUsd: 5 }), id: "other" }
    const running = yield* begin(other)
    assert.isTrue(running !== null && !(running instanceof PublicError))
    const [first, second] = [limits.of(lowered), limits.of(other)]
    yield* TestClock.adjust(2 * hour)
    assert.notStrictEqual(limits.of({ ...lowered }), first, "it was forgotten")
    assert.strictEqual(limits.of({ ...other }), second, "it has a call that runs")
  })))

  it.effect("of several nodes one says that its journals were replayed before it asks for a block, whatever it takes", () => Effect.scoped(Effect.gen(function*() {
    const order: Array<string> = []
    const alone = MemoryLimitStore.make({ node: "n", now: () => 0, shared: true })
    const noted = <A, E>(what: string, effect: Effect.Effect<A, E>) => Effect.suspend(() => {
      order.push(what)
      return effect
    })
    const { ledger, use } = yield* worldOver({
      ...alone, exchange: (draws) => noted("exchange", alone.exchange(draws)), replayed: noted("replayed", alone.replayed)
    })
    ledger.down = true
    assert.isTrue((yield* use(daily, "a", 1, 0.1)) instanceof PublicError)
    assert.deepStrictEqual(order, [])
    ledger.down = false
    assert.isFalse((yield* use(daily, "b", 1, 0.1)) instanceof PublicError)
    assert.deepStrictEqual(order.slice(0, 2), ["replayed", "exchange"])
    assert.lengthOf(order.filter((what) => what === "replayed"), 1)
  })))
})
