/** What a combo's configuration says about the listed order itself, before any strategy reads it: its tiers, large windows first. */
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { Candidate } from "#src/routing/models/candidate.ts"

/** Step ids from the default tier along its fallbacks; a circle ends where it began. */
const tierSteps = (tiers: NonNullable<ComboConfig["compositeTiers"]>): ReadonlyArray<string> => {
  const steps: Array<string> = []
  const seen = new Set<string>()
  let name: string | null | undefined = tiers.defaultTier
  while (name !== null && name !== undefined && !seen.has(name) && Object.hasOwn(tiers.tiers, name)) {
    seen.add(name)
    const tier: { readonly stepId: string; readonly fallbackTier?: string | null } | undefined = tiers.tiers[name]
    if (tier === undefined) break
    steps.push(tier.stepId)
    name = tier.fallbackTier
  }
  return steps
}

/** The listed order with the tiers' steps first, then (`preferLargeContext`) larger windows first; stable, the same array when neither is set. */
export const preferred = (candidates: ReadonlyArray<Candidate>, config: ComboConfig): ReadonlyArray<Candidate> => {
  let list = candidates
  if (config.contextRequirements?.preferLargeContext === true) {
    list = list.toSorted((a, b) => (b.contextWindow ?? 0) - (a.contextWindow ?? 0))
  }
  if (config.compositeTiers !== undefined) {
    const steps = tierSteps(config.compositeTiers)
    const rankOf = ({ stepId }: Candidate) => {
      const rank = steps.indexOf(stepId)
      return rank < 0 ? steps.length : rank
    }
    list = list.toSorted((a, b) => rankOf(a) - rankOf(b))
  }
  return list
}
