/**
 * `CooldownFeed` over Redis: everything travels over one channel; running lockouts are kept in one hash, too, with a version that each
 * change counts up. Once a second a node compares it with the messages it received, and reads the hash when one was lost. Cooldowns are
 * not kept: their connection's record says them. Without Redis each node knows its own: this feature fails open.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Supervisor from "#actors/Supervisor.ts"
import { type Cleared, CooldownFeed, type CooldownListener, type Locked } from "#src/features/resilience/ports/CooldownFeed.ts"
import { RedisStore, type RedisScript } from "#src/platform/redis/RedisStore.ts"

/** Between two looks at the version, ms. */
export const POLL_MS = 1_000
/** Most lockouts that are kept; more are only announced. */
const KEPT_MAX = 10_000
/** Longest pause that is believed, ms. */
const PAUSE_MAX = 31 * 86_400_000
/** A kept lockout that ends this soon may have ended in Redis already, ms. */
const SLACK_MS = 2_000

const channel = "cooldowns"
const keys = ["lockouts", "lockouts-version"] as const

const clock = `local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)`
const counted = `local epoch = redis.call('HGET', KEYS[2], 'epoch')
if not epoch then
  epoch = time[1] .. string.format('%06d', time[2])
  redis.call('HSET', KEYS[2], 'epoch', epoch)
end
local version = epoch .. ':' .. redis.call('HINCRBY', KEYS[2], 'n', 1)`

const lock: RedisScript = {
  name: "lockout-lock",
  purpose: "a cooldown or lockout was shared",
  lua: `-- KEYS[1] hash: JSON [provider, connection, model, 'rest', 'provider' or nothing] -> '<end, server ms> <JSON>'; KEYS[2] hash {epoch, n}: the version
-- ARGV[1] field, ARGV[2] ms it runs, 0 = it is over, ARGV[3] what is kept, ARGV[4] most that are kept, ARGV[5] channel, ARGV[6] message
-- Tells the message with its version before it. Reply: 1
${clock}
local ms = tonumber(ARGV[2])
if ms == 0 then redis.call('HDEL', KEYS[1], ARGV[1])
elseif redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 or redis.call('HLEN', KEYS[1]) < tonumber(ARGV[4]) then
  redis.call('HSET', KEYS[1], ARGV[1], string.format('%.0f', now + ms) .. ' ' .. ARGV[3])
end
${counted}
for i = 1, 2 do
  local life = string.format('%.0f', math.max(redis.call('PTTL', KEYS[i]), ms + 60000))
  redis.call('PEXPIRE', KEYS[i], life)
end
redis.call('PUBLISH', ARGV[5], version .. ' ' .. ARGV[6])
return 1`
}

const clear: RedisScript = {
  name: "lockout-clear",
  purpose: "a cooldown or lockout was cleared",
  lua: `-- KEYS[1] hash: JSON [provider, connection, model, 'rest', 'provider' or nothing] -> '<end, server ms> <JSON>'; KEYS[2] hash {epoch, n}: the version
-- ARGV[1] provider, ARGV[2] connection, ARGV[3] model ('' = any), ARGV[4] channel, ARGV[5] message
-- Forgets what matches and tells the message with its version before it. Reply: 1
${clock}
for _, field in ipairs(redis.call('HKEYS', KEYS[1])) do
  local parts = cjson.decode(field)
  local matches = true
  for i = 1, 3 do if ARGV[i] ~= '' and parts[i] ~= ARGV[i] then matches = false end end
  if matches then redis.call('HDEL', KEYS[1], field) end
end
${counted}
redis.call('PEXPIRE', KEYS[2], string.format('%.0f', math.max(redis.call('PTTL', KEYS[2]), 60000)))
redis.call('PUBLISH', ARGV[4], version .. ' ' .. ARGV[5])
return 1`
}

