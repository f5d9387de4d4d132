import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Result from "effect/Result"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import { Configuration } from "#actors/ports/Configuration.ts"
import { IssueTracker } from "./IssueTracker.ts"
import { Keys } from "#actors/ports/Keys.ts"
import { type IssueStanding, RegisteredKeyStore } from "#actors/limits/ports/LimitRecords.ts"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import { type IssueLimitsInput, type IssueReport, type NewRegisteredKey, type RegisteredKeyView, RegisteredKeysGroup } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import { leaseScope } from "#schemas/protocols/Lease.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { IssueLimits, RegisteredKey } from "#schemas/records/Limits.ts"
import { answer } from "#src/management/answer.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { holder as callerOf, type Issuer } from "./holder.ts"
import * as IssueReports from "./issueReports.ts"
import * as Issuing from "./issuing.ts"
import { ManagedKeys } from "#src/features/keys/ManagedKeys.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as Surface from "#src/management/Surface.ts"

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

/** Records as their keys stand; one that was issued since the keys were read stands as it was issued. */
const counted = (standing: IssueStanding, keys: ReadonlyMap<string, ApiKey | null>): IssueStanding => ({
  ...standing,
  keys: standing.keys.map((record) => {
    const key = keys.get(record.id)
    return key === undefined ? record : Issuing.following(record, key)
  })
})

