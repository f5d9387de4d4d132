/** Which fields of a change of a tool's files act. */
import { actIn, lacks, type Row } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import type { Application } from "./api.ts"

const rows: Readonly<Record<keyof Application, Row>> = {
  ...actIn("src/features/cliTools/http.ts", "tool", "baseUrl", "dryRun"),
  ...actIn("src/features/cliTools/tools.ts", "apiKey", "model", "models", "reasoningEffort", "wireApi"),
  modelMappings: lacks("agents", {})
}

export const application = ActingTable.make("CLI tool", rows, "POST /api/cli-tools/apply")