const read: RedisScript = {
  name: "lockout-read",
  purpose: "cooldowns and lockouts were read",
  lua: `-- KEYS[1] hash: JSON [provider, connection, model, 'rest', 'provider' or nothing] -> '<end, server ms> <JSON>'; KEYS[2] hash {epoch, n}: the version
-- ARGV[1] the version that the caller knows, '' = none
-- Reply: nil when that is the version, else {version, field, ms it still runs, kept, field, ...}; what is over is forgotten
local found = redis.call('HMGET', KEYS[2], 'epoch', 'n')
local version = found[1] and (found[1] .. ':' .. found[2]) or ''
if version == ARGV[1] then return nil end
${clock}
local reply = {version}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local space = string.find(all[i + 1], ' ', 1, true)
  local left = tonumber(string.sub(all[i + 1], 1, space - 1)) - now
  if left <= 0 then redis.call('HDEL', KEYS[1], all[i])
  else
    reply[#reply + 1] = all[i]
    reply[#reply + 1] = string.format('%.0f', left)
    reply[#reply + 1] = string.sub(all[i + 1], space + 1)
  end
end
return reply`
}

const ms = Schema.Finite.check(Schema.isBetween({ minimum: 0, maximum: PAUSE_MAX }))
const count = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 1_000_000 }))
const orAll = Schema.NullOr(Schema.String)
const reason = Schema.Literals(["rate_limit_exceeded", "quota_exhausted", "model_capacity", "server_error", "auth_error", "unknown"])
const LockedText = Schema.Struct({
  provider: Schema.String, connectionId: orAll, model: Schema.String, forMs: ms, failures: count, status: count,
  rest: Schema.optionalKey(Schema.Struct({ level: count, reason, guessed: Schema.Boolean })),
  whole: Schema.optionalKey(Schema.Literal(true))
})
const CooledText = Schema.Struct({
  connectionId: Schema.String, forMs: ms, until: Schema.Finite, level: count, status: count, guessed: Schema.Boolean, reason
})
const Message = Schema.Struct({
  from: Schema.String,
  news: Schema.Union([
    Schema.Struct({ cooled: CooledText }),
    Schema.Struct({ locked: LockedText }),
    Schema.Struct({ cleared: Schema.Struct({ provider: orAll, model: orAll, connectionId: orAll }) })
  ])
})
type News = typeof Message.Type["news"]
const decodeMessage = Schema.decodeUnknownOption(Schema.fromJsonString(Message))
const decodeLocked = Schema.decodeUnknownOption(Schema.fromJsonString(LockedText))

interface Version {
  readonly epoch: string
  readonly n: number
}
const none: Version = { epoch: "", n: 0 }
const versionIn = (text: string): Version => {
  const colon = text.indexOf(":")
  return colon < 0 ? none : { epoch: text.slice(0, colon), n: Number(text.slice(colon + 1)) }
}
const versionText = ({ epoch, n }: Version): string => epoch === "" ? "" : `${epoch}:${n}`

/** A model may be locked and rest at the same time, and a client may have named a model as the provider's own cooldown is named. */
const fieldOf = ({ connectionId, model, provider, rest, whole }: Locked): string =>
  JSON.stringify(rest === undefined ? [provider, connectionId, model] : [provider, connectionId, model, whole === true ? "provider" : "rest"])
const textIn = (reply: unknown): string => reply instanceof Uint8Array ? Buffer.from(reply).toString("utf8") : ""

/** What Redis keeps, as far as this node knows: finds changes whose message was lost. */
class KeptLockouts {
  readonly #listener: CooldownListener
  readonly #now: () => number
  /** Ends of kept lockouts by field, ms since the epoch. */
  #kept = new Map<string, { readonly locked: Locked; readonly endsAt: number }>()
  version = none

  constructor(listener: CooldownListener, now: () => number) {
    this.#listener = listener
    this.#now = now
  }

  /** A message of this node moves the version only. */
  message(version: Version, news: Exclude<News, { readonly cooled: unknown }>, own: boolean): void {
    const sameLife = version.epoch === this.version.epoch
    // What was read since says it already.
    if (sameLife && version.n <= this.version.n) return
    if ("locked" in news) this.#locked(news.locked, own)
    else this.#cleared(news.cleared, own)
    // After a gap the version stays behind, so that the next look reads.
    if (sameLife ? version.n === this.version.n + 1 : this.version === none && version.n === 1) this.version = version
  }

