/**
 * The model lists a client can read: built from the registry, nodes, custom models, aliases and combos of one snapshot.
 *
 * Pure. A built list is kept beside its view, so a list costs one look-up until the configuration changes.
 */
import type { ModelKind, Provider } from "#schemas/Provider.ts"
import type { CustomModel } from "#schemas/records/CustomModel.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { Registry } from "#src/providers/Registry.ts"
import { type Listed, listedCustom, listedModel, seconds } from "./listed.ts"
import { DISCOVERY_PREFIX, type ModelVariants } from "./resolverView.ts"
import { makeResolver, NO_THINKING_PREFIX, SIM_PROVIDER } from "./resolveModel.ts"

export type PrefixMode = "dual" | "alias" | "canonical"
/** `type` of an entry; absent means chat. */
export type EntryType = Exclude<ModelKind, "chat" | "search" | "fetch">

export type CatalogNode = Pick<ProviderNode, "id" | "prefix" | "name" | "apiType" | "createdAt">
export type CatalogCustomModel = Pick<
  CustomModel,
  | "provider" | "modelId" | "modelName" | "apiFormat" | "supportedEndpoints" | "modelType" | "maxInputTokens"
  | "maxOutputTokens" | "contextWindowOverride" | "dimensions" | "supportsVision" | "isHidden" | "supportedInputTypes" | "createdAt"
>

/** The immutable snapshot a catalogue reads. A change of any part is a new view. */
export interface CatalogView {
  readonly registry: Registry
  readonly nodes: ReadonlyArray<CatalogNode>
  readonly customModels: ReadonlyArray<CatalogCustomModel>
  readonly aliases: ReadonlyMap<string, string>
  /** Provider and node ids with an active connection, providers that need none, and `sim` while it is offered. */
  readonly activeProviders: ReadonlySet<string>
  readonly simulatorCallable: boolean
  /** `contextLength`: tokens, what the operator says the combo holds; `dimensions`: of its vectors. Absent or null when nothing was said. */
  readonly combos: ReadonlyArray<{ readonly name: string; readonly createdAt: string; readonly contextLength?: number | null; readonly dimensions?: number | null }>
}

export interface CatalogOptions extends ModelVariants {
  /** Flag MODELS_CATALOG_PREFIX_MODE, or `?prefix=` of the request. */
  readonly prefixMode: PrefixMode
  /** Flag MODEL_CATALOG_INCLUDE_NAMES. */
  readonly includeNames: boolean
  readonly thinkingLevels: boolean
}

/** One entry of GET /v1/models. */
export interface ModelEntry {
  readonly id: string
  readonly object: "model"
  /** Unix seconds. */
  readonly created: number
  /** Provider id, node prefix, or `combo`. */
  readonly owned_by: string
  readonly permission: readonly []
  readonly root: string
  /** The primary id, on the mirror entry of dual mode. */
  readonly parent: string | null
  readonly name?: string
  readonly type?: EntryType
  readonly subtype?: string
  readonly api_format?: string
  readonly context_length?: number
  readonly max_input_tokens?: number
  readonly max_output_tokens?: number
  readonly capabilities?: Readonly<Record<string, true>>
  readonly input_modalities?: ReadonlyArray<string>
  readonly output_modalities?: ReadonlyArray<string>
  readonly supported_endpoints?: ReadonlyArray<string>
  readonly dimensions?: number
}

/** The models of one provider or node: registered ones, overridden or hidden by custom ones, then the added ones. */
const modelsOfProvider = (view: CatalogView, row: Provider): ReadonlyArray<Listed> => {
  const customs = new Map(
    view.customModels.filter((custom) => custom.provider === row.id).map((custom) => [custom.modelId, custom])
  )
  const listed: Array<Listed> = []
  for (const model of row.models) {
    if (model.kind === "search" || model.kind === "fetch") continue
    const custom = customs.get(model.id)
    customs.delete(model.id)
    if (custom?.isHidden === true) continue
    const own = listedModel(row, model)
    listed.push(custom === undefined ? own : listedCustom(custom, { id: row.id, alias: row.alias }, own))
  }
  for (const custom of customs.values()) {
    if (!custom.isHidden) listed.push(listedCustom(custom, { id: row.id, alias: row.alias }, undefined))
  }
  return listed
}

