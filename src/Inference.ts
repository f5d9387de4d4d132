/** The inference endpoints: the stages of each request, and the handler of each path. Lists only; each entry brings what it needs. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as BodiesStage from "#src/features/bodies/stage.ts"
import * as Repeats from "#src/features/cache/Repeats.ts"
import * as Scoreboard from "#src/features/evals/Scoreboard.ts"
import * as PicturesStage from "#src/features/guardrails/pictures/stage.ts"
import * as GuardrailsStage from "#src/features/guardrails/stage.ts"
import * as SessionLeases from "#src/features/leases/SessionLeases.ts"
import * as LeasesStage from "#src/features/leases/stage.ts"
import * as LimitsStage from "#src/features/limits/stage.ts"
import * as MemoryStage from "#src/features/memory/stage.ts"
import * as MetricsHttp from "#src/features/metrics/http.ts"
import * as PluginsStage from "#src/features/plugins/stage.ts"
import * as ResponsesConversationRoutes from "#src/features/responses/conversationRoutes.ts"
import * as ResponsesHttp from "#src/features/responses/http.ts"
import * as ResponsesStage from "#src/features/responses/stage.ts"
import * as SearchEndpoints from "#src/features/search/searchEndpoints.ts"
import * as Searches from "#src/features/search/Searches.ts"
import * as OwnSessions from "#src/features/sessions/ownSessions.ts"
import * as TaskRoutingStage from "#src/features/taskRouting/stage.ts"
import * as SourcesStage from "#src/features/toolPolicy/sourcesStage.ts"
import * as ToolPolicyStage from "#src/features/toolPolicy/stage.ts"
import * as OwnStage from "#src/features/usage/own/stage.ts"
import * as ConversationRoutes from "#src/inference/conversations/conversationRoutes.ts"
import * as ConversationTargetTests from "#src/inference/conversations/ensembles/ConversationTargetTests.ts"
import * as ConversationEvalCalls from "#src/inference/conversations/ConversationEvalCalls.ts"
import * as ConversationServices from "#src/inference/conversations/ConversationServices.ts"
import * as FramedAgentCalls from "#src/inference/sockets/FramedAgentCalls.ts"
import * as FramedOwnCalls from "#src/inference/sockets/FramedOwnCalls.ts"
import * as Sockets from "#src/inference/sockets/Sockets.ts"
import * as ModelReads from "#src/inference/models/ModelReads.ts"
import * as ConnectionMarks from "#src/inference/lane/ConnectionMarks.ts"
import * as Bills from "#src/inference/lane/live/Bills.ts"
import * as Live from "#src/inference/lane/live/Live.ts"
import * as Admission from "#src/inference/lane/services/Admission.ts"
import * as Bodies from "#src/inference/lane/services/Bodies.ts"
import * as CurrentRouter from "#src/inference/lane/services/CurrentRouter.ts"
import * as Endpoint from "#src/inference/lane/services/Endpoint.ts"
import * as Forks from "#src/inference/lane/services/Forks.ts"
import * as Ids from "#src/inference/lane/services/Ids.ts"
import * as Inference from "#src/inference/lane/services/Inference.ts"
import * as LearnedParameters from "#src/inference/lane/services/LearnedParameters.ts"
import * as LaneOptions from "#src/inference/lane/services/LaneOptions.ts"
import * as Reports from "#src/inference/lane/services/Reports.ts"
import * as Requests from "#src/inference/lane/services/Requests.ts"
import * as Commentary from "#src/inference/lane/stages/Commentary.ts"
import * as UsageBuffer from "#src/inference/lane/stages/UsageBuffer.ts"
import * as Waits from "#src/inference/lane/stages/Waits.ts"
import * as OneShots from "#src/oneShots.ts"
import * as PageReader from "#src/platform/pages/PageReader.ts"
import type { Values } from "#src/platform/configuration/Settings.ts"

/** In this order: what clients are told beside the truth nothing behind it knows; what plugins make of a request is what all behind them see; what was answered before costs nothing, so it neither waits nor counts; pictures become texts before guardrails read them; what these change, nothing behind them has seen otherwise. */
const stages = Effect.all([
  OwnStage.stage, UsageBuffer.stage, LeasesStage.stage, PluginsStage.requests, ToolPolicyStage.stage, SourcesStage.stage, TaskRoutingStage.stage, PicturesStage.stage, GuardrailsStage.requests, ResponsesStage.stage, ResponsesStage.compaction, PluginsStage.answers, MemoryStage.stage, Repeats.idempotency, Repeats.caching, Searches.stage, LimitsStage.stage, Waits.stage, BodiesStage.stage, GuardrailsStage.answers, Commentary.stage, Effect.succeed(LeasesStage.fence)
])

const routes = ({ metricsAccess }: Values) => Effect.all([
  OneShots.routes, ConversationRoutes.routes, SessionLeases.routes, Sockets.routes, ResponsesHttp.routes, ResponsesConversationRoutes.routes, SearchEndpoints.routes, ModelReads.routes, OwnSessions.routes, MetricsHttp.routes(metricsAccess)
])

export const layer = (settings: Values) =>
  Layer.mergeAll(Endpoint.layer(routes(settings)), ConversationTargetTests.layer, ConversationEvalCalls.layer, FramedAgentCalls.layer, Reports.viewsLayer, Live.callsLayer, Live.watchLayer, Repeats.viewLayer).pipe(
    Layer.provideMerge(Layer.mergeAll(ConversationServices.layer, PageReader.layer)),
    Layer.provideMerge(Inference.layer(stages)),
    Layer.provideMerge(FramedOwnCalls.layer),
    Layer.provideMerge(Layer.mergeAll(Repeats.layer(settings.repeatedFilesBytes), Searches.layer(settings.searchCacheTtlMs), Requests.layer, Reports.layer, Admission.layer)),
    Layer.provideMerge(Layer.mergeAll(CurrentRouter.layer, Live.layer, Bills.layer)),
    Layer.provideMerge(Scoreboard.layer),
    Layer.provideMerge(Layer.mergeAll(Bodies.layer, Forks.layer, Ids.layer, ConnectionMarks.layer, LearnedParameters.layer, LaneOptions.layerOf(settings)))
  )
