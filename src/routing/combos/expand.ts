/**
 * From a combo to the targets that may serve it, in the listed order. Pure.
 *
 * A reference in mode `flatten` is replaced by the inner combo's targets; in mode `execute` it stays a group, which the inner
 * combo's own strategy orders (`arrange.ts`). A target comes once: its first place counts. Only in a pipeline, whose steps are
 * stages, may each step have it.
 */
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Combo, ComboStep, ModelStep } from "#schemas/records/Combo.ts"
import type { Candidate, Skipped } from "#src/routing/models/candidate.ts"
import type { CompleteConfig } from "#src/routing/combos/config.ts"
import type { ByName } from "#src/routing/combos/nesting.ts"

export interface ExpansionContext {
  /** Every combo, active or not. */
  readonly combos: ByName
  /**
   * The targets of one model, one per usable connection in their order; of one connection only when it is named. It must not
   * look at combo names: a step names a model.
   */
  readonly targetsOf: (modelId: string, connectionId: string | null) => ReadonlyArray<Target> | PublicError
  /** Why the key may not use the target; absent = it may use every one. */
  readonly refusalOf?: (target: Target) => PublicError | null
  readonly factsOf: (target: Target) => Pick<Candidate, "contextWindow" | "capabilities">
  readonly configOf: (combo: Combo) => Pick<CompleteConfig, "nestedComboMode" | "maxComboDepth">
  /** The target with what its combo allows at once on its model; the target itself when no cap is set. */
  readonly gated?: (target: Target, combo: Combo) => Target
  /** Public prefix of a provider as a step names it: a node's prefix for a node id. */
  readonly prefixOf: (provider: string) => string
}

/** A combo inside a combo that runs with its own strategy as one target (nestedComboMode `execute`). */
export interface Group {
  readonly kind: "group"
  /** Step ids along the nesting path; no connection. */
  readonly executionKey: string
  readonly stepId: string
  readonly weight: number
  readonly label: string | null
  readonly expansion: Expansion
}

export type ExpandedEntry = Candidate | Group

/** A step that gave no target. */
export interface RefusedStep {
  readonly executionKey: string
  readonly stepId: string
  readonly label: string | null
  /** Model id, or the name of a combo. */
  readonly asked: string
  readonly error: PublicError
}

export interface Expansion {
  readonly combo: Combo
  /** In the listed order. */
  readonly entries: ReadonlyArray<ExpandedEntry>
  readonly refused: ReadonlyArray<RefusedStep>
  /** Left out by allowedProviders. */
  readonly excluded: ReadonlyArray<Skipped>
  /** Left out because the key may not use them: its client does not see them. */
  readonly forbidden: ReadonlyArray<Skipped>
}

/** Steps read in one expansion: references of references may multiply, a request may not wait for them. */
const stepsMax = 10_000

export const isGroup = (entry: ExpandedEntry): entry is Group => "kind" in entry

/** Every candidate of an expansion, those of groups in the place of the group. */
export const candidatesOf = (expansion: Expansion): ReadonlyArray<Candidate> =>
  expansion.entries.flatMap((entry) => isGroup(entry) ? candidatesOf(entry.expansion) : [entry])

/** What allowedProviders left out, in groups too. */
export const excludedOf = (expansion: Expansion): ReadonlyArray<Skipped> => [
  ...expansion.excluded,
  ...expansion.entries.flatMap((entry) => isGroup(entry) ? excludedOf(entry.expansion) : [])
]

/** What the key may not use, in groups too. */
export const forbiddenOf = (expansion: Expansion): ReadonlyArray<Skipped> => [
  ...expansion.forbidden,
  ...expansion.entries.flatMap((entry) => isGroup(entry) ? forbiddenOf(entry.expansion) : [])
]

/** Every step without a target, those of groups too. */
export const refusedOf = (expansion: Expansion): ReadonlyArray<RefusedStep> => [
  ...expansion.refused,
  ...expansion.entries.flatMap((entry) => isGroup(entry) ? refusedOf(entry.expansion) : [])
]

/** The model id that a step asks for: `<provider>/<model>`. */
export const modelIdOf = (step: ModelStep, prefixOf: (provider: string) => string): string => {
  if (step.provider === null || step.model.startsWith(`${step.provider}/`)) return step.model
  const prefix = prefixOf(step.provider)
  return step.model.startsWith(`${prefix}/`) ? step.model : `${prefix}/${step.model}`
}

/** What makes two targets the same one. */
export const identityOf = (target: Target): string =>
  JSON.stringify([target.provider, target.model, target.connection?.id ?? null, target.thinking])

const escaped = (id: string): string => id.replaceAll("%", "%25").replaceAll(">", "%3E")
const join = (path: string, id: string): string => path === "" ? escaped(id) : `${path}>${escaped(id)}`

interface Collected {
  readonly entries: Array<ExpandedEntry>
  readonly refused: Array<RefusedStep>
  readonly excluded: Array<Skipped>
  readonly forbidden: Array<Skipped>
}

const collected = (): Collected => ({ entries: [], refused: [], excluded: [], forbidden: [] })