const modelsOfNode = (view: CatalogView, node: CatalogNode): ReadonlyArray<Listed> =>
  view.customModels
    .filter((custom) => !custom.isHidden && (custom.provider === node.id || custom.provider === node.prefix))
    .map((custom) => listedCustom(custom, { id: node.prefix, alias: node.prefix, node }, undefined))

const listedByView = new WeakMap<CatalogView, ReadonlyArray<Listed>>()

/** Every model that is offered now: active providers in registry order, then nodes. The simulator comes last. */
const offered = (view: CatalogView): ReadonlyArray<Listed> => {
  const known = listedByView.get(view)
  if (known !== undefined) return known
  const rows = view.registry.all.filter((row) => view.activeProviders.has(row.id))
  const listed = [
    ...rows.filter((row) => row.id !== SIM_PROVIDER).flatMap((row) => modelsOfProvider(view, row)),
    ...view.nodes.filter((node) => view.activeProviders.has(node.id)).flatMap((node) => modelsOfNode(view, node)),
    ...rows.filter((row) => row.id === SIM_PROVIDER).flatMap((row) => modelsOfProvider(view, row))
  ]
  listedByView.set(view, listed)
  return listed
}

const entryOf = (listed: Listed, options: CatalogOptions, id: string, parent: string | null, variant: string | null): ModelEntry => ({
  id,
  object: "model",
  created: listed.created,
  owned_by: listed.owner,
  permission: [],
  root: listed.model,
  parent,
  ...(options.includeNames ? { name: variant === null ? listed.label : `${listed.label} (${variant})` } : {}),
  ...listed.facts
})

const noThinkingLabel = "no thinking"
/** Levels that a suffix of a thinking model's id may ask for. */
const thinkingLevels = ["low", "medium", "high"]

/** Ids that coding agents of the vendor list anyway. */
const isDiscovered = /^(?:claude|anthropic)/

const build = (view: CatalogView, options: CatalogOptions): ReadonlyArray<ModelEntry> => {
  const entries = new Map<string, ModelEntry>()
  const add = (entry: ModelEntry) => {
    if (!entries.has(entry.id)) entries.set(entry.id, entry)
  }
  for (const combo of view.combos) {
    add({
      id: combo.name,
      object: "model",
      created: seconds(combo.createdAt),
      owned_by: "combo",
      permission: [],
      root: combo.name,
      parent: null,
      ...(options.includeNames ? { name: combo.name } : {}),
      ...(typeof combo.dimensions === "number" ? { type: "embedding" as const, dimensions: combo.dimensions } : {}),
      ...(typeof combo.contextLength === "number" ? { context_length: combo.contextLength } : {})
    })
  }
  for (const listed of offered(view)) {
    const canonical = `${listed.owner}/${listed.model}`
    const primary = options.prefixMode === "canonical" ? canonical : `${listed.alias}/${listed.model}`
    const mirrored = options.prefixMode === "dual" && primary !== canonical
    add(entryOf(listed, options, primary, null, null))
    if (mirrored) add(entryOf(listed, options, canonical, primary, null))
    if (options.discoveryAliases === true && listed.facts.type === undefined && !isDiscovered.test(primary)) add(entryOf(listed, options, DISCOVERY_PREFIX + primary, primary, null))
    if (listed.facts.capabilities?.["reasoning"] === true && options.thinkingLevels) {
      for (const level of thinkingLevels) {
        add(entryOf(listed, options, `${primary}-${level}`, null, `${level} effort`))
        if (mirrored) add(entryOf(listed, options, `${canonical}-${level}`, `${primary}-${level}`, `${level} effort`))
      }
    }
    if (!listed.noThinking || !options.noThinkingAliases) continue
    add(entryOf(listed, options, NO_THINKING_PREFIX + primary, null, noThinkingLabel))
    if (mirrored) add(entryOf(listed, options, NO_THINKING_PREFIX + canonical, NO_THINKING_PREFIX + primary, noThinkingLabel))
  }
  addAliases(view, options, add)
  return [...entries.values()]
}

/** An alias is listed when what it points at is offered; its own id is what the client asks for. */
const addAliases = (view: CatalogView, options: CatalogOptions, add: (entry: ModelEntry) => void): void => {
  if (view.aliases.size === 0) return
  const resolve = makeResolver({ ...view, wildcardAliases: [], noThinkingAliases: options.noThinkingAliases })
  const byCanonical = new Map(offered(view).map((listed) => [`${listed.owner}/${listed.model}`, listed]))
  for (const alias of view.aliases.keys()) {
    const resolution = resolve(alias)
    if (resolution._tag !== "Resolved" || resolution.via !== "alias") continue
    const listed = byCanonical.get(resolution.id)
    if (listed !== undefined) add(entryOf(listed, options, alias, null, resolution.noThinking ? noThinkingLabel : null))
  }
}

