/**
 * What an import would do: each entry of the document with what becomes of it, what stands in the way, what is to be written, and the
 * configuration as it would be afterwards. Pure; one document, one draft.
 */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { RecordKind } from "#schemas/FileOwned.ts"
import type { Combo, ComboMapping } from "#schemas/records/Combo.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import { ownerOf } from "#src/management/ownership/ownership.ts"

export type Section = "settings" | "flags" | "nodes" | "connections" | "models" | "aliases" | "combos" | "mappings" | "prices"
export type Action = "created" | "changed" | "unchanged" | "left_out"

export interface Entry {
  readonly section: Section
  readonly name: string
  readonly action: Action
  /** Why it is left out, or what is still to do. */
  readonly note?: string
}

export type DocumentKind = "setting" | "flag" | "alias" | "pricing"

export type Write =
  /** `value` null: it is removed. */
  | { readonly record: "document"; readonly kind: DocumentKind; readonly key: string; readonly value: unknown }
  | { readonly record: "node"; readonly node: ProviderNode; readonly isNew: boolean }
  | { readonly record: "connection"; readonly connection: Connection; readonly isNew: boolean }
  | { readonly record: "model"; readonly model: CustomModel }
  | { readonly record: "combo"; readonly combo: Combo; readonly isNew: boolean }
  | { readonly record: "mapping"; readonly mapping: ComboMapping; readonly isNew: boolean }

export interface Making {
  /** ISO 8601. */
  readonly now: string
  /** A new id at each call. */
  readonly makeId: () => string
}

/** An address that the URL guard must allow. */
export interface Address {
  readonly field: string
  readonly url: string
}

const put = <A>(list: ReadonlyArray<A>, one: A, isSame: (other: A) => boolean): ReadonlyArray<A> => {
  const at = list.findIndex(isSame)
  return at < 0 ? [...list, one] : list.with(at, one)
}

export class Draft {
  readonly before: Snapshot
  readonly making: Making
  readonly entries: Array<Entry> = []
  readonly issues: Array<Refusal.FieldIssue> = []
  readonly writes: Array<Write> = []
  readonly addresses: Array<Address> = []
  /** Ids here of the document's connections. */
  readonly connectionIds = new Map<string, string>()
  /** The document's connections that are not made here. */
  readonly withoutConnection = new Set<string>()
  /** As it would be. */
  after: Snapshot

  constructor(before: Snapshot, making: Making) {
    this.before = before
    this.making = making
    this.after = before
  }

  issue(field: string, message: string): void {
    this.issues.push({ field, message })
  }

  /** Issues of one entry, by the fields of the entry; answers whether there were any. */
  refused(at: string, issues: ReadonlyArray<Refusal.FieldIssue>): boolean {
    for (const { field, message } of issues) this.issue(`${at}.${field}`, message)
    return issues.length > 0
  }

  /** The value, or null when it is a refusal, which becomes issues. */
  taken<A>(at: string, value: A | Refusal.Refusal): A | null {
    if (!(value instanceof Refusal.Refusal)) return value
    if (!this.refused(at, value.error.details ?? [])) this.issue(at, value.error.message)
    return null
  }

  note(section: Section, name: string, action: Action, note?: string): void {
    this.entries.push(note === undefined ? { section, name, action } : { section, name, action, note })
  }

  /** Whether the configuration file declares the record: then it is left out. */
  isOwned(section: Section, kind: RecordKind, id: string, name: string): boolean {
    if (ownerOf(this.before, kind, id) === "database") return false
    this.note(section, name, "left_out", "The configuration file declares it: change it there")
    return true
  }

  node(node: ProviderNode, isNew: boolean): void {
    this.writes.push({ record: "node", node, isNew })
    this.note("nodes", node.prefix, isNew ? "created" : "changed")
    const nodes = put(this.after.nodes, node, ({ id }) => id === node.id)
    this.after = { ...this.after, nodes, nodeById: new Map(nodes.map((one) => [one.id, one])), nodeByPrefix: new Map(nodes.map((one) => [one.prefix, one])) }
  }

  connection(connection: Connection, isNew: boolean): void {
    this.writes.push({ record: "connection", connection, isNew })
    this.after = {
      ...this.after, connections: put(this.after.connections, connection, ({ id }) => id === connection.id),
      connectionById: new Map([...this.after.connectionById, [connection.id, connection]])
    }
  }
}
