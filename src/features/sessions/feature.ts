/** Sessions that continue at another node or another model: the last target, and a summary. */
import * as Feature from "#src/management/Feature.ts"
import { degradation } from "./degradation.ts"
import { processIdOf } from "#src/platform/configuration/nodeId.ts"
import { orShared } from "#src/platform/redis/orShared.ts"
import * as SessionPlaces from "#src/inference/ports/SessionPlaces.ts"

export const sessions = Feature.make({
  name: "sessions",
  degradation,
  services: (settings) => orShared(settings, SessionPlaces.layerAlone, async () => (await import("./RedisSessionPlaces.ts")).layer(processIdOf(settings)))
})
