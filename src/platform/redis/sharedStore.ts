/** What the processes of a gateway share. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { Values } from "#src/platform/configuration/Settings.ts"
import * as RedisStore from "./RedisStore.ts"

/** Redis, where there is one; its driver is loaded only then. */
export const layerOf = (settings: Values): Layer.Layer<RedisStore.RedisStore> => {
  const { redisUrl: url } = settings
  return url === null ? RedisStore.layerAbsent : Layer.unwrap(Effect.map(
    Effect.promise(() => import("./IoRedisStore.ts")),
    (IoRedisStore) => IoRedisStore.layer({ url, prefix: settings.redisPrefix, deadlineMs: settings.redisTimeoutMs })
  ))
}
