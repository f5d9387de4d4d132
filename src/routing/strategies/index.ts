/** Every strategy by its name, and the key under which its memory is kept. */
import type { Strategy } from "#schemas/records/Combo.ts"
import type { Moment } from "#src/routing/models/candidate.ts"
import { auto, lkgp } from "#src/routing/auto/auto.ts"
import { p2c, random, weighted } from "#src/routing/strategies/chance.ts"
import { cacheOptimized, contextOptimized } from "#src/routing/strategies/fit.ts"
import { contextRelay, fillFirst, panel, priority } from "#src/routing/strategies/listed.ts"
import { leastUsed, quotaShare } from "#src/routing/strategies/load.ts"
import { costOptimized } from "#src/routing/strategies/price.ts"
import { headroom, resetAware, resetWindow } from "#src/routing/strategies/quota.ts"
import type { Strategic } from "#src/routing/strategies/ranking.ts"
import { roundRobin, strictRandom } from "#src/routing/strategies/rotation.ts"

/** `quota-share` is the gateway's own, for ids `qtSd/<group>/<provider>/<model>`; it cannot be chosen by name. */
export type StrategyName = Strategy | "quota-share"

export const strategies: Readonly<Record<StrategyName, Strategic>> = {
  "priority": priority,
  "weighted": weighted,
  "round-robin": roundRobin,
  "context-relay": contextRelay,
  "fill-first": fillFirst,
  "p2c": p2c,
  "random": random,
  "strict-random": strictRandom,
  "least-used": leastUsed,
  "cost-optimized": costOptimized,
  "reset-aware": resetAware,
  "reset-window": resetWindow,
  "headroom": headroom,
  "auto": auto,
  "lkgp": lkgp,
  "context-optimized": contextOptimized,
  "cache-optimized": cacheOptimized,
  "fusion": panel,
  "pipeline": panel,
  "debate": panel,
  "quota-share": quotaShare
}

/** The key of a strategy's memory: of the combo (`plan`: its id, or the provider of a single model), or of the API key in it. */
export const memoryKey = (name: StrategyName, plan: string, { keyId }: Pick<Moment, "keyId">): string =>
  strategies[name].scope === "combo" ? `${name}\n${plan}` : `${name}\n${plan}\n${keyId ?? ""}`
