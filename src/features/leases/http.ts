import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import type { LeaseStoreDown } from "#actors/lease/LeaseStore.ts"
import { Leases } from "#actors/lease/Leases.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import * as Surface from "#src/management/Surface.ts"
import { LeasesGroup } from "./api.ts"
import { connectionView } from "./connectionView.ts"

/** Characters of an owner's hash that operators see. */
const OWNER_SHOWN = 12

const iso = (ms: number): string => new Date(ms).toISOString()

const orAway = <A, R>(effect: Effect.Effect<A, LeaseStoreDown, R>): Effect.Effect<A, Refusal.Refusal, R> =>
  Effect.mapError(effect, ({ message }) => Refusal.unavailable(`The leases cannot be read or changed at the moment: ${message}`))

export const layer = HttpApiBuilder.group(Surface.make(LeasesGroup), "leases", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const keys = yield* KeyStore
  const leases = yield* Leases

  const list = Effect.gen(function*() {
    const found = yield* orAway(leases.list)
    const snapshot = configuration.current()
    const names = new Map<string, string | null>()
    for (const id of new Set(found.map(({ keyId }) => keyId))) names.set(id, (yield* keys.get(id))?.name ?? null)
    const rows = found.toSorted((a, b) => a.expiresAt - b.expiresAt).map(({ acquiredAt, connection, expiresAt, generation, keyId, owner, renewedAt }) => {
      const view = connectionView(connection, snapshot)
      return {
        connectionId: connection, connection: view?.displayName ?? null, provider: view?.provider ?? null, keyId, keyName: names.get(keyId) ?? null, owner: owner.slice(0, OWNER_SHOWN),
        generation, acquiredAt: iso(acquiredAt), renewedAt: iso(renewedAt), expiresAt: iso(expiresAt)
      }
    })
    return { count: rows.length, leases: rows }
  })

  const release = Effect.fn("Leases.release")(function*(connectionId: string, generation: number) {
    const missing = Effect.fail(Refusal.notFound(`Connection ${connectionId} has no ACTIVE lease of generation ${generation}: it ended, or was followed by another`))
    const lease = (yield* orAway(leases.list)).find((each) => each.connection === connectionId && each.generation === generation)
    if (lease === undefined || !(yield* orAway(leases.revoke(lease, "OPERATOR_RELEASED")))) return yield* missing
    yield* audit.note({ action: "lease.released", target: connectionId, resourceType: "lease", details: { keyId: lease.keyId, generation } })
    return { success: true as const, connectionId, generation }
  })

  return handlers.handleAll({
    list: () => answer(list),
    release: ({ params, payload }) => answer(release(params.connectionId, payload.generation))
  })
}))
