/** Eval scores of models, for combos that order their targets by them (`evalRouting`). */
import * as Context from "effect/Context"
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { EvalScore } from "#schemas/records/Eval.ts"

/** evalRouting of a complete combo configuration. */
export type EvalRules = Required<NonNullable<ComboConfig["evalRouting"]>>

export interface ModelScore {
  /** Share of judged answers that were right, 0 to 1. */
  readonly quality: number
  /** Mean of a whole answer, ms. */
  readonly latencyMs: number
}

export class EvalScores extends Context.Service<EvalScores, {
  /**
   * Scores by canonical model id, of models with enough fresh cases; never waits. They are read anew in the background when they
   * are older than `cacheTtlMs`, so that runs of other nodes are seen.
   */
  readonly of: (rules: EvalRules, now: number) => ReadonlyMap<string, ModelScore>
  /** A run of this node, known at once. */
  readonly note: (score: EvalScore) => void
}>()("gateway/ports/EvalScores") {}
