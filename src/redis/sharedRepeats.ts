/** What nodes share so that a request is answered once: stored answers, and the claims of idempotent requests. */
import * as Layer from "effect/Layer"
import type { IdempotencyStore } from "#actors/ports/Idempotency.ts"
import type { SharedCacheTier } from "#actors/ports/ResponseCache.ts"
import * as RedisCacheTier from "./RedisCacheTier.ts"
import * as RedisIdempotencyStore from "./RedisIdempotencyStore.ts"
import type { RedisStore } from "#src/platform/redis/RedisStore.ts"

export const layer: Layer.Layer<SharedCacheTier | IdempotencyStore, never, RedisStore> = Layer.mergeAll(RedisCacheTier.layer, RedisIdempotencyStore.layer)
