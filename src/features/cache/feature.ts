/** The response cache and idempotent requests. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { CacheGroup } from "./api.ts"
import * as Http from "./http.ts"
import * as ManagedCache from "./ManagedCache.ts"
import version8 from "./migrations/0008_cache.ts"
import * as PostgresResponseCacheStore from "./PostgresResponseCacheStore.ts"
import { degradation } from "./degradation.ts"
import * as Layer from "effect/Layer"
import * as Effect from "effect/Effect"
import * as TieredCache from "./TieredCache.ts"

export const cache = Feature.make({
  name: "cache",
  groups: [CacheGroup],
  handlers: Layer.provide(Http.layer, ManagedCache.layer),
  stores: PostgresResponseCacheStore.layer,
  migrations: { "8_cache": version8 },
  acting: [Acting.cacheConfig],
  degradation,
  services: (settings) => {
    const tiers = TieredCache.layer({ maxEntries: settings.cacheMaxSize, maxBytes: settings.cacheMaxBytes, ttlMs: settings.cacheTtlMs })
    return settings.redisUrl === null ? tiers : Layer.provideMerge(tiers, Layer.unwrap(Effect.map(
      Effect.promise(() => import("./SharedRepeats.ts")),
      (SharedRepeats) => SharedRepeats.layer
    )))
  }
})
