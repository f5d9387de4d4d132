/** A combo record from what a client sends. Pure. */
import type { ComboChange, NewCombo, StepInput } from "./api.ts"
import { type Combo, type ModelStep, type Step, strategyOf } from "#schemas/records/Combo.ts"
import * as Refusal from "#schemas/api/Refusal.ts"
import type { Registry } from "#src/providers/Registry.ts"
import { compile } from "#src/routing/combos/linearRegex.ts"

export interface Making {
  readonly registry: Registry
  /** A new id at each call. */
  readonly makeId: () => string
  /** ISO 8601. */
  readonly now: string
}

type Fields = Omit<ComboChange, "compressionOverride" | "ifUpdatedAt">

/** The canonical provider, and a model that names it or stands alone: an alias in front of the model is the provider said twice. */
const modelOf = (provider: string | null, model: string, registry: Registry): Pick<ModelStep, "provider" | "model"> => {
  if (provider === null) {
    const prefix = model.slice(0, Math.max(0, model.indexOf("/")))
    return { provider: registry.byId.has(prefix) ? prefix : null, model }
  }
  const row = registry.byPrefix.get(provider)
  if (row === undefined) return { provider, model }
  // A vendor's own id may begin with the vendor's name (`groq/compound`): then the provider has to be said in front of it.
  if (registry.modelsOf.get(row.id)?.has(model) === true) return { provider: row.id, model: model.includes("/") ? `${row.id}/${model}` : model }
  const said = `${row.alias}/`
  return { provider: row.id, model: model.startsWith(said) ? model.slice(said.length) : model }
}

const label = (given: string | null | undefined): string | null => given === undefined || given === "" ? null : given

/** Without an id, which comes last. */
const stepOf = (input: StepInput, making: Making): Step => {
  if (typeof input === "string") {
    return {
      kind: "model", id: "", ...modelOf(null, input, making.registry), connectionId: null, weight: 0, label: null, tags: [], prompt: null
    }
  }
  if (input.kind === "combo-ref") {
    return { kind: "combo-ref", id: input.id ?? "", comboName: input.comboName.trim(), weight: input.weight ?? 0, label: label(input.label) }
  }
  return {
    kind: "model",
    id: input.id ?? "",
    ...modelOf(input.provider ?? input.providerId ?? null, input.model, making.registry),
    connectionId: input.connectionId ?? null,
    weight: input.weight ?? 0,
    label: label(input.label),
    tags: input.tags ?? [],
    prompt: label(input.prompt)
  }
}

/** What a step means, whatever it is called: a step that is sent again without its id keeps it, and with it its metrics. */
const meaningOf = (step: Step): string =>
  JSON.stringify(step.kind === "model" ? [step.kind, step.model, step.provider, step.connectionId] : [step.kind, step.comboName])

/** Every step with an id that no other has. */
const steps = (inputs: ReadonlyArray<StepInput>, known: ReadonlyArray<Step>, making: Making): ReadonlyArray<Step> | Refusal.Refusal => {
  const made = inputs.map((input) => stepOf(input, making))
  const taken = new Set<string>()
  for (const [index, step] of made.entries()) {
    if (step.id !== "" && taken.has(step.id)) return Refusal.invalidField(`models.${index}.id`, "Another step has this id")
    if (step.id !== "") taken.add(step.id)
  }
  return made.map((step) => {
    if (step.id !== "") return step
    const meaning = meaningOf(step)
    const id = known.find((one) => !taken.has(one.id) && meaningOf(one) === meaning)?.id ?? making.makeId()
    taken.add(id)
    return { ...step, id }
  })
}

const emptyIsNone = (given: string | null | undefined, current: string | null): string | null =>
  given === undefined ? current : given === "" ? null : given

const nothing = (name: string, sortOrder: number, making: Making): Combo => ({
  id: making.makeId(), name, description: null, models: [], strategy: "priority", config: {}, allowedProviders: [], system_message: null,
  tool_filter_regex: null, context_cache_protection: false, context_length: null, dimensions: null, isActive: true, isHidden: false,
  sortOrder, createdAt: making.now, updatedAt: making.now
})

