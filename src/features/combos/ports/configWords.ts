/** Names in the settings of combos that name nothing: refused when they are written, else they would do nothing in silence. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import type { FieldIssue } from "#schemas/api/Refusal.ts"
import type { Combo, ComboConfig } from "#schemas/records/Combo.ts"
import { knownProvider } from "#src/management/knownProvider.ts"
import { builtin } from "#src/providers/Registry.ts"
import { channelOf } from "#src/routing/auto/channel.ts"
import { factorNames, modeNames, packOf } from "#src/routing/auto/packs.ts"
import { isRouter, routerNames } from "#src/routing/auto/routers.ts"
import * as Meanings from "#src/routing/models/meanings.ts"
import { SIM_PROVIDER } from "#src/routing/models/resolveModel.ts"

const factors: ReadonlySet<string> = new Set(factorNames)

/** Why an id can never be asked for; null for a model, an alias, a combo or a channel of automatic routing. */
const modelIssues = (snapshot: Snapshot): (id: string) => string | null => {
  const { resolve } = Meanings.make({ snapshot, registry: builtin, noThinkingAliases: true, thinkingLevels: true, priceOf: () => null }, ({ config }) => config)
  return (id) => {
    if (id.startsWith(`${SIM_PROVIDER}/`) || channelOf(id) !== null || snapshot.combos.some(({ name }) => name === id)) return null
    const found = resolve(id)
    return found._tag === "Unresolved" && found.reason !== "ProviderRequired" ? found.message : null
  }
}

type Found = (field: string, message: string | null) => void

const tiers = ({ defaultTier, tiers }: NonNullable<ComboConfig["compositeTiers"]>, steps: ReadonlySet<string> | null, found: Found): void => {
  const names = Object.keys(tiers)
  const tier = (name: string) => names.includes(name) ? null : `No tier is called '${name}': tiers has ${names.join(", ") || "none"}`
  found("compositeTiers.defaultTier", tier(defaultTier))
  for (const [name, { fallbackTier, stepId }] of Object.entries(tiers)) {
    if (steps !== null && !steps.has(stepId)) found(`compositeTiers.tiers.${name}.stepId`, `No step of this combo has the id '${stepId}': see models`)
    if (fallbackTier !== undefined && fallbackTier !== null) found(`compositeTiers.tiers.${name}.fallbackTier`, tier(fallbackTier))
  }
}

/** `steps`: ids of the combo's steps; null for settings below all combos. */
const inConfig = (config: ComboConfig, steps: ReadonlySet<string> | null, snapshot: Snapshot): ReadonlyArray<FieldIssue> => {
  const issues: Array<FieldIssue> = []
  const found: Found = (field, message) => {
    if (message !== null) issues.push({ field, message })
  }
  const modelIssue = modelIssues(snapshot)
  const { candidatePool = [], compositeTiers, handoffModel = "", judgeModel = "", modePack = "", routerStrategy = "", shadowRouting, weights } = config
  if (routerStrategy !== "" && !isRouter(routerStrategy)) found("routerStrategy", `Expected one of ${routerNames.join(", ")}`)
  if (modePack !== "" && packOf(modePack) === null) found("modePack", `Expected one of ${modeNames.join(", ")}`)
  if (weights !== undefined) {
    const given = Object.keys(weights)
    for (const name of given) if (!factors.has(name)) found(`weights.${name}`, `No factor has this name: expected ${factorNames.join(", ")}`)
    if (given.length > 0 && given.every((name) => weights[name] === 0)) found("weights", "One weight at least must be above 0")
  }
  if (judgeModel !== "") found("judgeModel", modelIssue(judgeModel))
  if (handoffModel !== "") found("handoffModel", modelIssue(handoffModel))
  for (const [index, id] of (shadowRouting?.targets ?? []).entries()) found(`shadowRouting.targets.${index}`, modelIssue(id))
  if (candidatePool.length > 0) {
    const ids = new Set([...steps ?? [], ...snapshot.combos.flatMap(({ models }) => models.map(({ id }) => id))])
    // An execution key is a path of steps.
    const isMember = (entry: string) => ids.has(entry) || entry.includes(">") || knownProvider(snapshot, entry) !== null
    for (const [index, entry] of candidatePool.entries()) if (!isMember(entry)) found(`candidatePool.${index}`, modelIssue(entry))
  }
  if (compositeTiers !== undefined) tiers(compositeTiers, steps, found)
  return issues
}

/** What stood there before may stay: whatever it named may be gone, and other fields must still be changeable. */
const fresh = (issues: ReadonlyArray<FieldIssue>, before: () => ReadonlyArray<FieldIssue>): ReadonlyArray<FieldIssue> => {
  if (issues.length === 0) return issues
  const old = new Set(before().map(({ message }) => message))
  return issues.filter(({ message }) => !old.has(message))
}

const below = (path: string) => ({ field, message }: FieldIssue): FieldIssue => ({ field: `${path}.${field}`, message })

const idsOf = ({ models }: Pick<Combo, "models">): ReadonlySet<string> => new Set(models.map(({ id }) => id))

export const ofCombo = (next: Combo, previous: Combo | null, snapshot: Snapshot): ReadonlyArray<FieldIssue> =>
  fresh(inConfig(next.config, idsOf(next), snapshot), () => previous === null ? [] : inConfig(previous.config, idsOf(previous), snapshot)).map(below("config"))

/** Of the setting `comboDefaults`. */
export const ofDefaults = (next: ComboConfig, previous: ComboConfig, snapshot: Snapshot): ReadonlyArray<FieldIssue> =>
  fresh(inConfig(next, null, snapshot), () => inConfig(previous, null, snapshot)).map(below("comboDefaults"))
