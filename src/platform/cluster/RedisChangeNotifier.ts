/** Nodes notify each other over a Redis channel; a message holds only its sender, the changes are in Postgres. */
import * as Effect from "effect/Effect"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import type { ChangeNotifier } from "./PolledFeed.ts"

const channel = "changes"

export const make = (nodeId: string): Effect.Effect<ChangeNotifier, never, RedisStore> => Effect.map(RedisStore, (redis) => ({
  // A lost notification costs a second: nodes also poll.
  notify: Effect.ignore(redis.publish(channel, nodeId)),
  listen: (woken) => redis.subscribe(channel, {
    message: (from) => {
      if (from !== nodeId) woken()
    },
    gap: woken
  })
}))
