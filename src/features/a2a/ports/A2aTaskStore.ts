/** Tasks of agents, and the receivers of their push notifications. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type * as Redacted from "effect/Redacted"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { A2aTask, TaskState } from "./A2aTask.ts"

export interface TaskFilter {
  readonly owner: string
  readonly state?: TaskState | undefined
  readonly skill?: string | undefined
  readonly contextId?: string | undefined
  /** Tasks that changed after this time, ms since the epoch. */
  readonly changedAfter?: number | undefined
  readonly limit: number
  readonly offset: number
}

/** A receiver of a task's changes. */
export interface PushConfig {
  readonly taskId: string
  readonly id: string
  /** JSON text of the receiver's address and credentials, sealed at rest. */
  readonly receiver: Redacted.Redacted<string>
}

type Op<A> = Effect.Effect<A, StoreError>

export class A2aTaskStore extends Context.Service<A2aTaskStore, {
  readonly insert: (task: A2aTask) => Op<void>
  /** Writes a task that has not ended in the store, and says that it is worked on; false when it has ended, or is unknown. */
  readonly save: (task: A2aTask) => Op<boolean>
  /** `silentMs`: since a node worked on it last, by the store's clock. */
  readonly find: (id: string) => Op<{ readonly task: A2aTask; readonly silentMs: number } | null>
  /** Newest first, and how many match. */
  readonly list: (filter: TaskFilter) => Op<{ readonly tasks: ReadonlyArray<A2aTask>; readonly total: number }>
  /** Tasks of an owner that have not ended. */
  readonly running: (owner: string) => Op<number>
  /** Says that these are worked on; answers those of them that have ended or are gone. */
  readonly touch: (ids: ReadonlyArray<string>) => Op<ReadonlyArray<string>>
  /** Tasks that have not ended although their time is over, or that no node has worked on for `silentMs`. */
  readonly overdue: (now: number, silentMs: number, limit: number) => Op<ReadonlyArray<A2aTask>>
  /** Removes records whose time is over; answers how many. */
  readonly removeGone: (now: number) => Op<number>
  readonly counts: Op<Readonly<Record<TaskState, number>>>
  readonly putConfig: (config: PushConfig) => Op<void>
  readonly configs: (taskId: string) => Op<ReadonlyArray<PushConfig>>
  readonly removeConfig: (taskId: string, id: string) => Op<void>
}>()("gateway/a2a/A2aTaskStore") {}
