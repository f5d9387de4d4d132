/** Which fields of agent skills act. */
import { actIn, type Row } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import type { NewAgentSkill } from "./api.ts"

const rows: Readonly<Record<keyof NewAgentSkill, Row>> = actIn("src/features/agentSkills/catalogue.ts", "name", "description", "prompt", "model", "temperature")

export const agentSkill = ActingTable.make("Agent skill", rows, "POST /api/agent-skills", "PUT /api/agent-skills/:id")
