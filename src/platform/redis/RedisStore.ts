/**
 * Redis as the adapters of shared state see it: every call has a deadline (GATEWAY_REDIS_TIMEOUT_MS unless its caller has `StoreDeadline`) and passes a
 * breaker on the store itself, so that a frozen server costs one deadline and then nothing. Each feature
 * declares whether it fails open or closed; here a failure is only a typed error.
 */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"

/** The shared store could not answer in time; nothing is known about what it did. */
export class SharedStoreDown extends Schema.TaggedError<SharedStoreDown>()("SharedStoreDown", {
  reason: Schema.Literals(["refused", "deadline", "breaker-open", "failed"]),
  message: Schema.String
}) {}

/** A Lua script: one atomic transition. `lua` begins with a legend that names its keys, arguments and reply. */
export interface RedisScript {
  /** For the log's fields only; no message names it. */
  readonly name: string
  /** What the gateway was doing, for operators: completes "while ...", such as `limits were counted`. */
  readonly purpose: string
  readonly lua: string
}

export type Value = string | number | Uint8Array

export class RedisStore extends Context.Service<RedisStore, {
  /** Before every key and channel of this deployment, such as `gateway:`. */
  readonly prefix: string
  /** Runs a script; `keys` get the prefix. Replies as Redis gives them, all strings (`OK` too) as Buffers. */
  readonly run: (script: RedisScript, keys: ReadonlyArray<string>, args: ReadonlyArray<Value>) => Effect.Effect<unknown, SharedStoreDown>
  /** One command, keys already prefixed by the caller with `prefix`. */
  readonly command: (name: string, args: ReadonlyArray<Value>) => Effect.Effect<unknown, SharedStoreDown>
  /** The channel gets the prefix, here and in `subscribe`. */
  readonly publish: (channel: string, message: string) => Effect.Effect<void, SharedStoreDown>
  /**
   * Subscribes to a channel for the scope; it subscribes again after a break, and `gap` is called when messages may have been
   * missed.
   */
  readonly subscribe: (channel: string, listener: { readonly message: (text: string) => void; readonly gap: () => void }) => Effect.Effect<void, never, Scope.Scope>
  /** What the store's own breaker says now. */
  readonly state: () => "closed" | "open" | "half-open"
}>()("gateway/redis/RedisStore") {}

const notThere = Effect.fail(new SharedStoreDown({ reason: "refused", message: "There is no shared store: REDIS_URL is not set." }))

/** Where no Redis is configured: features get their memory stores then, and this is never called. */
export const layerAbsent: Layer.Layer<RedisStore> = Layer.succeed(RedisStore, {
  prefix: "",
  run: () => notThere,
  command: () => notThere,
  publish: () => notThere,
  subscribe: () => Effect.void,
  state: () => "open"
})
