/** The whole management surface as one layer of routes over the ports. */
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as HttpApiBuilder from "effect/http-api/HttpApiBuilder"
import * as Layer from "effect/Layer"
import { ManagementApi, managementRoutes } from "#schemas/api/Api.ts"
import type { Route } from "#schemas/api/RouteTable.ts"
import * as Analytics from "./Analytics.ts"
import * as Audit from "#src/management/audit/Audit.ts"
import * as Auth from "./Auth.ts"
import * as Authentication from "#src/management/authentication/Authentication.ts"
import * as Cache from "./Cache.ts"
import * as Capabilities from "./Capabilities.ts"
import * as ComboMappings from "./ComboMappings.ts"
import * as ComboTests from "./combos/ComboTests.ts"
import * as StoredCombos from "./combos/StoredCombos.ts"
import * as Combos from "./Combos.ts"
import * as Compliance from "./Compliance.ts"
import * as Docs from "./Docs.ts"
import * as EvalRecords from "./evals/EvalRecords.ts"
import * as EvalRuns from "./evals/EvalRuns.ts"
import * as Evals from "./Evals.ts"
import * as FeatureFlags from "./FeatureFlags.ts"
import * as Health from "./Health.ts"
import * as ManagedKeys from "./keys/ManagedKeys.ts"
import * as Hello from "#src/http/Hello.ts"
import * as Keys from "./Keys.ts"
import * as ModelCatalog from "./ModelCatalog.ts"
import * as ClusterNodes from "./Nodes.ts"
import * as OAuth from "./OAuth.ts"
import * as SignedInConnections from "./oauth/SignedInConnections.ts"
import * as Pricing from "./Pricing.ts"
import * as ProviderModels from "./ProviderModels.ts"
import * as ProviderNodes from "./ProviderNodes.ts"
import * as Additions from "./providers/Additions.ts"
import * as Connections from "./providers/Connections.ts"
import * as ConnectionSweep from "./providers/ConnectionSweep.ts"
import * as NodeModels from "./providers/NodeModels.ts"
import * as ConnectionTests from "./providers/ConnectionTests.ts"
import * as Nodes from "./providers/Nodes.ts"
import * as Upstreams from "./providers/Upstreams.ts"
import * as Providers from "./Providers.ts"
import * as Quotas from "./Quotas.ts"
import * as Resilience from "./Resilience.ts"
import * as Routing from "./Routing.ts"
import * as Budgets from "./Budgets.ts"
import * as RegisteredKeys from "./RegisteredKeys.ts"
import * as SelfUsage from "./SelfUsage.ts"
import * as TokenLimits from "./TokenLimits.ts"
import * as Callers from "#src/management/authentication/Callers.ts"
import * as LoginGuard from "#src/management/authentication/LoginGuard.ts"
import * as Password from "#src/management/authentication/Password.ts"
import * as PasswordGate from "#src/management/authentication/PasswordGate.ts"
import * as Sessions from "#src/management/authentication/Sessions.ts"
import * as Settings from "./Settings.ts"
import * as Tokens from "./Tokens.ts"
import * as Unrouted from "#src/management/Unrouted.ts"
import * as UsageReads from "./usage/UsageReads.ts"
import * as Usage from "./Usage.ts"
import * as Welcome from "./Welcome.ts"
import * as Webhooks from "./Webhooks.ts"

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
