/** Nodes wake each other over a Redis channel; a message holds only who sent it, the news itself is in Postgres. */
import * as Effect from "effect/Effect"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import type { ChangeNotifier } from "./PolledFeed.ts"

const channel = "changes"

export const make = (nodeId: string): Effect.Effect<ChangeNotifier, never, RedisStore> => Effect.map(RedisStore, (redis) => ({
  // A ring that nobody hears costs a second: they look by themselves.
  notify: Effect.ignore(redis.publish(channel, nodeId)),
  listen: (woken) => redis.subscribe(channel, {
    message: (from) => {
      if (from !== nodeId) woken()
    },
    gap: woken
  })
}))
