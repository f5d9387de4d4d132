import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as HttpServerResponse from "effect/http/HttpServerResponse"
import { platformRows } from "./contract.ts"
import { Assembled } from "#src/management/Assembled.ts"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { Configuration, shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import { ResilienceControl } from "#src/features/resilience/ports/ResilienceControl.ts"
import { DocumentStore } from "#actors/ports/Stores.ts"
import { combined, faults } from "#schemas/degradation.ts"
import { type Readiness, HealthGroup } from "./api.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { breakerRows } from "#src/features/resilience/ports/breakerRows.ts"
import { Password } from "#src/management/authentication/Password.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as Surface from "#src/management/Surface.ts"

/** The record store must answer within this time to count as healthy. */
const STORE_CHECK = "1 second"
/** A node is not ready after this time without the newest configuration (ms). */
const STUCK_MS = 10_000
/** Unacknowledged rows older than this make the ledger unhealthy (ms). */
const LEDGER_LATE_MS = 60_000

const countsOf = (snapshot: Snapshot) => ({
  catalogCount: builtin.all.length + snapshot.nodes.length,
  configuredCount: new Set(snapshot.connections.map((connection) => connection.provider)).size,
  activeCount: snapshot.activeByProvider.size,
  monitoredCount: snapshot.connections.filter((connection) => connection.lastTested !== null || connection.lastHealthCheckAt !== null).length
})

/** `cooling`: ids of connections that rest now. */
const credentialHealth = (snapshot: Snapshot, cooling: ReadonlySet<string>) => {
  const providers = new Map<string, { total: number; active: number; byStatus: Record<string, number>; coolingDown: number }>()
  for (const connection of snapshot.connections) {
    let entry = providers.get(connection.provider)
    if (entry === undefined) {
      entry = { total: 0, active: 0, byStatus: {}, coolingDown: 0 }
      providers.set(connection.provider, entry)
    }
    entry.total++
    if (connection.isActive) entry.active++
    entry.byStatus[connection.testStatus] = (entry.byStatus[connection.testStatus] ?? 0) + 1
    if (cooling.has(connection.id)) entry.coolingDown++
  }
  return Array.from(providers, ([provider, entry]) => ({ provider: shownProvider(snapshot, provider), ...entry }))
}

export const layer = HttpApiBuilder.group(Surface.make(HealthGroup), "health", Effect.fn(function*(handlers) {
  const assembled = yield* Assembled
  const audit = yield* Audit
  const clock = yield* Clock.Clock
  const configuration = yield* Configuration
  const feed = yield* ChangeFeed
  const control = yield* ResilienceControl
  const documents = yield* DocumentStore
  const ledger = yield* Ledger
  const lifecycle = yield* Lifecycle
  const password = yield* Password

  /** Why this node answers by records that are older than those of the others; null while it does not. */
  const outdated = (): string | null => {
    const stuck = feed.stuck()
    return stuck === null || clock.currentTimeMillisUnsafe() - stuck.sinceMs < STUCK_MS
      ? null
      : `The newest configuration cannot be applied on this node since ${new Date(stuck.sinceMs).toISOString()}: ${stuck.why}`
  }
  const phase = (): "ok" | "starting" | "draining" | "outdated" =>
    lifecycle.draining() ? "draining" : !lifecycle.ready() ? "starting" : outdated() === null ? "ok" : "outdated"
  const because = () => {
    const reason = outdated()
    return reason === null ? {} : { reason }
  }

  const checkStore = Effect.gen(function*() {
    const before = yield* Clock.currentTimeMillis
    const ok = yield* documents.get("setting", "requireLogin").pipe(
      Effect.as(true), Effect.timeoutOrElse({ duration: STORE_CHECK, orElse: () => Effect.succeed(false) }), Effect.catch(() => Effect.succeed(false))
    )
    const after = yield* Clock.currentTimeMillis
    return ok ? { status: "ok" as const, latencyMs: after - before } : { status: "failed" as const, latencyMs: null }
  })

  const readiness = Effect.gen(function*() {
    const recordStore = yield* checkStore
    const books = ledger.reconciliation()
    const refusing = books.refusing ?? null
    const late = books.gap !== 0 || books.oldestPendingMs > LEDGER_LATE_MS
    const migrated = lifecycle.migrated()
    const now = yield* Clock.currentTimeMillis
    const state = phase()
    const healthy = recordStore.status === "ok" && migrated && !late && refusing === null
    const view: Readiness = {
      status: state === "ok" && refusing !== null ? "refusing" : state === "ok" && !healthy ? "degraded" : state,
      version: lifecycle.version,
      ...refusing === null ? because() : { reason: refusing },
      uptimeSeconds: Math.max(0, Math.floor((now - lifecycle.startedAt) / 1000)),
      time: new Date(now).toISOString(),
      checks: {
        recordStore,
        migrations: { status: migrated ? "ok" : "failed" },
        ledger: { status: late || refusing !== null ? "failed" : "ok", backlog: books.journaled, oldestPendingMs: books.oldestPendingMs, gap: books.gap }
      }
    }
    // Degraded still serves: the ledger's journal and the snapshot carry requests through a lost store.
    return HttpServerResponse.jsonUnsafe(view, { status: state === "ok" && migrated && refusing === null ? 200 : 503 })
  })

  const monitoring = Effect.gen(function*() {
    const { caller } = yield* ManagementCall
    const snapshot = configuration.current()
    const open = snapshot.settings.get("requireLogin") === false
    const detailed = caller.kind === "anonymous" ? open : true
    const base = { status: phase(), version: lifecycle.version, providers: countsOf(snapshot) }
    if (!detailed) return base
    const now = yield* Clock.currentTimeMillis
    const cooling = new Set(control.cooldowns(now).map(({ connectionId }) => connectionId))
    return { ...base, credentialHealth: credentialHealth(snapshot, cooling), breakers: breakerRows(control, snapshot, now) }
  })

  return handlers.handleAll({
    ping: () => Effect.sync(() => {
      const status = phase()
      return HttpServerResponse.jsonUnsafe({ status, version: lifecycle.version, ...because() }, { status: status === "ok" ? 200 : 503 })
    }),
    readiness: () => readiness,
    degradation: () => Effect.succeed({ faults, combined, features: [...platformRows, ...assembled.degradation] }),
    monitoring: () => monitoring,
    init: () => answer(Effect.map(password.exists, (exists) => ({
      initialized: exists || configuration.current().settings.get("setupComplete") === true
    }))),
    version: () => Effect.sync(() => ({
      current: lifecycle.version, latest: null, updateAvailable: false, channel: "stable",
      autoUpdateSupported: false, autoUpdateError: null, news: []
    })),
    restart: () => Effect.gen(function*() {
      yield* audit.note({ action: "system.restart", resourceType: "system" })
      lifecycle.requestShutdown("restart")
      return { status: "restarting" as const }
    }),
    shutdown: () => Effect.gen(function*() {
      yield* audit.note({ action: "system.shutdown", resourceType: "system" })
      lifecycle.requestShutdown("shutdown")
      return { success: true as const, message: "The gateway drains and stops" }
    })
  })
}))
