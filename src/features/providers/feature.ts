/** Providers: connections, provider nodes, their models and the operator's model catalogue. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Additions from "./Additions.ts"
import * as Acting from "./acting.ts"
import { ProvidersGroup } from "./api.ts"
import { ModelsGroup } from "./catalog/api.ts"
import * as CatalogHttp from "./catalog/http.ts"
import * as ConnectionSweep from "./ConnectionSweep.ts"
import * as ConnectionTests from "./ConnectionTests.ts"
import * as Http from "./http.ts"
import { ProviderModelsGroup } from "./models/api.ts"
import * as ModelsHttp from "./models/http.ts"
import * as ManagedModels from "./models/ManagedModels.ts"
import * as PostgresCustomModelStore from "./models/PostgresCustomModelStore.ts"
import { ProviderNodesGroup } from "./nodes/api.ts"
import * as NodesHttp from "./nodes/http.ts"
import * as NodeModels from "./nodes/NodeModels.ts"
import * as Nodes from "./nodes/Nodes.ts"
import * as PostgresNodeStore from "./nodes/PostgresNodeStore.ts"
import * as Connections from "./ports/Connections.ts"
import * as PostgresConnectionStore from "./PostgresConnectionStore.ts"
import * as UpstreamProviderProbe from "./probe/UpstreamProviderProbe.ts"
import * as Upstreams from "./Upstreams.ts"

const behind = Layer.mergeAll(Additions.layer, Nodes.layer, ConnectionSweep.layer, NodeModels.layer, ManagedModels.layer).pipe(
  Layer.provideMerge(Upstreams.layer),
  Layer.provideMerge(Layer.mergeAll(Connections.layer, ConnectionTests.layer))
)

export const providers = Feature.make({
  name: "providers",
  groups: [ProvidersGroup, ProviderNodesGroup, ProviderModelsGroup, ModelsGroup],
  handlers: Layer.provide(Layer.mergeAll(Http.layer, NodesHttp.layer, ModelsHttp.layer, CatalogHttp.layer), behind),
  stores: (options) => Layer.mergeAll(PostgresConnectionStore.layer(options), PostgresNodeStore.layer(options), PostgresCustomModelStore.layer(options)),
  acting: [Acting.connection, Acting.paramFilters, Acting.interceptionRules, Acting.node, Acting.customModel],
  services: () => UpstreamProviderProbe.layer
})
