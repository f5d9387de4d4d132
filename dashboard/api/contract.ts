/**
 * The management API as types: what the gateway's own schemas say of each call. Only types are imported, so the page carries no schema;
 * a call that the gateway does not have, or a field that it does not answer, does not compile.
 */
import type * as HttpApiEndpoint from "effect/http-api/HttpApiEndpoint"
import type * as HttpApiGroup from "effect/http-api/HttpApiGroup"
import type * as HttpApiSchema from "effect/http-api/HttpApiSchema"
import type * as Schema from "effect/Schema"
import type { AgentGroups } from "./agentGroups.ts"
import type { WorkGroups } from "./workGroups.ts"
import type { AuthGroup } from "#src/features/auth/api.ts"
import type { ComboMappingsGroup, CombosGroup } from "#src/features/combos/api.ts"
import type { ComplianceGroup } from "#src/features/compliance/api.ts"
import type { FeatureFlagsGroup } from "#src/features/flags/api.ts"
import type { HealthGroup } from "#src/features/health/api.ts"
import type { KeysGroup } from "#src/features/keys/api.ts"
import type { BudgetsGroup, TokenLimitsGroup } from "#src/features/limits/api.ts"
import type { NodesGroup } from "#src/features/nodes/api.ts"
import type { PricingGroup } from "#src/features/pricing/api.ts"
import type { ModelsGroup } from "#src/features/providers/catalog/api.ts"
import type { ProviderNodesGroup } from "#src/features/providers/nodes/api.ts"
import type { ProvidersGroup } from "#src/features/providers/api.ts"
import type { QuotasGroup } from "#src/features/quotas/api.ts"
import type { ResilienceGroup } from "#src/features/resilience/api.ts"
import type { RoutingGroup } from "#src/features/routing/api.ts"
import type { SettingsGroup } from "#src/features/settings/api.ts"
import type { TokensGroup } from "#src/features/tokens/api.ts"
import type { UsageGroup } from "#src/features/usage/api.ts"
import type { WebhooksGroup } from "#src/features/webhooks/api.ts"

type Groups =
  | AgentGroups | WorkGroups
  | typeof ComplianceGroup | typeof AuthGroup | typeof BudgetsGroup | typeof ComboMappingsGroup | typeof CombosGroup | typeof FeatureFlagsGroup | typeof HealthGroup
  | typeof KeysGroup | typeof ModelsGroup | typeof NodesGroup | typeof PricingGroup | typeof ProviderNodesGroup | typeof ProvidersGroup | typeof QuotasGroup | typeof ResilienceGroup | typeof RoutingGroup | typeof SettingsGroup
  | typeof TokenLimitsGroup | typeof TokensGroup | typeof UsageGroup | typeof WebhooksGroup

type Endpoint = HttpApiGroup.Endpoints<Groups>

type NameOf<E> = E extends { readonly method: infer M extends string; readonly path: infer P extends string } ? `${M} ${P}` : never

/** `GET /api/providers`: method and path of a call. */
export type Call = NameOf<Endpoint>

type EndpointOf<C extends Call, E = Endpoint> = E extends { readonly method: string; readonly path: string } ? NameOf<E> extends C ? E : never : never

/** Replies and bodies hold JSON only, so a schema's type is what stands in the JSON. */
type TypeOf<S> = S extends HttpApiSchema.WithHeaders<infer Inner, Schema.Top> ? TypeOf<Inner> : S extends Schema.Top ? S["Type"] : never

/** What the gateway answers to a call; headers that belong to the answer are left out. */
export type Answer<C extends Call> = TypeOf<HttpApiEndpoint.Success<EndpointOf<C>>>

export type Body<C extends Call> = TypeOf<HttpApiEndpoint.Payload<EndpointOf<C>>>
type Params<C extends Call> = TypeOf<HttpApiEndpoint.Params<EndpointOf<C>>>
type Query<C extends Call> = TypeOf<HttpApiEndpoint.Query<EndpointOf<C>>>

export interface Input<C extends Call> {
  readonly params?: [Params<C>] extends [never] ? never : Params<C>
  readonly query?: { readonly [K in keyof Query<C>]?: string | number | null | undefined }
  readonly body?: [Body<C>] extends [never] ? never : Body<C>
  readonly signal?: AbortSignal
}
