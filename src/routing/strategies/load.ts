/** Strategies by use: least-used, and the internal quota-share of ids `qtSd/<group>/<provider>/<model>`. */
import { sortedBy, type Strategic, strategy, tightest } from "#src/routing/strategies/ranking.ts"

/** Fewest uses first (completed and running), then the longest unused. */
export const leastUsed: Strategic = strategy((available, _config, memory, moment) => ({
  order: sortedBy(available, ({ target }) => {
    const health = moment.health(target)
    return [health.uses + health.inFlight, health.lastUsedAt]
  }),
  memory
}))

/**
 * Connections that share one quota group: the least load per percent that remains first, so that plans empty together; unknown
 * quota counts as full, used-up plans come last, ties go to the one used least.
 */
export const quotaShare: Strategic = strategy((available, _config, memory, moment) => ({
  order: sortedBy(available, ({ target }) => {
    const health = moment.health(target)
    const remaining = tightest(moment.quota(target), moment.now) ?? 100
    return [remaining <= 0 ? Infinity : (health.inFlight + 1) / remaining, health.uses, health.lastUsedAt]
  }),
  memory
}))
