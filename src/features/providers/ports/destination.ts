/** Where calls of a connection carry stored credentials. */
import type * as Effect from "effect/Effect"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import type * as Refusal from "#schemas/api/Refusal.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as ModelFormats from "#src/providers/modelFormats.ts"
import { refuseMove } from "#src/management/ownership/storedCredentials.ts"
import { hasSecretHeader } from "#src/management/redact.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as UpstreamEndpoint from "#src/providers/upstreamEndpoint.ts"

type Nodes = Pick<Snapshot, "nodeById">

/** Null while the connection lacks a part of its URL. */
export const originOf = (connection: Connection, { nodeById }: Nodes): string | null => {
  const node = nodeById.get(connection.provider)
  const row = builtin.byId.get(connection.provider)
  const place = node !== undefined
    ? UpstreamEndpoint.ofNode(node, connection, "/")
    : row === undefined ? null : UpstreamEndpoint.ofProvider(row, connection, "/", "", null)
  return place === null || "_tag" in place ? null : place.origin
}

export const hasSecret = ({ accessToken, apiKey, refreshToken }: Pick<Connection, "accessToken" | "apiKey" | "refreshToken">): boolean =>
  apiKey !== null || accessToken !== null || refreshToken !== null

/** Whether the node or a custom model of the provider adds credentials of its own to every connection's calls. */
export const addsSecrets = (provider: string, { customModels, nodeById }: Nodes & Pick<Snapshot, "customModels">): boolean => {
  const node = nodeById.get(provider)
  return (node !== undefined && hasSecretHeader(node.customHeaders)) ||
    customModels.some((model) => (model.provider === provider || model.provider === node?.prefix) && ModelFormats.allHeadersOf(model).some(hasSecretHeader))
}

/** Refuses a change of providerSpecificData that sends stored credentials to another origin, unless the caller has all rights. */
export const refuseOther = (before: Connection, after: Connection, nodes: Nodes, field = "providerSpecificData"): Effect.Effect<void, Refusal.Refusal, ManagementCall> =>
  refuseMove({ field, from: originOf(before, nodes), to: originOf(after, nodes) })
