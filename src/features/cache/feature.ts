/** The response cache and idempotent requests. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { CacheGroup } from "./api.ts"
import * as Http from "./http.ts"
import version8 from "./migrations/0008_cache.ts"
import * as PostgresResponseCacheStore from "./PostgresResponseCacheStore.ts"
import { degradation } from "./degradation.ts"

export const cache = Feature.make({
  name: "cache",
  groups: [CacheGroup],
  handlers: Http.layer,
  stores: PostgresResponseCacheStore.layer,
  migrations: { "8_cache": version8 },
  acting: [Acting.cacheConfig],
  degradation
})
