/** The other nodes on the same records, and what they change. */
import * as Crypto from "node:crypto"
import * as Os from "node:os"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Lifecycle } from "#actors/ports/Lifecycle.ts"
import type { Node } from "#actors/ports/Nodes.ts"
import { version } from "#schemas/version.ts"
import { urlOf } from "#src/platform/configuration/address.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"
import { FrontEnd } from "#src/platform/server/FrontEnd.ts"
import * as AloneFeed from "./AloneFeed.ts"
import * as PolledFeed from "./PolledFeed.ts"
import * as RedisChangeNotifier from "./RedisChangeNotifier.ts"

/** This process as the others list it. */
const selfOf = Effect.fnUntraced(function*(settings: Values) {
  const { port } = yield* FrontEnd
  const { startedAt } = yield* Lifecycle
  const self: Node = {
    id: processIdOf(settings),
    incarnation: Crypto.randomUUID(),
    host: Os.hostname(),
    address: urlOf(settings, port),
    pid: process.pid,
    worker: settings.worker,
    release: version,
    startedAt
  }
  return self
})

/** Without a database of its own process the gateway has company; Redis only wakes it earlier. */
export const layerOf = (settings: Values) => Layer.unwrap(Effect.gen(function*() {
  const self = yield* selfOf(settings)
  if (settings.databaseUrl === null) return AloneFeed.layer(self)
  return PolledFeed.layer({ self, notifier: settings.redisUrl === null ? null : yield* RedisChangeNotifier.make(self.id) })
}))
