import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { LiveCalls } from "#src/inference/ports/LiveCalls.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import { ConnectionStore } from "#actors/ports/Stores.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { type ClearedLockouts, type ConcurrencyChange, type LockoutRow, ResilienceGroup } from "./api.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { refuseOwned } from "#src/management/ownership/ownership.ts"
import { sessionsOf } from "#src/features/sessions/ports/clientSessions.ts"
import * as Surface from "#src/management/Surface.ts"
import { capOrNull, ConcurrencyCaps } from "./ConcurrencyCaps.ts"
import { ResilienceRules } from "./ResilienceRules.ts"

const HOUR_MS = 3_600_000
/** Newest ledger rows that sessions are read from. */
const ROWS_MAX = 10_000

const iso = (ms: number): string => new Date(ms).toISOString()

export const layer = HttpApiBuilder.group(Surface.make(ResilienceGroup), "resilience", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const caps = yield* ConcurrencyCaps
  const configuration = yield* Configuration
  const connections = yield* ConnectionStore
  const control = yield* ResilienceControl
  const live = yield* LiveCalls
  const rules = yield* ResilienceRules
  const usage = yield* UsageStore

  const providerOf = (name: string) => Effect.suspend(() => {
    const id = knownProvider(configuration.current(), name)
    return id === null ? Effect.fail(Refusal.invalidField("provider", unknownProvider(name))) : Effect.succeed(id)
  })
  const nameOf = (provider: string): string => shownProvider(configuration.current(), provider)

  const reset = Effect.fn("Resilience.reset")(function*(provider: string | undefined) {
    const now = yield* Clock.currentTimeMillis
    const resetCount = control.resetBreakers(provider === undefined ? null : yield* providerOf(provider), now)
    yield* audit.note({ action: "resilience.reset", target: provider === undefined ? null : nameOf(provider), resourceType: "resilience", details: { resetCount } })
    return { ok: true as const, resetCount, message: resetCount === 1 ? "1 breaker closed" : `${resetCount} breakers closed` }
  })

  const lockouts = Effect.map(Clock.currentTimeMillis, (now): ReadonlyArray<LockoutRow> =>
    control.lockouts(now).map((row) => ({ ...row, provider: nameOf(row.provider), until: iso(row.until), remainingMs: row.until - now })))

  const clearLockouts = Effect.fn("Resilience.clearLockouts")(function*(
    { all, connection, model, provider }: ClearedLockouts
  ) {
    const now = yield* Clock.currentTimeMillis
    const one = provider !== undefined && model !== undefined ? { provider: yield* providerOf(provider), model } : null
    if (all === true && (provider ?? model ?? connection) !== undefined) {
      return yield* Effect.fail(Refusal.invalidField("all", "Send all alone, or the provider and the model of one lockout"))
    }
    if (all !== true && one === null) {
      const missing = [["provider", provider], ["model", model]].flatMap(([field = "", value]) => value === undefined ? [{ field, message: "Required, unless all is true" }] : [])
      return yield* Effect.fail(Refusal.invalidFields(missing))
    }
    if (connection !== undefined && !configuration.current().connectionById.has(connection)) {
      return yield* Effect.fail(Refusal.invalidField("connection", "No such connection: see GET /api/providers"))
    }
    const cleared = control.clearLockouts(one?.provider ?? null, one?.model ?? null, connection ?? null, now)
    yield* audit.note({
      action: "resilience.lockouts.cleared", target: one === null ? null : `${nameOf(one.provider)}/${one.model}`, resourceType: "resilience",
      details: { cleared }
    })
    return { ok: true as const, cleared }
  })

  const rateLimits = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    const snapshot = configuration.current()
    const cooling = new Map(control.cooldowns(now).map((view) => [view.connectionId, view]))
    const rows = control.places().flatMap((place) => {
      const record = snapshot.connectionById.get(place.connectionId)
      const rest = cooling.get(place.connectionId)
      return record === undefined ? [] : [{
        connectionId: record.id, provider: nameOf(record.provider), name: record.name, rateLimitProtection: record.rateLimitProtection,
        queued: place.waiting, running: place.running, executing: place.running, maxConcurrent: capOrNull(place.max),
        rateLimitedUntil: rest === undefined ? null : iso(rest.until), backoffLevel: rest?.level ?? record.backoffLevel, reason: rest?.reason ?? null
      }]
    })
    const locked = yield* lockouts
    const sum = (read: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + read(row), 0)
    return {
      connections: rows,
      overview: {
        total: rows.length, protected: rows.filter((row) => row.rateLimitProtection).length, coolingDown: cooling.size,
        running: sum((row) => row.running), queued: sum((row) => row.queued)
      },
      lockouts: locked,
      cacheStats: { lockouts: locked.length, breakers: control.breakers(now).length }
    }
  })

  const protect = Effect.fn("Resilience.protect")(function*(connectionId: string, enabled: boolean) {
    yield* refuseOwned(configuration.current(), "connection", connectionId)
    const found = yield* configuration.commit(connections.patch(connectionId, { rateLimitProtection: enabled }))
    if (!found) return yield* Effect.fail(Refusal.notFound("Connection not found"))
    yield* audit.note({ action: "connection.rate_limit_protection", target: connectionId, resourceType: "provider", details: { enabled } })
    return { ok: true as const, connectionId, enabled }
  })

  const setConcurrency = Effect.fnUntraced(function*(action: string | undefined, change: ConcurrencyChange | null) {
    if (action !== undefined) {
      if (action !== "reset-semaphores") return yield* Effect.fail(Refusal.invalidField("action", "Expected reset-semaphores"))
      yield* caps.reset
      return { ok: true as const, action }
    }
    if (change === null || Object.keys(change).length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    return { ok: true as const, ...yield* caps.change(change) }
  })

  const sessions = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    return sessionsOf(yield* usage.rows({ since: now - HOUR_MS, limit: ROWS_MAX }), live.sessions(now), now)
  })

  return handlers.handleAll({
    get: () => rules.view,
    patch: ({ payload }) => answer(Effect.map(Effect.andThen(rules.patch(payload), rules.view), (view) => ({ ok: true as const, ...view }))),
    reset: ({ payload }) => answer(reset(payload?.provider)),
    lockouts: () => Effect.map(lockouts, (items) => ({ count: items.length, items })),
    clearLockouts: ({ payload }) => answer(clearLockouts(payload)),
    rateLimits: () => rateLimits,
    protect: ({ payload }) => answer(protect(payload.connectionId, payload.enabled)),
    rateLimit: () => Effect.sync(() => ({ requestQueue: control.settings().requestQueue, ...caps.current() })),
    concurrency: () => caps.view,
    setConcurrency: ({ payload, query }) => answer(setConcurrency(query.action, payload)),
    sessions: () => answer(sessions)
  })
}))
