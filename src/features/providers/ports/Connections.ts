/** Storing, changing and removing credentials of providers. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Redacted from "effect/Redacted"
import type * as Schema from "effect/Schema"
import { Configuration, shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ConnectionStore, DocumentStore } from "#actors/ports/Stores.ts"
import { checkKept, UrlGuard } from "#actors/ports/UrlGuard.ts"
import * as Acting from "#src/features/providers/acting.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import type { ConnectionChange } from "#src/features/providers/api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Connection, TestStatus } from "#schemas/records/Connection.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import { refuseInert } from "#src/management/acting.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { refuseOwned } from "#src/management/ownership/ownership.ts"
import { builtin } from "#src/providers/Registry.ts"
import * as ConnectionRecord from "./connectionRecord.ts"
import * as Destination from "./destination.ts"
import * as Credential from "#src/features/providers/credential.ts"
import * as ProviderData from "#src/features/providers/providerData.ts"

type Data = Readonly<Record<string, Schema.Json>>
type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

export interface NewConnection {
  readonly provider: string
  readonly name: string
  readonly apiKey?: string | undefined
  readonly priority?: number | undefined
  readonly globalPriority?: number | null | undefined
  readonly defaultModel?: string | null | undefined
  readonly testStatus?: TestStatus | undefined
  readonly providerSpecificData?: Data | undefined
}

export class Connections extends Context.Service<Connections, {
  readonly get: (id: string) => Done<Connection>
  /** Checks everything that needs no upstream; nothing is stored. */
  readonly prepare: (input: NewConnection) => Done<Connection>
  /** The same for the first connection of a node that is not stored yet; null as `apiKey`: its server asks for no credential. */
  readonly prepareFirst: (node: ProviderNode, apiKey: string | null) => Done<Connection>
  readonly store: (connection: Connection) => Done<void>
  /** Writes the audit entry of a connection that was stored together with its node. */
  readonly noteCreated: (connection: Connection) => Done<void>
  readonly change: (id: string, change: ConnectionChange) => Done<Connection>
  readonly activate: (ids: ReadonlyArray<string>, isActive: boolean) => Done<number>
  readonly remove: (id: string) => Done<void>
  /** The URL guard's word on a base URL, as a refusal with an audit entry. */
  readonly checkUrl: (url: string, field: string) => Done<void>
  /** Whether every key of providerSpecificData is read for the provider, and its base URL allowed; `stored`: what stands. */
  readonly checkData: (provider: string, data: Data | undefined, stored: Data) => Done<void>
}>()("gateway/http/Connections") {}

/** Kinds of documents that belong to one connection. */
export const documentKinds = ["param-filters", "interception-rules", "synced-models"] as const

export const removeDocuments = (documents: DocumentStore["Service"], id: string) =>
  Effect.forEach(documentKinds, (kind) => documents.remove(kind, id), { discard: true })

const missing = Effect.fail(Refusal.notFound("Connection not found"))

/** Ids of a list that no connection has. */
export const refuseStrangers = ({ connectionById }: Pick<Snapshot, "connectionById">, field: string, ids: ReadonlyArray<string>): Effect.Effect<void, Refusal.Refusal> => {
  const issues = ids.flatMap((id, index) => connectionById.has(id) ? [] : [{ field: `${field}.${index}`, message: `No connection has the id '${id.slice(0, 120)}': see GET /api/providers` }])
  return issues.length === 0 ? Effect.void : Effect.fail(Refusal.invalidFields(issues))
}

