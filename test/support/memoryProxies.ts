/** Outbound proxies in memory, for tests without a database. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoreError } from "#actors/ports/StoreError.ts"
import { ProxyStore } from "#actors/ports/Stores.ts"
import * as ProxyHealth from "#src/features/proxies/health/ProxyHealth.ts"
import { type ProxyCount, ProxyHealthStore } from "#src/features/proxies/health/ProxyHealthStore.ts"
import { ProxyTest } from "#src/features/proxies/ProxyTest.ts"
import type { ProxySubscription } from "#src/features/proxies/subscriptions/ProxySubscription.ts"
import { ProxySubscriptionStore } from "#src/features/proxies/subscriptions/ProxySubscriptionStore.ts"
import * as TunnelCounts from "#src/platform/upstream/egress/TunnelCounts.ts"
import type { Proxy, ProxyAssignment } from "#schemas/egress/Proxy.ts"

const orderOf = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

const health = Layer.sync(ProxyHealthStore, () => {
  const sums = new Map<string, ProxyCount & { readonly hour: number }>()
  return ProxyHealthStore.of({
    add: (hour, counts) => Effect.sync(() => {
      for (const count of counts) {
        const known = sums.get(`${count.proxyId} ${hour}`)
        sums.set(`${count.proxyId} ${hour}`, {
          hour, proxyId: count.proxyId, made: count.made + (known?.made ?? 0), failed: count.failed + (known?.failed ?? 0),
          latencyMs: count.latencyMs + (known?.latencyMs ?? 0), lastError: count.lastError ?? known?.lastError ?? null
        })
      }
    }),
    since: (hour) => Effect.sync(() => [...sums.values()].filter((count) => count.hour >= hour)),
    removeBefore: () => Effect.succeed(0)
  })
})

/** How proxies do, over nothing that is written. */
export const surface = Layer.merge(
  ProxyHealth.layer.pipe(Layer.provide(health), Layer.provideMerge(TunnelCounts.layer)),
  Layer.succeed(ProxyTest, { run: () => Effect.succeed({ success: false, error: "nobody is there" }) })
)

const subscriptions = Layer.sync(ProxySubscriptionStore, () => {
  const all = new Map<string, ProxySubscription>()
  return ProxySubscriptionStore.of({
    list: Effect.sync(() => [...all.values()].sort((a, b) => orderOf(a.name, b.name) || orderOf(a.id, b.id))),
    insert: (one) => Effect.sync(() => void all.set(one.id, one)),
    change: (one) => Effect.sync(() => {
      const known = all.get(one.id)
      if (known === undefined) return false
      const { enabled, intervalSeconds, name, type, updatedAt, url } = one
      all.set(one.id, { ...known, enabled, intervalSeconds, name, type, updatedAt, url })
      return true
    }),
    tried: (id, tried) => Effect.sync(() => {
      const known = all.get(id)
      if (known !== undefined) all.set(id, { ...known, ...tried })
    }),
    remove: (id) => Effect.sync(() => all.delete(id))
  })
})

const proxyStore = Layer.sync(ProxyStore, () => {
  const proxies = new Map<string, Proxy>()
  const assignments = new Map<string, ProxyAssignment>()
  const keyOf = (scope: string, scopeId: string) => `${scope} ${scopeId}`
  const refused = (operation: string, reason: "conflict" | "corrupt", message: string) => new StoreError({ store: "ProxyStore", operation, reason, message })
  return ProxyStore.of({
    list: Effect.sync(() => [...proxies.values()].sort((a, b) => orderOf(a.name, b.name) || orderOf(a.id, b.id))),
    insert: (proxy) => Effect.suspend(() => {
      if (proxies.has(proxy.id)) return Effect.fail(refused("insert", "conflict", "id is taken"))
      proxies.set(proxy.id, proxy)
      return Effect.void
    }),
    replace: (proxy) => Effect.sync(() => proxies.has(proxy.id) && proxies.set(proxy.id, proxy) !== undefined),
    remove: (id) => Effect.sync(() => {
      for (const [key, assignment] of assignments) if (assignment.proxyId === id) assignments.delete(key)
      return proxies.delete(id)
    }),
    assignments: Effect.sync(() => [...assignments.values()].sort((a, b) => orderOf(a.scope, b.scope) || orderOf(a.scopeId, b.scopeId))),
    assign: (assignment) => Effect.suspend(() => {
      if (!proxies.has(assignment.proxyId)) return Effect.fail(refused("assign", "corrupt", "no such proxy"))
      assignments.set(keyOf(assignment.scope, assignment.scopeId), assignment)
      return Effect.void
    }),
    unassign: (scope, scopeId) => Effect.sync(() => assignments.delete(keyOf(scope, scopeId)))
  })
})

/** Proxies, assignments and lists. */
export const layer = Layer.merge(proxyStore, subscriptions)
