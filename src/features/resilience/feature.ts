/** Breakers, cooldowns, lockouts and queues. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { ResilienceGroup } from "./api.ts"
import * as ConcurrencyCaps from "./ConcurrencyCaps.ts"
import * as DayReadings from "./DayReadings.ts"
import * as Http from "./http.ts"
import * as NodeResilience from "./nodeResilience.ts"
import { degradation } from "./degradation.ts"
import * as ResilienceRules from "./ResilienceRules.ts"

export const resilience = Feature.make({
  name: "resilience",
  groups: [ResilienceGroup],
  handlers: Layer.merge(Layer.provide(Http.layer, [ResilienceRules.layer, ConcurrencyCaps.layer]), DayReadings.layer),
  acting: [Acting.resilience],
  degradation,
  shared: NodeResilience.layerOf
})
