/** Responses that are kept, continued and made in the background. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { degradation } from "./degradation.ts"
import * as Expand from "./expand.ts"
import version18 from "./migrations/0018_responses.ts"
import * as PostgresResponseStore from "./PostgresResponseStore.ts"
import * as StoredResponses from "./StoredResponses.ts"

export const responses = Feature.make({
  name: "responses",
  stores: PostgresResponseStore.layer,
  migrations: { "18_responses": version18 },
  degradation,
  services: (settings) => Layer.merge(Expand.layer, StoredResponses.sweep).pipe(Layer.provideMerge(StoredResponses.layer(settings.responsesDays)))
})