export const layer = HttpApiBuilder.group(Surface.make(RegisteredKeysGroup), "registeredKeys", Effect.fn(function*(handlers) {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const keyStore = yield* KeyStore
  const keys = yield* Keys
  const limits = yield* Limits
  const managed = yield* ManagedKeys
  const store = yield* RegisteredKeyStore
  const tracker = yield* IssueTracker
  // A change keeps the limits that others change at the same time.
  const locked = (yield* RecordLocks).of("issue limits")

  const holder = callerOf.pipe(Effect.provideService(Keys, keys), Effect.provideService(Limits, limits))

  /** A provider by its one name, so that an alias passes no limit; a name that leads nowhere stays as it is. */
  const canonical = (provider: string): string => {
    const { nodeById } = configuration.current()
    return builtin.byPrefix.get(provider)?.id ?? nodeById.get(provider)?.prefix ?? provider
  }

  const limitsFor = (kind: "provider" | "account", id: string) => {
    const subject = `${kind}:${kind === "provider" ? canonical(id) : id}`
    return Effect.map(store.issueLimits(subject), (found): IssueLimits => found ?? { subject, maxActiveKeys: 0, dailyIssueLimit: 0, hourlyIssueLimit: 0 })
  }

  /** The keys of records by id; those that are gone are null. */
  const keysOf = (records: ReadonlyArray<RegisteredKey>) => Effect.map(keyStore.some(records.map(({ id }) => id)), (found) => {
    const byId = new Map<string, ApiKey | null>(records.map(({ id }) => [id, null]))
    for (const key of found) byId.set(key.id, key)
    return byId
  })

  /** Refuses, or answers the keys that stand in the way so far. */
  const checked = Effect.fnUntraced(function*(provider: string, accountId: string, now: number) {
    const standing = new Map<string, ApiKey | null>()
    for (const [kind, id] of [["account", accountId], ["provider", provider]] as const) {
      if (id === "") continue
      const limits = yield* limitsFor(kind, id)
      if (Issuing.isUnlimited(limits)) continue
      const records = yield* store.list(kind === "provider" ? { provider } : { accountId })
      for (const [id, key] of yield* keysOf(records)) standing.set(id, key)
      const refusal = Issuing.check(counted({ kind, limits, keys: records }, standing), now)
      if (refusal !== null) return { refusal, standing }
    }
    return { refusal: null, standing }
  })

  const refused = ({ errorCode, reason, retryAfterSeconds }: Issuing.IssueRefusal) =>
    Refusal.tooManyRequests(reason, retryAfterSeconds ?? 1, { code: errorCode, extra: { errorCode } })

  /** Models and connections of the named provider and account; its issuer's lists are asked beside them. */
  const narrowed = Effect.fnUntraced(function*(callerKey: Issuer, provider: string, accountId: string) {
    const allowed = callerKey?.policy.allowedConnections ?? []
    const snapshot = configuration.current()
    let narrower = Issuing.inherited(callerKey)
    if (provider !== "") {
      const row = builtin.byPrefix.get(provider)
      const node = snapshot.nodeByPrefix.get(provider) ?? snapshot.nodeById.get(provider)
      if (row === undefined && node === undefined) return yield* Effect.fail(Refusal.invalidField("provider", "No such provider"))
      const id = row?.id ?? node?.id ?? provider
      if (allowed.length > 0 && !allowed.some((one) => snapshot.connectionById.get(one)?.provider === id)) {
        return yield* Effect.fail(Refusal.forbidden("The issuing key may not use this provider"))
      }
      const names = new Set([provider, id, ...(row === undefined ? [] : [row.alias]), ...(node === undefined ? [] : [node.prefix])])
      narrower = { ...narrower, modelAccessMode: "restricted", allowedModels: Array.from(names, (name) => `${name}/*`) }
    }
    if (snapshot.connectionById.has(accountId)) {
      if (allowed.length > 0 && !allowed.includes(accountId)) return yield* Effect.fail(Refusal.forbidden("The issuing key may not use this account"))
      narrower = { ...narrower, connectionAccessMode: "restricted", allowedConnections: [accountId], preferredConnections: [] }
    }
    return narrower
  })

  /** What a key's calls are held to must hold for the keys that it issues, too. */
  const mayIssue = Effect.fnUntraced(function*(callerKey: Issuer) {
    if (callerKey === null) return
    if (callerKey.policy.scopes.includes(leaseScope)) {
      return yield* Effect.fail(Refusal.forbidden(`A managed key (scope ${leaseScope}) cannot issue keys: they would use its connections without a lease`))
    }
    if (limits.of(callerKey) !== null || (yield* store.get(callerKey.id)) !== null) {
      return yield* Effect.fail(Refusal.forbidden("A key that has limits, or was issued itself, cannot issue keys: they would pass its limits"))
    }
  })

  const issue = Effect.fn("RegisteredKeys.issue")(function*(input: NewRegisteredKey) {
    const { key: callerKey } = yield* holder
    yield* mayIssue(callerKey)
    const now = yield* Clock.currentTimeMillis
    const { accountId = "", name } = input
    const provider = canonical(input.provider ?? "")
    const idempotencyKey = input.idempotencyKey === undefined ? null : `${callerKey?.id ?? "operator"}:${input.idempotencyKey}`
    const conflict = (existing: RegisteredKey | null) =>
      Effect.flatMap(existing === null ? Effect.succeed(null) : keyStore.get(existing.id), (key) => Effect.fail(Refusal.conflict("A key was already issued with this idempotencyKey", {
        code: "IDEMPOTENCY_CONFLICT", extra: { errorCode: "IDEMPOTENCY_CONFLICT", existing: existing === null ? null : { ...viewOf(existing, key, now) } }
      })))
    const standing = idempotencyKey === null ? null : yield* store.byIdempotencyKey(idempotencyKey)
    if (standing !== null) return yield* conflict(standing)
    if (input.expiresAt !== undefined && !(Date.parse(input.expiresAt) > now)) return yield* Effect.fail(Refusal.invalidField("expiresAt", "Must lie in the future"))
    const { refusal, standing: counting } = yield* checked(provider, accountId, now)
    if (refusal !== null) return yield* Effect.fail(refused(refusal))
    const policy = yield* narrowed(callerKey, provider, accountId)
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
    yield* store.issue(record, (standing) => Issuing.check(counted(standing, counting), now)).pipe(
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

  const list = Effect.fnUntraced(function*(filter: { readonly provider?: string; readonly accountId?: string }) {
    const { isOperator, key } = yield* holder
    const now = yield* Clock.currentTimeMillis
    const rows = yield* store.list({
      ...filter, ...(filter.provider === undefined ? {} : { provider: canonical(filter.provider) }), ...(isOperator || key === null ? {} : { issuerId: key.id })
    })
    const standing = yield* keysOf(rows)
    return { keys: rows.map((row) => viewOf(row, standing.get(row.id) ?? null, now)), total: rows.length }
  })

  const one = Effect.fnUntraced(function*(id: string) {
    const record = yield* find(id)
    return viewOf(record, yield* keyStore.get(id), yield* Clock.currentTimeMillis)
  })

  const shown = ({ subject: _subject, ...rest }: IssueLimits) => rest
  const readLimits = (kind: "provider" | "account", id: string) => Effect.andThen(holder, Effect.map(limitsFor(kind, id), shown))
  const setLimits = Effect.fn("RegisteredKeys.setLimits")(function*(kind: "provider" | "account", id: string, input: IssueLimitsInput) {
    const next = yield* locked(Effect.gen(function*() {
      const next: IssueLimits = { ...yield* limitsFor(kind, id), ...input }
      yield* store.putIssueLimits(next)
      return next
    }))
    yield* audit.note({ action: "registered-key.limits", target: next.subject, resourceType: "issue-limits", details: { ...input } })
    return shown(next)
  })

  const check = Effect.fnUntraced(function*({ accountId = "", ...asked }: { readonly provider?: string; readonly accountId?: string }) {
    const { key: callerKey } = yield* holder
    const provider = canonical(asked.provider ?? "")
    const now = yield* Clock.currentTimeMillis
    const report = { provider, accountId, checkedAt: iso(now) }
    const { refusal } = yield* checked(provider, accountId, now)
    if (refusal !== null) return { allowed: false, errorCode: refusal.errorCode, reason: refusal.reason, ...report }
    return yield* Effect.andThen(mayIssue(callerKey), narrowed(callerKey, provider, accountId)).pipe(
      Effect.as({ allowed: true, ...report }),
      Effect.catchTag("Refusal", ({ error }) => Effect.succeed({ allowed: false, reason: error.message, ...report }))
    )
  })

  /** The report is stored even when the issue tracker fails. */
  const report = Effect.fn("RegisteredKeys.report")(function*(input: IssueReport) {
    const { key: callerKey } = yield* holder
    const report = IssueReports.cleaned(input)
    const { file } = tracker
    const outcome = file === null ? null : yield* Effect.result(file(IssueReports.issueOf(report, callerKey === null ? "an operator" : `API key ${callerKey.id}`)))
    const details = {
      ...report, apiKeyId: callerKey?.id ?? null,
      ...(outcome === null ? {} : Result.isSuccess(outcome) ? { issue: outcome.success.url } : { trackerError: outcome.failure.message })
    }
    yield* audit.note({ action: "issue.reported", target: callerKey?.id ?? null, resourceType: "issue", details, status: outcome !== null && Result.isFailure(outcome) ? "failure" : "success" })
    yield* Effect.annotateLogs(Effect.logWarning("Issue reported by a client"), details)
    if (outcome === null) return { logged: true as const, configured: false as const }
    return Result.isSuccess(outcome) ? outcome.success : { logged: true as const, configured: true as const, error: outcome.failure.message }
  })

  return handlers.handleAll({
    list: ({ query }) => answer(list(query)),
    issue: ({ payload }) => answer(issue(payload)),
    get: ({ params }) => answer(one(params.id)),
    remove: ({ params }) => answer(revoke(params.id)),
    revoke: ({ params }) => answer(revoke(params.id)),
    providerLimits: ({ params }) => answer(readLimits("provider", params.id)),
    setproviderLimits: ({ params, payload }) => answer(setLimits("provider", params.id, payload)),
    accountLimits: ({ params }) => answer(readLimits("account", params.id)),
    setaccountLimits: ({ params, payload }) => answer(setLimits("account", params.id, payload)),
    check: ({ query }) => answer(check(query)),
    report: ({ payload }) => answer(report(payload))
  })
}))
