/** The keys that keys and operators issue, with an end and limits of their own. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import type { HttpServerRequest } from "effect/http/HttpServerRequest"
import * as Layer from "effect/Layer"
import { RegisteredKeyStore } from "#actors/limits/ports/LimitRecords.ts"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { Keys } from "#actors/ports/Keys.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { RegisteredKey } from "#schemas/records/Limits.ts"
import { ManagedKeys } from "#src/features/keys/ManagedKeys.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import type { IssuedKey, IssueVerdict, NewRegisteredKey, RegisteredKeyView } from "./api.ts"
import { type Holder, holder as callerOf } from "./holder.ts"
import * as Issuance from "./Issuance.ts"
import * as Issuing from "./issuing.ts"

/** Fails for a caller without a valid key. */
type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall | HttpServerRequest>

/** Which keys are meant; all where nothing is said. */
interface Subject {
  readonly provider?: string
  readonly accountId?: string
}

export class RegisteredKeys extends Context.Service<RegisteredKeys, {
  /** Who asks. */
  readonly holder: Done<Holder>
  /** Newest first; a key that does not manage sees only what it issued, here and in `get` and `revoke`. */
  readonly list: (filter: Subject) => Done<{ readonly keys: ReadonlyArray<RegisteredKeyView>; readonly total: number }>
  readonly get: (id: string) => Done<RegisteredKeyView>
  /** The raw value is in the answer, and nowhere else. */
  readonly issue: (input: NewRegisteredKey) => Done<IssuedKey>
  readonly revoke: (id: string) => Done<{ readonly revoked: true; readonly keyId: string }>
  /** Whether a key could be issued now. */
  readonly check: (asked: Subject) => Done<IssueVerdict>
}>()("gateway/http/RegisteredKeys") {}

const iso = (ms: number): string => new Date(ms).toISOString()
const missing = Effect.fail(Refusal.notFound("Registered key not found"))

/** `key`: as it stands now; null when it is gone. */
const viewOf = (record: RegisteredKey, key: ApiKey | null, now: number): RegisteredKeyView => {
  const own = Issuing.following(record, key)
  return {
    keyId: own.id, keyPrefix: own.keyPrefix, name: own.name, provider: own.provider, accountId: own.accountId, issuerId: own.issuerId,
    dailyBudget: own.dailyBudget, hourlyBudget: own.hourlyBudget, expiresAt: own.expiresAt, createdAt: own.createdAt, revokedAt: own.revokedAt,
    isActive: Issuing.isActive(own, now) && key !== null && key.policy.isActive && !key.policy.isBanned
  }
}

