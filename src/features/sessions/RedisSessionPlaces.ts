/**
 * `SessionPlaces` over a Redis channel: sent in batches, stored nowhere. A message that is lost costs a session its summary, as a
 * restart does; no request waits, and none fails.
 */
import * as Crypto from "node:crypto"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import { type CachePlace, type SessionPlace, SessionPlaces } from "#src/inference/ports/SessionPlaces.ts"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"

/** Sent together within this time, ms: the next request of a session comes later than this. */
const GATHER_MS = 50
/** Most sessions of one message; more at the same moment are not sent. */
const BATCH_MAX = 1_000

const channel = "session-places"

const Message = Schema.Struct({
  from: Schema.String,
  places: Schema.Array(Schema.Tuple([Schema.String, Schema.Struct({
    provider: Schema.String, alias: Schema.String, model: Schema.String, connectionId: Schema.NullOr(Schema.String), window: Schema.NullOr(Schema.Finite)
  })])),
  /** Nodes of an earlier release send none. */
  caches: Schema.optionalKey(Schema.Array(Schema.Tuple([Schema.String, Schema.Struct({ executionKey: Schema.String, until: Schema.Finite })])))
})
const decode = Schema.decodeUnknownOption(Schema.fromJsonString(Message))

export const make = Effect.fnUntraced(function*(nodeId: string) {
  const redis = yield* RedisStore
  const run = Effect.runForkWith(yield* Effect.context<never>())
  let gathered: Array<readonly [key: string, place: SessionPlace]> = []
  let caches: Array<readonly [key: string, place: CachePlace]> = []
  const flush = (): void => {
    const news = { from: nodeId, places: gathered, caches }
    gathered = []
    caches = []
    run(Effect.ignore(redis.publish(channel, JSON.stringify(news))))
  }
  const gather = <A>(into: Array<A>, one: A): void => {
    if (gathered.length + caches.length === 0) setTimeout(flush, GATHER_MS).unref()
    if (into.length < BATCH_MAX) into.push(one)
  }
  type Heard = typeof Message.Type
  /** Calls back with the messages of other nodes. */
  const heard = (onMessage: (message: Heard) => void) => redis.subscribe(channel, {
    message: (text) => {
      const message = decode(text)
      if (message._tag === "Some" && message.value.from !== nodeId) onMessage(message.value)
    },
    gap: () => {}
  })
  return SessionPlaces.of({
    keyOf: (session) => Crypto.hash("sha256", session, "base64url"),
    tell: (key, place) => gather(gathered, [key, place] as const),
    hear: (onPlace) => heard(({ places }) => {
      for (const [key, place] of places) onPlace(key, place)
    }),
    cachePlaces: {
      tell: (key, place) => gather(caches, [key, place] as const),
      hear: (onPlace) => heard(({ caches = [] }) => {
        for (const [key, place] of caches) onPlace(key, place)
      })
    }
  })
})

/** Between the nodes of the deployment's Redis. */
export const layer = (nodeId: string): Layer.Layer<SessionPlaces, never, RedisStore> => Layer.effect(SessionPlaces, make(nodeId))