const change = (current: Combo, input: Fields, making: Making): Combo | Refusal.Refusal => {
  const name = (input.name ?? current.name).trim()
  if (name === "") return Refusal.invalidField("name", "Expected a name")
  const tool_filter_regex = emptyIsNone(input.tool_filter_regex, current.tool_filter_regex)
  if (typeof input.tool_filter_regex === "string" && tool_filter_regex !== null) {
    const compiled = compile(tool_filter_regex)
    if (compiled._tag === "Refused") return Refusal.invalidField("tool_filter_regex", compiled.message)
  }
  const models = input.models === undefined ? current.models : steps(input.models, current.models, making)
  if (models instanceof Refusal.Refusal) return models
  return {
    ...current,
    name,
    description: emptyIsNone(input.description, current.description),
    models,
    strategy: input.strategy === undefined ? current.strategy : strategyOf(input.strategy),
    config: input.config ?? current.config,
    allowedProviders: input.allowedProviders ?? current.allowedProviders,
    system_message: emptyIsNone(input.system_message, current.system_message),
    tool_filter_regex,
    context_cache_protection: input.context_cache_protection ?? current.context_cache_protection,
    context_length: input.context_length === undefined ? current.context_length : input.context_length,
    dimensions: input.dimensions === undefined ? current.dimensions : input.dimensions,
    isActive: input.isActive ?? current.isActive,
    isHidden: input.isHidden ?? current.isHidden,
    sortOrder: input.sortOrder ?? current.sortOrder,
    updatedAt: making.now
  }
}

/** `sortOrder`: the place of a combo that names none. */
export const make = (input: NewCombo, sortOrder: number, making: Making): Combo | Refusal.Refusal =>
  change(nothing(input.name, sortOrder, making), input, making)

export const apply = (current: Combo, { compressionOverride, ifUpdatedAt: _since, ...input }: ComboChange, making: Making): Combo | Refusal.Refusal => {
  const next = change(current, input, making)
  if (next instanceof Refusal.Refusal || compressionOverride === undefined) return next
  const { compressionMode: _, ...config } = next.config
  return { ...next, config: compressionOverride === null || compressionOverride === "" ? config : { ...config, compressionMode: compressionOverride } }
}

/** As replies show it: providers by the names that `nameOf` gives their ids. What says nothing of a provider stays one object. */
export const shown = (combo: Combo, nameOf: (provider: string) => string): Combo => ({
  ...combo,
  models: combo.models.map((step) => step.kind === "model" && step.provider !== null ? { ...step, provider: nameOf(step.provider) } : step),
  allowedProviders: combo.allowedProviders.map(nameOf),
  config: combo.config.candidatePool === undefined ? combo.config : { ...combo.config, candidatePool: combo.config.candidatePool.map(nameOf) }
})

/** The combo with its references to one combo following that combo's new name; the same object when it has none. */
export const renamed = (combo: Combo, from: string, to: string): Combo =>
  combo.models.some((step) => step.kind === "combo-ref" && step.comboName === from)
    ? { ...combo, models: combo.models.map((step) => step.kind === "combo-ref" && step.comboName === from ? { ...step, comboName: to } : step) }
    : combo

interface Warning {
  readonly code: "COMBO_NAME_SHADOWS_MODEL"
  readonly modelId: string
  readonly providerId: string
}

/** A name that is also a model's id, bare or with its provider: the combo will be asked in its place. */
export const shadowing = (
  name: string,
  registry: Registry,
  customModels: ReadonlyArray<{ readonly provider: string; readonly modelId: string }>
): Warning | null => {
  const warning = (modelId: string, providerId: string): Warning => ({ code: "COMBO_NAME_SHADOWS_MODEL", modelId, providerId })
  const slash = name.indexOf("/")
  const row = slash > 0 ? registry.byPrefix.get(name.slice(0, slash)) : undefined
  const model = name.slice(slash + 1)
  if (row !== undefined && registry.modelsOf.get(row.id)?.has(model) === true) return warning(model, row.id)
  const bare = registry.byModel.get(name)?.[0]
  if (bare !== undefined) return warning(name, bare.id)
  const custom = customModels.find((one) => one.modelId === name || `${one.provider}/${one.modelId}` === name)
  return custom === undefined ? null : warning(custom.modelId, custom.provider)
}
