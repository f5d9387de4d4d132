/** Records of executions: a bounded history, the newest are kept. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { SkillExecution } from "./Skill.ts"

type Op<A> = Effect.Effect<A, StoreError>

export interface ExecutionFilter {
  readonly apiKeyId?: string | undefined
  readonly limit: number
  readonly offset: number
}

/** What an execution becomes. */
export type ExecutionEnd = Pick<SkillExecution, "status" | "output" | "errorMessage" | "durationMs">

export class SkillExecutionStore extends Context.Service<SkillExecutionStore, {
  /** Newest first. */
  readonly list: (filter: ExecutionFilter) => Op<{ readonly executions: ReadonlyArray<SkillExecution>; readonly total: number }>
  readonly insert: (execution: SkillExecution) => Op<void>
  /** From pending to running. */
  readonly begin: (id: string) => Op<void>
  /** Of one that has not ended; an end is final. */
  readonly end: (id: string, end: ExecutionEnd) => Op<void>
  /** Those that have not ended and began before `before` (ISO 8601) failed with their gateway. */
  readonly abandon: (before: string, errorMessage: string) => Op<void>
  /** Leaves the newest `most`. */
  readonly trim: (most: number) => Op<void>
}>()("gateway/skills/SkillExecutionStore") {}
