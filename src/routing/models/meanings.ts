/** What model ids mean under one configuration: combos, bare ids, and what a client's id is taken to be. Made once per snapshot. Pure. */
import type { Combo, ComboConfig } from "#schemas/records/Combo.ts"
import * as LastGood from "#src/routing/auto/lastGood.ts"
import { makeComboStep } from "#src/routing/combos/resolve.ts"
import * as AskedIds from "#src/routing/models/askedIds.ts"
import * as BareCombos from "#src/routing/models/bareCombos.ts"
import { makeResolver } from "#src/routing/models/resolveModel.ts"
import { type PlannerOptions, resolverView } from "#src/routing/plan.ts"

export { best } from "#src/routing/models/askedIds.ts"
export { isMade, strategyOf } from "#src/routing/models/bareCombos.ts"

/** `configOf`: with the layers under a combo. */
export const make = (options: PlannerOptions, configOf: (combo: Combo) => ComboConfig) => {
  const { comboMappings, combos: stored, settings } = options.snapshot
  const combos = LastGood.isOn(settings) ? stored : stored.map((combo) => LastGood.without(combo, configOf(combo)))
  const comboStep = makeComboStep(combos, comboMappings)
  const bare = BareCombos.rulesOf(options)
  const view = resolverView(options)
  const group = BareCombos.groupStep(options)
  const first = group === null ? [comboStep] : [comboStep, group]
  const resolve = makeResolver(view, first, bare)
  const stripped = AskedIds.strippedBy(settings, resolve)
  return {
    combos, resolve, stripped,
    /** Which model an entry of a list means, whatever stands in for it. */
    resolveListed: bare === null ? resolve : makeResolver(view, first),
    /** An id means a model, as it is written. */
    plain: combos.length === 0 && comboMappings.length === 0 && bare === null && group === null && stripped === null
  }
}
