/** What the limits of keys are made of: budgets and token limits of the record store, and the names that their scopes hold. */
import * as Effect from "effect/Effect"
import * as Semaphore from "effect/Semaphore"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { Configuration, shownProvider } from "#actors/ports/Configuration.ts"
import { BudgetStore, TokenLimitStore } from "#actors/limits/ports/LimitRecords.ts"
import type { TokenLimit } from "#schemas/records/Limits.ts"
import type * as Rules from "./rules.ts"

export interface Options {
  /** DEFAULT_RATE_LIMIT_PER_DAY: requests of keys without rate limits of their own; 0 = none. */
  readonly defaultPerDay: number
  /** The canonical id of a registered provider's id or alias; null for others. */
  readonly providerOf: (name: string) => string | null
}

/** `changed`: what was made of them is out of date. */
export const make = Effect.fnUntraced(function*(options: Options, changed: () => void) {
  const budgetStore = yield* BudgetStore
  const configuration = yield* Configuration
  const feed = yield* ChangeFeed
  const tokenLimitStore = yield* TokenLimitStore
  let tokenLimits: ReadonlyArray<TokenLimit> = []
  let sources: Rules.LimitSources = { budgets: new Map(), tokenLimits: new Map(), defaultPerDay: options.defaultPerDay, providerOf: () => null, nameOf: (provider) => provider }

  const providerOf = (name: string): string | null =>
    options.providerOf(name) ?? configuration.current().nodeByPrefix.get(name)?.id ?? (configuration.current().nodeById.has(name) ? name : null)

  const nameOf = (provider: string): string => shownProvider(configuration.current(), provider)

  // One at a time: an older list must not take the place of a newer one.
  const reload = Semaphore.makeUnsafe(1).withPermits(1)(Effect.map(Effect.all([budgetStore.list, tokenLimitStore.list]), ([budgetRows, limitRows]) => {
    tokenLimits = limitRows
    const byKey = new Map<string, Array<TokenLimit>>()
    for (const limit of limitRows) {
      const known = byKey.get(limit.apiKeyId)
      if (known === undefined) byKey.set(limit.apiKeyId, [limit])
      else known.push(limit)
    }
    sources = { budgets: new Map(budgetRows.map((budget) => [budget.apiKeyId, budget])), tokenLimits: byKey, defaultPerDay: options.defaultPerDay, providerOf, nameOf }
    changed()
  }))
  yield* reload
  yield* feed.hear(({ changes }) =>
    changes === null || changes.some(({ kind }) => kind === "budget" || kind === "token-limit") ? reload : Effect.void)
  // A scope may name a provider that came, went or has another prefix now.
  yield* Effect.acquireRelease(Effect.sync(() => configuration.onChange(changed)), (stop) => Effect.sync(stop))

  return {
    current: () => sources,
    budgets: () => sources.budgets,
    tokenLimits: () => tokenLimits,
    reload: Effect.tap(reload, () => Effect.sync(feed.announce)),
    providerOf,
    nameOf
  }
})
