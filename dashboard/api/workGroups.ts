/** Groups of what agents and background work use, of what calls said, of fire drills, and of what changes or keeps requests. */
import type { A2aGroup } from "#src/features/a2a/api.ts"
import type { AddressesGroup } from "#src/features/addresses/api.ts"
import type { BackupsGroup } from "#src/features/backups/api.ts"
import type { BatchesGroup } from "#src/features/batches/api.ts"
import type { BodiesGroup } from "#src/features/bodies/api.ts"
import type { CacheGroup } from "#src/features/cache/api.ts"
import type { CompressionGroup } from "#src/features/compression/api.ts"
import type { ConfigFileGroup } from "#src/features/configFile/api.ts"
import type { DrillsGroup } from "#src/features/drills/api.ts"
import type { EvalsGroup } from "#src/features/evals/api.ts"
import type { FilesGroup } from "#src/features/files/api.ts"
import type { GuardrailsGroup } from "#src/features/guardrails/api.ts"
import type { LocksGroup } from "#src/features/keys/locks/api.ts"
import type { LeasesGroup } from "#src/features/leases/api.ts"
import type { McpGroup } from "#src/features/mcp/api.ts"
import type { McpServersGroup } from "#src/features/mcpServers/api.ts"
import type { OAuthGroup } from "#src/features/oauth/api.ts"
import type { ProxiesGroup } from "#src/features/proxies/api.ts"
import type { ProxySettingsGroup } from "#src/features/proxies/settings/api.ts"
import type { ProxySubscriptionsGroup } from "#src/features/proxies/subscriptions/api.ts"
import type { PurgesGroup } from "#src/features/purges/api.ts"
import type { SearchGroup } from "#src/features/search/api.ts"
import type { SystemPromptGroup } from "#src/features/systemPrompt/api.ts"
import type { ThinkingBudgetGroup } from "#src/features/thinkingBudget/api.ts"

export type WorkGroups =
  | typeof A2aGroup | typeof AddressesGroup | typeof BackupsGroup | typeof BatchesGroup | typeof BodiesGroup | typeof CacheGroup | typeof CompressionGroup
  | typeof ConfigFileGroup | typeof DrillsGroup | typeof EvalsGroup | typeof FilesGroup | typeof GuardrailsGroup | typeof LeasesGroup | typeof LocksGroup
  | typeof McpGroup | typeof McpServersGroup | typeof OAuthGroup | typeof ProxiesGroup | typeof ProxySettingsGroup | typeof ProxySubscriptionsGroup | typeof PurgesGroup | typeof SearchGroup
  | typeof SystemPromptGroup | typeof ThinkingBudgetGroup
