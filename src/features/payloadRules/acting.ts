/** Which lists of the payload rules act. */
import { actIn, actsIn } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"

export const payloadRules = ActingTable.make("Payload rule", {
  ...actIn("src/routing/payload/PayloadPlans.ts", "default", "override", "filter", "defaultRaw"),
  "default-raw": actsIn("src/features/payloadRules/http.ts")
}, "PUT /api/settings/payload-rules")
