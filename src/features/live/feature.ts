/** Live events: what requests do right now, over WebSockets. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import { degradation } from "./degradation.ts"
import * as LiveHttp from "./http.ts"
import * as LiveChannel from "./LiveChannel.ts"
import * as LiveHub from "./LiveHub.ts"
import * as LiveOptions from "./LiveOptions.ts"

export const live = Feature.make({
  name: "live",
  handlers: Layer.provide(LiveHttp.layer, LiveHub.layer),
  degradation,
  services: (settings) => Layer.merge(LiveOptions.layerOf(settings), settings.redisUrl === null ? LiveChannel.layerAlone : LiveChannel.layerRedis(processIdOf(settings)))
})
