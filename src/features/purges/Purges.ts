/** Removes what is recorded of requests, in slices, but for what limits of keys still count. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { BudgetStore, TokenLimitStore } from "#actors/limits/ports/LimitRecords.ts"
import * as Rules from "#actors/limits/rules.ts"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { AuditStore, KeyStore } from "#actors/ports/Stores.ts"
import { type CountedKey, UsageStore } from "#actors/ports/UsageStore.ts"
import { Ledger } from "#actors/request/ports/Ledger.ts"
import { defaultPolicy } from "#schemas/records/ApiKey.ts"
import type { TokenLimit } from "#schemas/records/Limits.ts"
import { settingDefaults } from "#schemas/settingDefaults.ts"
import { databaseSettingsOf, removedBefore, settingKey } from "#schemas/upkeep/DatabaseSettings.ts"
import { BodyStore } from "#src/features/bodies/ports/BodyStore.ts"
import { QuotaStore } from "#src/features/quotas/ports/QuotaStore.ts"
import { countedSince } from "./kept.ts"

/** Keys that are read at once. */
const KEYS_AT_ONCE = 1_000
/** Longest wait for calls that have ended to arrive in the ledger's table, ms. */
const FLUSH_MS = 5_000
const HOUR_MS = 3_600_000

type Op = Effect.Effect<number, StoreError>

export class Purges extends Context.Service<Purges, {
  /** Rows of the ledger. Those that a key's limits still count stay: what was spent is spent. */
  readonly calls: Op
  /** Bodies of calls. */
  readonly bodies: Op
  /** Quota snapshots but the newest of each window, which requests go by. */
  readonly quotaSnapshots: Op
  /** Calls, bodies, quota snapshots and entries of the audit log that are older than they are kept: what sweeps would remove next, at once. */
  readonly expired: Op
}>()("gateway/features/Purges") {}

export interface Options {
  /** DEFAULT_RATE_LIMIT_PER_DAY; 0 = none. */
  readonly defaultPerDay: number
  /** Days that the ledger is kept unless the setting `database` says otherwise, and the audit log; 0 = for ever. */
  readonly usageDays: number
  readonly auditDays: number
}

export const make = Effect.fnUntraced(function*({ auditDays, defaultPerDay, usageDays }: Options) {
  const audit = yield* AuditStore
  const configuration = yield* Configuration
  const usage = yield* UsageStore
  const bodies = yield* BodyStore
  const quotas = yield* QuotaStore
  const keys = yield* KeyStore
  const budgets = yield* BudgetStore
  const tokenLimits = yield* TokenLimitStore
  const ledger = yield* Ledger

  const counted = Effect.fnUntraced(function*(now: number) {
    const byKey = new Map<string, Array<TokenLimit>>()
    for (const limit of yield* tokenLimits.list) byKey.set(limit.apiKeyId, [...byKey.get(limit.apiKeyId) ?? [], limit])
    const sources: Rules.LimitSources = {
      budgets: new Map((yield* budgets.list).map((budget) => [budget.apiKeyId, budget])), tokenLimits: byKey, defaultPerDay, providerOf: () => null, nameOf: (provider) => provider
    }
    const found = new Map<string, CountedKey>()
    const add = (apiKeyId: string, rules: Rules.LimitRules | null) => {
      const since = countedSince(rules, now)
      if (since !== null) found.set(apiKeyId, { apiKeyId, since })
    }
    // Keys of the environment have no record, and may have a budget.
    for (const id of [...sources.budgets.keys(), ...byKey.keys()]) add(id, Rules.of({ id, policy: defaultPolicy, isPermanent: true }, sources))
    for (let offset = 0;; offset += KEYS_AT_ONCE) {
      const page = yield* keys.list(KEYS_AT_ONCE, offset)
      for (const key of page.keys) add(key.id, Rules.of(key, sources))
      if (page.keys.length < KEYS_AT_ONCE) return [...found.values()]
    }
  })

  return Purges.of({
    calls: Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      // A call that has ended is among those that go; one that runs gets its row when it ends.
      yield* ledger.flush(FLUSH_MS)
      return yield* usage.removeBut(now, yield* counted(now))
    }),
    bodies: Effect.flatMap(Clock.currentTimeMillis, (now) => bodies.removeBefore(now + 1)),
    quotaSnapshots: quotas.removeHistory,
    expired: Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const { settings } = configuration.current()
      // The call asks for what the switch only keeps from happening by itself.
      const retention = { ...databaseSettingsOf(settings.get(settingKey)).retention, autoCleanup: true }
      const hours = settings.get("callLogBodyHours") ?? settingDefaults["callLogBodyHours"]
      const older = (days: number, remove: (before: number) => Op): Op => {
        const before = removedBefore(retention, days, now)
        return before === null ? Effect.succeed(0) : remove(before)
      }
      const removed = yield* Effect.all([
        older(retention.usageHistory ?? usageDays, usage.removeBefore),
        bodies.removeBefore(now - Number(hours) * HOUR_MS),
        older(retention.quotaSnapshots, quotas.removeBefore),
        older(auditDays, audit.removeBefore)
      ])
      return removed.reduce((sum, count) => sum + count, 0)
    })
  })
})

export const layer = (options: Options) => Layer.effect(Purges, make(options))
