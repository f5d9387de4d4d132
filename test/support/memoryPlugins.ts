/** Records of plugins in memory, and what runs them: nothing, as on a node that was not told to. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { StoreError } from "#actors/ports/StoreError.ts"
import * as PluginMarket from "#src/features/plugins/PluginMarket.ts"
import * as Plugins from "#src/features/plugins/Plugins.ts"
import type { Plugin } from "#src/features/plugins/ports/Plugin.ts"
import { PluginStore } from "#src/features/plugins/ports/PluginStore.ts"

export const storeLayer = Layer.sync(PluginStore, () => {
  const rows = new Map<string, Plugin>()
  return PluginStore.of({
    list: Effect.sync(() => [...rows.values()].sort((a, b) => a.name < b.name ? -1 : 1)),
    get: (name) => Effect.sync(() => rows.get(name) ?? null),
    insert: (plugin) => Effect.suspend(() => {
      if (rows.has(plugin.name)) return Effect.fail(new StoreError({ store: "PluginStore", operation: "insert", reason: "conflict", field: "name", message: "PluginStore.insert: name is taken." }))
      rows.set(plugin.name, plugin)
      return Effect.void
    }),
    replace: (plugin) => Effect.sync(() => {
      const isThere = rows.has(plugin.name)
      if (isThere) rows.set(plugin.name, plugin)
      return isThere
    }),
    remove: (name) => Effect.sync(() => rows.delete(name))
  })
})

export const surface = Layer.merge(Plugins.layer({ isOn: false, folder: null }), PluginMarket.layerOf({ pluginsMarketUrl: null })).pipe(Layer.provideMerge(storeLayer))
