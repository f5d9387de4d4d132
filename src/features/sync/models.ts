/** Which model an id stands for, and whether a key may know it. Pure but for the flags that it is told. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Flags } from "#actors/ports/Flags.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import * as KeyRights from "#src/routing/models/keyRights.ts"
import { variantsOf } from "#src/routing/models/resolverView.ts"
import { type ResolvedModel, resolveModel } from "#src/routing/models/resolveModel.ts"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const readWildcards = Schema.decodeUnknownOption(Schema.Array(Schema.Struct({ pattern: Schema.String, target: Schema.String })))

export type Resolver = (id: string) => ResolvedModel | null

/** Models that the key may use; null: an operator asks. */
export const resolver = (snapshot: Snapshot, flags: Pick<Flags["Service"], "isOn">, key: ApiKey | null): Resolver => {
  const view = {
    ...catalogView(snapshot),
    wildcardAliases: Option.getOrElse(readWildcards(snapshot.settings.get("wildcardAliases")), () => []),
    ...variantsOf(flags)
  }
  const resolve = (id: string) => resolveModel(view, id)
  const rights = KeyRights.make({ snapshot, registry: view.registry }, resolve).rightsOf(key)
  return (id) => {
    const found = resolve(id)
    if (found._tag !== "Resolved") return null
    return rights === null || rights.ofModel(id, KeyRights.namedOf(found)) === null ? found : null
  }
}
