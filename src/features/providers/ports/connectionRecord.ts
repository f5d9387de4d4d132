/** A connection as it is made, changed and shown. Pure. */
import * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { ConnectionChange, ConnectionView } from "#src/features/providers/api.ts"
import type { Connection, TestStatus } from "#schemas/records/Connection.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import { ownerOf } from "#src/management/ownership/ownership.ts"
import { withoutSecrets } from "#src/management/redact.ts"

type Data = Readonly<Record<string, Schema.Json>>

export const view = (connection: Connection, snapshot: Pick<Snapshot, "fileOwned">): ConnectionView => ({
  ...connection,
  owner: ownerOf(snapshot, "connection", connection.id),
  providerSpecificData: withoutSecrets(connection.providerSpecificData),
  hasApiKey: connection.apiKey !== null,
  hasAccessToken: connection.accessToken !== null,
  hasRefreshToken: connection.refreshToken !== null
})

/** Fields of a node that its connections repeat. */
export const nodeData = (node: ProviderNode): Data => ({
  baseUrl: node.baseUrl,
  prefix: node.prefix,
  apiType: node.apiType,
  nodeName: node.name,
  chatPath: node.chatPath,
  modelsPath: node.modelsPath
})

export interface NewFields {
  readonly id: string
  readonly provider: string
  readonly name: string
  readonly apiKey: string | null
  readonly priority: number
  readonly globalPriority: number | null
  readonly defaultModel: string | null
  readonly testStatus: TestStatus | undefined
  readonly providerSpecificData: Data
  readonly now: string
}

export const make = (fields: NewFields): Connection => ({
  id: fields.id,
  provider: fields.provider,
  authType: fields.apiKey === null ? "none" : "apikey",
  name: fields.name,
  email: null,
  displayName: null,
  priority: fields.priority,
  globalPriority: fields.globalPriority,
  isActive: true,
  apiKey: fields.apiKey === null ? null : Redacted.make(fields.apiKey),
  accessToken: null,
  refreshToken: null,
  idToken: null,
  tokenType: null,
  scope: null,
  projectId: null,
  expiresAt: null,
  tokenExpiresAt: null,
  expiresIn: null,
  testStatus: fields.testStatus ?? "unknown",
  ...noError,
  lastTested: null,
  lastHealthCheckAt: null,
  healthCheckInterval: null,
  providerSpecificData: fields.providerSpecificData,
  defaultModel: fields.defaultModel,
  consecutiveUseCount: 0,
  rateLimitProtection: false,
  maxConcurrent: null,
  group: null,
  quotaWindowThresholds: null,
  rateLimitOverrides: null,
  proxyEnabled: true,
  perKeyProxyEnabled: true,
  quotaVisible: true,
  createdAt: fields.now,
  updatedAt: fields.now
})

/** Health marks of a connection nothing is known against. */
export const noError = {
  lastError: null, lastErrorType: null, lastErrorSource: null, errorCode: null, lastErrorAt: null, backoffLevel: 0, rateLimitedUntil: null,
  bannedSignals: 0
} as const

/** Merges providerSpecificData, shallowly; null removes a key. */
export const mergeData = (current: Data, change: Data): Data =>
  Object.fromEntries(Object.entries({ ...current, ...change }).filter(([, value]) => value !== null))

export type Patch = Partial<Omit<Connection, "id" | "apiKey" | "accessToken" | "refreshToken" | "idToken">>

/** The non-secret part of a change, with times in one form; a new key forgets what was held against the old one. */
export const patchOf = (current: Connection, change: ConnectionChange, now: string): Patch => {
  const { apiKey, providerSpecificData, ...rest } = change
  const iso = (value: string | null | undefined) => typeof value === "string" ? new Date(value).toISOString() : value
  const times = Object.fromEntries(
    (["lastErrorAt", "rateLimitedUntil", "lastTested"] as const).filter((name) => rest[name] !== undefined).map((name) => [name, iso(rest[name])])
  )
  return {
    ...(apiKey === undefined ? {} : { testStatus: "unknown", ...noError }),
    ...rest,
    // An operator's word begins the count anew.
    ...(rest.testStatus === undefined ? {} : { bannedSignals: 0 }),
    ...times,
    ...(providerSpecificData === undefined ? {} : { providerSpecificData: mergeData(current.providerSpecificData, providerSpecificData) }),
    updatedAt: now
  }
}