const refused = ({ errorCode, reason, retryAfterSeconds }: Issuing.IssueRefusal) =>
  Refusal.tooManyRequests(reason, retryAfterSeconds ?? 1, { code: errorCode, extra: { errorCode } })

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const issuance = yield* Issuance.Issuance
  const keyStore = yield* KeyStore
  const managed = yield* ManagedKeys
  const store = yield* RegisteredKeyStore
  const holder = callerOf.pipe(Effect.provideService(Keys, yield* Keys), Effect.provideService(Limits, yield* Limits))

  const issue = Effect.fn("RegisteredKeys.issue")(function*(input: NewRegisteredKey) {
    const { key: callerKey } = yield* holder
    yield* issuance.mayIssue(callerKey)
    const now = yield* Clock.currentTimeMillis
    const { accountId = "", name } = input
    const provider = issuance.canonical(input.provider ?? "")
    const idempotencyKey = input.idempotencyKey === undefined ? null : `${callerKey?.id ?? "operator"}:${input.idempotencyKey}`
    const conflict = (existing: RegisteredKey | null) =>
      Effect.flatMap(existing === null ? Effect.succeed(null) : keyStore.get(existing.id), (key) => Effect.fail(Refusal.conflict("A key was already issued with this idempotencyKey", {
        code: "IDEMPOTENCY_CONFLICT", extra: { errorCode: "IDEMPOTENCY_CONFLICT", existing: existing === null ? null : { ...viewOf(existing, key, now) } }
      })))
    const standing = idempotencyKey === null ? null : yield* store.byIdempotencyKey(idempotencyKey)
    if (standing !== null) return yield* conflict(standing)
    if (input.expiresAt !== undefined && !(Date.parse(input.expiresAt) > now)) return yield* Effect.fail(Refusal.invalidField("expiresAt", "Must lie in the future"))
    const { refusal, standing: counting } = yield* issuance.checked(provider, accountId, now)
    if (refusal !== null) return yield* Effect.fail(refused(refusal))
    const policy = yield* issuance.narrowed(callerKey, provider, accountId)
    const ends = [policy.expiresAt ?? null, input.expiresAt ?? null].filter((time) => time !== null).map((time) => Date.parse(time))
    const expiresAt = ends.length === 0 ? null : iso(Math.min(...ends))
    const rates = [
      ...(input.dailyBudget === undefined ? [] : [{ limit: input.dailyBudget, window: Issuing.daySeconds }]),
      ...(input.hourlyBudget === undefined ? [] : [{ limit: input.hourlyBudget, window: Issuing.hourSeconds }])
    ]
    const { key, raw } = yield* managed.create(name, { ...policy, expiresAt, ...(rates.length === 0 ? {} : { rateLimits: rates }) }, callerKey?.id ?? null)
    const record: RegisteredKey = {
      id: key.id, name, provider, accountId, keyPrefix: key.keyPrefix, issuerId: callerKey?.id ?? null, idempotencyKey,
      dailyBudget: input.dailyBudget ?? null, hourlyBudget: input.hourlyBudget ?? null, expiresAt, createdAt: key.createdAt, revokedAt: null
    }
    // Its record names the issuer and takes its place under the limits: without the record the key must be removed.
    yield* store.issue(record, (standing) => Issuing.check(Issuance.counted(standing, counting), now)).pipe(
      Effect.flatMap((late): Effect.Effect<void, Refusal.Refusal> => late === null ? Effect.void : Effect.fail(refused(late))),
      Effect.tapError(() => Effect.ignore(managed.remove(key.id))),
      Effect.catchTag("StoreError", (error): Effect.Effect<never, Refusal.Refusal | StoreError> => error.reason !== "conflict" || idempotencyKey === null
        ? Effect.fail(error)
        : Effect.flatMap(store.byIdempotencyKey(idempotencyKey), conflict))
    )
    return {
      key: raw, keyId: key.id, keyPrefix: key.keyPrefix, name, provider, accountId, expiresAt, createdAt: key.createdAt,
      warning: "Store the key now: its value is not shown again."
    }
  })

  /** A key that does not manage sees only what it issued. */
  const find = Effect.fnUntraced(function*(id: string) {
    const { isOperator, key } = yield* holder
    const record = yield* store.get(id)
    return record === null || (!isOperator && record.issuerId !== key?.id) ? yield* missing : record
  })

  const revoke = Effect.fn("RegisteredKeys.revoke")(function*(id: string) {
    const record = yield* find(id)
    const at = iso(yield* Clock.currentTimeMillis)
    yield* managed.revoke(id, at)
    if (yield* store.revoke(id, at)) yield* audit.note({ action: "apikey.revoked", target: id, resourceType: "apikey", details: { name: record.name } })
    return { revoked: true as const, keyId: id }
  })

  const list = Effect.fnUntraced(function*(filter: Subject) {
    const { isOperator, key } = yield* holder
    const now = yield* Clock.currentTimeMillis
    const rows = yield* store.list({
      ...filter, ...(filter.provider === undefined ? {} : { provider: issuance.canonical(filter.provider) }), ...(isOperator || key === null ? {} : { issuerId: key.id })
    })
    const standing = yield* issuance.keysOf(rows)
    return { keys: rows.map((row) => viewOf(row, standing.get(row.id) ?? null, now)), total: rows.length }
  })

  const get = Effect.fnUntraced(function*(id: string) {
    const record = yield* find(id)
    return viewOf(record, yield* keyStore.get(id), yield* Clock.currentTimeMillis)
  })

  const check = Effect.fnUntraced(function*({ accountId = "", ...asked }: Subject) {
    const { key: callerKey } = yield* holder
    const provider = issuance.canonical(asked.provider ?? "")
    const now = yield* Clock.currentTimeMillis
    const report = { provider, accountId, checkedAt: iso(now) }
    const { refusal } = yield* issuance.checked(provider, accountId, now)
    if (refusal !== null) return { allowed: false, errorCode: refusal.errorCode, reason: refusal.reason, ...report }
    return yield* Effect.andThen(issuance.mayIssue(callerKey), issuance.narrowed(callerKey, provider, accountId)).pipe(
      Effect.as({ allowed: true, ...report }),
      Effect.catchTag("Refusal", ({ error }) => Effect.succeed({ allowed: false, reason: error.details?.map(({ message }) => message).join("; ") ?? error.message, ...report }))
    )
  })

  return RegisteredKeys.of({ holder, list, get, issue, revoke, check })
})

/** With what says whether a key may be issued. */
export const layer = Layer.provideMerge(Layer.effect(RegisteredKeys, make), Issuance.layer)
