/** Attempts to sign in over all nodes: one hash per address that ends with its window or its lock; the twin of `actors/access/LoginBrake.ts`. */
import * as Crypto from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as LoginBrake from "#actors/access/LoginBrake.ts"
import { LoginAttempts } from "./LoginAttempts.ts"
import { StoreError } from "#actors/ports/StoreError.ts"
import { RedisStore, type RedisScript, type SharedStoreDown } from "#src/platform/redis/RedisStore.ts"

const begin: RedisScript = {
  name: "login-begin",
  purpose: "an attempt to sign in was counted",
  lua: `-- KEYS[1] hash {count, locked}; ARGV[1] attempts until it locks, ARGV[2] ms of the window, ARGV[3] ms of the lock
-- reply: {ms to wait, 0 = go ahead; 1 when this attempt locks the address, else 0}
if redis.call('HEXISTS', KEYS[1], 'locked') == 1 then
  return {math.max(1, redis.call('PTTL', KEYS[1])), 0}
end
local count = redis.call('HINCRBY', KEYS[1], 'count', 1)
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if count >= tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'locked', 1)
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {0, 1}
end
return {0, 0}`
}

const storeError = (operation: string) => (down: SharedStoreDown): StoreError =>
  new StoreError({ store: "RedisLoginAttempts", operation, reason: "unavailable", message: down.message })

/** An address is personal, and as long as its sender likes: its digest is enough to count by. */
const keyOf = (address: string): string => `login:${Crypto.hash("sha256", address, "hex")}`

const verdictIn = (reply: unknown): LoginBrake.LoginVerdict => {
  const [waitMs, locks]: ReadonlyArray<unknown> = Array.isArray(reply) ? reply : []
  return { waitMs: Number(waitMs) || 0, locks: Number(locks) === 1 }
}

export const make = Effect.map(RedisStore, (redis) => {
  const asking = <A>(operation: string, effect: Effect.Effect<A, SharedStoreDown>) => Effect.mapError(effect, storeError(operation))
  return LoginAttempts.of({
    begin: (address) => Effect.map(
      asking("begin", redis.run(begin, [keyOf(address)], [LoginBrake.ATTEMPTS_MAX, LoginBrake.WINDOW_MS, LoginBrake.LOCK_MS])), verdictIn
    ),
    succeeded: (address) => Effect.asVoid(asking("succeeded", redis.command("DEL", [redis.prefix + keyOf(address)])))
  })
})

/** `LoginAttempts` on the deployment's Redis. */
export const layer: Layer.Layer<LoginAttempts, never, RedisStore> = Layer.effect(LoginAttempts, make)
