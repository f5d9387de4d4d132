/** The gateway's processes that share one database: which ones are alive, and which version of the records each acts on. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { News } from "#actors/ports/ChangeFeed.ts"
import type { StoreError } from "#actors/ports/StoreError.ts"

/** One process as it describes itself. */
export interface Node {
  readonly id: string
  /** Distinguishes two runs of one id. */
  readonly incarnation: string
  readonly host: string
  readonly address: string
  readonly pid: number
  /** Its number among the workers of one machine; 0 = the only one. */
  readonly worker: number
  readonly release: string
  /** ms since the epoch, by the node's own clock. */
  readonly startedAt: number
}

/** Times by the database's clock, ms since the epoch. */
export interface SeenNode extends Node {
  readonly lastSeenAt: number
  /** ms since it was last seen. */
  readonly silentMs: number
  /** The version of the records that it acts on, and since when. */
  readonly version: number
  readonly versionAt: number
}

/** A node counts as dead after this silence, ms. */
const deadAfterMs = 5_000

/** Whether a node was heard of in the last seconds. */
export const isAlive = ({ silentMs }: Pick<SeenNode, "silentMs">): boolean => silentMs < deadAfterMs

type Op<A> = Effect.Effect<A, StoreError>

/** The table of nodes, and the log of what was committed. */
export class ClusterStore extends Context.Service<ClusterStore, {
  /** The version of the records: it grows in the transaction of each change. */
  readonly version: Op<number>
  /** What was committed after a version, in order, up to `limit` changes; `changes` null when the log does not reach back so far. */
  readonly newsAfter: (version: number, limit: number) => Op<News>
  /** Says that a node lives and which version it acts on; answers the version of the records. */
  readonly beat: (node: Node, applied: number) => Op<number>
  readonly nodes: Op<ReadonlyArray<SeenNode>>
  /** Takes a node's row away, unless another incarnation has it. */
  readonly leave: (id: string, incarnation: string) => Op<void>
  /** Forgets changes but the last `keep`, and nodes silent for longer than `silentMs`; answers how many rows went. */
  readonly prune: (keep: number, silentMs: number) => Op<number>
}>()("gateway/ports/ClusterStore") {}

/** The nodes as the management API shows them. */
export class Nodes extends Context.Service<Nodes, {
  readonly self: Node
  readonly list: Op<ReadonlyArray<SeenNode>>
  /** The version of the records in the database. */
  readonly version: Op<number>
}>()("gateway/ports/Nodes") {}
