import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { RedisStore } from "./RedisStore.ts"

/** A store of this process alone, or with a Redis the one that nodes share, which is loaded only then. */
export const orShared = <A, R = never>(
  settings: { readonly redisUrl: unknown },
  alone: Layer.Layer<A, never, R>,
  load: () => Promise<Layer.Layer<A, never, RedisStore | R>>
): Layer.Layer<A, never, RedisStore | R> =>
  settings.redisUrl === null ? alone : Layer.unwrap(Effect.promise(load))
