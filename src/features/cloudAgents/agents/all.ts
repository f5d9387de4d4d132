import type { AgentId } from "#src/features/cloudAgents/ports/CloudTask.ts"
import type { CloudAgent } from "./CloudAgent.ts"
import { cursor } from "./cursor.ts"
import { devin } from "./devin.ts"
import { jules } from "./jules.ts"

export const agents: Readonly<Record<AgentId, CloudAgent>> = { jules, devin, cursor }
