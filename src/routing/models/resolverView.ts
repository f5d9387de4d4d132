/** What the resolution of model ids reads: one immutable view, and its indexes. Pure. */
import type { Flags } from "#actors/ports/Flags.ts"
import type { ModelFormats } from "#src/providers/modelFormats.ts"
import type { Registry } from "#src/providers/Registry.ts"
import { compileGlob } from "./glob.ts"
import { makeNearMatches } from "./nearMatches.ts"

export const SIM_PROVIDER = "sim"

/** A provider node as far as resolution needs it. */
export interface NodeView {
  readonly id: string
  readonly prefix: string
}

/** A custom model as far as resolution needs it; `provider` is a registry id, a node id or a node prefix. */
export interface CustomModelView {
  readonly provider: string
  readonly modelId: string
  /** Read from its endpoint's own list, not added by an operator. */
  readonly listed?: boolean | undefined
  /** The vendor's own id when it differs from `modelId`. */
  readonly upstreamId?: string | null | undefined
  /** Most tokens of an answer, as the operator or the endpoint's own list says. */
  readonly maxOutputTokens?: number | null | undefined
  /** Sent upstream with this model's calls, beside the provider's own. */
  readonly upstreamHeaders?: Readonly<Record<string, string>> | undefined
  /** How it is spoken to where that is not as its provider is. */
  readonly formats?: ModelFormats | null | undefined
}

/** Further ids of models. */
export interface ModelVariants {
  /** Flag NO_THINKING_ALIAS_ENABLED. */
  readonly noThinkingAliases: boolean
  /** False with flag GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS: `-low`, `-medium` and `-high` are no suffixes. */
  readonly thinkingLevels?: boolean
  /** Flag EXPOSE_CC_DISCOVERY_ALIASES: a model is also listed and asked for as `claude/<provider>/<model>`. Absent: it is not. */
  readonly discoveryAliases?: boolean
}

/** As the flags say now. */
export const variantsOf = (flags: Pick<Flags["Service"], "isOn">): Required<ModelVariants> => ({
  noThinkingAliases: flags.isOn("NO_THINKING_ALIAS_ENABLED"),
  thinkingLevels: !flags.isOn("GATEWAY_DISABLE_THINKING_LEVEL_VARIANTS"),
  discoveryAliases: flags.isOn("EXPOSE_CC_DISCOVERY_ALIASES")
})

/** In front of the ids of other vendors' models: a coding agent lists the ids that begin so, and no others. */
export const DISCOVERY_PREFIX = "claude/"

/** The immutable snapshot a resolver reads. A change of any part is a new view. */
export interface ResolverView extends ModelVariants {
  readonly registry: Registry
  readonly nodes: ReadonlyArray<NodeView>
  /** Exact aliases: client id -> target id. */
  readonly aliases: ReadonlyMap<string, string>
  /** settings.wildcardAliases, first match wins. */
  readonly wildcardAliases: ReadonlyArray<{ readonly pattern: string; readonly target: string }>
  readonly customModels: ReadonlyArray<CustomModelView>
  /** Provider and node ids with an active connection; holds `sim` while the simulator is listed. */
  readonly activeProviders: ReadonlySet<string>
  /** Whether `sim/<model>` is served. */
  readonly simulatorCallable: boolean
}

export interface Indexes {
  readonly view: ResolverView
  readonly nodesById: ReadonlyMap<string, NodeView>
  readonly nodesByPrefix: ReadonlyMap<string, NodeView>
  /** Provider id or node id -> model id -> custom model. */
  readonly customOf: ReadonlyMap<string, ReadonlyMap<string, CustomModelView>>
  /** Bare model id -> provider and node ids, custom models only. */
  readonly customByModel: ReadonlyMap<string, ReadonlyArray<string>>
  /** The same for models that an endpoint lists and no operator added. */
  readonly listedByModel: ReadonlyMap<string, ReadonlyArray<string>>
  readonly globs: ReadonlyArray<{ readonly matches: (text: string) => boolean; readonly target: string }>
  readonly near: (id: string) => ReadonlyArray<string>
}

/** What may be suggested: only what can be asked for now; the whole registry while nothing is connected. */
const suggestible = ({ nodesById, nodesByPrefix, view }: Pick<Indexes, "nodesById" | "nodesByPrefix" | "view">): ReadonlyArray<string> => {
  const leads = (to: string): boolean => {
    const prefix = to.slice(0, Math.max(0, to.indexOf("/")))
    return prefix === "" || view.aliases.has(to) || view.registry.byPrefix.has(prefix) || nodesByPrefix.has(prefix)
  }
  const ids: Array<string> = [...view.aliases].flatMap(([alias, to]) => leads(to) ? [alias] : [])
  const active = view.registry.all.filter((row) => view.activeProviders.has(row.id))
  for (const row of active.length > 0 ? active : view.registry.all) {
    if (row.id === SIM_PROVIDER && !view.activeProviders.has(SIM_PROVIDER)) continue
    for (const model of row.models) ids.push(`${row.id}/${model.id}`)
  }
  for (const custom of view.customModels) {
    const owner = nodesById.get(custom.provider)?.prefix ?? custom.provider
    if (nodesByPrefix.has(owner) || view.activeProviders.has(owner)) ids.push(`${owner}/${custom.modelId}`)
  }
  return ids
}

export const indexView = (view: ResolverView): Indexes => {
  const nodesByPrefix = new Map(view.nodes.map((node) => [node.prefix, node]))
  const nodesById = new Map(view.nodes.map((node) => [node.id, node]))
  const customOf = new Map<string, Map<string, CustomModelView>>()
  const customByModel = new Map<string, Array<string>>()
  const listedByModel = new Map<string, Array<string>>()
  for (const custom of view.customModels) {
    const owner = nodesByPrefix.get(custom.provider)?.id ??
      view.registry.byPrefix.get(custom.provider)?.id ?? custom.provider
    const models = customOf.get(owner) ?? new Map<string, CustomModelView>()
    customOf.set(owner, models.set(custom.modelId, custom))
    const byModel = custom.listed === true ? listedByModel : customByModel
    const owners = byModel.get(custom.modelId) ?? []
    owners.push(owner)
    byModel.set(custom.modelId, owners)
  }
  const globs = view.wildcardAliases.map(({ pattern, target }) => ({ matches: compileGlob(pattern), target }))
  let nearMatches: ((id: string) => ReadonlyArray<string>) | null = null
  const near = (id: string) => (nearMatches ??= makeNearMatches(suggestible({ view, nodesById, nodesByPrefix })))(id)
  return { view, nodesById, nodesByPrefix, customOf, customByModel, listedByModel, globs, near }
}
