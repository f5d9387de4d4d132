/** Prices of models: an operator's over those of public lists over the registry's. Facts of models from such a list. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import type { Source } from "#schemas/catalogue/SyncedModels.ts"
import { PricingGroup } from "./api.ts"
import * as Http from "./http.ts"
import { PricingSyncGroup } from "./sync/api.ts"
import * as CatalogueSync from "./sync/CatalogueSync.ts"
import * as SyncHttp from "./sync/http.ts"
import * as SyncLoop from "./sync/SyncLoop.ts"
import { SyncOptions } from "./sync/SyncOptions.ts"

export const pricing = Feature.make({
  name: "pricing",
  groups: [PricingGroup, PricingSyncGroup],
  handlers: Layer.merge(Http.layer, Layer.provide(Layer.merge(SyncHttp.layer, SyncLoop.layer), CatalogueSync.layer)),
  services: ({ litellmUrl, modelsDevUrl, pricingSources, pricingSyncSeconds }) => Layer.succeed(SyncOptions, {
    everyMs: pricingSyncSeconds * 1_000, sources: pricingSources as ReadonlyArray<Source>, urls: { litellm: litellmUrl, "models.dev": modelsDevUrl }
  })
})
