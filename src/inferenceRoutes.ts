/** Every endpoint of the front end itself with its access rule, as each kind of request lists its own; the management route table includes them. */
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import * as SessionLeases from "#src/features/leases/SessionLeases.ts"
import * as LiveHttp from "#src/features/live/http.ts"
import * as MetricsHttp from "#src/features/metrics/http.ts"
import * as ResponsesConversationRoutes from "#src/features/responses/conversationRoutes.ts"
import * as ResponsesHttp from "#src/features/responses/http.ts"
import * as SearchEndpoints from "#src/features/search/searchEndpoints.ts"
import * as OwnSessions from "#src/features/sessions/ownSessions.ts"
import * as ConversationRoutes from "#src/inference/conversations/conversationRoutes.ts"
import * as Sockets from "#src/inference/sockets/Sockets.ts"
import * as ModelReads from "#src/inference/models/ModelReads.ts"
import * as Models from "#src/inference/models/Models.ts"
import * as OneShots from "#src/oneShots.ts"

export const inferenceRoutes: ReadonlyArray<RouteRule> = [
  ...OneShots.endpoints, ...ConversationRoutes.endpoints,
  ...SessionLeases.endpoints, ...Sockets.endpoints, ...ResponsesHttp.endpoints, ...ResponsesConversationRoutes.endpoints, ...SearchEndpoints.endpoints, ...Models.endpoints, ...ModelReads.endpoints, ...OwnSessions.endpoints, ...MetricsHttp.endpoints, ...LiveHttp.routes
]
