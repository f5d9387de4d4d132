/** The management API: every group, the one middleware, strict bodies, and the description served at /openapi.json. */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { AnalyticsGroup } from "#schemas/api/Analytics.ts"
import { BudgetsGroup, TokenLimitsGroup } from "#schemas/api/Budgets.ts"
import { AuthGroup } from "#schemas/api/Auth.ts"
import { CacheGroup } from "#schemas/api/Cache.ts"
import { CapabilitiesGroup } from "#schemas/api/Capabilities.ts"
import { ComboMappingsGroup, CombosGroup } from "#schemas/api/Combos.ts"
import { ComplianceGroup } from "#schemas/api/Compliance.ts"
import { EvalsGroup } from "#schemas/api/Evals.ts"
import { FeatureFlagsGroup } from "#schemas/api/FeatureFlags.ts"
import { HealthGroup } from "#schemas/api/Health.ts"
import { KeysGroup } from "#schemas/api/Keys.ts"
import { Management } from "#schemas/api/Management.ts"
import { NodesGroup } from "#schemas/api/Nodes.ts"
import { ModelsGroup } from "#schemas/api/ModelCatalog.ts"
import { PricingGroup } from "#schemas/api/Pricing.ts"
import { OAuthGroup } from "#schemas/api/OAuth.ts"
import { ProviderModelsGroup } from "#schemas/api/ProviderModels.ts"
import { ProviderNodesGroup } from "#schemas/api/ProviderNodes.ts"
import { ProvidersGroup } from "#schemas/api/Providers.ts"
import { QuotasGroup } from "#schemas/api/Quotas.ts"
import { ResilienceGroup } from "#schemas/api/Resilience.ts"
import { RegisteredKeysGroup } from "#schemas/api/RegisteredKeys.ts"
import * as RouteTable from "#schemas/api/RouteTable.ts"
import { describeSecurity } from "#schemas/api/security.ts"
import { RoutingGroup } from "#schemas/api/Routing.ts"
import { SettingsGroup } from "#schemas/api/Settings.ts"
import { SelfUsageGroup } from "#schemas/api/SelfUsage.ts"
import { TokensGroup } from "#schemas/api/Tokens.ts"
import { version } from "#schemas/version.ts"
import { UsageGroup } from "#schemas/api/Usage.ts"
import { WebhooksGroup } from "#schemas/api/Webhooks.ts"

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
