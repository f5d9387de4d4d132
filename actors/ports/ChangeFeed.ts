/**
 * Changes that any node committed to the records, in the order of the commits. Every node learns of a change within two
 * seconds, applies it, and acknowledges the version it acts on.
 */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { StoreError } from "#actors/ports/StoreError.ts"

/** What the triggers of the migrations name (`note_record_change`). */
export const changeKinds = [
  "budget", "combo", "combo-mapping", "connection", "custom-model", "document", "key", "mcp-server", "memory", "node", "plugin", "proxy",
  "proxy-assignment", "token-limit"
] as const

export type ChangeKind = typeof changeKinds[number]

const known: ReadonlySet<string> = new Set(changeKinds)

/** False for what a newer release counts beside: no part of this one keeps it. */
export const isChangeKind = (kind: string): kind is ChangeKind => known.has(kind)

/**
 * One changed record, by its id; but a custom model by its provider, a budget and a memory by their key, a plugin by its name, a proxy's
 * assignment by `<scope>/<scope id>`, and a document by `<document kind>/<key>`.
 */
export interface Change {
  readonly kind: ChangeKind
  readonly id: string
}

/** What happened since the last time; `changes` is null when too much did to be listed: everything may be different. */
export interface News {
  /** The version of the records up to which this tells. */
  readonly version: number
  readonly changes: ReadonlyArray<Change> | null
}

export class ChangeFeed extends Context.Service<ChangeFeed, {
  /** The version of the records that this node acts on. */
  readonly applied: () => number
  /** The version in the database; a read of records after this call sees at least that version. */
  readonly version: Effect.Effect<number, StoreError>
  /** Runs `apply` for all changes, one after another, for the scope; a version counts as applied when all listeners have applied it. */
  readonly hear: (apply: (news: News) => Effect.Effect<void, StoreError>) => Effect.Effect<void, never, Scope.Scope>
  /**
   * True after this process stood still (a paused container, a suspended machine): others may have changed what it acts on, and it has
   * not looked yet. Costs one look at a clock; asked before each inference request.
   */
  readonly isBehind: () => boolean
  /** Why the newest records cannot be applied, and since when (ms since 1970); null while they can, or cannot be read at all. */
  readonly stuck: () => { readonly sinceMs: number; readonly why: string } | null
  /** Waits until it has looked, or for a bounded while when the records do not answer. Never fails. */
  readonly caughtUp: Effect.Effect<void>
  /** This node has committed a change: the others are notified at once. Never waits and never fails. */
  readonly announce: () => void
  /** Everything may be different, as after a restore: every listener of this node reads its records again before this ends. */
  readonly reread: Effect.Effect<void, StoreError>
}>()("gateway/ports/ChangeFeed") {}
