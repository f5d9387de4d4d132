/** Every inference endpoint with its access rule, as each kind of request lists its own; the management route table includes them. */
import type { RouteRule } from "#schemas/api/RouteTable.ts"
import * as SessionLeases from "#src/features/leases/SessionLeases.ts"
import * as Metrics from "#src/features/metrics/http.ts"
import * as Audio from "#src/inference/audio/Audio.ts"
import * as ConversationRoutes from "#src/inference/conversations/conversationRoutes.ts"
import * as Embeddings from "#src/inference/embeddings/Embeddings.ts"
import * as Images from "#src/inference/images/Images.ts"
import * as Moderations from "#src/inference/moderations/Moderations.ts"
import * as Rerank from "#src/inference/rerank/Rerank.ts"
import * as Ocr from "#src/inference/ocr/Ocr.ts"
import * as Models from "#src/inference/models/Models.ts"

export const inferenceRoutes: ReadonlyArray<RouteRule> = [
  ...Audio.endpoints, ...ConversationRoutes.endpoints, ...Embeddings.endpoints, ...Images.endpoints, ...Moderations.endpoints, ...Ocr.endpoints, ...Rerank.endpoints,
  ...SessionLeases.endpoints, ...Models.endpoints, ...Metrics.endpoints
]
