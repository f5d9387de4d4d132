/** Which fields of task routing and of background degradation act. */
import { actIn } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

export const taskRouting = ActingTable.make("Task routing", {
  ...actIn("src/features/taskRouting/rules.ts", "enabled", "appliesTo", "taskModelMap"),
  ...actIn("src/features/taskRouting/choice.ts", "detectionEnabled")
}, "PUT /api/settings/task-routing")

export const backgroundDegradation = ActingTable.make(
  "Background degradation", actIn("src/features/taskRouting/rules.ts", "enabled", "degradationMap", "detectionPatterns"), "PUT /api/settings/background-degradation"
)
