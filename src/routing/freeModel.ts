/** The free model that serves requests whose budget is used up (flag GATEWAY_EMERGENCY_FALLBACK). Pure over the snapshot. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Registry } from "#src/providers/Registry.ts"

/** `named` (GATEWAY_EMERGENCY_FALLBACK_MODEL), else the models with a price of 0 of providers that have a connection. */
export const freeModelsOf = (snapshot: Snapshot, registry: Registry, named: string | null): ReadonlyArray<string> => {
  const ids: Array<string> = []
  if (named !== null) ids.push(named)
  else {
    for (const provider of registry.all) {
      if (!snapshot.activeByProvider.has(provider.id)) continue
      for (const model of provider.models) {
        if (model.kind === "chat" && model.price !== undefined && model.price.input === 0 && model.price.output === 0) ids.push(`${provider.id}/${model.id}`)
      }
    }
  }
  return ids
}
