/** Changes of the stored pipelines: what is wrong with one, and all of them with it. Pure. */
import * as Refusal from "#schemas/api/Refusal.ts"
import { type Beside, issuesOf } from "#src/features/compression/change.ts"
import { builtInId, mostPipelines, type Pipeline } from "#schemas/words/CompressionPipeline.ts"
import type { NewPipeline, PipelineChange } from "./api.ts"

type All = ReadonlyArray<Pipeline>

export interface Making {
  readonly id: string
  /** ISO 8601. */
  readonly now: string
}

const missing = Refusal.notFound("Compression combo not found")

export const find = (all: All, id: string): Pipeline | Refusal.Refusal => all.find((one) => one.id === id) ?? missing

const isTaken = (all: All, name: string, id: string): boolean => all.some((one) => one.id !== id && one.name.toLowerCase() === name.toLowerCase())

const taken = (name: string): Refusal.Refusal => Refusal.conflict(`A compression combo is called ${JSON.stringify(name)}: choose another name`)

/** What a schema cannot say of engines. `at`: the field that holds them. */
export const issuesIn = (steps: Pipeline["pipeline"], at: string, beside: Beside): ReadonlyArray<Refusal.FieldIssue> => steps.flatMap((step, i) => {
  const where = `${at}.${i}.config.`
  const change = step.engine === "caveman" && step.config !== undefined ? { cavemanConfig: step.config }
    : step.engine === "rtk" && step.config !== undefined ? { rtkConfig: step.config }
    : {}
  return issuesOf(change, { caveman: where, rtk: where }, beside)
})

/** One is the default: when another becomes it, the others are not. */
const withDefault = (all: All, { id, isDefault }: Pipeline): All => isDefault ? all.map((one) => one.id === id || !one.isDefault ? one : { ...one, isDefault: false }) : all

export const added = (all: All, input: NewPipeline, { id, now }: Making): All | Refusal.Refusal => {
  if (isTaken(all, input.name, id)) return taken(input.name)
  if (all.length > mostPipelines) return Refusal.conflict(`There are ${mostPipelines} compression combos: delete one first`)
  const made: Pipeline = {
    id, description: "", languagePacks: [], outputMode: false, outputModeIntensity: "full", isDefault: false, routingComboIds: [], ...input, createdAt: now, updatedAt: now
  }
  return withDefault([...all, made], made)
}

export const changed = (all: All, id: string, change: PipelineChange, now: string): All | Refusal.Refusal => {
  const before = find(all, id)
  if (before instanceof Refusal.Refusal) return before
  if (Object.keys(change).length === 0) return Refusal.badRequest("No valid fields to update")
  if (id === builtInId) {
    const fixed = (["name", "description"] as const).find((name) => change[name] !== undefined && change[name] !== before[name])
    if (fixed !== undefined) return Refusal.invalidField(fixed, "The built-in compression combo keeps it")
  }
  if (change.name !== undefined && isTaken(all, change.name, id)) return taken(change.name)
  if (before.isDefault && change.isDefault === false) return Refusal.invalidField("isDefault", "One is the default: make another one the default instead")
  const next: Pipeline = { ...before, ...change, updatedAt: now }
  return withDefault(all.map((one) => one.id === id ? next : one), next)
}

/** `active`: the setting compressionComboId. */
export const without = (all: All, id: string, active: string | null): All | Refusal.Refusal => {
  const found = find(all, id)
  if (found instanceof Refusal.Refusal) return found
  if (id === builtInId) return Refusal.conflict("The built-in compression combo cannot be deleted")
  if (id === active) return Refusal.conflict("Setting compressionComboId names it: set another one, or null, first")
  return all.filter((one) => one.id !== id)
}

/** A combo has one of them. */
export const assigned = (all: All, id: string, routingComboIds: ReadonlyArray<string>, known: (id: string) => boolean): All | Refusal.Refusal => {
  const found = find(all, id)
  if (found instanceof Refusal.Refusal) return found
  const issues = routingComboIds.flatMap((one, i) => known(one) ? [] : [{ field: `routingComboIds.${i}`, message: "No such combo" }])
  if (issues.length > 0) return Refusal.invalidFields(issues)
  const given = new Set(routingComboIds)
  return all.map((one) => ({ ...one, routingComboIds: one.id === id ? [...given] : one.routingComboIds.filter((combo) => !given.has(combo)) }))
}
