import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration, shownKeys, shownModel, shownProvider } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { LiveCalls } from "#src/inference/ports/LiveCalls.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import { UsageStore } from "#actors/ports/UsageStore.ts"
import * as Acting from "./acting.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { type ConcurrencyChange, type LockoutRow, type ResilienceView, ResilienceGroup } from "./api.ts"
import type { ConcurrencyLimits, ResilienceChange } from "#schemas/records/ResilienceSettings.ts"
import { refuseInert } from "#src/management/acting.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { breakerRows } from "#src/features/resilience/ports/breakerRows.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { sessionsOf } from "#src/features/sessions/ports/clientSessions.ts"
import * as OlderNames from "#src/features/resilience/ports/olderNames.ts"
import * as ResilienceSettings from "#src/features/resilience/ports/resilienceSettings.ts"
import * as Surface from "#src/management/Surface.ts"

const KIND = "setting"
const HOUR_MS = 3_600_000
/** Newest ledger rows that sessions are read from. */
const ROWS_MAX = 10_000

const iso = (ms: number): string => new Date(ms).toISOString()
const capOrNull = (max: number | undefined): number | null => max === undefined || max === 0 ? null : max

/** Rules over several fields, checked on the effective values after the change. */
const issuesOf = (change: ResilienceChange): ReadonlyArray<Refusal.FieldIssue> => {
  const { providerBreaker, providerCooldown } = ResilienceSettings.effective(change)
  const issues: Array<Refusal.FieldIssue> = []
  for (const profile of ["oauth", "apikey", "local"] as const) {
    const { degradationThreshold, failureThreshold } = providerBreaker[profile]
    if (failureThreshold > 1 && degradationThreshold >= failureThreshold) {
      issues.push({ field: `providerBreaker.${profile}.degradationThreshold`, message: `Expected less than failureThreshold (${failureThreshold})` })
    }
  }
  if (providerCooldown.minMs > providerCooldown.maxMs) issues.push({ field: "providerCooldown.minMs", message: "Expected at most maxMs" })
  return issues
}

