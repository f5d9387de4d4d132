/** How prompts are made shorter before they are sent. The engines are `src/compression`; requests ask them in `src/inference/conversations`. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { CompressionGroup } from "./api.ts"
import { degradation } from "./degradation.ts"
import * as Http from "./http.ts"
import version46 from "./migrations/0046_compression.ts"
import { PipelinesGroup } from "./pipelines/api.ts"
import * as PipelinesHttp from "./pipelines/http.ts"
import * as RawOutputs from "./rawOutputs/RawOutputs.ts"
import * as CompressionStatistics from "./statistics/CompressionStatistics.ts"
import * as PostgresCompressionStatisticsStore from "./statistics/PostgresCompressionStatisticsStore.ts"

export const compression = Feature.make({
  name: "compression",
  groups: [CompressionGroup, PipelinesGroup],
  handlers: Layer.mergeAll(Http.layer, PipelinesHttp.layer),
  acting: [Acting.compression, Acting.cavemanConfig, Acting.rtkConfig],
  degradation,
  stores: PostgresCompressionStatisticsStore.layer,
  services: () => Layer.provideMerge(CompressionStatistics.layer, RawOutputs.layer),
  migrations: { "46_compression": version46 }
})
