/** Which model an id stands for, and whether a key may know it. Pure but for the flags that it is told. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Flags } from "#actors/ports/Flags.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import { catalogView } from "#src/routing/models/catalogView.ts"
import { type ResolvedModel, resolveModel } from "#src/routing/models/resolveModel.ts"
import * as Rights from "#src/routing/Rights.ts"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"

const readWildcards = Schema.decodeUnknownOption(Schema.Array(Schema.Struct({ pattern: Schema.String, target: Schema.String })))

export type Resolver = (id: string) => ResolvedModel | null

const thinkingOf = ({ level, noThinking }: ResolvedModel) => noThinking ? "off" as const : level

/** Models that the key may use; null: an operator asks. */
export const resolver = (snapshot: Snapshot, flags: Pick<Flags["Service"], "isOn">, key: ApiKey | null): Resolver => {
  const view = {
    ...catalogView(snapshot),
    wildcardAliases: Option.getOrElse(readWildcards(snapshot.settings.get("wildcardAliases")), () => []),
    noThinkingAliases: flags.isOn("NO_THINKING_ALIAS_ENABLED"),
    thinkingLevels: !flags.isOn("GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS")
  }
  const find: Resolver = (id) => {
    const found = resolveModel(view, id)
    return found._tag === "Resolved" ? found : null
  }
  const rights = key === null ? null : Rights.of(key, {
    aliases: snapshot.aliases,
    meantBy: (id) => {
      const found = find(id)
      return found === null || found.via === "wildcard" ? null : { publicModel: found.id, thinking: thinkingOf(found) }
    }
  })
  return (id) => {
    const found = find(id)
    if (found === null || rights === null) return found
    const { model, node, provider, row } = found
    return rights.ofModel(id, { provider, providerAlias: row?.alias ?? node?.prefix ?? provider, publicModel: found.id, model, thinking: thinkingOf(found) }) === null ? found : null
  }
}
