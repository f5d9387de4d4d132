import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Asides from "#actors/egress/Asides.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { ProxyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Proxy, ProxyScope } from "#schemas/egress/Proxy.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { Tunnels } from "#src/platform/upstream/egress/TunnelCounts.ts"
import { type AssignmentInput, ProxiesGroup } from "./api.ts"
import { ProxyHealth } from "./health/ProxyHealth.ts"
import { Proxies } from "./Proxies.ts"
import * as Views from "./views.ts"

const isOn = (flag: string | undefined): boolean => flag === "1" || flag === "true"

const scopeOf = (given: AssignmentInput["scope"]): ProxyScope => given === "connection" ? "account" : given

const missing = Effect.fail(Refusal.notFound("Proxy not found"))

export const layer = HttpApiBuilder.group(Surface.make(ProxiesGroup), "proxies", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const proxies = yield* Proxies
  const proxyHealth = yield* ProxyHealth
  const store = yield* ProxyStore
  const tunnels = yield* Tunnels

  const listed = <A>(items: ReadonlyArray<A>) => ({ items, total: items.length })
  const note = (action: string, { host, id, name, port, type }: Proxy) =>
    audit.note({ action, target: id, resourceType: "proxy", details: { name, type, host, port } })

  const read = Effect.fnUntraced(function*(id: string | undefined, whereUsed: boolean) {
    const all = yield* store.list
    if (id === undefined) return listed(all.map(Views.proxyView))
    const proxy = all.find((one) => one.id === id)
    if (proxy === undefined) return yield* missing
    if (!whereUsed) return Views.proxyView(proxy)
    const snapshot = configuration.current()
    const assignments = (yield* store.assignments).filter(({ proxyId }) => proxyId === id).map((one) => Views.assignmentView(snapshot, one))
    return { id, count: assignments.length, assignments }
  })

  const resolution = Effect.fnUntraced(function*(connectionId: string) {
    const { connectionById, egress, ...snapshot } = configuration.current()
    const connection = connectionById.get(connectionId)
    if (connection === undefined) return yield* Effect.fail(Refusal.notFound("Connection not found"))
    const way = egress === null ? { level: "direct" as const, levelId: null, proxy: null } : egress.of({ provider: connection.provider, connection })
    const now = yield* Clock.currentTimeMillis
    const proxy = way.proxy?.among === undefined ? way.proxy : Asides.choose(way.proxy.among, [], tunnels.asides, now)
    const record = proxy === null ? undefined : (yield* store.list).find(({ id }) => id === proxy.id)
    return {
      connectionId, level: way.level,
      levelId: way.level === "auto" || way.level === "direct" || way.levelId === null ? null : Views.shownScopeId(snapshot, { scope: way.level, scopeId: way.levelId }),
      proxy: record === undefined ? null : Views.proxyView(record)
    }
  })

  interface Filter {
    readonly proxy_id?: string
    readonly scope?: AssignmentInput["scope"]
    readonly scope_id?: string
    readonly resolve_connection_id?: string
  }

  const assignments = Effect.fnUntraced(function*(filter: Filter) {
    if (filter.resolve_connection_id !== undefined) return yield* resolution(filter.resolve_connection_id)
    const snapshot = configuration.current()
    const found = (yield* store.assignments).filter(({ proxyId, scope, scopeId }) =>
      (filter.proxy_id === undefined || proxyId === filter.proxy_id) &&
      (filter.scope === undefined || scope === scopeOf(filter.scope)) &&
      (filter.scope_id === undefined || scopeId === filter.scope_id || Views.shownScopeId(snapshot, { scope, scopeId }) === filter.scope_id))
    return listed(found.map((one) => Views.assignmentView(snapshot, one)))
  })

  const health = Effect.fnUntraced(function*(hours: number) {
    const counts = new Map((yield* proxyHealth.over(hours)).map((count) => [count.proxyId, count]))
    const now = yield* Clock.currentTimeMillis
    const items = (yield* store.list).map(({ id, name }) => {
      const aside = tunnels.asides.of(id, now)
      const { failed = 0, lastError = null, latencyMs = 0, made = 0 } = counts.get(id) ?? {}
      return {
        proxyId: id, name, successCount: made, failureCount: failed, successRate: made + failed === 0 ? null : made / (made + failed),
        avgLatencyMs: made === 0 ? null : Math.round(latencyMs / made), lastError,
        failuresInARow: aside?.failures ?? 0, setAsideUntil: aside === null ? null : new Date(aside.until).toISOString()
      }
    })
    return { ...listed(items), windowHours: hours }
  })

  const noteAssigned = (scope: ProxyScope, scopeIds: ReadonlyArray<string>, proxyId: string | null) => {
    const snapshot = configuration.current()
    return audit.note({
      action: proxyId === null ? "proxy.unassigned" : "proxy.assigned", target: proxyId, resourceType: "proxy",
      details: { scope, scopeIds: scopeIds.map((scopeId) => Views.shownScopeId(snapshot, { scope, scopeId }) ?? "") }
    })
  }

  const assign = Effect.fnUntraced(function*({ proxyId = null, scope: given, scopeId = null }: AssignmentInput) {
    const scope = scopeOf(given)
    const id = yield* proxies.scopeIdOf(scope, scopeId)
    const [assignment] = yield* proxies.assign(scope, [id], proxyId)
    yield* noteAssigned(scope, [id], proxyId)
    return { success: true as const, assignment: assignment === undefined ? null : Views.assignmentView(configuration.current(), assignment) }
  })

  const bulkAssign = Effect.fnUntraced(function*({ proxyId = null, scope: given, scopeIds }: { readonly scope: AssignmentInput["scope"]; readonly scopeIds: ReadonlyArray<string>; readonly proxyId?: string | null }) {
    const scope = scopeOf(given)
    const ids = new Set<string>()
    const failed: Array<{ readonly scopeId: string; readonly reason: string }> = []
    for (const scopeId of scope === "global" ? [null] : scopeIds) {
      yield* proxies.scopeIdOf(scope, scopeId).pipe(Effect.matchEffect({
        onSuccess: (id) => Effect.sync(() => ids.add(id)),
        onFailure: (problem) => problem._tag === "StoreError" ? Effect.fail(problem) : Effect.sync(() =>
          failed.push({ scopeId: scopeId ?? "", reason: problem.error.details?.[0]?.message ?? problem.error.message }))
      }))
    }
    yield* proxies.assign(scope, [...ids], proxyId)
    yield* noteAssigned(scope, [...ids], proxyId)
    return { success: true as const, requested: ids.size + failed.length, updated: ids.size, failed }
  })

  return handlers.handleAll({
    list: ({ query }) => answer(read(query.id, isOn(query.where_used))),
    create: ({ payload }) => answer(proxies.create(payload, "manual").pipe(Effect.tap((proxy) => note("proxy.created", proxy)), Effect.map(Views.proxyView))),
    update: ({ payload }) => answer(proxies.update(payload).pipe(Effect.tap((proxy) => note("proxy.updated", proxy)), Effect.map(Views.proxyView))),
    remove: ({ query }) => answer(proxies.remove(query.id, isOn(query.force)).pipe(Effect.tap((proxy) => note("proxy.deleted", proxy)), Effect.as({ success: true as const }))),
    assignments: ({ query }) => answer(assignments(query)),
    assign: ({ payload }) => answer(assign(payload)),
    bulkAssign: ({ payload }) => answer(bulkAssign(payload)),
    bulkImport: ({ payload }) => answer(Effect.gen(function*() {
      const imported = yield* proxies.importAll(payload.items)
      yield* audit.note({ action: "proxy.imported", resourceType: "proxy", details: { created: imported.created, skipped: imported.skipped, failed: imported.failed.length } })
      return { success: true as const, ...imported }
    })),
    migrate: () => answer(Effect.gen(function*() {
      const migrated = yield* proxies.migrate
      yield* audit.note({ action: "proxy.migrated", resourceType: "proxy", details: { migrated } })
      return { success: true as const, migrated }
    })),
    health: ({ query }) => answer(health(query.hours ?? 24))
  })
}))
