/** Stores provider nodes and applies a change to their connections and custom models. */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as SecureRandom from "effect/crypto/SecureRandom"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Configuration } from "#actors/ports/Configuration.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"
import { ConnectionStore, CustomModelStore, DocumentStore, NodeStore } from "#actors/ports/Stores.ts"
import * as Acting from "#src/features/providers/acting.ts"
import type { ManagementCall } from "#schemas/api/Management.ts"
import type { NewNode, NodeChange } from "./api.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import { refuseInert } from "#src/management/acting.ts"
import { Audit } from "#src/management/audit/Audit.ts"
import { refuseOwned } from "#src/management/ownership/ownership.ts"
import { originOf, refuseMove } from "#src/management/ownership/storedCredentials.ts"
import { mergeData, nodeData } from "#src/features/providers/ports/connectionRecord.ts"
import { Connections, removeDocuments } from "#src/features/providers/ports/Connections.ts"
import * as Destination from "#src/features/providers/ports/destination.ts"
import * as NodeRecord from "./nodeRecord.ts"
import { prefixIssue } from "./prefixes.ts"
import * as PrefixRenaming from "./PrefixRenaming.ts"

type Done<A> = Effect.Effect<A, Refusal.Refusal | StoreError, ManagementCall>

export class Nodes extends Context.Service<Nodes, {
  readonly get: (id: string) => Done<ProviderNode>
  /** With `apiKey` its first connection is stored in the same commit. */
  readonly create: (input: NewNode) => Done<{ readonly node: ProviderNode; readonly connection: Connection | null }>
  readonly change: (id: string, change: NodeChange) => Done<ProviderNode>
  readonly remove: (id: string) => Done<void>
}>()("gateway/http/Nodes") {}

const missing = Effect.fail(Refusal.notFound("Provider node not found"))

export const make = Effect.gen(function*() {
  const audit = yield* Audit
  const configuration = yield* Configuration
  const connections = yield* Connections
  const connectionStore = yield* ConnectionStore
  const customModels = yield* CustomModelStore
  const documents = yield* DocumentStore
  const prefixes = yield* PrefixRenaming.make
  const random = yield* SecureRandom.SecureRandom
  const store = yield* NodeStore

  const now = Effect.map(Clock.currentTimeMillis, (ms) => new Date(ms).toISOString())
  const get = (id: string): Done<ProviderNode> => Effect.suspend(() => {
    const node = configuration.current().nodeById.get(id)
    return node === undefined ? missing : Effect.succeed(node)
  })

  const checkPrefix = (node: ProviderNode): Done<void> => Effect.suspend(() => {
    const issue = prefixIssue(node.prefix)
    if (issue !== null) return Effect.fail(Refusal.invalidField("prefix", issue))
    const other = configuration.current().nodeByPrefix.get(node.prefix)
    return other !== undefined && other.id !== node.id
      ? Effect.fail(Refusal.conflict("Another provider node has this prefix", { details: [{ field: "prefix", message: "Taken" }] }))
      : Effect.void
  })

  /** The checks that need no network. */
  const checked = (node: ProviderNode | Refusal.Refusal): Done<ProviderNode> =>
    node instanceof Refusal.Refusal ? Effect.fail(node) : Effect.as(checkPrefix(node), node)

  const checkBase = (node: ProviderNode): Done<void> => connections.checkUrl(node.baseUrl, "baseUrl")

  /** Stored credentials, those of the connections that follow the change too. */
  const stay = Effect.fnUntraced(function*(before: ProviderNode, after: ProviderNode, following: ReadonlyArray<Connection>) {
    const snapshot = configuration.current()
    const kept = Object.fromEntries(Object.entries(after.customHeaders).filter(([name, value]) => before.customHeaders[name] === value))
    if (Destination.addsSecrets(after.id, { ...snapshot, nodeById: new Map([[after.id, { ...after, customHeaders: kept }]]) })) {
      yield* refuseMove({ field: "baseUrl", from: originOf(before.baseUrl), to: originOf(after.baseUrl) })
    }
    const nodeById = new Map([[after.id, after]])
    for (const connection of following.filter(Destination.hasSecret)) {
      const standing = snapshot.connectionById.get(connection.id)
      yield* refuseMove({ field: "baseUrl", from: Destination.originOf(standing ?? connection, snapshot), to: Destination.originOf(connection, { nodeById }) })
    }
  })

  const note = (action: string, node: ProviderNode, more: Readonly<Record<string, string | ReadonlyArray<string>>> = {}) => audit.note({
    action, target: node.id, resourceType: "provider-node", details: { name: node.name, prefix: node.prefix, ...more }
  })

  return Nodes.of({
    get,
    create: Effect.fn("Nodes.create")(function*({ apiKey, ...input }) {
      yield* refuseInert(Acting.node, input)
      const node = yield* Effect.tap(checked(NodeRecord.make(input, yield* random.uuidV4(), yield* now)), checkBase)
      const connection = apiKey === undefined ? null : yield* connections.prepareFirst(node, apiKey)
      yield* configuration.commit(Effect.andThen(store.insert(node), connection === null ? Effect.void : connectionStore.insert(connection)))
      yield* note("provider.node.created", node)
      if (connection !== null) yield* connections.noteCreated(connection)
      return { node, connection }
    }),
    change: Effect.fn("Nodes.change")(function*(id, change) {
      yield* refuseOwned(configuration.current(), "node", id)
      yield* get(id)
      yield* refuseInert(Acting.node, change)
      const at = yield* now
      const changed = Effect.flatMap(get(id), (current) => checked(NodeRecord.apply(current, change, at)))
      // The URL guard asks the network, which must not hold up other commits.
      yield* Effect.flatMap(changed, checkBase)
      // Read again inside the commit: one writer at a time, so that changes of different fields are all kept.
      const { before, node, renaming } = yield* configuration.commit(Effect.gen(function*() {
        const before = yield* get(id)
        const node = yield* changed
        const snapshot = configuration.current()
        const following = snapshot.connections.filter(({ provider }) => provider === id).map((connection) => ({
          ...connection, providerSpecificData: mergeData(connection.providerSpecificData, nodeData(node)), updatedAt: node.updatedAt
        }))
        yield* stay(before, node, following)
        if (!(yield* store.replace(node))) return yield* missing
        for (const { id, providerSpecificData, updatedAt } of following) yield* connectionStore.patch(id, { providerSpecificData, updatedAt })
        const renaming = before.prefix === node.prefix ? null : yield* prefixes.rename(snapshot, { from: before.prefix, to: node.prefix }, node.updatedAt)
        return { before, node, renaming }
      }))
      if (renaming !== null) yield* prefixes.settled(renaming.keys)
      yield* note("provider.node.updated", node, renaming === null ? {} : { previousPrefix: before.prefix, renamed: renaming.renamed })
      return node
    }),
    remove: Effect.fn("Nodes.remove")(function*(id) {
      yield* refuseOwned(configuration.current(), "node", id)
      const node = yield* configuration.commit(Effect.gen(function*() {
        const node = yield* get(id)
        const { connections: all, pricing } = configuration.current()
        for (const connection of all) if (connection.provider === id) yield* removeDocuments(documents, connection.id)
        for (const key of pricing.keys()) if (key.startsWith(`${id}/`)) yield* documents.remove("pricing", key)
        yield* connectionStore.removeByProvider(id)
        yield* customModels.removeAll(id)
        yield* customModels.removeAll(node.prefix)
        if (!(yield* store.remove(id))) return yield* missing
        return node
      }))
      yield* note("provider.node.deleted", node)
    })
  })
})

export const layer = Layer.effect(Nodes, make)
