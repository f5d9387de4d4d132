/** Which fields of fallback chains act. */
import { actIn } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

export const fallbackChains = ActingTable.make(
  "Fallback chain", actIn("src/routing/models/bareCombos.ts", "model", "chain"), "POST /api/fallback/chains"
)
