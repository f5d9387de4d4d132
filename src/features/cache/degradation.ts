/** What the caches do while what they depend on fails. */
import type { DegradationRow } from "#schemas/degradation.ts"
import { leaseMs as CLAIM_MS } from "#src/features/cache/idempotency/stage.ts"
import { degradation as idempotency } from "#src/features/cache/ports/Idempotency.ts"
import { degradation as cache } from "#src/features/cache/ports/ResponseCache.ts"
import { declared, effect, REDIS_MS } from "#src/management/degradation.ts"

export const degradation: ReadonlyArray<DegradationRow> = [
  declared(cache, { node: { skewed: effect("admitted", "An answer may be given for longer, or not as long, by the difference of the clocks.", null) } }),
  declared(idempotency, {
    redis: {
      away: effect("admitted", idempotency.redis, idempotency.stalenessMs, idempotency.addedLatencyMs),
      slow: effect("admitted", `${idempotency.redis}. A claim whose answers were all late holds up a repeat on another node until it ends.`, 0, CLAIM_MS + REDIS_MS)
    },
    node: { killed: effect("admitted", "A claim ends with its owner: the request may be made again.") }
  })
]
