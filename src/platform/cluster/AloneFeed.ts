/** The change feed of a gateway that is alone on its database: it knows of each change because it made it. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { ChangeFeed, type News } from "#actors/ports/ChangeFeed.ts"
import { ClusterStore, type Node, Nodes } from "#actors/ports/Nodes.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"

/** For services that need a feed and have no other nodes. */
const make = () => {
  const listeners = new Set<(news: News) => Effect.Effect<void, StoreError>>()
  return ChangeFeed.of({
    applied: () => 0,
    version: Effect.succeed(0),
    hear: (apply) => Effect.asVoid(Effect.acquireRelease(
      Effect.sync(() => listeners.add(apply)),
      () => Effect.sync(() => listeners.delete(apply))
    )),
    isBehind: () => false,
    stuck: () => null,
    caughtUp: Effect.void,
    announce: () => {},
    reread: Effect.suspend(() => Effect.forEach(listeners, (apply) => apply({ version: 0, changes: null }), { discard: true }))
  })
}

export const layerFeed = Layer.sync(ChangeFeed, make)

export const layer = (self: Node) => Layer.effectContext(Effect.gen(function*() {
  const store = yield* ClusterStore
  return Context.make(ChangeFeed, make()).pipe(Context.add(Nodes, {
    self,
    version: store.version,
    list: Effect.zipWith(store.version, Clock.currentTimeMillis, (version, lastSeenAt) => [{ ...self, lastSeenAt, silentMs: 0, version, versionAt: self.startedAt }])
  }))
}))
