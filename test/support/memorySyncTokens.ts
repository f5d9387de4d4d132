/** Sync tokens in memory. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoreError } from "#actors/ports/StoreError.ts"
import type { SyncToken } from "#src/features/sync/ports/SyncToken.ts"
import { SyncTokenStore } from "#src/features/sync/ports/SyncTokenStore.ts"

const by = (field: "createdAt" | "revokedAt") => (a: SyncToken, b: SyncToken): number => {
  const [left, right] = [`${a[field] ?? ""} ${a.id}`, `${b[field] ?? ""} ${b.id}`]
  return left < right ? 1 : -1
}

export const layer = Layer.sync(SyncTokenStore, () => {
  const rows = new Map<string, SyncToken>()
  const all = () => [...rows.values()]
  return SyncTokenStore.of({
    findByHash: (tokenHash) => Effect.sync(() => all().find((token) => token.tokenHash === tokenHash) ?? null),
    list: Effect.sync(() => all().sort(by("createdAt"))),
    insert: (token) => Effect.suspend(() => {
      if (all().some(({ tokenHash }) => tokenHash === token.tokenHash)) {
        return Effect.fail(new StoreError({ store: "SyncTokenStore", operation: "insert", reason: "conflict", field: "tokenHash", message: "Taken" }))
      }
      rows.set(token.id, token)
      return Effect.void
    }),
    touch: (id, lastUsedAt) => Effect.sync(() => {
      const token = rows.get(id)
      if (token !== undefined && token.revokedAt === null && (token.lastUsedAt ?? "") < lastUsedAt) rows.set(id, { ...token, lastUsedAt })
    }),
    revoke: (id, revokedAt) => Effect.sync(() => {
      const token = rows.get(id)
      if (token === undefined) return "none"
      if (token.revokedAt !== null) return "before"
      rows.set(id, { ...token, revokedAt, updatedAt: revokedAt })
      return "revoked"
    }),
    trimRevoked: (most) => Effect.sync(() => {
      const spare = all().filter(({ revokedAt }) => revokedAt !== null).sort(by("revokedAt")).slice(most)
      for (const { id } of spare) rows.delete(id)
      return spare.length
    })
  })
})
