/** Whether a key may be issued now, and what it may do: the limits of its provider and account, and the rights of the key that issues it. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { type IssueStanding, RegisteredKeyStore } from "#actors/limits/ports/LimitRecords.ts"
import { Limits } from "#actors/limits/ports/Limits.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import { RecordLocks } from "#actors/ports/RecordLocks.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { KeyStore } from "#actors/ports/Stores.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import { leaseScope } from "#schemas/protocols/Lease.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { IssueLimits, RegisteredKey } from "#schemas/records/Limits.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { builtin } from "#src/providers/Registry.ts"
import type { IssueLimitsInput } from "./api.ts"
import type { Issuer } from "./holder.ts"
import * as Issuing from "./issuing.ts"

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError>

/** What limits of keys are for. */
type Limited = "provider" | "account"

/** Keys that limits count, by id; null for one that is gone. */
export type Standing = ReadonlyMap<string, ApiKey | null>

export class Issuance extends Context.Service<Issuance, {
  /** A provider by its one name, so that an alias passes no limit; a name that leads nowhere stays as it is. */
  readonly canonical: (provider: string) => string
  readonly limits: (kind: Limited, id: string) => Effect.Effect<IssueLimits, StoreError>
  readonly setLimits: (kind: Limited, id: string, input: IssueLimitsInput) => Effect.Effect<IssueLimits, Refusal.Refusal | StoreError, ManagementCall>
  /** The keys of records as they stand now. */
  readonly keysOf: (records: ReadonlyArray<RegisteredKey>) => Effect.Effect<Standing, StoreError>
  /** What the limits say, and the keys that they counted. */
  readonly checked: (provider: string, accountId: string, now: number) => Effect.Effect<{ readonly refusal: Issuing.IssueRefusal | null; readonly standing: Standing }, StoreError>
  /** What a key's calls are held to must hold for the keys that it issues, too. */
  readonly mayIssue: (issuer: Issuer) => Done<void>
  /** Models and connections of the named provider and account; its issuer's lists are asked beside them. */
  readonly narrowed: (issuer: Issuer, provider: string, accountId: string) => Done<ReturnType<typeof Issuing.inherited>>
}>()("gateway/http/Issuance") {}

/** Records as their keys stand; one that was issued since the keys were read stands as it was issued. */
export const counted = (standing: IssueStanding, keys: Standing): IssueStanding => ({
  ...standing,
  keys: standing.keys.map((record) => {
    const key = keys.get(record.id)
    return key === undefined ? record : Issuing.following(record, key)
  })
})

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const keyStore = yield* KeyStore
  const limits = yield* Limits
  const store = yield* RegisteredKeyStore
  // A change keeps the limits that others change at the same time.
  const locked = (yield* RecordLocks).of("issue limits")

  const canonical = (provider: string): string => {
    const { nodeById } = configuration.current()
    return builtin.byPrefix.get(provider)?.id ?? nodeById.get(provider)?.prefix ?? provider
  }

  const limitsFor = (kind: Limited, id: string) => {
    const subject = `${kind}:${kind === "provider" ? canonical(id) : id}`
    return Effect.map(store.issueLimits(subject), (found): IssueLimits => found ?? { subject, maxActiveKeys: 0, dailyIssueLimit: 0, hourlyIssueLimit: 0 })
  }

  const setLimits = Effect.fn("Issuance.setLimits")(function*(kind: Limited, id: string, input: IssueLimitsInput) {
    // Limits of a provider that is gone can still be lifted.
    if (kind === "provider" && knownProvider(configuration.current(), id) === null && (yield* store.issueLimits(`${kind}:${id}`)) === null) {
      return yield* Effect.fail(Refusal.notFound(unknownProvider(id)))
    }
    const next = yield* locked(Effect.gen(function*() {
      const next: IssueLimits = { ...yield* limitsFor(kind, id), ...input }
      yield* store.putIssueLimits(next)
      return next
    }))
    yield* audit.note({ action: "registered-key.limits", target: next.subject, resourceType: "issue-limits", details: { ...input } })
    return next
  })

  const keysOf = (records: ReadonlyArray<RegisteredKey>) => Effect.map(keyStore.some(records.map(({ id }) => id)), (found) => {
    const byId = new Map<string, ApiKey | null>(records.map(({ id }) => [id, null]))
    for (const key of found) byId.set(key.id, key)
    return byId
  })

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

  const mayIssue = Effect.fnUntraced(function*(callerKey: Issuer) {
    if (callerKey === null) return
    if (callerKey.policy.scopes.includes(leaseScope)) {
      return yield* Effect.fail(Refusal.forbidden(`A managed key (scope ${leaseScope}) cannot issue keys: they would use its connections without a lease`))
    }
    if (limits.of(callerKey) !== null || (yield* store.get(callerKey.id)) !== null) {
      return yield* Effect.fail(Refusal.forbidden("A key that has limits, or was issued itself, cannot issue keys: they would pass its limits"))
    }
  })

  const narrowed = Effect.fnUntraced(function*(callerKey: Issuer, provider: string, accountId: string) {
    const allowed = callerKey?.policy.allowedConnections ?? []
    const snapshot = configuration.current()
    let narrower = Issuing.inherited(callerKey)
    if (provider !== "") {
      const row = builtin.byPrefix.get(provider)
      const node = snapshot.nodeByPrefix.get(provider) ?? snapshot.nodeById.get(provider)
      if (row === undefined && node === undefined) return yield* Effect.fail(Refusal.invalidField("provider", unknownProvider(provider)))
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

  return Issuance.of({ canonical, limits: limitsFor, setLimits, keysOf, checked, mayIssue, narrowed })
})

export const layer = Layer.effect(Issuance, make)
