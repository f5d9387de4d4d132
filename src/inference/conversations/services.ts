/** What serving a conversation needs beside the lane. */
import type { Handoffs } from "#src/inference/conversations/ensembles/Handoffs.ts"
import type { Shadows } from "#src/inference/conversations/ensembles/Shadows.ts"
import type { LaneServices } from "#src/inference/lane/services/LaneServices.ts"
import type { ThoughtSignatures } from "#src/inference/ports/ThoughtSignatures.ts"
import type { PromptCacheRules } from "#src/wire/promptCache.ts"
import type { TargetTraits } from "#src/wire/WireFormat.ts"

export interface ConversationServices extends LaneServices {
  readonly shadows: Shadows
  readonly handoffs: Handoffs
  readonly signatures: ThoughtSignatures["Service"]
  /** What `previous_response_id` does on a target that cannot resolve it (settings.responsesPreviousResponseIdMode). */
  readonly previousResponseId: () => TargetTraits["previousResponseId"]
  /** What is marked for the caches of vendors (settings.promptCacheStrategy and its neighbours). */
  readonly promptCache: () => PromptCacheRules
}
