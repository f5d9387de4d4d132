/** Combo names in front of everything else in a model id's resolution: the `first` step of `makeResolver`. Pure. */
import type { Combo, ComboMapping } from "#schemas/records/Combo.ts"
import { compileGlob } from "#src/routing/models/glob.ts"
import type { ModelNotFound, ModelQuery, ThinkingLevel } from "#src/routing/models/resolveModel.ts"

export interface ResolvedCombo {
  readonly _tag: "Combo"
  /** The id as the client wrote it. */
  readonly requested: string
  readonly combo: Combo
  readonly via: "name" | "prefix" | "mapping" | "bare"
  /** What a variant of the id asked for before it led here; applies to every target. */
  readonly noThinking: boolean
  readonly level: ThinkingLevel | null
}

export type ComboResolver = (asked: ModelQuery) => ResolvedCombo | ModelNotFound | undefined

const prefix = "combo/"

/**
 * Exact name, `combo/<name>`, then the mappings in their order (highest priority, then oldest). Inactive combos are no combos;
 * hidden ones can be asked for. `mappings` are in the order of the snapshot.
 */
export const makeComboStep = (combos: ReadonlyArray<Combo>, mappings: ReadonlyArray<ComboMapping>): ComboResolver => {
  const active = combos.filter((combo) => combo.isActive)
  const byName = new Map(active.map((combo) => [combo.name, combo]))
  const byId = new Map(active.map((combo) => [combo.id, combo]))
  const patterns = mappings.flatMap((mapping) => {
    const combo = mapping.enabled ? byId.get(mapping.comboId) : undefined
    return combo === undefined ? [] : [{ matches: compileGlob(mapping.pattern), combo }]
  })

  return (asked) => {
    const found = (combo: Combo, via: ResolvedCombo["via"]): ResolvedCombo =>
      ({ _tag: "Combo", requested: asked.requested, combo, via, noThinking: asked.noThinking, level: asked.level ?? null })
    const named = byName.get(asked.id)
    if (named !== undefined) return found(named, "name")
    const isPrefixed = asked.id.startsWith(prefix)
    const prefixed = isPrefixed ? byName.get(asked.id.slice(prefix.length)) : undefined
    if (prefixed !== undefined) return found(prefixed, "prefix")
    for (const { combo, matches } of patterns) if (matches(asked.id)) return found(combo, "mapping")
    return isPrefixed ? noCombo(asked) : undefined
  }
}

const noCombo = (asked: ModelQuery): ModelNotFound => ({
  _tag: "Unresolved",
  reason: "ModelNotFound",
  requested: asked.requested,
  message: `Combo '${asked.id.slice(prefix.length).slice(0, 117)}' was not found or is inactive: see GET /api/combos.`,
  nearMatches: []
})
