/** Combos with their targets' statistics from the ledger (GET /api/usage/combo-health). Pure. */
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { ComboTargetStatistics } from "#actors/ports/UsageStore.ts"
import type { ComboHealth, TargetHealth } from "./api.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import { prefixIn } from "#src/routing/combos/expansions.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"
import { candidatesOf, type Expansion, modelIdOf } from "#src/routing/combos/expand.ts"
import * as ComboQuota from "./comboQuota.ts"
import { skewOf } from "#src/features/usage/analytics/distribution.ts"
import { successShare } from "./statistics.ts"

const keyOf = (provider: string, model: string, connectionId: string | null): string => JSON.stringify([provider, model, connectionId])

const healthOf = (provider: string, { executionKey, label, stepId, target }: Candidate, known: ComboTargetStatistics | undefined, quota: ComboQuota.TargetQuota): TargetHealth => ({
  executionKey,
  stepId,
  model: target.publicModel,
  provider,
  connectionId: target.connection?.id ?? null,
  label,
  requests: known?.requests ?? 0,
  successRate: known === undefined ? null : successShare(known),
  avgLatencyMs: known?.avgMs ?? null,
  lastStatus: known?.lastStatus ?? null,
  lastUsedAt: known === undefined ? null : new Date(known.lastUsed).toISOString(),
  ...quota
})

/** `statistics` of this combo or of several; two steps of one combo with the same target show the same numbers. */
export const comboHealth = (
  snapshot: Snapshot,
  expansionOf: (combo: Combo) => Expansion,
  statistics: ReadonlyArray<ComboTargetStatistics>,
  quotaOf: (target: Target) => ComboQuota.TargetQuota
): (combo: Combo) => ComboHealth => {
  const byCombo = Map.groupBy(statistics, ({ combo }) => combo)
  return (combo) => {
    const known = new Map((byCombo.get(combo.name) ?? []).map((row) => [keyOf(row.provider, row.model, row.connectionId), row]))
    const targetHealth = candidatesOf(expansionOf(combo)).map((candidate) =>
      healthOf(
        shownProvider(snapshot, candidate.target.provider), candidate, known.get(keyOf(candidate.target.provider, candidate.target.model, candidate.target.connection?.id ?? null)),
        quotaOf(candidate.target)
      ))
    return {
      comboId: combo.id,
      comboName: combo.name,
      strategy: combo.strategy,
      models: combo.models.map((step) => step.kind === "combo-ref" ? step.comboName : modelIdOf(step, prefixIn(snapshot))),
      targetHealth,
      quotaHealth: ComboQuota.healthOf(targetHealth),
      usageSkew: skewOf(targetHealth.map(({ requests }) => requests))
    }
  }
}
