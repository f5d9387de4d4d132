/** Records of skills. */
import * as Context from "effect/Context"
import type * as Effect from "effect/Effect"
import type { StoreError } from "#actors/ports/StoreError.ts"
import type { ListedMode, Skill, SkillSource } from "./Skill.ts"

type Op<A> = Effect.Effect<A, StoreError>

export interface SkillFilter {
  /** Part of the name, the description or a tag, in any case. */
  readonly q?: string | undefined
  readonly mode?: typeof ListedMode.Type | undefined
  readonly source?: SkillSource | undefined
  /** Those that run for this API key: its own, and those of any key. */
  readonly apiKeyId?: string | undefined
  readonly limit: number
  readonly offset: number
}

export class SkillStore extends Context.Service<SkillStore, {
  /** By name, then the newest record first; `total` counts all that fit. */
  readonly list: (filter: SkillFilter) => Op<{ readonly skills: ReadonlyArray<Skill>; readonly total: number }>
  readonly get: (id: string) => Op<Skill | null>
  /** Every version of one name. */
  readonly versions: (name: string) => Op<ReadonlyArray<Skill>>
  /** Names that were installed most, at most `limit`. */
  readonly popular: (limit: number) => Op<ReadonlyArray<string>>
  /** A name and version that is taken is a conflict. */
  readonly insert: (skill: Skill) => Op<void>
  /** False when it is gone. */
  readonly replace: (skill: Skill) => Op<boolean>
  readonly remove: (id: string) => Op<boolean>
}>()("gateway/skills/SkillStore") {}
