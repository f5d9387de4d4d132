/** How the nodes of a cluster exchange live events: over Redis, or not at all. A message that is lost is not sent again. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { RedisStore } from "#src/platform/redis/RedisStore.ts"
import type { LiveEvent } from "./events.ts"

export interface ChannelListener {
  /** A client of another node listens. */
  readonly wanted: () => void
  readonly events: (events: ReadonlyArray<LiveEvent>) => void
}

export class LiveChannel extends Context.Service<LiveChannel, {
  /** Tells the other nodes that events are wanted here. */
  readonly want: () => void
  readonly send: (events: ReadonlyArray<LiveEvent>) => void
  readonly listen: (listener: ChannelListener) => Effect.Effect<void, never, Scope.Scope>
}>()("gateway/features/live/LiveChannel") {}

export const layerAlone = Layer.succeed(LiveChannel, { want: () => undefined, send: () => undefined, listen: () => Effect.void })

const channel = "live"

/** `{from}` asks for events, `{from, events}` brings some. */
interface Message {
  readonly from: string
  readonly events?: ReadonlyArray<LiveEvent>
}

export const layerRedis = (processId: string) => Layer.effect(LiveChannel, Effect.gen(function*() {
  const redis = yield* RedisStore
  const run = Effect.runForkWith(yield* Effect.context<never>())
  const publish = (message: Message): void => void run(Effect.ignore(redis.publish(channel, JSON.stringify(message))))
  return {
    want: () => publish({ from: processId }),
    send: (events) => publish({ from: processId, events }),
    listen: (listener) => redis.subscribe(channel, {
      message: (text) => {
        const { events, from } = JSON.parse(text) as Message
        if (from === processId) return
        if (events === undefined) listener.wanted()
        else listener.events(events)
      },
      gap: () => undefined
    })
  }
}))
