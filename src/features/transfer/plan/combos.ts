/** Combos of a document, found by their names, and the patterns that map models to them. Pure. */
import type { Combo, ComboMapping } from "#schemas/records/Combo.ts"
import * as ComboDrafts from "#src/features/combos/ports/comboDrafts.ts"
import { makeConfigs } from "#src/routing/combos/config.ts"
import * as Nesting from "#src/routing/combos/nesting.ts"
import { builtin } from "#src/providers/Registry.ts"
import { type Document, same } from "#src/features/transfer/document.ts"
import type { Draft } from "./Draft.ts"

type Given = NonNullable<Document["combos"]>[number]

interface Drafted {
  readonly at: string
  readonly next: Combo
  readonly standing: Combo | null
}

/** Steps with the ids that connections have here. */
const resolved = (draft: Draft, at: string, { models, ...input }: Given): Given => models === undefined ? input : {
  ...input,
  models: models.map((step, index) => {
    if (typeof step === "string" || step.kind === "combo-ref" || step.connectionId === undefined || step.connectionId === null) return step
    if (draft.withoutConnection.has(step.connectionId)) {
      draft.issue(`${at}.models.${index}.connectionId`, "Its connection is signed in to: sign in here under the same name first, or take it out of the step")
    }
    return { ...step, connectionId: draft.connectionIds.get(step.connectionId) ?? step.connectionId }
  })
}

const drafted = (draft: Draft, given: ReadonlyArray<Given>): ReadonlyArray<Drafted> => {
  const known = Nesting.byName(draft.before.combos)
  const seen = new Set<string>()
  const { makeId, now } = draft.making
  return given.flatMap((input, index): ReadonlyArray<Drafted> => {
    const at = `combos.${index}`
    if (seen.has(input.name)) {
      draft.issue(`${at}.name`, "Another combo of the document has this name")
      return []
    }
    seen.add(input.name)
    if (draft.refused(at, ComboDrafts.inertOf(input))) return []
    const standing = known.get(input.name) ?? null
    const next = draft.taken(at, ComboDrafts.drafted(resolved(draft, at, input), standing, known.size + index, { registry: builtin, makeId, now }))
    return next === null ? [] : [{ at, next, standing }]
  })
}

export const combos = (draft: Draft, given: ReadonlyArray<Given>): void => {
  const before = Nesting.byName(draft.before.combos)
  const all = new Map(before)
  const changed: Array<Drafted> = []
  for (const one of drafted(draft, given)) {
    const { next, standing } = one
    if (standing !== null && same({ ...next, updatedAt: "" }, { ...standing, updatedAt: "" })) {
      draft.note("combos", next.name, "unchanged")
      continue
    }
    if (standing !== null && draft.isOwned("combos", "combo", standing.id, next.name)) continue
    changed.push(one)
    all.set(next.name, next)
  }
  draft.after = { ...draft.after, combos: [...all.values()] }
  const configOf = makeConfigs(draft.after.settings)
  const depth = (combo: Combo): number => configOf(combo).maxComboDepth
  const wrongBefore = Nesting.problems(before, depth)
  for (const [name, problem] of Nesting.problems(all, depth)) if (!wrongBefore.has(name)) draft.issue(`${changed.find(({ next }) => next.name === name)?.at ?? "combos"}.models`, problem)
  for (const { at, next, standing } of changed) {
    const old = new Set(standing?.models.map((step) => step.kind === "combo-ref" ? step.comboName : ""))
    for (const [index, step] of next.models.entries()) {
      if (step.kind === "combo-ref" && !all.has(step.comboName) && !old.has(step.comboName)) draft.issue(`${at}.models.${index}.comboName`, "No such combo")
    }
    draft.refused(at, ComboDrafts.strangersOf(next, standing, draft.after))
    draft.writes.push({ record: "combo", combo: next, isNew: standing === null })
    draft.note("combos", next.name, standing === null ? "created" : "changed")
  }
}

export const mappings = (draft: Draft, given: NonNullable<Document["mappings"]>): void => {
  const ids = new Map(draft.after.combos.map(({ id, name }) => [name, id]))
  const keyOf = (pattern: string, comboId: string): string => JSON.stringify([pattern, comboId])
  const known = new Map(draft.before.comboMappings.map((one) => [keyOf(one.pattern, one.comboId), one]))
  const seen = new Set<string>()
  const { makeId, now } = draft.making
  for (const [index, { combo, ...input }] of given.entries()) {
    const at = `mappings.${index}`
    const comboId = ids.get(combo)
    const key = keyOf(input.pattern, comboId ?? "")
    const name = `${input.pattern} > ${combo}`
    if (comboId === undefined || seen.has(key)) {
      draft.issue(`${at}.combo`, comboId === undefined ? "No such combo" : "Another mapping of the document says the same")
      continue
    }
    seen.add(key)
    const standing = known.get(key)
    const next: ComboMapping = {
      priority: 0, enabled: true, description: null, ...standing, ...input, comboId, id: standing?.id ?? makeId(), createdAt: standing?.createdAt ?? now, updatedAt: now
    }
    if (standing !== undefined && same({ ...next, updatedAt: "" }, { ...standing, updatedAt: "" })) {
      draft.note("mappings", name, "unchanged")
      continue
    }
    draft.writes.push({ record: "mapping", mapping: next, isNew: standing === undefined })
    draft.note("mappings", name, standing === undefined ? "created" : "changed")
  }
}
