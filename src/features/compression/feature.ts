/** How prompts are made shorter before they are sent. The engines are `src/compression`; requests ask them in `src/inference/conversations`. */
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { CompressionGroup } from "./api.ts"
import * as Http from "./http.ts"

export const compression = Feature.make({
  name: "compression",
  groups: [CompressionGroup],
  handlers: Http.layer,
  acting: [Acting.compression, Acting.cavemanConfig, Acting.rtkConfig]
})
