/** `McpSessions` in Redis: a text for each session and a stream of its messages, which end by themselves; a channel wakes the readers. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import { BudgetGuard } from "#src/features/mcp/budgetGuard.ts"
import { type McpMessage, McpSession, McpSessions, MESSAGES_CHARACTERS, MESSAGES_MAX, SESSION_MS } from "#src/features/mcp/ports/McpSessions.ts"
import * as Operation from "#src/platform/redis/operation.ts"
import { RedisStore, type RedisScript } from "#src/platform/redis/RedisStore.ts"
import * as Wakers from "#src/platform/structures/wakers.ts"

const BEAT_MS = 15_000
const channel = "mcp"
const READ_MAX = 100

const append: RedisScript = {
  name: "mcp-append",
  purpose: "a message of an MCP session was kept",
  lua: `-- KEYS[1] stream of messages {s stream, d text, absent at the end}, KEYS[2] session, KEYS[3] its budget, KEYS[4] bytes of the messages;
-- ARGV[1] ms they live, ARGV[2] most messages, ARGV[3] most bytes, ARGV[4] s, ARGV[5] 1 = with d, ARGV[6] d; reply: 1, or 0 without the session
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
if ARGV[5] == '1' then
  redis.call('XADD', KEYS[1], '*', 's', ARGV[4], 'd', ARGV[6])
else
  redis.call('XADD', KEYS[1], '*', 's', ARGV[4])
end
local bytes = tonumber(redis.call('GET', KEYS[4]) or '0') + #ARGV[6]
local length = redis.call('XLEN', KEYS[1])
while length > 1 and (length > tonumber(ARGV[2]) or bytes > tonumber(ARGV[3])) do
  local first = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', 1)[1]
  bytes = math.max(0, bytes - #(first[2][4] or ''))
  length = length - 1
  redis.call('XTRIM', KEYS[1], 'MAXLEN', length)
end
redis.call('SET', KEYS[4], bytes, 'PX', ARGV[1])
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
redis.call('PEXPIRE', KEYS[3], ARGV[1])
return 1`
}

const find: RedisScript = {
  name: "mcp-find",
  purpose: "a session of MCP was found, and lives on with its budget",
  lua: `-- KEYS[1] session, KEYS[2] its budget; ARGV[1] ms they live; reply: the session, or nil
local session = redis.call('GET', KEYS[1])
if not session then return false end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
redis.call('PEXPIRE', KEYS[2], ARGV[1])
return session`
}

const change: RedisScript = {
  name: "mcp-budget",
  purpose: "the budget of an MCP session was set, or some of it spent",
  lua: `-- KEYS[1] budget {u USD spent, g the guard as JSON}, KEYS[2] session; ARGV[1] ms it lives, ARGV[2] 'u' or 'g', ARGV[3] USD to add or the guard; reply: 1, or 0 without the session
if redis.call('EXISTS', KEYS[2]) == 0 then return 0 end
if ARGV[2] == 'u' then
  redis.call('HINCRBYFLOAT', KEYS[1], 'u', ARGV[3])
else
  redis.call('HSET', KEYS[1], 'g', ARGV[3])
end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1`
}

const run = Operation.make("RedisMcpSessions")

const textIn = (reply: unknown): string | null => reply instanceof Uint8Array ? Buffer.from(reply).toString("utf8") : typeof reply === "string" ? reply : null
const decodeSession = Schema.decodeUnknownOption(Schema.fromJsonString(McpSession))
const decodeGuard = Schema.decodeUnknownOption(Schema.fromJsonString(BudgetGuard))
const Heard = Schema.Struct({ id: Schema.String, frame: Schema.optionalKey(Schema.String) })
const decodeHeard = Schema.decodeUnknownOption(Schema.fromJsonString(Heard))

/** Redis's own ids `<ms>-<n>` as texts that compare as they follow each other, and back. */
const placeOf = (id: string): string => id.split("-").map((part) => part.padStart(16, "0")).join("-")
const idOf = (place: string): string => place.split("-").map((part) => String(Number(part))).join("-")

