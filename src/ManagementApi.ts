/** The management API: every group, the one middleware, strict bodies, and the description served at /openapi.json. */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { AnalyticsGroup } from "#src/features/usage/analytics/api.ts"
import { BudgetsGroup, TokenLimitsGroup } from "#src/features/limits/api.ts"
import { AuthGroup } from "#src/features/auth/api.ts"
import { CacheGroup } from "#src/features/cache/api.ts"
import { CapabilitiesGroup } from "#src/features/capabilities/api.ts"
import { ComboMappingsGroup, CombosGroup } from "#src/features/combos/api.ts"
import { ComplianceGroup } from "#src/features/compliance/api.ts"
import { EvalsGroup } from "#src/features/evals/api.ts"
import { FeatureFlagsGroup } from "#src/features/flags/api.ts"
import { HealthGroup } from "#src/features/health/api.ts"
import { KeysGroup } from "#src/features/keys/api.ts"
import { Management } from "#schemas/api/Management.ts"
import { NodesGroup } from "#src/features/nodes/api.ts"
import { ModelsGroup } from "#src/features/providers/catalog/api.ts"
import { PricingGroup } from "#src/features/pricing/api.ts"
import { OAuthGroup } from "#src/features/oauth/api.ts"
import { ProviderModelsGroup } from "#src/features/providers/models/api.ts"
import { ProviderNodesGroup } from "#src/features/providers/nodes/api.ts"
import { ProvidersGroup } from "#src/features/providers/api.ts"
import { QuotasGroup } from "#src/features/quotas/api.ts"
import { ResilienceGroup } from "#src/features/resilience/api.ts"
import { RegisteredKeysGroup } from "#src/features/keys/issued/api.ts"
import * as RouteTable from "#schemas/api/RouteTable.ts"
import { describeSecurity } from "#schemas/api/security.ts"
import { RoutingGroup } from "#src/features/routing/api.ts"
import { SettingsGroup } from "#src/features/settings/api.ts"
import { SelfUsageGroup } from "#src/features/usage/own/api.ts"
import { TokensGroup } from "#src/features/tokens/api.ts"
import { version } from "#schemas/version.ts"
import { UsageGroup } from "#src/features/usage/api.ts"
import { WebhooksGroup } from "#src/features/webhooks/api.ts"

export class ManagementApi extends HttpApi.make("management")
  .add(AuthGroup)
  .add(TokensGroup)
  .add(KeysGroup)
  .add(ProvidersGroup)
  .add(OAuthGroup)
  .add(ProviderNodesGroup)
  .add(ProviderModelsGroup)
  .add(ModelsGroup)
  .add(CombosGroup)
  .add(ComboMappingsGroup)
  .add(PricingGroup)
  .add(SettingsGroup)
  .add(FeatureFlagsGroup)
  .add(BudgetsGroup)
  .add(TokenLimitsGroup)
  .add(SelfUsageGroup)
  .add(RegisteredKeysGroup)
  .add(UsageGroup)
  .add(QuotasGroup)
  .add(AnalyticsGroup)
  .add(HealthGroup)
  .add(CapabilitiesGroup)
  .add(NodesGroup)
  .add(ResilienceGroup)
  .add(RoutingGroup)
  .add(EvalsGroup)
  .add(CacheGroup)
  .add(WebhooksGroup)
  .add(ComplianceGroup)
  .middleware(Management)
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", errors: "all" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all" })
  .annotateMerge(OpenApi.annotations({
    title: "Gateway management API",
    version,
    description: "Administration of the gateway: connections, keys, settings, flags, usage and health. "
      + "Error bodies are {error:{message, type, code, details?}, requestId}; every reply carries x-request-id and X-Gateway-Version.",
    transform: (spec) => describeSecurity(spec, managementRoutes())
  }))
{}

/** Every route of the management API with its access rule. */
export const managementRoutes = (): ReadonlyArray<RouteTable.Route> => RouteTable.fromApi(ManagementApi)
