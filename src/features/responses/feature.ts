/** Responses that are kept, continued and made in the background. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import { degradation } from "./degradation.ts"
import * as Expand from "./expand.ts"
import version18 from "./migrations/0018_responses.ts"
import version22 from "./migrations/0022_conversations.ts"
import * as PostgresConversationStore from "./PostgresConversationStore.ts"
import * as PostgresResponseStore from "./PostgresResponseStore.ts"
import * as StoredConversations from "./StoredConversations.ts"
import * as StoredResponses from "./StoredResponses.ts"

export const responses = Feature.make({
  name: "responses",
  stores: (options) => Layer.merge(PostgresResponseStore.layer(options), PostgresConversationStore.layer(options)),
  migrations: { "18_responses": version18, "22_conversations": version22 },
  degradation,
  services: (settings) => Layer.mergeAll(Expand.layer, StoredResponses.sweep).pipe(
    Layer.provideMerge(Layer.merge(StoredResponses.layer(settings.responsesDays), StoredConversations.layer(settings.responsesDays)))
  )
})