const builtByView = new WeakMap<CatalogView, Map<string, ReadonlyArray<ModelEntry>>>()

/** The entries of GET /v1/models; combos first. Built once per view and options. */
export const entriesOf = (view: CatalogView, options: CatalogOptions): ReadonlyArray<ModelEntry> => {
  const key = `${options.prefixMode}:${options.includeNames}:${options.noThinkingAliases}:${options.thinkingLevels}:${options.discoveryAliases === true}`
  let built = builtByView.get(view)
  if (built === undefined) builtByView.set(view, built = new Map())
  let entries = built.get(key)
  if (entries === undefined) built.set(key, entries = build(view, options))
  return entries
}

const prefixModes: ReadonlyArray<PrefixMode> = ["dual", "alias", "canonical"]

/** The prefix mode a request asks for, in any case; anything unknown is the default. */
export const prefixMode = (asked: string | null | undefined, fallback: PrefixMode): PrefixMode =>
  prefixModes.find((mode) => mode === asked?.toLowerCase()) ?? fallback

/** GET /v1/embeddings, /v1/images/generations ...: the entries of one type; `chat` are those without a type. */
export const ofType = (entries: ReadonlyArray<ModelEntry>, type: EntryType | "chat"): ReadonlyArray<ModelEntry> =>
  entries.filter((entry) => (entry.type ?? "chat") === type)

/** The entries of one provider, named by id, alias or node prefix; empty when it is unknown or not offered. */
export const ofProvider = (view: CatalogView, options: CatalogOptions, prefix: string): ReadonlyArray<ModelEntry> => {
  const owner = view.registry.byPrefix.get(prefix)?.id ?? prefix
  return entriesOf(view, options).filter((entry) => entry.owned_by === owner && owner !== "combo")
}

/** GET /v1/models/{id}: by any id that some prefix mode lists, or by the bare id of one provider's model; null when it is not offered. */
export const entryById = (view: CatalogView, options: CatalogOptions, id: string): ModelEntry | null => {
  const entries = entriesOf(view, { ...options, prefixMode: "dual" })
  const named = entries.find((entry) => entry.id === id)
  if (named !== undefined) return named
  const owned = entries.filter((entry) => entry.root === id && entry.id === `${entry.owned_by}/${id}`)
  return owned.length === 1 ? owned[0] as ModelEntry : null
}

/** One model of GET /api/models/catalog. */
export interface CatalogModel extends Partial<Pick<
  ModelEntry,
  "capabilities" | "context_length" | "max_output_tokens" | "input_modalities" | "output_modalities" | "supported_endpoints"
>> {
  readonly id: string
  readonly name: string
  readonly type: EntryType | "chat"
  readonly custom: boolean
}

export interface CatalogOwner {
  /** Display name of the provider or node. */
  readonly provider: string
  readonly active: boolean
  readonly models: ReadonlyArray<CatalogModel>
}

const catalogModel = (listed: Listed): CatalogModel => {
  const { api_format: _format, dimensions: _dimensions, max_input_tokens: _input, subtype: _subtype, type, ...facts } = listed.facts
  return { id: `${listed.owner}/${listed.model}`, name: listed.label, type: type ?? "chat", custom: listed.custom, ...facts }
}

/** GET /api/models/catalog: every provider and node, active or not, by provider id or node prefix. */
export const managementCatalog = (view: CatalogView): Readonly<Record<string, CatalogOwner>> => {
  const catalog: Record<string, CatalogOwner> = {}
  for (const row of view.registry.all) {
    const models = modelsOfProvider(view, row).map(catalogModel)
    const active = view.activeProviders.has(row.id)
    if (row.id === SIM_PROVIDER && !active) continue
    catalog[row.id] = { provider: row.name, active, models }
  }
  for (const node of view.nodes) {
    catalog[node.prefix] = {
      provider: node.name,
      active: view.activeProviders.has(node.id),
      models: modelsOfNode(view, node).map(catalogModel)
    }
  }
  return catalog
}
