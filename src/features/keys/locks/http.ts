import * as Effect from "effect/Effect"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { LoginGuard } from "#src/management/authentication/brake/LoginGuard.ts"
import { refuseOwned } from "#src/management/ownership/ownership.ts"
import * as Surface from "#src/management/Surface.ts"
import { ManagedKeys } from "#src/features/keys/ManagedKeys.ts"
import { type LockedIdentifier, LocksGroup } from "./api.ts"

/** Keys that are read at once. */
const KEYS_AT_ONCE = 1_000

export const layer = HttpApiBuilder.group(Surface.make(LocksGroup), "locks", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const guard = yield* LoginGuard
  const managed = yield* ManagedKeys
  const store = yield* KeyStore

  const bannedKeys = Effect.gen(function*() {
    const found = new Array<LockedIdentifier>()
    for (let offset = 0;; offset += KEYS_AT_ONCE) {
      const { keys } = yield* store.list(KEYS_AT_ONCE, offset)
      for (const { id, name, policy, revokedAt } of keys) {
        // What is revoked is over: no ban keeps it out.
        if (policy.isBanned && revokedAt === null) found.push({ identifier: id, kind: "key", name, lockedUntil: null })
      }
      if (keys.length < KEYS_AT_ONCE) return found
    }
  })

  const list = Effect.gen(function*() {
    const signIns = (yield* guard.locked).map(({ address, until }): LockedIdentifier => ({ identifier: address, kind: "sign-in", name: null, lockedUntil: new Date(until).toISOString() }))
    return { lockedIdentifiers: [...signIns, ...yield* bannedKeys] }
  })

  const unlock = Effect.fn("Locks.unlock")(function*(identifier: string) {
    const key = yield* store.get(identifier)
    if (key?.policy.isBanned === true) {
      yield* refuseOwned(configuration.current(), "key", identifier)
      yield* managed.change(identifier, undefined, { isBanned: false })
    } else if (!(yield* guard.unlock(identifier))) {
      return yield* Effect.fail(Refusal.notFound("Nothing of this identifier is locked: GET /api/policies lists what is"))
    }
    yield* audit.note({ action: "lock.cleared", target: identifier, resourceType: key === null ? "session" : "apikey" })
    return { success: true as const, action: "unlocked" as const, identifier }
  })

  return handlers.handleAll({
    list: () => answer(list),
    unlock: ({ payload }) => answer(unlock(payload.identifier))
  })
}))
