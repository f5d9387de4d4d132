/** Which fields of the gateway's own system prompt act. */
import { actIn } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

export const systemPrompt = ActingTable.make(
  "System prompt", actIn("src/inference/conversations/words/systemPrompt.ts", "enabled", "prompt", "prefixPrompt", "suffixPrompt"), "PUT /api/settings/system-prompt"
)