export const layer = HttpApiBuilder.group(Surface.make(ResilienceGroup), "resilience", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const connections = yield* ConnectionStore
  const control = yield* ResilienceControl
  const documents = yield* DocumentStore
  const flags = yield* Flags
  const live = yield* LiveCalls
  const usage = yield* UsageStore

  const providerOf = (text: string): string => knownProvider(configuration.current(), text) ?? text

  /** Names that an operator gives are stored as ids, and ids are shown as names. */
  const byId = (change: ResilienceChange): ResilienceChange => ResilienceSettings.renamed(change, (records) =>
    Object.fromEntries(Object.entries(records).map(([name, value]) => [providerOf(name), value])))
  const byName = <A extends ResilienceChange>(settings: A): A => ResilienceSettings.renamed(settings, (records) => shownKeys(configuration.current(), records))
  const nameOf = (provider: string): string => shownProvider(configuration.current(), provider)

  const view = Effect.map(Clock.currentTimeMillis, (now): ResilienceView => ({
    ...byName(control.settings()),
    streamRecovery: {
      enabled: flags.isOn("STREAM_RECOVERY_ENABLED"),
      midStream: flags.isOn("STREAM_RECOVERY_MIDSTREAM_ENABLED"),
      toolCallSafe: flags.isOn("STREAM_RECOVERY_TOOLCALL_ORDER_FIX"),
      earlyEofSibling: flags.isOn("STREAM_EARLY_EOF_SIBLING_FAILOVER_ENABLED")
    },
    legacy: OlderNames.shown(control.settings()),
    breakers: breakerRows(control, configuration.current(), now)
  }))

  /** Providers that do not exist; what is stored of one that is gone can be taken away. */
  const strangersIn = ({ providerQuotaOverrides = {}, quotaPreflight }: ResilienceChange): ReadonlyArray<Refusal.FieldIssue> => {
    const of = (field: string, records: Readonly<Record<string, unknown>>) => Object.entries(records).flatMap(([name, value]) =>
      value === null || knownProvider(configuration.current(), name) !== null ? [] : [{ field: `${field}.${name}`, message: unknownProvider(name) }])
    return [...of("providerQuotaOverrides", providerQuotaOverrides), ...of("quotaPreflight.providerWindowDefaults", quotaPreflight?.providerWindowDefaults ?? {})]
  }

  const patch = Effect.fn("Resilience.patch")(function*(asked: ResilienceChange) {
    const change = byId(asked)
    const names = Object.keys(change)
    if (names.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    yield* refuseInert(Acting.resilience, change)
    yield* configuration.commit(Effect.gen(function*() {
      const unknown = strangersIn(asked)
      if (unknown.length > 0) return yield* Effect.fail(Refusal.invalidFields(unknown))
      // Read again under the writer's lock: two changes at once must both stand.
      const merged = ResilienceSettings.merge(ResilienceSettings.storedChange(configuration.current()) as Readonly<Record<string, unknown>>, change as Readonly<Record<string, unknown>>)
      const issues = issuesOf(merged as ResilienceChange)
      if (issues.length > 0) return yield* Effect.fail(Refusal.invalidFields(issues))
      yield* documents.put(KIND, ResilienceSettings.settingKey, merged)
      yield* Effect.forEach(OlderNames.saidBy(change), (name) => documents.remove(KIND, name), { discard: true })
    }))
    yield* audit.note({ action: "resilience.updated", resourceType: "resilience", details: { changed: names } })
    return { ok: true as const, ...yield* view }
  })

  const reset = Effect.fn("Resilience.reset")(function*(provider: string | undefined) {
    const now = yield* Clock.currentTimeMillis
    const resetCount = control.resetBreakers(provider === undefined ? null : providerOf(provider), now)
    yield* audit.note({ action: "resilience.reset", target: provider === undefined ? null : nameOf(provider), resourceType: "resilience", details: { resetCount } })
    return { ok: true as const, resetCount, message: resetCount === 1 ? "1 breaker closed" : `${resetCount} breakers closed` }
  })

  const lockouts = Effect.map(Clock.currentTimeMillis, (now): ReadonlyArray<LockoutRow> =>
    control.lockouts(now).map((row) => ({ ...row, provider: nameOf(row.provider), until: iso(row.until), remainingMs: row.until - now })))

  const clearLockouts = Effect.fn("Resilience.clearLockouts")(function*(
    which: { readonly all: true } | { readonly provider: string; readonly model: string; readonly connection?: string }
  ) {
    const now = yield* Clock.currentTimeMillis
    const cleared = "all" in which
      ? control.clearLockouts(null, null, null, now)
      : control.clearLockouts(providerOf(which.provider), which.model, which.connection ?? null, now)
    yield* audit.note({
      action: "resilience.lockouts.cleared", target: "all" in which ? null : `${nameOf(which.provider)}/${which.model}`, resourceType: "resilience",
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
    const found = yield* configuration.commit(connections.patch(connectionId, { rateLimitProtection: enabled }))
    if (!found) return yield* Effect.fail(Refusal.notFound("Connection not found"))
    yield* audit.note({ action: "connection.rate_limit_protection", target: connectionId, resourceType: "provider", details: { enabled } })
    return { ok: true as const, connectionId, enabled }
  })

  const limits = (): { readonly global: number | null; readonly perProvider: Readonly<Record<string, number>> } => {
    const stored = ResilienceSettings.limitsOf(configuration.current())
    return { global: capOrNull(stored.global), perProvider: shownKeys(configuration.current(), stored.perProvider ?? {}) }
  }

  /** `<combo> <provider>/<model>`. */
  const gateName = (id: string): string => {
    const space = id.indexOf(" ") + 1
    return id.slice(0, space) + shownModel(configuration.current(), id.slice(space))
  }
  const inFlight = () => {
    const { perProvider, total } = control.inFlight()
    return { total, perProvider: shownKeys(configuration.current(), perProvider) }
  }

  const concurrency = Effect.map(Clock.currentTimeMillis, (now) => ({
    timestamp: iso(now),
    ...limits(),
    rateLimits: { requestQueue: control.settings().requestQueue },
    semaphores: Object.fromEntries([
      ...control.places().map(({ connectionId, max, running, waiting }) => [connectionId, { running, queued: waiting, max: capOrNull(max) }] as const),
      ...control.models().map(({ id, max, running, waiting }) => [gateName(id), { running, queued: waiting, max }] as const)
    ]),
    inFlight: inFlight()
  }))

  /** Caps of one body in one form: the list says the same as the members. */
  const capsOf = (change: ConcurrencyChange) => {
    const perProvider: Record<string, number> = {}
    const perConnection = new Map<string, number>()
    const issues: Array<Refusal.FieldIssue> = []
    let global = change.global
    const { perProvider: stored = {} } = ResilienceSettings.limitsOf(configuration.current())
    const cap = (name: string, max: number, field: string): void => {
      // The cap of a provider that is gone can be taken away.
      const provider = knownProvider(configuration.current(), name) ?? (Object.hasOwn(stored, name) && max === 0 ? name : null)
      if (provider === null) issues.push({ field, message: unknownProvider(name) })
      else perProvider[provider] = max
    }
    for (const [provider, max] of Object.entries(change.perProvider ?? {})) cap(provider, max, `perProvider.${provider}`)
    for (const [index, { id, max, scope }] of (change.limits ?? []).entries()) {
      if (scope === "global") global = max
      else if (id === undefined) issues.push({ field: `limits.${index}.id`, message: "Expected the id of what is limited" })
      else if (scope === "provider") cap(id, max, `limits.${index}.id`)
      else if (configuration.current().connectionById.has(id)) perConnection.set(id, max)
      else issues.push({ field: `limits.${index}.id`, message: "No such connection" })
    }
    return { global, perProvider, perConnection, issues }
  }

  const setConcurrency = Effect.fn("Resilience.setConcurrency")(function*(action: string | undefined, change: ConcurrencyChange | null) {
    if (action !== undefined) {
      if (action !== "reset-semaphores") return yield* Effect.fail(Refusal.invalidField("action", "Expected reset-semaphores"))
      control.resetPlaces()
      yield* audit.note({ action: "concurrency.reset", resourceType: "resilience" })
      return { ok: true as const, action }
    }
    if (change === null || Object.keys(change).length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
    const { global, issues, perConnection, perProvider } = capsOf(change)
    if (issues.length > 0) return yield* Effect.fail(Refusal.invalidFields(issues))
    yield* configuration.commit(Effect.gen(function*() {
      const stored = ResilienceSettings.limitsOf(configuration.current())
      const caps = Object.entries({ ...stored.perProvider, ...perProvider }).filter(([, max]) => max > 0)
      const next: ConcurrencyLimits = { global: global ?? stored.global ?? 0, perProvider: Object.fromEntries(caps) }
      yield* documents.put(KIND, ResilienceSettings.limitsKey, next)
      yield* Effect.forEach(perConnection, ([id, max]) => connections.patch(id, { maxConcurrent: max === 0 ? null : max }), { discard: true })
    }))
    yield* audit.note({
      action: "concurrency.updated", resourceType: "resilience",
      details: { global: global ?? null, perProvider: shownKeys(configuration.current(), perProvider), connections: Object.fromEntries(perConnection) }
    })
    return { ok: true as const, ...limits() }
  })

  const sessions = Effect.gen(function*() {
    const now = yield* Clock.currentTimeMillis
    return sessionsOf(yield* usage.rows({ since: now - HOUR_MS, limit: ROWS_MAX }), live.sessions(now), now)
  })

  return handlers.handleAll({
    get: () => view,
    patch: ({ payload }) => answer(patch(payload)),
    reset: ({ payload }) => reset(payload?.provider),
    lockouts: () => Effect.map(lockouts, (items) => ({ count: items.length, items })),
    clearLockouts: ({ payload }) => clearLockouts(payload),
    rateLimits: () => rateLimits,
    protect: ({ payload }) => answer(protect(payload.connectionId, payload.enabled)),
    rateLimit: () => Effect.sync(() => ({ requestQueue: control.settings().requestQueue, ...limits() })),
    concurrency: () => concurrency,
    setConcurrency: ({ payload, query }) => answer(setConcurrency(query.action, payload)),
    sessions: () => answer(sessions)
  })
}))