const messageOf = (entry: unknown): McpMessage | null => {
  if (!Array.isArray(entry)) return null
  const id = textIn(entry[0])
  const fields: ReadonlyArray<unknown> = Array.isArray(entry[1]) ? entry[1] : []
  return id === null ? null : { place: placeOf(id), stream: textIn(fields[1]) ?? "", text: fields.length > 3 ? textIn(fields[3]) : null }
}

export const make = Effect.gen(function*() {
  const redis = yield* RedisStore
  const wakers = Wakers.make()
  const listeners = new Array<(id: string, frame: string) => void>()
  yield* redis.subscribe(channel, {
    message: (text) => {
      const heard = decodeHeard(text)
      if (heard._tag === "None") return
      const { frame, id } = heard.value
      if (frame === undefined) wakers.wakeUnsafe(id)
      else for (const listener of listeners) listener(id, frame)
    },
    gap: () => {}
  })
  const sessionKey = (id: string): string => `mcp:session:${id}`
  const messagesKey = (id: string): string => `mcp:messages:${id}`
  const budgetKey = (id: string): string => `mcp:budget:${id}`
  const bytesKey = (id: string): string => `mcp:bytes:${id}`
  const wake = (id: string) => redis.publish(channel, JSON.stringify({ id }))
  return McpSessions.of({
    put: (session) => Effect.asVoid(run("put", redis.command("SET", [redis.prefix + sessionKey(session.id), JSON.stringify(session), "PX", SESSION_MS]))),
    find: (id) => Effect.map(run("find", redis.run(find, [sessionKey(id), budgetKey(id)], [SESSION_MS])), (reply) => {
      const text = textIn(reply)
      const session = text === null ? null : decodeSession(text)
      return session === null || session._tag === "None" ? null : session.value
    }),
    remove: (id) => run("remove", Effect.andThen(redis.command("DEL", [sessionKey(id), messagesKey(id), budgetKey(id), bytesKey(id)].map((key) => redis.prefix + key)), wake(id))),
    append: (id, stream, text) => run("append", Effect.andThen(
      redis.run(append, [messagesKey(id), sessionKey(id), budgetKey(id), bytesKey(id)], [SESSION_MS, MESSAGES_MAX, MESSAGES_CHARACTERS, stream, text === null ? "0" : "1", text ?? ""]),
      wake(id)
    )),
    behind: (id, place) => Effect.map(
      run("behind", redis.command("XRANGE", [redis.prefix + messagesKey(id), place === "" ? "-" : `(${idOf(place)}`, "+", "COUNT", READ_MAX])),
      (reply) => Array.isArray(reply) ? reply.map(messageOf).filter((message) => message !== null) : []
    ),
    next: wakers.next,
    tell: (id, frame) => run("tell", redis.publish(channel, JSON.stringify({ id, frame }))),
    hear: (listener) => Effect.sync(() => void listeners.push(listener)),
    guard: (id, guard) => Effect.asVoid(run("guard", redis.run(change, [budgetKey(id), sessionKey(id)], [SESSION_MS, "g", JSON.stringify(guard)]))),
    spend: (id, usd) => Effect.asVoid(run("spend", redis.run(change, [budgetKey(id), sessionKey(id)], [SESSION_MS, "u", usd.toFixed(12)]))),
    budget: (id) => Effect.map(run("budget", redis.command("HMGET", [redis.prefix + budgetKey(id), "u", "g"])), (reply) => {
      const [spent, guard] = Array.isArray(reply) ? reply.map(textIn) : []
      return { spent: Number(spent ?? 0), guard: guard === null || guard === undefined ? null : Option.getOrNull(decodeGuard(guard)) }
    }),
    beat: (text) => Effect.asVoid(run("beat", redis.command("SET", [`${redis.prefix}mcp:beat`, text, "PX", BEAT_MS]))),
    lastBeat: Effect.map(run("lastBeat", redis.command("GET", [`${redis.prefix}mcp:beat`])), textIn)
  })
})

/** On the deployment's Redis. */
export const layer: Layer.Layer<McpSessions, never, RedisStore> = Layer.effect(McpSessions, make)
