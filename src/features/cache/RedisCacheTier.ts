/**
 * Answers that nodes share in Redis, in front of the durable tier. Every entry carries the generation it was written in: forgetting
 * everything is a new generation, and what an older one holds expires unread. Expiry is Redis's own.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { CachedAnswerRecord } from "#schemas/records/CachedAnswer.ts"
import { SharedCacheTier } from "#src/features/cache/ports/ResponseCache.ts"
import { pack, unpackUnsafe } from "#src/platform/redis/pack.ts"
import * as Operation from "#src/platform/redis/operation.ts"
import { RedisStore, type RedisScript } from "#src/platform/redis/RedisStore.ts"

const find: RedisScript = {
  name: "cache-find",
  purpose: "a kept answer was looked up",
  lua: `-- KEYS[1] entry, KEYS[2] generation; reply: the packed answer, or nil when there is none of this generation
local entry = redis.call('GET', KEYS[1])
if not entry then return false end
local generation = (redis.call('GET', KEYS[2]) or '0') .. ':'
if string.sub(entry, 1, #generation) ~= generation then return false end
return string.sub(entry, #generation + 1)`
}

const put: RedisScript = {
  name: "cache-put",
  purpose: "an answer was kept",
  lua: `-- KEYS[1] entry, KEYS[2] generation; ARGV[1] packed answer, ARGV[2] ms to live; reply: 1
redis.call('SET', KEYS[1], (redis.call('GET', KEYS[2]) or '0') .. ':' .. ARGV[1], 'PX', ARGV[2])
return 1`
}

const generation = "cache:generation"
const entryOf = (signature: string): string => `cache:answer:${signature}`
/** Carries a JSON list of signatures, or null for everything. */
const channel = "cache:removed"

const decode = Schema.decodeUnknownOption(CachedAnswerRecord)
const decodeRemoved = Schema.decodeUnknownOption(Schema.fromJsonString(Schema.NullOr(Schema.Array(Schema.String))))

const run = Operation.make("RedisCacheTier")

/** What lies there may be from another release: what does not fit is no answer. */
const answerIn = (reply: unknown) => {
  if (!(reply instanceof Uint8Array)) return null
  try {
    return Option.getOrNull(decode(unpackUnsafe(reply)))
  } catch {
    return null
  }
}

export const make = Effect.gen(function*() {
  const redis = yield* RedisStore
  let dropped: (signatures: ReadonlyArray<string> | null) => void = () => {}
  yield* redis.subscribe(channel, {
    message: (text) => {
      const removed = decodeRemoved(text)
      if (Option.isSome(removed)) dropped(removed.value)
    },
    gap: () => dropped(null)
  })

  return SharedCacheTier.of({
    find: (signature) => Effect.map(run("find", redis.run(find, [entryOf(signature), generation], [])), answerIn),
    put: (answer, ttlMs) => Effect.asVoid(run("put", redis.run(put, [entryOf(answer.signature), generation], [pack(answer), Math.max(1, Math.round(ttlMs))]))),
    remove: (signatures) => run("remove", Effect.gen(function*() {
      if (signatures === null) yield* redis.command("INCR", [redis.prefix + generation])
      else if (signatures.length > 0) yield* redis.command("UNLINK", signatures.map((signature) => redis.prefix + entryOf(signature)))
      yield* redis.command("PUBLISH", [redis.prefix + channel, JSON.stringify(signatures)])
    })),
    onRemoved: (listener) => {
      dropped = listener
    }
  })
})

/** `SharedCacheTier` on the deployment's Redis. */
export const layer: Layer.Layer<SharedCacheTier, never, RedisStore> = Layer.effect(SharedCacheTier, make)
