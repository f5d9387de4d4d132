/** Provider nodes of a document: found by their prefixes. Pure. */
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import { mergeData, nodeData } from "#src/features/providers/ports/connectionRecord.ts"
import * as Destination from "#src/features/providers/ports/destination.ts"
import * as RecordDrafts from "#src/features/providers/ports/recordDrafts.ts"
import { originOf } from "#src/management/ownership/storedCredentials.ts"
import { hasSecretHeader } from "#src/management/redact.ts"
import { type Document, same } from "#src/features/transfer/document.ts"
import type { Draft } from "./Draft.ts"

/** A stored credential never follows a document to another server. */
export const movesCredentials = "Stored credentials would be sent to another server. Change it with the record's own PUT call"

const unchanged = (standing: ProviderNode, next: ProviderNode): boolean => same({ ...next, updatedAt: "" }, { ...standing, updatedAt: "" })

const follow = (draft: Draft, node: ProviderNode, following: ReadonlyArray<Connection>): void => {
  for (const connection of following) {
    const providerSpecificData = mergeData(connection.providerSpecificData, nodeData(node))
    if (!same(providerSpecificData, connection.providerSpecificData)) draft.connection({ ...connection, providerSpecificData, updatedAt: draft.making.now }, false)
  }
}

export const nodes = (draft: Draft, given: NonNullable<Document["nodes"]>): void => {
  const seen = new Set<string>()
  for (const [index, input] of given.entries()) {
    const at = `nodes.${index}`
    if (seen.has(input.prefix)) {
      draft.issue(`${at}.prefix`, "Another node of the document has this prefix")
      continue
    }
    seen.add(input.prefix)
    const standing = draft.before.nodeByPrefix.get(input.prefix) ?? null
    if (draft.refused(at, RecordDrafts.nodeIssues(input, standing === null))) continue
    const next = draft.taken(at, RecordDrafts.node(input, standing, draft.making.makeId(), draft.making.now))
    if (next === null) continue
    if (standing === null) {
      draft.addresses.push({ field: `${at}.baseUrl`, url: next.baseUrl })
      draft.node(next, true)
      continue
    }
    if (unchanged(standing, next)) {
      draft.note("nodes", input.prefix, "unchanged")
      continue
    }
    if (draft.isOwned("nodes", "node", standing.id, input.prefix)) continue
    const following = draft.before.connections.filter(({ provider }) => provider === standing.id)
    if (originOf(standing.baseUrl) !== originOf(next.baseUrl) && (following.some(Destination.hasSecret) || hasSecretHeader(standing.customHeaders))) {
      draft.issue(`${at}.baseUrl`, movesCredentials)
      continue
    }
    if (next.baseUrl !== standing.baseUrl) draft.addresses.push({ field: `${at}.baseUrl`, url: next.baseUrl })
    draft.node(next, false)
    follow(draft, next, following)
  }
}
