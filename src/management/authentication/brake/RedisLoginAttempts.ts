/** Attempts to sign in over all nodes: one hash per address that ends with its window or its lock; the twin of `actors/access/LoginBrake.ts`. */
import * as Crypto from "node:crypto"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import * as LoginBrake from "#actors/access/LoginBrake.ts"
import { Secrets } from "#actors/ports/Secrets.ts"
import { type LockedAddress, LoginAttempts } from "./LoginAttempts.ts"
import * as Operation from "#src/platform/redis/operation.ts"
import { RedisStore, type RedisScript, type SharedStoreDown } from "#src/platform/redis/RedisStore.ts"

const begin: RedisScript = {
  name: "login-begin",
  purpose: "an attempt to sign in was counted",
  lua: `-- KEYS[1] hash {count, locked, address}; ARGV[1] attempts until it locks, ARGV[2] ms of the window, ARGV[3] ms of the lock,
-- ARGV[4] the address, sealed: kept with the lock
-- reply: {ms to wait, 0 = go ahead; 1 when this attempt locks the address, else 0}
if redis.call('HEXISTS', KEYS[1], 'locked') == 1 then
  return {math.max(1, redis.call('PTTL', KEYS[1])), 0}
end
local count = redis.call('HINCRBY', KEYS[1], 'count', 1)
if count == 1 then redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
if count >= tonumber(ARGV[1]) then
  redis.call('HSET', KEYS[1], 'locked', 1, 'address', ARGV[4])
  redis.call('PEXPIRE', KEYS[1], ARGV[3])
  return {0, 1}
end
return {0, 0}`
}

const run = Operation.make("RedisLoginAttempts")

/** An address is personal, and as long as its sender likes: its digest is enough to count by. */
const keyOf = (address: string): string => `login:${Crypto.hash("sha256", address, "hex")}`

const verdictIn = (reply: unknown): LoginBrake.LoginVerdict => {
  const [waitMs, locks]: ReadonlyArray<unknown> = Array.isArray(reply) ? reply : []
  return { waitMs: Number(waitMs) || 0, locks: Number(locks) === 1 }
}

/** Digests of locked addresses by the end of their locks, ms since the epoch; the address itself is sealed beside its count. */
const LOCKED = "logins-locked"
/** Of that list: addresses, and characters of one; a longer one is none, and is locked without being listed. */
const LISTED_MAX = 1_000
const ADDRESS_MAX = 64
/** Addresses that are read at once. */
const READ_AT_ONCE = 50
const contextOf = (key: string): string => `lockedAddress:${key}`

export const make = Effect.gen(function*() {
  const redis = yield* RedisStore
  const secrets = yield* Secrets
  const list = redis.prefix + LOCKED

  /** The lock holds without it. */
  const listed = (address: string) => Effect.ignore(Effect.gen(function*() {
    if (address.length > ADDRESS_MAX) return
    const now = yield* Clock.currentTimeMillis
    yield* redis.command("ZADD", [list, now + LoginBrake.LOCK_MS, keyOf(address)])
    yield* redis.command("ZREMRANGEBYSCORE", [list, "-inf", now])
    yield* redis.command("ZREMRANGEBYRANK", [list, 0, -LISTED_MAX - 1])
    yield* redis.command("PEXPIRE", [list, LoginBrake.LOCK_MS])
  }))

  /** Null for a lock that has ended, and for one of a node with another master secret. */
  const read = ([key, until]: readonly [key: string, until: number]): Effect.Effect<LockedAddress | null, SharedStoreDown> =>
    Effect.map(redis.command("HGET", [redis.prefix + key, "address"]), (sealed) => {
      try {
        return sealed === null ? null : { address: Redacted.value(secrets.openUnsafe(String(sealed), contextOf(key))), until }
      } catch {
        return null
      }
    })

  return LoginAttempts.of({
    begin: (address) => Effect.suspend(() => {
      const key = keyOf(address)
      const sealed = secrets.seal(Redacted.make(address.slice(0, ADDRESS_MAX)), contextOf(key))
      return Effect.tap(
        Effect.map(run("begin", redis.run(begin, [key], [LoginBrake.ATTEMPTS_MAX, LoginBrake.WINDOW_MS, LoginBrake.LOCK_MS, sealed])), verdictIn),
        ({ locks }) => locks ? listed(address) : Effect.void
      )
    }),
    succeeded: (address) => Effect.asVoid(run("succeeded", redis.command("DEL", [redis.prefix + keyOf(address)]))),
    locked: run("locked", Effect.gen(function*() {
      const now = yield* Clock.currentTimeMillis
      const reply = yield* redis.command("ZRANGE", [list, `(${now}`, "+inf", "BYSCORE", "WITHSCORES"])
      const flat = Array.isArray(reply) ? reply.map(String) : []
      const keys = Array.from({ length: Math.floor(flat.length / 2) }, (_, index) => [flat[2 * index] ?? "", Number(flat[2 * index + 1])] as const)
      const found = yield* Effect.forEach(keys, read, { concurrency: READ_AT_ONCE })
      return found.filter((one) => one !== null)
    })),
    unlock: (address) => run("unlock", Effect.gen(function*() {
      const key = redis.prefix + keyOf(address)
      if (Number(yield* redis.command("HEXISTS", [key, "locked"])) !== 1) return false
      yield* redis.command("DEL", [key])
      return true
    }))
  })
})

/** `LoginAttempts` on the deployment's Redis. */
export const layer: Layer.Layer<LoginAttempts, never, RedisStore | Secrets> = Layer.effect(LoginAttempts, make)
