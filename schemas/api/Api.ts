/** The management API: every group, the one middleware, strict bodies, and the description served at /openapi.json. */
import * as HttpApi from "effect/http-api/HttpApi"
import * as OpenApi from "effect/http-api/OpenApi"
import { AuthGroup } from "./Auth.ts"
import { ComplianceGroup } from "./Compliance.ts"
import { FeatureFlagsGroup } from "./FeatureFlags.ts"
import { HealthGroup } from "./Health.ts"
import { KeysGroup } from "./Keys.ts"
import { Management } from "./Management.ts"
import { ModelsGroup } from "./ModelCatalog.ts"
import { PricingGroup } from "./Pricing.ts"
import { ProviderModelsGroup } from "./ProviderModels.ts"
import { ProviderNodesGroup } from "./ProviderNodes.ts"
import { ProvidersGroup } from "./Providers.ts"
import * as RouteTable from "./RouteTable.ts"
import { describeSecurity } from "./security.ts"
import { SettingsGroup } from "./Settings.ts"
import { TokensGroup } from "./Tokens.ts"
import { UsageGroup } from "./Usage.ts"

export class ManagementApi extends HttpApi.make("management")
  .add(AuthGroup)
  .add(TokensGroup)
  .add(KeysGroup)
  .add(ProvidersGroup)
  .add(ProviderNodesGroup)
  .add(ProviderModelsGroup)
  .add(ModelsGroup)
  .add(PricingGroup)
  .add(SettingsGroup)
  .add(FeatureFlagsGroup)
  .add(UsageGroup)
  .add(HealthGroup)
  .add(ComplianceGroup)
  .middleware(Management)
  .annotate(HttpApi.PayloadParseOptions, { onExcessProperty: "error", errors: "all" })
  .annotate(HttpApi.QueryParseOptions, { errors: "all" })
  .annotateMerge(OpenApi.annotations({
    title: "Gateway management API",
    description: "Administration of the gateway: connections, keys, settings, flags, usage and health. "
      + "Error bodies are {error:{message, type, code, details?}, requestId}; every reply carries x-request-id and X-Gateway-Version.",
    transform: (spec) => describeSecurity(spec, managementRoutes())
  }))
{}

/** Every route of the management API with its access rule. */
export const managementRoutes = (): ReadonlyArray<RouteTable.Route> => RouteTable.fromApi(ManagementApi)
