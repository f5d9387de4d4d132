/** Catalogue and expiry views of the providers. Pure. */
import type * as Schema from "effect/Schema"
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { Registry } from "#src/providers/Registry.ts"

type Row = Readonly<Record<string, Schema.Json>>

const DAY_MS = 86_400_000
/** A credential that ends within this time is listed. */
const SOON_MS = 7 * DAY_MS

export const catalogue = (registry: Registry, snapshot: Snapshot): ReadonlyArray<Row> => {
  const count = (provider: string) => snapshot.connections.filter((connection) => connection.provider === provider).length
  const active = (provider: string) => snapshot.activeByProvider.get(provider)?.length ?? 0
  return [
    ...registry.all.map((row): Row => ({
      id: row.id, alias: row.alias, name: row.name, kind: "builtin", category: row.category, wireFormat: row.wireFormat,
      baseUrl: row.baseUrl, authKinds: [...row.authKinds], freeTier: row.freeTier, modalities: [...row.modalities],
      modelCount: row.models.length, connectionCount: count(row.id), activeCount: active(row.id)
    })),
    ...snapshot.nodes.map((node): Row => ({
      id: node.id, alias: node.prefix, name: node.name, kind: "node", category: "compatible", wireFormat: node.type,
      baseUrl: node.baseUrl, authKinds: ["apikey", "none"], freeTier: false, modalities: [node.apiType ?? "chat"],
      modelCount: snapshot.customModels.filter((model) => model.provider === node.id).length,
      connectionCount: count(node.id), activeCount: active(node.id)
    }))
  ]
}

export const expiring = (snapshot: Snapshot, now: number): ReadonlyArray<Row> =>
  snapshot.connections.flatMap((connection): ReadonlyArray<Row> => {
    const at = connection.tokenExpiresAt ?? connection.expiresAt
    const time = at === null ? Number.NaN : Date.parse(at)
    return Number.isNaN(time) || time - now > SOON_MS ? [] : [{
      id: connection.id, provider: shownProvider(snapshot, connection.provider), name: connection.name, authType: connection.authType,
      expiresAt: new Date(time).toISOString(), expired: time <= now, daysLeft: Math.max(0, Math.floor((time - now) / DAY_MS))
    }]
  })
