/** What stands in a gateway as a document: without credentials, and the same text for the same configuration. Pure. */
import type * as Schema from "effect/Schema"
import { shownModel, shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as FallbackChains from "#schemas/words/FallbackChains.ts"
import * as ComboDrafts from "#src/features/combos/ports/comboDrafts.ts"
import * as Chains from "#src/features/fallbackChains/ports/chains.ts"
import { nodeData } from "#src/features/providers/ports/connectionRecord.ts"
import * as RecordDrafts from "#src/features/providers/ports/recordDrafts.ts"
import * as GeneralSettings from "#src/features/settings/ports/generalSettings.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import { withoutSecrets } from "#src/management/redact.ts"
import { ordered } from "#src/wire/json/ordered.ts"
import * as Document from "./document.ts"
import { isGuarded } from "./guardedFlags.ts"

type Json = Schema.Json
type Fields = Readonly<Record<string, Json>>

const by = <A>(...parts: ReadonlyArray<(one: A) => string>) => (a: A, b: A): number => {
  for (const part of parts) {
    const [one, other] = [part(a), part(b)]
    if (one !== other) return one < other ? -1 : 1
  }
  return 0
}

/** What its node says of a connection is not the connection's own. */
const dataOf = ({ provider, providerSpecificData }: Connection, { nodeById }: Snapshot): Fields => {
  const node = nodeById.get(provider)
  const repeated = node === undefined ? new Set<string>() : new Set(Object.keys(nodeData(node)))
  return Object.fromEntries(Object.entries(withoutSecrets(providerSpecificData)).filter(([name]) => !repeated.has(name)))
}

/** Without links to nodes that are gone. */
const chainsOf = (snapshot: Snapshot): ReadonlyArray<FallbackChains.FallbackChain> => FallbackChains.chainsOf(snapshot.settings).flatMap(({ chain, model }) => {
  const links = chain.filter(({ provider }) => knownProvider(snapshot, provider) !== null)
  return links.length === 0 ? [] : [Chains.shown(snapshot, { model, chain: links })]
})

const settingsOf = (snapshot: Snapshot): Fields =>
  Object.fromEntries(Object.entries(GeneralSettings.named(snapshot)).flatMap(([name, value]): ReadonlyArray<readonly [string, Json]> => {
    if (name === FallbackChains.settingKey) return [[name, chainsOf(snapshot) as unknown as Json]]
    const effective = Object.hasOwn(Document.ownSettings, name) ? Document.ownSettings[name]?.(snapshot.settings) as Json : value
    return Document.isPortable(name, effective) ? [[name, effective]] : []
  }))

const pricesOf = (snapshot: Snapshot): Fields => {
  const prices = new Map<string, Record<string, Json>>()
  for (const [key, price] of snapshot.pricing) {
    const named = shownModel(snapshot, key)
    const slash = named.indexOf("/")
    const provider = named.slice(0, Math.max(0, slash))
    // Of a node that is gone.
    if (knownProvider(snapshot, provider) === null) continue
    const models = prices.get(provider) ?? {}
    models[named.slice(slash + 1)] = price as Json
    prices.set(provider, models)
  }
  return Object.fromEntries(prices)
}

export const exported = (snapshot: Snapshot): Fields => {
  const shown = (provider: string): string => shownProvider(snapshot, provider)
  const comboName = new Map(snapshot.combos.map(({ id, name }) => [id, name]))
  return ordered({
    format: Document.FORMAT,
    version: Document.VERSION,
    settings: settingsOf(snapshot),
    flags: Object.fromEntries([...snapshot.flagOverrides].filter(([key]) => !isGuarded(key))),
    nodes: snapshot.nodes.toSorted(by(({ prefix }) => prefix)).map((node) => {
      const { createdAt: _c, id: _i, owner: _o, updatedAt: _u, ...fields } = RecordDrafts.nodeView(node)
      return fields
    }),
    connections: snapshot.connections.toSorted(by(({ provider }) => shown(provider), ({ name }) => name, ({ id }) => id)).map((connection) => ({
      ...Object.fromEntries(Document.connectionFields.map((field) => [field, connection[field] as Json])),
      id: connection.id, name: connection.name, authType: connection.authType, provider: shown(connection.provider),
      providerSpecificData: dataOf(connection, snapshot)
    })),
    models: snapshot.customModels.filter(({ provider }) => knownProvider(snapshot, provider) !== null).toSorted(by(({ provider }) => shown(provider), ({ modelId }) => modelId)).map((model) => {
      const { createdAt: _c, updatedAt: _u, ...fields } = RecordDrafts.modelView(model, shown(model.provider))
      return fields
    }),
    aliases: Object.fromEntries(snapshot.aliases),
    combos: snapshot.combos.toSorted(by(({ name }) => name)).map((combo) => {
      const { createdAt: _c, id: _i, updatedAt: _u, ...fields } = ComboDrafts.shown(combo, shown)
      return fields as unknown as Json
    }),
    mappings: snapshot.comboMappings.flatMap(({ comboId, description, enabled, pattern, priority }) => {
      const combo = comboName.get(comboId)
      return combo === undefined ? [] : [{ pattern, combo, priority, enabled, description }]
    }).toSorted(by(({ pattern }) => pattern, ({ combo }) => combo)),
    prices: pricesOf(snapshot)
  }) as Fields
}
