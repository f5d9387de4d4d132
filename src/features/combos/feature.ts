/** Combos: named lists of models with a strategy, and the patterns of model ids that lead to them. */
import * as Layer from "effect/Layer"
import * as Feature from "#src/management/Feature.ts"
import * as Acting from "./acting.ts"
import { CombosGroup, ComboMappingsGroup } from "./api.ts"
import * as ComboTests from "./ComboTests.ts"
import * as Http from "./http.ts"
import * as MappingsHttp from "./mappingsHttp.ts"
import version4 from "./migrations/0004_combos.ts"
import * as PostgresComboMappingStore from "./PostgresComboMappingStore.ts"
import * as PostgresComboStore from "./PostgresComboStore.ts"
import * as Promotions from "./Promotions.ts"
import * as StoredCombos from "./StoredCombos.ts"
import * as ComboMetrics from "./ComboMetrics.ts"

export const combos = Feature.make({
  name: "combos",
  groups: [CombosGroup, ComboMappingsGroup],
  handlers: Layer.provide(Layer.mergeAll(Http.layer, MappingsHttp.layer), Layer.mergeAll(ComboTests.layer, StoredCombos.layer)),
  stores: (options) => Layer.mergeAll(PostgresComboStore.layer(options), PostgresComboMappingStore.layer(options)),
  migrations: { "4_combos": version4 },
  acting: [Acting.combo, Acting.mapping],
  services: () => Layer.merge(ComboMetrics.layer, Promotions.layer)
})
