/** Whether combos refer to each other in a legal way: no circle, no nesting deeper than allowed. Pure. */
import type { Combo } from "#schemas/records/Combo.ts"

/** Combos by name. */
export type ByName = ReadonlyMap<string, Combo>

export const byName = (combos: ReadonlyArray<Combo>): ByName => new Map(combos.map((combo) => [combo.name, combo]))

/** How many references deep a combo goes (0 = only models), or the names of the circle that it runs into. */
type Height = number | ReadonlyArray<string>

/** Every height once, so that a diamond of references costs no more than its edges. */
const heights = (combos: ByName): (name: string) => Height => {
  const known = new Map<string, Height>()
  const open: Array<string> = []
  const of = (name: string): Height => {
    const found = known.get(name)
    if (found !== undefined) return found
    const at = open.indexOf(name)
    if (at >= 0) return [...open.slice(at), name]
    open.push(name)
    let height: Height = 0
    for (const step of combos.get(name)?.models ?? []) {
      if (step.kind !== "combo-ref" || !combos.has(step.comboName)) continue
      const inner = of(step.comboName)
      if (typeof inner !== "number") {
        height = inner
        break
      }
      height = Math.max(height, inner + 1)
    }
    open.pop()
    known.set(name, height)
    return height
  }
  return of
}

/** Names of combos whose nesting is wrong, each with what is wrong for people. `maxDepthOf`: config.maxComboDepth of a combo. */
export const problems = (combos: ByName, maxDepthOf: (combo: Combo) => number): ReadonlyMap<string, string> => {
  const heightOf = heights(combos)
  const found = new Map<string, string>()
  for (const combo of combos.values()) {
    const height = heightOf(combo.name)
    if (typeof height !== "number") found.set(combo.name, `The combos refer to each other in a circle: ${height.join(" > ")}`)
    else if (height > maxDepthOf(combo)) {
      found.set(combo.name, `Combo '${combo.name}' is nested ${height} deep, and maxComboDepth allows ${maxDepthOf(combo)}`)
    }
  }
  return found
}

/** What a change would break, or null. What was wrong before does not stand in the way of other changes. */
export const newProblem = (before: ByName, after: ByName, changed: string, maxDepthOf: (combo: Combo) => number): string | null => {
  const next = problems(after, maxDepthOf)
  const own = next.get(changed)
  if (own !== undefined) return own
  const known = problems(before, maxDepthOf)
  for (const [name, problem] of next) if (!known.has(name)) return problem
  return null
}
