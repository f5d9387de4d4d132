/** The free model that serves requests whose budget is used up (flag GATEWAY_EMERGENCY_FALLBACK). Pure over the snapshot. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Registry } from "#src/providers/Registry.ts"
import * as KeyPolicy from "#src/stages/keyPolicy.ts"

/** `named` (GATEWAY_EMERGENCY_FALLBACK_MODEL), else the first model with a price of 0 of a provider that has a connection; one that the key may use. */
export const freeModelOf = (snapshot: Snapshot, registry: Registry, named: string | null): ((key: ApiKey) => string | null) => {
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
  return (key) => ids.find((id) => KeyPolicy.admitModel(key, id, id) === null) ?? null
}
