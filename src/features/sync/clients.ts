/** Who asks as a client beside the gateway, and what it may know. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import { ManagementCall } from "#schemas/api/Management.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import * as BearerKey from "#src/inference/lane/bearerKey.ts"
import * as Rights from "#src/routing/Rights.ts"
import type { ConnectionFacts } from "./api.ts"

/** Null for an operator; else the API key, which knows what it may use. */
export const asker = Effect.gen(function*() {
  const { caller } = yield* ManagementCall
  if (caller.kind !== "anonymous") return null
  const presented = yield* BearerKey.presented(null, yield* Clock.currentTimeMillis)
  if (presented === null) return yield* Effect.fail(Refusal.unauthorized())
  if ("refused" in presented) {
    return yield* Effect.fail(presented.error === null || presented.error.reason === "credential"
      ? Refusal.unauthorized("The API key is not valid")
      : Refusal.forbidden(presented.error.message))
  }
  return presented.key
})

/** Its own lists, then its issuer's; an issued key whose issuer is unknown may use nothing. */
const policiesOf = (key: ApiKey): ReadonlyArray<ApiKey["policy"]> | null =>
  key.issuerId === null ? [key.policy] : key.issuer === null || key.issuer === undefined ? null : [key.policy, key.issuer.policy]

/** A key with lists of models or combos knows the connections that it names, and no other. */
const mayKnow = (policy: ApiKey["policy"], connection: Connection): boolean => {
  const { allowedCombos, allowedConnections, blockedModels, connectionAccessMode, modelAccessMode } = policy
  const names = connectionAccessMode === "restricted" || allowedConnections.length > 0
  return Rights.reachesConnection(policy, connection) && (names || (modelAccessMode !== "restricted" && allowedCombos.length === 0 && blockedModels.length === 0))
}

export const connectionsFor = (key: ApiKey | null, snapshot: Pick<Snapshot, "connections">): ReadonlyArray<Connection> => {
  if (key === null) return snapshot.connections
  const policies = policiesOf(key)
  return policies === null ? [] : snapshot.connections.filter((connection) => policies.every((policy) => mayKnow(policy, connection)))
}

/** At most a third of it. */
const masked = (secret: string): string => `${secret.slice(0, Math.min(6, Math.floor(secret.length / 3)))}...`

export const factsOf = (connection: Connection, snapshot: Pick<Snapshot, "nodeById">): ConnectionFacts => ({
  provider: shownProvider(snapshot, connection.provider),
  authType: connection.authType,
  hasApiKey: connection.apiKey !== null,
  hasAccessToken: connection.accessToken !== null,
  hasRefreshToken: connection.refreshToken !== null,
  maskedApiKey: connection.apiKey === null ? null : masked(Redacted.value(connection.apiKey)),
  projectId: connection.projectId,
  expiresAt: connection.expiresAt,
  priority: connection.priority,
  globalPriority: connection.globalPriority,
  defaultModel: connection.defaultModel,
  isActive: connection.isActive
})
