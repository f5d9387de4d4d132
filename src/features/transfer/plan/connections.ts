/**
 * Connections of a document: found by their ids, else by provider and name. They come without credentials: a new one waits for its own, and
 * one that stands keeps its own. Pure.
 */
import type { Connection } from "#schemas/records/Connection.ts"
import * as ConnectionRecord from "#src/features/providers/ports/connectionRecord.ts"
import * as Destination from "#src/features/providers/ports/destination.ts"
import * as RecordDrafts from "#src/features/providers/ports/recordDrafts.ts"
import { knownProvider, unknownProvider } from "#src/management/knownProvider.ts"
import { type Document, same } from "#src/features/transfer/document.ts"
import type { Draft } from "./Draft.ts"
import { movesCredentials } from "./nodes.ts"

type Given = NonNullable<Document["connections"]>[number]

const standingFor = ({ before }: Draft, { id, name }: Given, provider: string): Connection | null => {
  const byId = before.connectionById.get(id)
  if (byId?.provider === provider) return byId
  const named = before.connections.filter((one) => one.provider === provider && one.name === name)
  // Of two that it could mean it takes none.
  return named.length === 1 ? named[0] ?? null : null
}

const changes = (standing: Connection, patch: ConnectionRecord.Patch): boolean =>
  Object.entries(patch).some(([field, value]) => field !== "updatedAt" && !same(value ?? null, standing[field as keyof Connection] ?? null))

/** Its base URL where that is new, for the URL guard. */
const address = (draft: Draft, at: string, next: Connection, standing: Connection | null): void => {
  const { baseUrl } = next.providerSpecificData
  if (typeof baseUrl === "string" && baseUrl !== standing?.providerSpecificData["baseUrl"]) draft.addresses.push({ field: `${at}.providerSpecificData.baseUrl`, url: baseUrl })
}

const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The id that it had elsewhere, where it is free: what refers to it there, refers to it here. */
const idFor = ({ after, making }: Draft, id: string): string => uuid.test(id) && !after.connectionById.has(id) ? id : making.makeId()

const make = (draft: Draft, at: string, { authType, id, name, provider: _provider, ...change }: Given, provider: string): void => {
  const { making } = draft
  if (authType === "oauth") {
    draft.withoutConnection.add(id)
    return draft.note("connections", name, "left_out", "It is signed in to: sign in here under the same name, then import again")
  }
  if (authType === "none" && RecordDrafts.needsCredential(provider, draft.after.nodeById)) return draft.issue(`${at}.authType`, "The provider needs a credential")
  const node = draft.after.nodeById.get(provider)
  const made = ConnectionRecord.make({
    id: idFor(draft, id), provider, name, apiKey: null, priority: change.priority ?? 1, globalPriority: null, defaultModel: change.defaultModel ?? null,
    testStatus: undefined, providerSpecificData: node === undefined ? {} : ConnectionRecord.nodeData(node), now: making.now
  })
  const next: Connection = { ...made, ...ConnectionRecord.patchOf(made, change, making.now), authType }
  // Without its credential every call of it would fail.
  const waits = authType === "apikey"
  if (Destination.addsSecrets(provider, draft.after) && Destination.originOf(next, draft.after) !== Destination.originOf(made, draft.after)) {
    return draft.issue(`${at}.providerSpecificData`, movesCredentials)
  }
  address(draft, at, next, null)
  draft.connectionIds.set(id, next.id)
  draft.connection(waits ? { ...next, isActive: false } : next, true)
  draft.note("connections", name, "created", waits ? "It is not active until PUT /api/providers/{id} gives it an apiKey and isActive true" : undefined)
}

const change = (draft: Draft, at: string, { authType: _authType, id, provider: _provider, ...input }: Given, standing: Connection): void => {
  draft.connectionIds.set(id, standing.id)
  const isLocked = standing.authType !== "none" && !Destination.hasSecret(standing)
  const patch = ConnectionRecord.patchOf(standing, isLocked ? { ...input, isActive: false } : input, draft.making.now)
  if (!changes(standing, patch)) return draft.note("connections", input.name, "unchanged")
  if (draft.isOwned("connections", "connection", standing.id, input.name)) return
  const next: Connection = { ...standing, ...patch }
  const keeps = Destination.hasSecret(standing) || Destination.addsSecrets(standing.provider, draft.after)
  if (keeps && Destination.originOf(standing, draft.after) !== Destination.originOf(next, draft.after)) return draft.issue(`${at}.providerSpecificData`, movesCredentials)
  address(draft, at, next, standing)
  draft.connection(next, false)
  draft.note("connections", input.name, "changed")
}

export const connections = (draft: Draft, given: NonNullable<Document["connections"]>): void => {
  const seen = new Set<string>()
  for (const [index, input] of given.entries()) {
    const at = `connections.${index}`
    const provider = knownProvider(draft.after, input.provider)
    if (provider === null) {
      draft.issue(`${at}.provider`, unknownProvider(input.provider))
      continue
    }
    const standing = standingFor(draft, input, provider)
    const { authType: _a, id: _i, provider: _p, ...fields } = input
    const meant = standing?.id ?? `new ${input.id}`
    if (seen.has(meant)) {
      draft.issue(`${at}.id`, "Another connection of the document means the same one")
      continue
    }
    seen.add(meant)
    // The node may have been changed by this document.
    const current = standing === null ? null : draft.after.connectionById.get(standing.id) ?? standing
    if (draft.refused(at, RecordDrafts.connectionIssues(fields, provider, current?.providerSpecificData ?? {}))) continue
    if (current === null) make(draft, at, input, provider)
    else change(draft, at, input, current)
  }
}
