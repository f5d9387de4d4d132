/** Combos as the management surface sees them: every target of the snapshot, for no key in particular. */
import { shownProvider, type Snapshot } from "#actors/ports/Configuration.ts"
import type { Flags } from "#actors/ports/Flags.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import { registryOf } from "#src/providers/syncedFacts.ts"
import { makeConfigs } from "./config.ts"
import { expand, type Expansion } from "./expand.ts"
import { byName } from "./nesting.ts"
import { factsFrom, targetsFrom } from "./targets.ts"
import { variantsOf } from "#src/routing/models/resolverView.ts"
import { makePlanner, type PlannerOptions } from "#src/routing/plan.ts"

/** One planner for as many combos as are asked for. `priceOf` is needed to call the targets. */
export const expansionsOf = (snapshot: Snapshot, flags: Flags["Service"], priceOf: PlannerOptions["priceOf"] = () => null): (combo: Combo) => Expansion => {
  const registry = registryOf(snapshot)
  const planner = makePlanner({
    snapshot,
    registry,
    ...variantsOf(flags),
    priceOf
  })
  const around = {
    combos: byName(snapshot.combos),
    targetsOf: targetsFrom(planner, "chat-completions"),
    factsOf: factsFrom(registry, snapshot.customModels),
    configOf: makeConfigs(snapshot.settings),
    prefixOf: prefixIn(snapshot)
  }
  return (combo) => expand(combo, around)
}

/** Public prefix of a provider as a step names it. */
export const prefixIn = (snapshot: Snapshot) => (provider: string): string => shownProvider(snapshot, provider)