interface Place {
  readonly combo: Combo
  readonly path: string
  /** References on the way here. */
  readonly depth: number
  /** The step of the combo whose strategy will order what is found; null in that combo itself. */
  readonly outer: { readonly stepId: string; readonly weight: number; readonly label: string | null } | null
  /** Provider lists of every combo on the way. */
  readonly allowed: ReadonlyArray<ReadonlyArray<string>>
  readonly ancestors: ReadonlyArray<string>
}

/** Never fails: a step that gives nothing is listed with its reason. */
export const expand = (combo: Combo, around: ExpansionContext): Expansion => {
  const { maxComboDepth } = around.configOf(combo)
  const seen = new Set<string>()
  const keys = new Set<string>()
  let steps = 0

  /** Ids within a combo should be unique; when a record's are not, the later one is numbered. */
  const uniqueKey = (wanted: string): string => {
    let key = wanted
    for (let n = 2; keys.has(key); n++) key = `${wanted}#${n}`
    keys.add(key)
    return key
  }

  const model = (step: ModelStep, place: Place, into: Collected): void => {
    const path = join(place.path, step.id)
    const stepId = place.outer?.stepId ?? step.id
    const label = step.label ?? place.outer?.label ?? null
    const asked = modelIdOf(step, around.prefixOf)
    const targets = around.targetsOf(asked, step.connectionId)
    if (targets instanceof PublicError) {
      into.refused.push({ executionKey: path, stepId, label, asked, error: targets })
      return
    }
    let isPermitted = false
    let refusal: PublicError | null = null
    for (const target of targets) {
      const identity = combo.strategy === "pipeline" ? `${path} ${identityOf(target)}` : identityOf(target)
      const allowed = place.allowed.every((list) => isAllowed(target, list))
      if (allowed && seen.has(identity)) {
        isPermitted = true
        continue
      }
      const candidate: Candidate = {
        executionKey: uniqueKey(join(path, target.connection?.id ?? "-")),
        stepId,
        ...(place.outer === null ? {} : { turn: path }),
        weight: place.outer?.weight ?? step.weight,
        label,
        tags: step.tags,
        prompt: step.prompt,
        target: around.gated === undefined ? target : around.gated(target, place.combo),
        ...around.factsOf(target)
      }
      const refused = around.refusalOf?.(target) ?? null
      if (refused !== null) {
        refusal ??= refused
        seen.add(identity)
        into.forbidden.push({ candidate, unavailable: { reason: "not-allowed", until: null, detail: refused.message } })
        continue
      }
      isPermitted = true
      if (allowed) {
        seen.add(identity)
        into.entries.push(candidate)
      } else {
        const detail = `Provider ${target.providerAlias} is not among the allowed providers of the combo`
        into.excluded.push({ candidate, unavailable: { reason: "not-allowed", until: null, detail } })
      }
    }
    if (!isPermitted && refusal !== null) into.refused.push({ executionKey: path, stepId, label, asked, error: refusal })
  }

  const reference = (step: ComboStep, place: Place, into: Collected): void => {
    const path = join(place.path, step.id)
    const stepId = place.outer?.stepId ?? step.id
    const label = step.label ?? place.outer?.label ?? null
    const inner = around.combos.get(step.comboName)
    const refuse = (message: string) =>
      into.refused.push({ executionKey: path, stepId, label, asked: step.comboName, error: Errors.make("model_not_found", message) })
    if (inner === undefined) return void refuse(`Combo '${step.comboName}' does not exist.`)
    if (!inner.isActive) return void refuse(`Combo '${step.comboName}' is inactive.`)
    if (place.ancestors.includes(inner.name)) return void refuse(`Combo '${step.comboName}' contains itself.`)
    if (place.depth >= maxComboDepth) return void refuse(`Combo '${step.comboName}' is nested deeper than ${maxComboDepth}.`)
    const below = {
      combo: inner, path, depth: place.depth + 1, allowed: [...place.allowed, inner.allowedProviders], ancestors: [...place.ancestors, inner.name]
    }
    if (around.configOf(place.combo).nestedComboMode === "flatten") {
      visit({ ...below, outer: place.outer ?? { stepId: step.id, weight: step.weight, label: step.label } }, into)
      return
    }
    const own = collected()
    visit({ ...below, outer: null }, own)
    into.entries.push({
      kind: "group",
      executionKey: uniqueKey(path),
      stepId,
      weight: place.outer?.weight ?? step.weight,
      label,
      expansion: { combo: inner, ...own }
    })
  }

  const visit = (place: Place, into: Collected): void => {
    for (const step of place.combo.models) {
      if (++steps > stepsMax) return
      if (step.kind === "model") model(step, place, into)
      else reference(step, place, into)
    }
  }

  const into = collected()
  visit({ combo, path: "", depth: 0, outer: null, allowed: [combo.allowedProviders], ancestors: [combo.name] }, into)
  return { combo, ...into }
}

/** A list may name a provider by id, by alias or by a node's prefix; an empty list allows all. */
const isAllowed = (target: Target, list: ReadonlyArray<string>): boolean =>
  list.length === 0 || list.includes(target.provider) || list.includes(target.providerAlias) ||
  list.includes(target.publicModel.slice(0, Math.max(0, target.publicModel.indexOf("/"))))
