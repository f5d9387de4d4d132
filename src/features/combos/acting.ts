/** Which fields of combos and mappings act. */
import { actIn, actsIn, type Row, type Rows } from "#schemas/acting/row.ts"
import * as ActingTable from "#src/management/acting/ActingTable.ts"
import type { ComboChange } from "./api.ts"
import { comboConfig, comboLayers } from "./ports/actingConfig.ts"

const fields: Readonly<Record<Exclude<keyof ComboChange, "config">, Row>> = {
  name: actsIn("src/routing/combos/resolve.ts"),
  description: actsIn("src/features/combos/comboRecord.ts"),
  ...actIn("src/routing/combos/expand.ts", "models", "allowedProviders"),
  strategy: actsIn("src/routing/Router.ts"),
  system_message: actsIn("src/routing/combos/systemMessage.ts"),
  tool_filter_regex: actsIn("src/routing/combos/toolFilter.ts"),
  context_cache_protection: actsIn("src/routing/Router.ts"),
  context_length: actsIn("src/routing/models/catalogView.ts"),
  dimensions: actsIn("src/inference/lane/oneShot/oneShot.ts"),
  isActive: actsIn("src/routing/combos/resolve.ts"),
  isHidden: actsIn("src/routing/models/catalogView.ts"),
  sortOrder: actsIn("src/features/combos/StoredCombos.ts"),
  compressionOverride: actsIn("src/features/combos/comboRecord.ts"),
  ifUpdatedAt: actsIn("src/features/combos/StoredCombos.ts")
}

const mappingRows: Rows = {
  ...actIn("src/routing/combos/resolve.ts", "pattern", "comboId", "priority", "enabled"),
  description: actsIn("src/features/combos/mappingsHttp.ts")
}

export const combo = ActingTable.make("Combo", { ...fields, ...ActingTable.below("config", comboConfig) }, "POST /api/combos", "PUT /api/combos/:id")
export const mapping = ActingTable.make("Model-combo mapping", mappingRows, "POST /api/model-combo-mappings", "PUT /api/model-combo-mappings/:id")
/** Part of the table of settings, for the call that writes this part alone. */
export const layers = ActingTable.make("Setting", comboLayers)