  reading(version: Version, running: ReadonlyArray<Locked>): void {
    const sameLife = version.epoch === this.version.epoch
    // Messages have overtaken it.
    if (sameLife && version.n < this.version.n) return
    const before = this.#kept
    this.#kept = new Map()
    for (const locked of running) this.#locked(locked, false)
    this.version = version
    if (!sameLife) return
    // A store that was lost has forgotten everything; one that was not lost has forgotten only what was cleared.
    for (const [field, { endsAt, locked }] of before) {
      if (!this.#kept.has(field) && endsAt - this.#now() > SLACK_MS) this.#listener.cleared(locked)
    }
  }

  #locked(locked: Locked, own: boolean): void {
    const field = fieldOf(locked)
    if (locked.forMs === 0) this.#kept.delete(field)
    else this.#kept.set(field, { locked, endsAt: this.#now() + locked.forMs })
    if (!own) this.#listener.locked(locked)
  }

  #cleared(cleared: Cleared, own: boolean): void {
    for (const [field, { locked }] of this.#kept) {
      const { connectionId, model, provider } = cleared
      if ((provider === null || provider === locked.provider) && (model === null || model === locked.model) && (connectionId === null || connectionId === locked.connectionId)) {
        this.#kept.delete(field)
      }
    }
    if (!own) this.#listener.cleared(cleared)
  }
}

const runningIn = (reply: ReadonlyArray<unknown>): ReadonlyArray<Locked> => {
  const running: Array<Locked> = []
  for (let i = 1; i + 2 < reply.length; i += 3) {
    const locked = decodeLocked(textIn(reply[i + 2]))
    if (locked._tag === "Some") running.push({ ...locked.value, forMs: Number(textIn(reply[i + 1])) })
  }
  return running
}

export const make = Effect.fnUntraced(function*(nodeId: string) {
  const redis = yield* RedisStore
  const clock = yield* Clock.Clock
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const messageOf = (news: News): string => JSON.stringify({ from: nodeId, news })

  const hear = Effect.fnUntraced(function*(listener: CooldownListener) {
    const received = new KeptLockouts(listener, () => clock.currentTimeMillisUnsafe())
    yield* redis.subscribe(channel, {
      message: (text) => {
        const space = text.indexOf(" ")
        const message = decodeMessage(text.slice(space + 1))
        if (message._tag === "None") return
        const { from, news } = message.value
        if (!("cooled" in news)) received.message(versionIn(text.slice(0, space)), news, from === nodeId)
        else if (from !== nodeId) listener.cooled(news.cooled)
      },
      // The next look finds what was missed.
      gap: () => {}
    })
    const look = Effect.map(Effect.suspend(() => redis.run(read, keys, [versionText(received.version)])), (reply) => {
      if (Array.isArray(reply)) received.reading(versionIn(textIn(reply[0])), runningIn(reply))
    })
    yield* Effect.ignore(look)
    yield* Supervisor.loop("cooldown feed", Effect.andThen(Effect.sleep(POLL_MS), Effect.ignore(look)))
  })

  return CooldownFeed.of({
    cool: (cooled) => {
      run(Effect.ignore(redis.publish(channel, `- ${messageOf({ cooled })}`)))
    },
    lock: (locked) => {
      const forMs = Math.ceil(locked.forMs)
      run(Effect.ignore(redis.run(lock, keys, [
        fieldOf(locked), forMs, JSON.stringify(locked), KEPT_MAX, redis.prefix + channel, messageOf({ locked })
      ])))
    },
    clear: (cleared) => {
      run(Effect.ignore(redis.run(clear, keys, [
        cleared.provider ?? "", cleared.connectionId ?? "", cleared.model ?? "", redis.prefix + channel, messageOf({ cleared })
      ])))
    },
    hear
  })
})

/** Between the nodes of the deployment's Redis. */
export const layer = (nodeId: string): Layer.Layer<CooldownFeed, never, RedisStore> => Layer.effect(CooldownFeed, make(nodeId))
