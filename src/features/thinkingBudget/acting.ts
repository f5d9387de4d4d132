/** Which fields of the thinking budget act. */
import { actIn } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

export const thinkingBudget = ActingTable.make(
  "Thinking budget", actIn("src/inference/conversations/words/thinking.ts", "mode", "customBudget", "effortLevel", "baseBudget", "complexityMultiplier"), "PUT /api/settings/thinking-budget"
)
