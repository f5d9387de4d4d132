/** What a model id stands for under one configuration, whichever target is free: a part of the response cache's key. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import type { Combo } from "#schemas/records/Combo.ts"

/** Changes with every combo: a step of one may be another. */
export const generationOf = (snapshot: Snapshot): string =>
  snapshot.combos.map(({ id, isActive, updatedAt }) => `${id} ${updatedAt} ${isActive}`).join("\n")

const automatic = new WeakMap<Combo, string>()

/** A stored combo changes with `generation`; one made from the connections is what it is made of. */
export const ofCombo = (combo: Combo, generation: string, thinking: Target["thinking"]): string => {
  if (combo.updatedAt !== "") return JSON.stringify(["combo", combo.id, combo.name, thinking, generation])
  let text = automatic.get(combo)
  if (text === undefined) automatic.set(combo, text = JSON.stringify(["auto", combo, generation]))
  return text
}

/** What an operator says of the answer in the client's place. */
const saidOf = (compat: Target["compat"]): string =>
  compat === undefined || compat === null ? "" : ` ${JSON.stringify([compat.preset, compat.reasoningControl])}`

const planned = new WeakMap<ReadonlyArray<Target>, string>()

/** The model and the servers that may be asked for it, in no order. */
export const ofTargets = (targets: ReadonlyArray<Target>): string => {
  let text = planned.get(targets)
  if (text === undefined) {
    const servers = new Set(targets.map(({ compat, model, origin, path, thinking }) => `${origin}${path} ${model} ${thinking}${saidOf(compat)}`))
    planned.set(targets, text = JSON.stringify(["model", (targets[0] as Target).publicModel, [...servers].sort()]))
  }
  return text
}
