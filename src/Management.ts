/** The whole management surface as one layer of routes over the ports. */
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { ManagementApi, managementRoutes } from "./ManagementApi.ts"
import type { Route } from "#schemas/api/RouteTable.ts"
import * as Analytics from "#src/features/usage/analytics/http.ts"
import * as Audit from "#src/management/audit/Audit.ts"
import * as Auth from "#src/features/auth/http.ts"
import * as Authentication from "#src/management/authentication/Authentication.ts"
import * as Cache from "#src/features/cache/http.ts"
import * as Capabilities from "#src/features/capabilities/http.ts"
import * as ComboMappings from "#src/features/combos/mappingsHttp.ts"
import * as ComboTests from "#src/features/combos/ComboTests.ts"
import * as StoredCombos from "#src/features/combos/StoredCombos.ts"
import * as Combos from "#src/features/combos/http.ts"
import * as Compliance from "#src/features/compliance/http.ts"
import * as Docs from "#src/features/docs/Docs.ts"
import * as EvalRecords from "#src/features/evals/EvalRecords.ts"
import * as EvalRuns from "#src/features/evals/EvalRuns.ts"
import * as Evals from "#src/features/evals/http.ts"
import * as FeatureFlags from "#src/features/flags/http.ts"
import * as Health from "#src/features/health/http.ts"
import * as ManagedKeys from "#src/features/keys/ManagedKeys.ts"
import * as Hello from "#src/features/welcome/Hello.ts"
import * as Keys from "#src/features/keys/http.ts"
import * as ModelCatalog from "#src/features/providers/catalog/http.ts"
import * as ClusterNodes from "#src/features/nodes/http.ts"
import * as OAuth from "#src/features/oauth/http.ts"
import * as SignedInConnections from "#src/features/oauth/SignedInConnections.ts"
import * as Pricing from "#src/features/pricing/http.ts"
import * as ProviderModels from "#src/features/providers/models/http.ts"
import * as ProviderNodes from "#src/features/providers/nodes/http.ts"
import * as Additions from "#src/features/providers/Additions.ts"
import * as Connections from "#src/features/providers/ports/Connections.ts"
import * as ConnectionSweep from "#src/features/providers/ConnectionSweep.ts"
import * as NodeModels from "#src/features/providers/nodes/NodeModels.ts"
import * as ConnectionTests from "#src/features/providers/ConnectionTests.ts"
import * as Nodes from "#src/features/providers/nodes/Nodes.ts"
import * as Upstreams from "#src/features/providers/Upstreams.ts"
import * as Providers from "#src/features/providers/http.ts"
import * as Quotas from "#src/features/quotas/http.ts"
import * as Resilience from "#src/features/resilience/http.ts"
import * as Routing from "#src/features/routing/http.ts"
import * as Budgets from "#src/features/limits/budgetsHttp.ts"
import * as RegisteredKeys from "#src/features/keys/issued/http.ts"
import * as SelfUsage from "#src/features/usage/own/http.ts"
import * as TokenLimits from "#src/features/limits/tokenLimitsHttp.ts"
import * as Callers from "#src/management/authentication/Callers.ts"
import * as LoginGuard from "#src/management/authentication/LoginGuard.ts"
import * as Password from "#src/management/authentication/Password.ts"
import * as PasswordGate from "#src/management/authentication/PasswordGate.ts"
import * as Sessions from "#src/management/authentication/Sessions.ts"
import * as Settings from "#src/features/settings/http.ts"
import * as Tokens from "#src/features/tokens/http.ts"
import * as Unrouted from "#src/management/Unrouted.ts"
import * as UsageReads from "#src/features/usage/UsageReads.ts"
import * as Usage from "#src/features/usage/http.ts"
import * as Welcome from "#src/features/welcome/Welcome.ts"
import * as Webhooks from "#src/features/webhooks/http.ts"

/** Every route of this surface with its access rule. */
export const routes = (): ReadonlyArray<Route> => [...managementRoutes(), ...Docs.routes, ...Welcome.routes, ...Hello.routes]

const sessions = PasswordGate.layer.pipe(
  Layer.provideMerge(Layer.mergeAll(Callers.layer, Password.layer)),
  Layer.provideMerge(Layer.mergeAll(Sessions.layer, LoginGuard.layer, Audit.layer))
)

const providers = Layer.mergeAll(Additions.layer, Nodes.layer, SignedInConnections.layer, ConnectionSweep.layer, NodeModels.layer).pipe(
  Layer.provideMerge(Upstreams.layer),
  Layer.provideMerge(Layer.mergeAll(Connections.layer, ConnectionTests.layer))
)

const evals = EvalRuns.layer.pipe(Layer.provideMerge(EvalRecords.layer))

const services = Layer.mergeAll(evals, ComboTests.layer, providers, StoredCombos.layer, ManagedKeys.layer, UsageReads.layer).pipe(
  Layer.provideMerge(sessions),
  Layer.provideMerge(SecureRandom.layerWebCrypto)
)

const groups = Layer.mergeAll(
  Auth.layer, Tokens.layer, Keys.layer, Providers.layer, ProviderNodes.layer, ProviderModels.layer, ModelCatalog.layer, Pricing.layer,
  Combos.layer, ComboMappings.layer,
  Settings.layer, OAuth.layer, FeatureFlags.layer, Budgets.layer, TokenLimits.layer, SelfUsage.layer, RegisteredKeys.layer, Usage.layer, Quotas.layer, Analytics.layer, Health.layer, Capabilities.layer, ClusterNodes.layer, Resilience.layer, Routing.layer, Evals.layer, Cache.layer, Webhooks.layer, Compliance.layer
)

/** `otherRoutes`: routes of other surfaces on the same router, so that their paths answer 405 for a wrong method. */
export const layer = (otherRoutes: ReadonlyArray<Route> = []) => Layer.mergeAll(
  HttpApiBuilder.layer(ManagementApi),
  Docs.layer(ManagementApi),
  Welcome.layer,
  Hello.layer,
  Unrouted.layer([...routes(), ...otherRoutes])
).pipe(
  Layer.provide(groups),
  Layer.provide(Authentication.layer),
  Layer.provide(services)
)