/** Registry id of a provider id or alias; else why not. */
const registered = (provider: string): string | Refusal.Refusal => {
  const row = builtin.byPrefix.get(provider)
  if (row !== undefined) return row.id
  return /^(openai|anthropic)-compatible-/.test(provider)
    ? Refusal.notFound("Provider node not found")
    : Refusal.badRequest("Invalid provider", { details: [{ field: "provider", message: "No such provider or provider node" }] })
}

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const documents = yield* DocumentStore
  const guard = yield* UrlGuard
  const random = yield* SecureRandom.SecureRandom
  const store = yield* ConnectionStore

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())
  const note = (action: string, connection: Connection, details: Data = {}) => audit.note({
    action, target: connection.id, resourceType: "provider",
    details: { provider: shownProvider(configuration.current(), connection.provider), name: connection.name, ...details }
  })
  const noteCreated = (connection: Connection): Done<void> => note("provider.credentials.created", connection)
  const get = (id: string): Done<Connection> =>
    Effect.flatMap(store.get(id), (connection) => connection === null ? missing : Effect.succeed(connection))

  const checkUrl = (url: string, field: string): Done<void> => Effect.asVoid(
    Effect.catchTag(checkKept(guard, url, "provider"), "UrlBlocked", (blocked) =>
      Effect.andThen(
        audit.note({ action: "provider.validation.ssrf_blocked", resourceType: "provider", status: "blocked", details: { reason: blocked.reason } }),
        Effect.fail(Refusal.badRequest(blocked.message, { code: "url_blocked", details: [{ field, message: blocked.message }] }))
      ))
  )
  const checkData = (provider: string, data: Data | undefined, stored: Data): Done<void> => Effect.suspend(() => {
    const refusal = ProviderData.unread(data, builtin.byId.get(provider) ?? null, stored) ?? ProviderData.unsendable(data, stored)
    if (refusal !== null) return Effect.fail(refusal)
    return typeof data?.["baseUrl"] === "string" ? checkUrl(data["baseUrl"], "providerSpecificData.baseUrl") : Effect.void
  })

  /** `keepsSecrets`: credentials of the connection itself go along. */
  const stay = (before: Connection, after: Connection, keepsSecrets: boolean) => Effect.suspend(() => {
    const snapshot = configuration.current()
    return keepsSecrets || Destination.addsSecrets(after.provider, snapshot) ? Destination.refuseOther(before, after, snapshot) : Effect.void
  })

  const prepareAt = Effect.fnUntraced(function*(node: ProviderNode | null, input: NewConnection) {
    const provider = node === null ? registered(input.provider) : node.id
    if (typeof provider !== "string") return yield* Effect.fail(provider)
    const apiKey = Credential.clean(input.apiKey, "apiKey")
    if (apiKey instanceof Refusal.Refusal) return yield* Effect.fail(apiKey)
    const row = builtin.byId.get(provider)
    if (apiKey === null && node === null && row?.authKinds.includes("none") !== true) {
      return yield* Effect.fail(Refusal.invalidField("apiKey", `Provider ${provider} needs a credential`))
    }
    yield* checkData(provider, input.providerSpecificData, {})
    const connection = ConnectionRecord.make({
      id: yield* random.uuidV4(),
      provider,
      name: input.name,
      apiKey,
      priority: input.priority ?? 1,
      globalPriority: input.globalPriority ?? null,
      defaultModel: input.defaultModel ?? null,
      testStatus: input.testStatus,
      providerSpecificData: ConnectionRecord.mergeData(node === null ? {} : ConnectionRecord.nodeData(node), input.providerSpecificData ?? {}),
      now: yield* now
    })
    const snapshot = configuration.current()
    if (typeof input.providerSpecificData?.["baseUrl"] === "string" && Destination.addsSecrets(provider, snapshot)) {
      const { baseUrl: _, ...elsewhere } = connection.providerSpecificData
      yield* Destination.refuseOther({ ...connection, providerSpecificData: elsewhere }, connection, snapshot, "providerSpecificData.baseUrl")
    }
    return connection
  })

  return Connections.of({
    get,
    checkUrl,
    checkData,
    prepare: Effect.fn("Connections.prepare")(function*(input) {
      yield* refuseInert(Acting.connection, input)
      const { nodeById, nodeByPrefix } = configuration.current()
      return yield* prepareAt(nodeById.get(input.provider) ?? nodeByPrefix.get(input.provider) ?? null, input)
    }),
    prepareFirst: Effect.fn("Connections.prepareFirst")((node, apiKey) =>
      prepareAt(node, { provider: node.id, name: node.name, apiKey: apiKey ?? undefined })),
    store: Effect.fn("Connections.store")(function*(connection) {
      yield* configuration.commit(store.insert(connection))
      yield* noteCreated(connection)
    }),
    noteCreated,
    change: Effect.fn("Connections.change")(function*(id, requested) {
      yield* refuseOwned(configuration.current(), "connection", id)
      const current = yield* get(id)
      const { apiKey: offered, ...rest } = requested
      const apiKey = current.authType === "apikey" ? Credential.clean(offered, "apiKey") : null
      if (apiKey instanceof Refusal.Refusal) return yield* Effect.fail(apiKey)
      const change: ConnectionChange = apiKey === null ? rest : { ...rest, apiKey }
      if (Object.keys(change).length === 0) return yield* Effect.fail(Refusal.badRequest("No valid fields to update"))
      yield* refuseInert(Acting.connection, change)
      yield* checkData(current.provider, change.providerSpecificData, current.providerSpecificData)
      const at = yield* now
      // Read again inside the commit: one writer at a time, so that changes of different fields are all kept.
      const next = yield* configuration.commit(Effect.gen(function*() {
        const standing = yield* get(id)
        const patch = ConnectionRecord.patchOf(standing, change, at)
        const next: Connection = { ...standing, ...patch, ...(apiKey === null ? {} : { apiKey: Redacted.make(apiKey) }) }
        yield* stay(standing, next, Destination.hasSecret(apiKey === null ? standing : { ...standing, apiKey: null }))
        // Only a new secret rewrites the record; else health marks of running requests would be lost.
        if (!(yield* apiKey === null ? store.patch(id, patch) : store.replace(next))) return yield* missing
        return next
      }))
      yield* note("provider.credentials.updated", next, { changed: Object.keys(change) })
      return next
    }),
    activate: Effect.fn("Connections.activate")(function*(ids, isActive) {
      for (const id of ids) yield* refuseOwned(configuration.current(), "connection", id)
      const updatedAt = yield* now
      const { length: updated } = yield* configuration.commit(Effect.gen(function*() {
        yield* refuseStrangers(configuration.current(), "ids", ids)
        return yield* Effect.forEach(new Set(ids), (id) => store.patch(id, { isActive, updatedAt }))
      }))
      yield* audit.note({ action: "provider.credentials.updated", resourceType: "provider", details: { ids, isActive, updated } })
      return updated
    }),
    remove: Effect.fn("Connections.remove")(function*(id) {
      yield* refuseOwned(configuration.current(), "connection", id)
      const connection = yield* get(id)
      const removed = yield* configuration.commit(Effect.andThen(
        removeDocuments(documents, id),
        store.remove(id)
      ))
      if (!removed) return yield* missing
      yield* note("provider.credentials.revoked", connection)
    })
  })
})

export const layer = Layer.effect(Connections, make)
