/** The catalogue's view of one configuration snapshot; kept beside it, so that what is built from it is built once. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { registryOf } from "#src/providers/syncedFacts.ts"
import type { CatalogView } from "./modelCatalog.ts"
import { activeProviders } from "#src/routing/plan.ts"

const views = new WeakMap<Snapshot, CatalogView>()

export const catalogView = (snapshot: Snapshot): CatalogView => {
  let view = views.get(snapshot)
  if (view === undefined) {
    const registry = registryOf(snapshot)
    view = {
      registry,
      nodes: snapshot.nodes,
      customModels: snapshot.customModels,
      aliases: snapshot.aliases,
      activeProviders: activeProviders(snapshot, registry),
      simulatorCallable: snapshot.simulatorUrl !== null,
      combos: snapshot.combos.filter((combo) => combo.isActive && !combo.isHidden).map(({ context_length: contextLength, createdAt, dimensions, name }) =>
        ({ name, createdAt, contextLength, dimensions: dimensions === null ? null : Number(dimensions) }))
    }
    views.set(snapshot, view)
  }
  return view
}
