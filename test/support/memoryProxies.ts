/** Outbound proxies in memory, for tests without a database. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoreError } from "#actors/ports/StoreError.ts"
import { ProxyStore } from "#actors/ports/Stores.ts"
import type { Proxy, ProxyAssignment } from "#schemas/egress/Proxy.ts"

const orderOf = (a: string, b: string): number => a < b ? -1 : a > b ? 1 : 0

export const layer = Layer.sync(ProxyStore, () => {
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
