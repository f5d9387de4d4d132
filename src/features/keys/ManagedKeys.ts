/** Creating, changing and ending API keys: raw values exist only in the reply that shows them. */
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Base64Url from "effect/encoding/Base64Url"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import { Configuration } from "#actors/ports/Configuration.ts"
import { Flags } from "#actors/ports/Flags.ts"
import { KeyDevices } from "#src/inference/ports/KeyDevices.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { BudgetStore, RegisteredKeyStore, TokenLimitStore } from "#actors/limits/ports/LimitRecords.ts"
import { Limits } from "#actors/limits/ports/Limits.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import type { PolicyInput } from "./api.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { type ApiKey, defaultPolicy } from "#schemas/records/ApiKey.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { ManagementOptions } from "#src/management/ManagementOptions.ts"
import { scopeRank } from "#actors/keys/scopes.ts"
import { TOKEN_PREFIX } from "#src/management/authentication/Callers.ts"
import { callerRank } from "#src/management/authentication/rights.ts"
import * as Changing from "./changing.ts"
import * as Policy from "./policy.ts"

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

/** A key with its raw value, on its only way out. */
export interface Minted {
  readonly key: ApiKey
  readonly raw: string
}

export class ManagedKeys extends Context.Service<ManagedKeys, {
  readonly get: (id: string) => Done<ApiKey>
  /** `issuerId`: the key that issues it, whose rights bound it. `own`: its value, in place of a generated one. */
  readonly create: (name: string, input: PolicyInput, issuerId?: string | null, own?: string) => Done<Minted>
  /** Answers the key as it stands now; `own`: its value from now on. */
  readonly change: (id: string, name: string | undefined, input: PolicyInput, own?: string) => Done<ApiKey>
  readonly regenerate: (id: string) => Done<Minted>
  readonly reveal: (id: string) => Done<string>
  /** Ends a key for good; its record stays, where there still is one. */
  readonly revoke: (id: string, at: string) => Effect.Effect<void, Refusal.Refusal | StoreError>
  /** With its budget and token limits, and its place among issued keys. */
  readonly remove: (id: string) => Done<void>
}>()("gateway/http/ManagedKeys") {}

/** Random bytes of a raw key: 32 base64url characters. */
const SECRET_BYTES = 24

