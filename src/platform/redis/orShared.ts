import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RedisStore } from "./RedisStore.ts"

/** A store of this process alone, or with a Redis the one that nodes share, which is loaded only then. */
export const orShared = <A>(
  settings: { readonly redisUrl: unknown },
  alone: Layer.Layer<A>,
  load: () => Promise<Layer.Layer<A, never, RedisStore>>
): Layer.Layer<A, never, RedisStore> =>
  settings.redisUrl === null ? alone : Layer.unwrap(Effect.promise(load))
