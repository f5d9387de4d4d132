/** The change feed of a gateway that is alone on its database: it knows of each change because it made it. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ChangeFeed } from "#actors/ports/ChangeFeed.ts"
import { ClusterStore, type Node, Nodes } from "#actors/ports/Nodes.ts"

/** For services that need a feed and have no other nodes. */
export const feed = ChangeFeed.of({
  applied: () => 0,
  version: Effect.succeed(0),
  hear: () => Effect.void,
  isBehind: () => false,
  stuck: () => null,
  caughtUp: Effect.void,
  announce: () => {}
})

export const layerFeed = Layer.succeed(ChangeFeed, feed)

export const layer = (self: Node) => Layer.effectContext(Effect.gen(function*() {
  const store = yield* ClusterStore
  return Context.make(ChangeFeed, feed).pipe(Context.add(Nodes, {
    self,
    version: store.version,
    list: Effect.zipWith(store.version, Clock.currentTimeMillis, (version, lastSeenAt) => [{ ...self, lastSeenAt, silentMs: 0, version, versionAt: self.startedAt }])
  }))
}))