const missing = Effect.fail(Refusal.notFound("Key not found"))

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const devices = yield* KeyDevices
  const flags = yield* Flags
  const keys = yield* Keys
  const random = yield* SecureRandom.SecureRandom
  const store = yield* KeyStore
  const budgets = yield* BudgetStore
  const registered = yield* RegisteredKeyStore
  const tokenLimits = yield* TokenLimitStore
  // A command line beside a running gateway counts nothing itself.
  const limits = Context.getOrElse(yield* Effect.context<never>(), Limits, () => null)
  const { machineId } = yield* ManagementOptions

  const get = (id: string): Done<ApiKey> => Effect.flatMap(store.get(id), (key) => key === null ? missing : Effect.succeed(key))

  /** A caller cannot create, reveal or change a key with more authority than its own. */
  const mayTouch = Effect.fnUntraced(function*(scopes: ReadonlyArray<string>) {
    const { caller } = yield* ManagementCall
    if (callerRank(caller) < scopeRank(scopes)) {
      return yield* Effect.fail(Refusal.forbidden("The key carries more authority (scope manage or admin) than this credential"))
    }
  })

  const storedOf = (raw: string) => ({
    keyHash: keys.hash(raw),
    keyPrefix: raw.slice(0, 8),
    keySuffix: raw.slice(-4),
    sealedKey: flags.isOn("ALLOW_API_KEY_REVEAL") ? Redacted.make(raw) : null
  })

  const mintSecret = Effect.map(random.randomBytes(SECRET_BYTES), (bytes) => {
    const raw = `sk-${Base64Url.encode(bytes)}`
    return { raw, stored: storedOf(raw) }
  })

  /** A value of the operator's own must not be taken for a credential of another kind. */
  const given = (raw: string) => raw.startsWith(TOKEN_PREFIX)
    ? Effect.fail(Refusal.invalidField("key", `${TOKEN_PREFIX}... is the form of access tokens`))
    : Effect.succeed({ raw, stored: storedOf(raw) })

  const takenIsRefused = <A, R>(effect: Effect.Effect<A, Refusal.Refusal | StoreError, R>) => Effect.catchTag(effect, "StoreError", (error) =>
    Effect.fail(error.reason === "conflict" ? Refusal.conflict("Another key has this value", { details: [{ field: "key", message: "Taken" }] }) : error))

  const note = (action: string, key: ApiKey, details: Readonly<Record<string, string | ReadonlyArray<string>>> = {}) =>
    audit.note({ action, target: key.id, resourceType: "apikey", details: { name: key.name, ...details } })

  const changed = <E, R>(id: string, change: (current: ApiKey) => Effect.Effect<ApiKey, E, R>) => Effect.gen(function*() {
    const key = yield* Changing.changed(store, id, change)
    if (key === null) return yield* missing
    keys.forget(id)
    return key
  })

  return ManagedKeys.of({
    get,
    create: Effect.fn("ManagedKeys.create")(function*(name, input, issuerId = null, own?) {
      const scopes = Array.from(new Set([...(input.scopes ?? []), Policy.DEFAULT_SCOPE]))
      const policy = Policy.apply(defaultPolicy, { ...input, scopes }, issuerId === null ? configuration.current() : null)
      if (policy instanceof Refusal.Refusal) return yield* Effect.fail(policy)
      yield* mayTouch(policy.scopes)
      const { raw, stored } = yield* own === undefined ? mintSecret : given(own)
      const at = yield* Changing.now
      const key: ApiKey = {
        id: yield* random.uuidV4(), name, ...stored, machineId, issuerId, policy, createdAt: at, updatedAt: at, lastUsedAt: null, revokedAt: null
      }
      yield* takenIsRefused(store.insert(key))
      yield* note("apikey.created", key, { scopes: policy.scopes })
      return { key, raw }
    }),
    change: Effect.fn("ManagedKeys.change")(function*(id, name, input, own?) {
      const fields = Object.keys(input).concat(name === undefined ? [] : ["name"], own === undefined ? [] : ["key"])
      if (fields.length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
      const stored = own === undefined ? {} : (yield* given(own)).stored
      const key = yield* takenIsRefused(changed(id, Effect.fnUntraced(function*(current) {
        const policy = Policy.apply(current.policy, input, configuration.current())
        if (policy instanceof Refusal.Refusal) return yield* Effect.fail(policy)
        yield* mayTouch([...current.policy.scopes, ...policy.scopes])
        return { ...current, ...stored, name: name ?? current.name, policy }
      })))
      yield* note("apikey.updated", key, { changed: fields })
      return key
    }),
    regenerate: Effect.fn("ManagedKeys.regenerate")(function*(id) {
      const { raw, stored } = yield* mintSecret
      const key = yield* changed(id, (current) => Effect.as(mayTouch(current.policy.scopes), { ...current, ...stored }))
      yield* note("apikey.regenerated", key)
      return { key, raw }
    }),
    revoke: Effect.fn("ManagedKeys.revoke")(function*(id, at) {
      yield* Changing.changed(store, id, (key) => Effect.succeed({ ...key, revokedAt: key.revokedAt ?? at }))
      keys.forget(id)
    }),
    reveal: Effect.fn("ManagedKeys.reveal")(function*(id) {
      if (!flags.isOn("ALLOW_API_KEY_REVEAL")) {
        return yield* Effect.fail(Refusal.forbidden("Revealing keys is off: flag ALLOW_API_KEY_REVEAL", { code: "reveal_disabled" }))
      }
      const key = yield* get(id)
      yield* mayTouch(key.policy.scopes)
      if (key.sealedKey === null) {
        return yield* Effect.fail(Refusal.gone("This key was made while revealing was off; only its hash exists", { extra: { redacted: true } }))
      }
      yield* note("apikey.revealed", key)
      return Redacted.value(key.sealedKey)
    }),
    remove: Effect.fn("ManagedKeys.remove")(function*(id) {
      const key = yield* get(id)
      yield* mayTouch(key.policy.scopes)
      if (!(yield* store.remove(id))) return yield* missing
      keys.forget(id)
      // After the key, so that it is never without its limits.
      yield* registered.revoke(id, yield* Changing.now)
      yield* budgets.remove(id)
      for (const limit of yield* tokenLimits.list) if (limit.apiKeyId === id) yield* tokenLimits.remove(limit.id)
      if (limits !== null) yield* limits.reload
      devices.forget(id)
      yield* note("apikey.deleted", key)
    })
  })
})

export const layer = Layer.effect(ManagedKeys, make)
