/** What nodes share so that a request is answered once: stored answers, and the claims of idempotent requests. */
import * as Layer from "effect/Layer"
import type { IdempotencyStore } from "#src/features/cache/ports/Idempotency.ts"
import type { SharedCacheTier } from "#src/features/cache/ports/ResponseCache.ts"
import * as RedisCacheTier from "./RedisCacheTier.ts"
import * as RedisIdempotencyStore from "#src/features/cache/idempotency/RedisIdempotencyStore.ts"
import type { RedisStore } from "#src/platform/redis/RedisStore.ts"

export const layer: Layer.Layer<SharedCacheTier | IdempotencyStore, never, RedisStore> = Layer.mergeAll(RedisCacheTier.layer, RedisIdempotencyStore.layer)
