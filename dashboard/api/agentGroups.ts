/** Groups of what runs an operator's code, remembers, decides by rules, and follows other gateways and lists of prices. */
import type { AgentSkillsGroup } from "#src/features/agentSkills/api.ts"
import type { FallbackChainsGroup } from "#src/features/fallbackChains/api.ts"
import type { MemoryGroup } from "#src/features/memory/api.ts"
import type { PayloadRulesGroup } from "#src/features/payloadRules/api.ts"
import type { PluginsGroup } from "#src/features/plugins/api.ts"
import type { PricingSyncGroup } from "#src/features/pricing/sync/api.ts"
import type { ProviderModelsGroup } from "#src/features/providers/models/api.ts"
import type { SkillsGroup } from "#src/features/skills/api.ts"
import type { SyncGroup } from "#src/features/sync/api.ts"
import type { TaskRoutingGroup } from "#src/features/taskRouting/api.ts"
import type { TunnelsGroup } from "#src/features/tunnels/api.ts"

export type AgentGroups =
  | typeof AgentSkillsGroup | typeof ProviderModelsGroup | typeof TunnelsGroup | typeof FallbackChainsGroup | typeof MemoryGroup | typeof PayloadRulesGroup | typeof PluginsGroup | typeof PricingSyncGroup | typeof SkillsGroup | typeof SyncGroup
  | typeof TaskRoutingGroup
