/** The whole management surface as one layer of routes over the ports. */
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { ManagementApi, managementRoutes } from "./ManagementApi.ts"
import type { Route } from "#schemas/api/RouteTable.ts"
import * as Analytics from "#src/http/Analytics.ts"
import * as Audit from "#src/management/audit/Audit.ts"
import * as Auth from "#src/http/Auth.ts"
import * as Authentication from "#src/management/authentication/Authentication.ts"
import * as Cache from "#src/http/Cache.ts"
import * as Capabilities from "#src/http/Capabilities.ts"
import * as ComboMappings from "#src/http/ComboMappings.ts"
import * as ComboTests from "#src/http/combos/ComboTests.ts"
import * as StoredCombos from "#src/http/combos/StoredCombos.ts"
import * as Combos from "#src/http/Combos.ts"
import * as Compliance from "#src/http/Compliance.ts"
import * as Docs from "#src/http/Docs.ts"
import * as EvalRecords from "#src/http/evals/EvalRecords.ts"
import * as EvalRuns from "#src/http/evals/EvalRuns.ts"
import * as Evals from "#src/http/Evals.ts"
import * as FeatureFlags from "#src/http/FeatureFlags.ts"
import * as Health from "#src/http/Health.ts"
import * as ManagedKeys from "#src/http/keys/ManagedKeys.ts"
import * as Hello from "#src/http/Hello.ts"
import * as Keys from "#src/http/Keys.ts"
import * as ModelCatalog from "#src/http/ModelCatalog.ts"
import * as ClusterNodes from "#src/http/Nodes.ts"
import * as OAuth from "#src/http/OAuth.ts"
import * as SignedInConnections from "#src/http/oauth/SignedInConnections.ts"
import * as Pricing from "#src/http/Pricing.ts"
import * as ProviderModels from "#src/http/ProviderModels.ts"
import * as ProviderNodes from "#src/http/ProviderNodes.ts"
import * as Additions from "#src/http/providers/Additions.ts"
import * as Connections from "#src/http/providers/Connections.ts"
import * as ConnectionSweep from "#src/http/providers/ConnectionSweep.ts"
import * as NodeModels from "#src/http/providers/NodeModels.ts"
import * as ConnectionTests from "#src/http/providers/ConnectionTests.ts"
import * as Nodes from "#src/http/providers/Nodes.ts"
import * as Upstreams from "#src/http/providers/Upstreams.ts"
import * as Providers from "#src/http/Providers.ts"
import * as Quotas from "#src/http/Quotas.ts"
import * as Resilience from "#src/http/Resilience.ts"
import * as Routing from "#src/http/Routing.ts"
import * as Budgets from "#src/http/Budgets.ts"
import * as RegisteredKeys from "#src/http/RegisteredKeys.ts"
import * as SelfUsage from "#src/http/SelfUsage.ts"
import * as TokenLimits from "#src/http/TokenLimits.ts"
import * as Callers from "#src/management/authentication/Callers.ts"
import * as LoginGuard from "#src/management/authentication/LoginGuard.ts"
import * as Password from "#src/management/authentication/Password.ts"
import * as PasswordGate from "#src/management/authentication/PasswordGate.ts"
import * as Sessions from "#src/management/authentication/Sessions.ts"
import * as Settings from "#src/http/Settings.ts"
import * as Tokens from "#src/http/Tokens.ts"
import * as Unrouted from "#src/management/Unrouted.ts"
import * as UsageReads from "#src/http/usage/UsageReads.ts"
import * as Usage from "#src/http/Usage.ts"
import * as Welcome from "#src/http/Welcome.ts"
import * as Webhooks from "#src/http/Webhooks.ts"

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
