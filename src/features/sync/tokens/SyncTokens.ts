/** Sync tokens: made, admitted and revoked. Only the hash of one is stored. */
import * as Clock from "effect/Clock"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as KeyPolicy from "#actors/keys/keyPolicy.ts"
import { scopeRank } from "#actors/keys/scopes.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { SyncToken } from "#src/features/sync/ports/SyncToken.ts"
import { SyncTokenStore } from "#src/features/sync/ports/SyncTokenStore.ts"
import { Audit } from "#src/management/audit/Audit.ts"

const PREFIX = "gwa_sync_"
const form = /^gwa_sync_[\w-]{43}$/
/** Tokens that may be in use at a time. */
const LIVE_MAX = 100
/** Revoked tokens that lists show. */
const REVOKED_KEPT = 100
/** lastUsedAt is written at most this often, ms. */
const TOUCH_EVERY_MS = 60_000

const RESOURCE = "sync-token"
const refused = Effect.fail(Refusal.unauthorized("The sync token is not valid"))
const bearer = /^bearer +(\S+) *$/i

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const keys = yield* Keys
  const keyStore = yield* KeyStore
  const random = yield* SecureRandom.SecureRandom
  const store = yield* SyncTokenStore
  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())

  /** A token ends with the management rights of the key that made it. */
  const stands = Effect.fnUntraced(function*({ syncApiKeyId }: SyncToken) {
    if (syncApiKeyId === null) return true
    const key = yield* keyStore.get(syncApiKeyId)
    const { ip } = yield* ManagementCall
    return key !== null && scopeRank(key.policy.scopes) > 0 && KeyPolicy.admit(key, "management", { remoteAddress: ip ?? "" }, yield* Clock.currentTimeMillis) === null
  })

  return {
    list: store.list,
    mint: Effect.fn("SyncTokens.mint")(function*(name: string) {
      const { caller } = yield* ManagementCall
      if ((yield* store.list).filter(({ revokedAt }) => revokedAt === null).length >= LIVE_MAX) {
        return yield* Effect.fail(Refusal.conflict(`There are ${LIVE_MAX} sync tokens already: revoke one that is not used`))
      }
      const token = PREFIX + Base64Url.encode(yield* random.randomBytes(32))
      const at = yield* now
      const syncToken: SyncToken = {
        id: yield* random.uuidV4(), name, tokenHash: keys.hash(token), syncApiKeyId: caller.kind === "key" ? caller.key.id : null,
        revokedAt: null, lastUsedAt: null, createdAt: at, updatedAt: at
      }
      yield* store.insert(syncToken)
      yield* audit.note({ action: "sync.token.created", target: syncToken.id, resourceType: RESOURCE, details: { name, syncApiKeyId: syncToken.syncApiKeyId } })
      return { token, syncToken }
    }),
    revoke: Effect.fn("SyncTokens.revoke")(function*(id: string) {
      const found = yield* store.revoke(id, yield* now)
      if (found === "none") return yield* Effect.fail(Refusal.notFound("Sync token not found"))
      if (found === "before") return
      yield* store.trimRevoked(REVOKED_KEPT)
      yield* audit.note({ action: "sync.token.revoked", target: id, resourceType: RESOURCE })
    }),
    /** Fails with 401 unless the header has a token that is in force. */
    admit: Effect.fn("SyncTokens.admit")(function*(authorization: string | undefined) {
      const presented = bearer.exec(authorization ?? "")?.[1] ?? ""
      if (!form.test(presented)) return yield* refused
      const token = yield* store.findByHash(keys.hash(presented))
      if (token === null || token.revokedAt !== null || !(yield* stands(token))) return yield* refused
      const at = yield* Clock.currentTimeMillis
      if (token.lastUsedAt === null || at - Date.parse(token.lastUsedAt) >= TOUCH_EVERY_MS) yield* store.touch(token.id, new Date(at).toISOString())
      return token
    })
  }
})
