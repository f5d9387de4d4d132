/** Sign-ins in progress in Redis: one hash each, which ends by itself. Times are the server's, because the clocks of nodes differ. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { SignInStore } from "#src/features/oauth/ports/SignInStore.ts"
import * as Operation from "#src/platform/redis/operation.ts"
import { RedisStore, type RedisScript } from "#src/platform/redis/RedisStore.ts"

const add: RedisScript = {
  name: "sign-in-add",
  purpose: "an account's sign-in was begun",
  lua: `-- KEYS[1] hash {sealed, turnAt}; ARGV[1] sealed, ARGV[2] ms it lives, ARGV[3] ms until its first turn; reply: 1
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'sealed', ARGV[1], 'turnAt', string.format('%.0f', now + tonumber(ARGV[3])))
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1`
}

const take: RedisScript = {
  name: "sign-in-take",
  purpose: "an account's sign-in was completed",
  lua: `-- KEYS[1] hash; reply: sealed, or nil when there is none
local sealed = redis.call('HGET', KEYS[1], 'sealed')
redis.call('DEL', KEYS[1])
return sealed`
}

const turn: RedisScript = {
  name: "sign-in-turn",
  purpose: "an account's sign-in was polled",
  lua: `-- KEYS[1] hash; ARGV[1] ms of the turn; reply: 1 when it is the caller's, else 0
local turnAt = redis.call('HGET', KEYS[1], 'turnAt')
if not turnAt then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
if now < tonumber(turnAt) then return 0 end
redis.call('HSET', KEYS[1], 'turnAt', string.format('%.0f', now + tonumber(ARGV[1])))
return 1`
}

const rest: RedisScript = {
  name: "sign-in-rest",
  purpose: "the next poll of an account's sign-in was planned",
  lua: `-- KEYS[1] hash; ARGV[1] sealed, ARGV[2] ms until the next turn; reply: 1, or 0 when it is gone
if redis.call('EXISTS', KEYS[1]) == 0 then return 0 end
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('HSET', KEYS[1], 'sealed', ARGV[1], 'turnAt', string.format('%.0f', now + tonumber(ARGV[2])))
return 1`
}

const run = Operation.make("RedisSignInStore")

const keyOf = (id: string): string => `sign-in:${id}`
const textIn = (reply: unknown): string | null => reply instanceof Uint8Array ? Buffer.from(reply).toString("latin1") : null

export const make = Effect.map(RedisStore, (redis) => {
  return SignInStore.of({
    add: (id, sealed, lifeMs, restMs) => Effect.asVoid(run("add", redis.run(add, [keyOf(id)], [sealed, Math.ceil(lifeMs), restMs]))),
    find: (id) => Effect.map(run("find", redis.command("HGET", [redis.prefix + keyOf(id), "sealed"])), textIn),
    take: (id) => Effect.map(run("take", redis.run(take, [keyOf(id)], [])), textIn),
    turn: (id, ms) => Effect.map(run("turn", redis.run(turn, [keyOf(id)], [ms])), (reply) => Number(reply) === 1),
    rest: (id, sealed, ms) => Effect.asVoid(run("rest", redis.run(rest, [keyOf(id)], [sealed, ms])))
  })
})

/** `SignInStore` on the deployment's Redis. */
export const layer: Layer.Layer<SignInStore, never, RedisStore> = Layer.effect(SignInStore, make)
