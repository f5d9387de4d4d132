import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { AgentId, CloudTask, TaskStatus } from "./CloudTask.ts"

export interface TaskQuery {
  readonly providerId?: AgentId | undefined
  readonly status?: TaskStatus | undefined
  readonly limit: number
}

/** Records of tasks that cloud agents work on. */
export class CloudTaskStore extends Context.Service<CloudTaskStore, {
  /** Newest first. */
  readonly list: (query: TaskQuery) => Effect.Effect<ReadonlyArray<CloudTask>, StoreError>
  readonly get: (id: string) => Effect.Effect<CloudTask | null, StoreError>
  readonly insert: (task: CloudTask) => Effect.Effect<void, StoreError>
  /** Only while it stands as it was read, with `updatedAt`; false otherwise. */
  readonly replace: (task: CloudTask, updatedAt: string) => Effect.Effect<boolean, StoreError>
  readonly remove: (id: string) => Effect.Effect<boolean, StoreError>
  /** Removes the oldest finished ones above `most` tasks; answers how many. */
  readonly trim: (most: number) => Effect.Effect<number, StoreError>
}>()("gateway/cloudAgents/CloudTaskStore") {}
