/**
 * Claims of idempotent requests in Redis: one hash per key, taken and finished by one script each. A claim lives as long as its owner
 * renews it; owners are random, so one that was lost can change nothing.
 */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { type IdempotencyClaim, IdempotencyStore } from "#src/features/cache/ports/Idempotency.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { KeptReplyRecord } from "#schemas/records/CachedAnswer.ts"
import { pack, unpackUnsafe } from "#src/platform/redis/pack.ts"
import * as Operation from "#src/platform/redis/operation.ts"
import { RedisStore, type RedisScript } from "#src/platform/redis/RedisStore.ts"

const claim: RedisScript = {
  name: "idempotency-claim",
  purpose: "a request with an idempotency key began",
  lua: `-- KEYS[1] hash {digest, owner, reply}; ARGV[1] digest, ARGV[2] owner, ARGV[3] ms the claim lives
-- reply: {'mine'} | {'running'} | {'reused'} | {'finished', packed reply}
local held = redis.call('HMGET', KEYS[1], 'digest', 'owner', 'reply')
if not held[1] then
  redis.call('HSET', KEYS[1], 'digest', ARGV[1], 'owner', ARGV[2])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {'mine'}
end
if held[1] ~= ARGV[1] then return {'reused'} end
if held[3] then return {'finished', held[3]} end
if held[2] == ARGV[2] then return {'mine'} end
return {'running'}`
}

const renew: RedisScript = {
  name: "idempotency-renew",
  purpose: "a request with an idempotency key went on",
  lua: `-- KEYS[1] hash; ARGV[1] owner, ARGV[2] ms the claim lives; reply: 1 when the claim is the owner's, else 0
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`
}

const finish: RedisScript = {
  name: "idempotency-finish",
  purpose: "the answer to a request with an idempotency key was kept",
  lua: `-- KEYS[1] hash; ARGV[1] owner, ARGV[2] packed reply, ARGV[3] ms of the window; reply: 1 when the claim was the owner's, else 0
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'reply', ARGV[2])
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1`
}

const abandon: RedisScript = {
  name: "idempotency-abandon",
  purpose: "a request with an idempotency key was given up",
  lua: `-- KEYS[1] hash; ARGV[1] owner; reply: 1 when the claim was the owner's and is gone, else 0
if redis.call('HGET', KEYS[1], 'owner') ~= ARGV[1] then return 0 end
return redis.call('UNLINK', KEYS[1])`
}

const run = Operation.make("RedisIdempotencyStore")

const corrupt = (): StoreError =>
  new StoreError({ store: "RedisIdempotencyStore", operation: "claim", reason: "corrupt", message: "RedisIdempotencyStore.claim: the stored reply cannot be read." })

const decode = Schema.decodeUnknownOption(KeptReplyRecord)

const isOne = (reply: unknown): boolean => Number(reply) === 1

const claimIn = (reply: unknown): IdempotencyClaim | null => {
  const [word, packed]: ReadonlyArray<unknown> = Array.isArray(reply) ? reply : []
  switch (word instanceof Uint8Array ? Buffer.from(word).toString("latin1") : word) {
    case "mine":
      return { _tag: "Mine" }
    case "running":
      return { _tag: "Running" }
    case "reused":
      return { _tag: "Reused" }
    case "finished": {
      const kept = packed instanceof Uint8Array ? decode(unpackUnsafe(packed)) : Option.none()
      return Option.isSome(kept) ? { _tag: "Finished", reply: kept.value } : null
    }
    default:
      return null
  }
}

const keyOf = (key: string): string => `idempotency:${key}`

export const make = Effect.gen(function*() {
  const redis = yield* RedisStore
  return IdempotencyStore.of({
    claim: (key, digest, owner, leaseMs) =>
      Effect.flatMap(run("claim", redis.run(claim, [keyOf(key)], [digest, owner, leaseMs])), (reply) => {
        const found = Effect.try({ try: () => claimIn(reply), catch: corrupt })
        return Effect.flatMap(found, (one) => one === null ? Effect.fail(corrupt()) : Effect.succeed(one))
      }),
    renew: (key, owner, leaseMs) => Effect.map(run("renew", redis.run(renew, [keyOf(key)], [owner, leaseMs])), isOne),
    finish: (key, owner, reply, windowMs) => Effect.map(run("finish", redis.run(finish, [keyOf(key)], [owner, pack(reply), windowMs])), isOne),
    abandon: (key, owner) => Effect.asVoid(run("abandon", redis.run(abandon, [keyOf(key)], [owner])))
  })
})

/** `IdempotencyStore` on the deployment's Redis. */
export const layer: Layer.Layer<IdempotencyStore, never, RedisStore> = Layer.effect(IdempotencyStore, make)
