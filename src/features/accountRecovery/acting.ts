/** Which fields of the settings of banned accounts act. */
import { actIn } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

export const autoDisable = ActingTable.make(
  "Banned accounts", actIn("src/inference/lane/ConnectionMarks.ts", "enabled", "threshold"), "PUT /api/settings/auto-disable-accounts"
)
