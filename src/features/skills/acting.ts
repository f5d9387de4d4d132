/** Which fields of skills act. */
import { actIn, type Row } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import type { NewSkill, SkillChange } from "./api.ts"

const http = "src/features/skills/http.ts"

const rows: Readonly<Record<keyof NewSkill | keyof SkillChange, Row>> = {
  ...actIn("src/features/skills/choice.ts", "name", "version"),
  ...actIn("src/features/skills/stores/PostgresSkillStore.ts", "description", "tags"),
  ...actIn("src/features/skills/jsonShape.ts", "schema"),
  ...actIn(http, "apiKeyId", "handler", "handlerCode", "enabled", "mode")
}

export const skill = ActingTable.make("Skill", rows, "POST /api/skills/install", "PUT /api/skills/:id")
