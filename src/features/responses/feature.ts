/** Responses that are kept, continued and made in the background. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { degradation } from "./degradation.ts"
import * as BackgroundRuns from "./background/BackgroundRuns.ts"
import * as Expand from "./expand.ts"
import version18 from "./migrations/0018_responses.ts"
import version22 from "./migrations/0022_conversations.ts"
import version32 from "./migrations/0032_background_responses.ts"
import * as PostgresConversationStore from "./PostgresConversationStore.ts"
import * as PostgresResponseStore from "./PostgresResponseStore.ts"
import * as StoredConversations from "./StoredConversations.ts"
import * as StoredResponses from "./StoredResponses.ts"

export const responses = Feature.make({
  name: "responses",
  stores: (options) => Layer.merge(PostgresResponseStore.layer(options), PostgresConversationStore.layer(options)),
  migrations: { "18_responses": version18, "22_conversations": version22, "32_background_responses": version32 },
  degradation,
  services: (settings) => Layer.mergeAll(Expand.layer, BackgroundRuns.layer, StoredResponses.sweep).pipe(
    Layer.provideMerge(Layer.merge(StoredResponses.layer(settings.responsesDays), StoredConversations.layer(settings.responsesDays)))
  )
})
