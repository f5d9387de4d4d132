/** Which settings of the caches act. */
import { actIn, actsIn, type Rows } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

const rows: Rows = {
  ...actIn("src/features/cache/TieredCache.ts", "semanticCacheEnabled", "semanticCacheMaxSize", "semanticCacheTTL"),
  ...actIn("src/inference/conversations/ConversationServices.ts", "promptCacheEnabled", "promptCacheStrategy", "alwaysPreserveClientCache"),
  idempotencyWindowMs: actsIn("src/features/cache/Repeats.ts")
}

export const cacheConfig = ActingTable.make("Cache setting", rows, "PUT /api/settings/cache-config")
