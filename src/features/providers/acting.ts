/** Which fields of connections, provider nodes and custom models act. */
import { actIn, actsIn, lacks, type Row, type Rows } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import type { InterceptionRules } from "#schemas/tools/InterceptionRules.ts"
import type { ParamFilters } from "#schemas/words/ParamFilters.ts"
import type { ConnectionChange } from "./api.ts"
import type { ModelInput } from "./models/api.ts"
import type { NewNode } from "./nodes/api.ts"

type RowsOf<A> = Readonly<Record<keyof A, Row>>

const connectionFields: RowsOf<Omit<ConnectionChange, "providerSpecificData" | "rateLimitOverrides">> = {
  name: actsIn("src/features/leases/connectionView.ts"),
  priority: actsIn("src/routing/selection.ts"),
  globalPriority: actsIn("src/routing/models/bareCombos.ts"),
  defaultModel: actsIn("src/routing/auto/combo.ts"),
  projectId: actsIn("src/providers/credentialKind.ts"),
  testStatus: actsIn("src/features/oauth/tokens/RefreshSweep.ts"),
  ...actIn("src/inference/lane/ConnectionMarks.ts", "lastError", "lastErrorAt", "lastErrorType", "lastErrorSource", "errorCode"),
  rateLimitedUntil: actsIn("src/features/resilience/local/places.ts"),
  lastTested: actsIn("src/features/providers/ConnectionSweep.ts"),
  isActive: actsIn("src/features/oauth/tokens/RefreshSweep.ts"),
  ...actIn("actors/egress/Egress.ts", "proxyEnabled", "perKeyProxyEnabled"),
  quotaVisible: actsIn("src/features/quotas/http.ts"),
  rateLimitProtection: actsIn("src/features/resilience/local/rules.ts"),
  apiKey: actsIn("src/providers/upstreamEndpoint.ts"),
  healthCheckInterval: actsIn("src/features/oauth/tokens/RefreshSweep.ts"),
  group: actsIn("src/routing/Rights.ts"),
  maxConcurrent: actsIn("src/features/resilience/local/rules.ts"),
  quotaWindowThresholds: actsIn("src/features/quotas/preflight.ts")
}

/** Keys of providerSpecificData that are the gateway's; a provider's row may name more (`{name}` in its URLs). */
export const providerData: Rows = {
  ...actIn("src/providers/upstreamEndpoint.ts", "baseUrl", "region", "customUserAgent"),
  ...actIn("src/features/providers/ports/connectionRecord.ts", "prefix", "apiType", "nodeName", "chatPath", "modelsPath"),
  project: actsIn("src/providers/credentialKind.ts"),
  validationModelId: actsIn("src/features/providers/ConnectionTests.ts"),
  disableCooling: actsIn("src/features/resilience/local/outcomes.ts"),
  ...actIn("src/routing/plan.ts", "disableStreamOptions", "mainFormatOnly", "reasoningControl"),
  ...actIn("src/features/quotas/preflight.ts", "use5h", "useWeekly"),
  newApiAggregatorBalance: actsIn("src/features/quotas/polls/due.ts"),
  weight: actsIn("src/routing/selection.ts"),
  accountId: actsIn("src/features/oauth/tokens/RefreshSweep.ts"),
  ...actIn("src/routing/auto/factors.ts", "plan", "tier"),
  cx: actsIn("src/providers/data/retrieval.json"),
  cacheTTLMs: actsIn("src/features/search/Searches.ts")
}

const connectionRows: Rows = {
  ...connectionFields,
  ...actIn("src/features/resilience/local/rules.ts", "rateLimitOverrides.rpm", "rateLimitOverrides.minTime", "rateLimitOverrides.maxConcurrent", "rateLimitOverrides.maxWaitMs"),
  ...actIn("src/features/resilience/local/rules.ts", "rateLimitOverrides.rpd", "rateLimitOverrides.tpm", "rateLimitOverrides.tpd"),
  ...Object.fromEntries(Object.entries(providerData).map(([key, row]) => [`providerSpecificData.${key}`, row]))
}

const paramFilterRows: RowsOf<ParamFilters> = {
  ...actIn("src/routing/payload/PayloadPlans.ts", "block", "allow", "models"),
  autoLearn: actsIn("src/inference/lane/services/LearnedParameters.ts")
}

const interceptionRuleRows: RowsOf<InterceptionRules> = {
  ...actIn("src/inference/conversations/toolLoop/interception.ts", "interceptSearch", "interceptFetch", "fetchBackend", "models"),
  fetchProxyUrl: lacks("interception")
}

const nodeRows: RowsOf<NewNode> = {
  ...actIn("src/providers/conversationPlace.ts", "type", "apiType", "chatPath"),
  prefix: actsIn("src/routing/plan.ts"),
  name: actsIn("src/routing/models/modelCatalog.ts"),
  ...actIn("src/providers/upstreamEndpoint.ts", "baseUrl", "customHeaders"),
  modelsPath: actsIn("src/features/providers/probe/wireCalls.ts"),
  apiKey: actsIn("src/features/providers/nodes/Nodes.ts"),
  iconUrl: actsIn("src/features/providers/nodes/nodeRecord.ts"),
  ...actIn("actors/resilience/DailyReset.ts", "dailyQuotaResetTimezone", "dailyQuotaResetHour")
}

const customModelRows: RowsOf<ModelInput> = {
  ...actIn("src/routing/models/resolverView.ts", "provider", "modelId"),
  ...actIn("src/routing/models/modelCatalog.ts", "modelName", "apiFormat", "supportedEndpoints", "modelType", "max_input_tokens", "max_output_tokens",
    "contextWindowOverride", "dimensions", "supportsVision", "isHidden", "supportedInputTypes"),
  source: actsIn("src/features/providers/Upstreams.ts"),
  ...actIn("src/providers/modelFormats.ts", "targetFormat", "preserveOpenAIDeveloperRole", "normalizeToolCallId", "compatByProtocol", "generationConfig"),
  isFree: actsIn("src/features/pricing/priceable.ts"),
  upstreamHeaders: actsIn("src/routing/plan.ts")
}

export const connection = ActingTable.make(
  "Connection", connectionRows, "POST /api/providers", "POST /api/providers/bulk", "POST /api/providers/import", "PUT /api/providers/:id"
)
export const paramFilters = ActingTable.make("Parameter filter", paramFilterRows, "PUT /api/providers/:id/param-filters")
export const interceptionRules = ActingTable.make("Interception rule", interceptionRuleRows, "PUT /api/providers/:id/interception-rules")
export const node = ActingTable.make("Provider node", nodeRows, "POST /api/provider-nodes", "PUT /api/provider-nodes/:id")
export const customModel = ActingTable.make(
  "Custom model", customModelRows, "POST /api/provider-models", "PUT /api/provider-models", "POST /api/provider-models/validate-and-add"
)
