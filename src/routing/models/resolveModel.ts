/**
 * From the model id of a request to the provider and model that serve it.
 *
 * Pure: a resolver is built over one immutable view, asks its steps in the documented order and remembers answers in a
 * bounded map, because it runs once per request. An answer is a value, also when it is a refusal.
 */
import type { Model, Provider } from "#schemas/Provider.ts"
import { type CustomModelView, DISCOVERY_PREFIX, type Indexes, indexView, type NodeView, type ResolverView, SIM_PROVIDER } from "./resolverView.ts"

export { type CustomModelView, type NodeView, type ResolverView, SIM_PROVIDER } from "./resolverView.ts"
export { compileGlob } from "./glob.ts"

/** What a suffix of an id asks for: `-thinking` on, or a level. */
export type ThinkingLevel = "on" | "low" | "medium" | "high"

export type ResolvedVia = "provider" | "alias" | "wildcard" | "bare"

export interface ResolvedModel {
  readonly _tag: "Resolved"
  readonly requested: string
  /** Canonical id: `<provider id>/<model>`, or `<node prefix>/<model>`: a generated node id is never shown. */
  readonly id: string
  /** Registry id or node id: what connections, breakers and the ledger are keyed by. */
  readonly provider: string
  /** The id that goes upstream. */
  readonly model: string
  readonly row: Provider | null
  readonly node: NodeView | null
  /** Registered facts; null for a model the vendor added since, or one of a node. */
  readonly facts: Model | null
  readonly custom: CustomModelView | null
  readonly noThinking: boolean
  readonly level: ThinkingLevel | null
  readonly via: ResolvedVia
}

interface Refused {
  readonly _tag: "Unresolved"
  readonly requested: string
  readonly message: string
}

export interface ModelNotFound extends Refused {
  readonly reason: "ModelNotFound"
  /** Up to three ids that look alike. */
  readonly nearMatches: ReadonlyArray<string>
}

export interface UnknownProvider extends Refused {
  readonly reason: "UnknownProvider"
  /** No provider or node owns it. */
  readonly prefix: string
  /** Up to three ids that look alike. */
  readonly nearMatches: ReadonlyArray<string>
}

export interface ProviderRequired extends Refused {
  readonly reason: "ProviderRequired"
  /** The ids that would be unambiguous. */
  readonly candidates: ReadonlyArray<string>
}

/** Why an id names no target. */
export type Unresolved = ModelNotFound | UnknownProvider | ProviderRequired

/** What clients are told of it. */
export const codeOf = ({ reason }: Unresolved): "model_not_found" | "provider_required" =>
  reason === "ProviderRequired" ? "provider_required" : "model_not_found"

export type Resolution = ResolvedModel | Unresolved

export const NO_THINKING_PREFIX = "claude-3-gateway-no-thinking/"
export const NO_THINKING_SHORT_PREFIX = "no-think/"

/** Longest id that is remembered (characters); longer ones are resolved each time. */
const MEMO_ID_MAX = 256
/** Remembered answers per view; the oldest goes first. */
const MEMO_ENTRIES_MAX = 4096
/** Aliases that may point at aliases before the id counts as not found. */
const ALIAS_HOPS_MAX = 8

/** True when a client of this model may ask for the no-thinking variant. */
export const honoursNoThinking = (model: Model): boolean =>
  model.noThinkingAlias ??
    (model.kind === "chat" && model.id.includes("claude") && (model.capabilities?.includes("reasoning") ?? false))

/** What is being resolved: the id changes when an alias or the no-thinking prefix points elsewhere. */
export interface ModelQuery {
  /** The id as the client wrote it. */
  readonly requested: string
  readonly id: string
  readonly via: "alias" | "wildcard" | null
  readonly noThinking: boolean
  /** Undefined until a suffix was read. */
  readonly level: ThinkingLevel | undefined
}

interface Redirect {
  readonly _tag: "Redirect"
  readonly to: string
  readonly via: ModelQuery["via"]
  readonly noThinking?: boolean
  readonly level?: ThinkingLevel
}

const levels: ReadonlyArray<readonly [suffix: string, level: ThinkingLevel]> = [
  ["-thinking", "on"], ["-low", "low"], ["-medium", "medium"], ["-high", "high"]
]

/**
 * `<model>-thinking` and `<model>-<level>` of a registered model that can think, when no model of that very name is registered:
 * the model, with thinking asked for.
 */
const thinkingVariant: Step = (indexes, asked) => {
  if (asked.level !== undefined || asked.noThinking) return undefined
  const { registry, thinkingLevels } = indexes.view
  const slash = asked.id.indexOf("/")
  const row = slash > 0 ? registry.byPrefix.get(asked.id.slice(0, slash)) : undefined
  if (slash > 0 && row === undefined) return undefined
  const model = asked.id.slice(slash + 1)
  const canThink = (id: string): boolean =>
    (row === undefined ? registry.byModel.get(id) ?? [] : [row]).some((owner) =>
      registry.modelsOf.get(owner.id)?.get(id)?.capabilities?.includes("reasoning") ?? false)
  for (const [suffix, level] of levels) {
    if (!model.endsWith(suffix) || (level !== "on" && thinkingLevels === false)) continue
    const base = model.slice(0, -suffix.length)
    const isRegistered = row === undefined ? registry.byModel.has(model) : registry.modelsOf.get(row.id)?.has(model) ?? false
    const isCustom = row !== undefined && (indexes.customOf.get(row.id)?.has(model) ?? false)
    if (isRegistered || isCustom || !canThink(base)) return undefined
    return { _tag: "Redirect", to: asked.id.slice(0, slash + 1) + base, via: asked.via, level }
  }
  return undefined
}

/** A step answers finally, names another id to resolve from the top, or passes to the next step with undefined. */
type Step = (indexes: Indexes, asked: ModelQuery) => Resolution | Redirect | undefined

/** Characters of the prefix that asks for a model without thinking; 0 where an id has none. */
export const noThinkingLength = (id: string): number =>
  id.startsWith(NO_THINKING_PREFIX) ? NO_THINKING_PREFIX.length : id.startsWith(NO_THINKING_SHORT_PREFIX) ? NO_THINKING_SHORT_PREFIX.length : 0

const noThinkingPrefix: Step = (indexes, asked) => {
  const length = noThinkingLength(asked.id)
  if (length === 0 || asked.noThinking) return undefined
  if (!indexes.view.noThinkingAliases) {
    return notFound(indexes, asked, "Ids without thinking are off: NO_THINKING_ALIAS_ENABLED lists and accepts them.")
  }
  return { _tag: "Redirect", to: asked.id.slice(length), via: asked.via, noThinking: true }
}

const exactAlias: Step = ({ view }, asked) => {
  const to = view.aliases.get(asked.id)
  // An alias of itself is no alias: the later steps say what the id means.
  return to === undefined || to === asked.id ? undefined : { _tag: "Redirect", to, via: "alias" }
}

const isPrefix = ({ nodesByPrefix, view }: Indexes, prefix: string): boolean => view.registry.byPrefix.has(prefix) || nodesByPrefix.has(prefix)

/** The vendor of that prefix has no model whose id begins with another provider. */
const discoveryAlias: Step = (indexes, asked) => {
  if (indexes.view.discoveryAliases !== true || !asked.id.startsWith(DISCOVERY_PREFIX)) return undefined
  const to = asked.id.slice(DISCOVERY_PREFIX.length)
  const slash = to.indexOf("/")
  return slash > 0 && isPrefix(indexes, to.slice(0, slash)) ? { _tag: "Redirect", to, via: asked.via } : undefined
}

/** Asked for the client's own id only: an alias target is already exact. */
const wildcardAlias: Step = (indexes, asked) => {
  if (asked.via === "alias" || asked.via === "wildcard") return undefined
  for (const glob of indexes.globs) {
    if (glob.target !== asked.id && glob.matches(asked.id)) {
      return { _tag: "Redirect", to: glob.target, via: "wildcard" }
    }
  }
  return undefined
}

/** `<provider id, alias or node prefix>/<model>`; the model part may hold slashes, and may be unknown to us. */
const providerModel: Step = (indexes, asked) => {
  const slash = asked.id.indexOf("/")
  if (slash <= 0 || slash === asked.id.length - 1) return undefined
  const prefix = asked.id.slice(0, slash)
  const model = asked.id.slice(slash + 1)
  const row = indexes.view.registry.byPrefix.get(prefix)
  if (row !== undefined) return ofProvider(indexes, asked, row, model, asked.via ?? "provider")
  const node = indexes.nodesByPrefix.get(prefix)
  return node === undefined ? undefined : ofNode(indexes, asked, node, model, asked.via ?? "provider")
}

/** Where ids without a provider go, before what owns them says it. */
export interface BareRules<E> {
  /** What the operator says of the id. */
  readonly stated: (asked: ModelQuery) => E | undefined
  /** What is meant where several owners (provider and node ids) have active connections. */
  readonly several: (asked: ModelQuery, owners: ReadonlyArray<string>) => E | undefined
}

/** A registered or custom bare id: one owner, or the only owner with an active connection. */
const bareId = <E>(indexes: Indexes, asked: ModelQuery, rules: BareRules<E> | null): Resolution | E | undefined => {
  const stated = rules?.stated(asked)
  if (stated !== undefined) return stated
  const { activeProviders, registry } = indexes.view
  const rows = registry.byModel.get(asked.id)
  // What an endpoint merely lists takes no bare id away from the registry or from what the operator added.
  const customs = indexes.customByModel.get(asked.id) ?? (rows === undefined ? indexes.listedByModel.get(asked.id) : undefined)
  if (rows === undefined && customs === undefined) return undefined
  const owners = [...new Set([...(rows ?? []).map((row) => row.id), ...(customs ?? [])])]
    .filter((id) => id !== SIM_PROVIDER || activeProviders.has(id))
  if (owners.length === 0) return undefined
  const active = owners.filter((id) => activeProviders.has(id))
  const chosen = owners.length === 1 ? owners[0] : active.length === 1 ? active[0] : undefined
  if (chosen !== undefined) return ofOwner(indexes, asked, chosen, asked.id)
  const ordered = rules?.several(asked, active)
  if (ordered !== undefined) return ordered
  const candidates = (active.length > 1 ? active : owners).map((id) => `${shownPrefix(indexes, id)}/${asked.id}`)
  return {
    _tag: "Unresolved",
    reason: "ProviderRequired",
    requested: asked.requested,
    message: `Model '${asked.id}' is served by several providers: ask for one of ${candidates.join(", ")}.`,
    candidates
  }
}

const shownPrefix = ({ nodesById }: Indexes, id: string): string => nodesById.get(id)?.prefix ?? id

const ofOwner = (
  indexes: Indexes,
  asked: ModelQuery,
  owner: string,
  model: string
): Resolution | undefined => {
  const via = asked.via ?? "bare"
  const row = indexes.view.registry.byId.get(owner)
  if (row !== undefined) return ofProvider(indexes, asked, row, model, via)
  const node = indexes.nodesById.get(owner)
  return node === undefined ? undefined : ofNode(indexes, asked, node, model, via)
}

const ofProvider = (
  indexes: Indexes,
  asked: ModelQuery,
  row: Provider,
  model: string,
  via: ResolvedVia
): Resolution => {
  const { registry, simulatorCallable } = indexes.view
  if (row.id === SIM_PROVIDER && !simulatorCallable) {
    return notFound(indexes, asked, "The simulator is turned off: start the gateway with GATEWAY_SIM_PROVIDER=auto or true.")
  }
  const facts = registry.modelsOf.get(row.id)?.get(model) ?? null
  if (asked.noThinking && facts?.noThinkingAlias === false) {
    return notFound(indexes, asked, `Model '${row.id}/${model}' cannot stop thinking: ask for it without the prefix.`)
  }
  const custom = indexes.customOf.get(row.id)?.get(model) ?? null
  return {
    _tag: "Resolved",
    requested: asked.requested,
    id: `${row.id}/${model}`,
    provider: row.id,
    model: custom?.upstreamId ?? facts?.upstreamId ?? model,
    row,
    node: null,
    facts,
    custom,
    noThinking: asked.noThinking,
    level: asked.level ?? null,
    via
  }
}

const ofNode = (
  indexes: Indexes,
  asked: ModelQuery,
  node: NodeView,
  model: string,
  via: ResolvedVia
): ResolvedModel => {
  const custom = indexes.customOf.get(node.id)?.get(model) ?? null
  return {
    _tag: "Resolved",
    requested: asked.requested,
    id: `${node.prefix}/${model}`,
    provider: node.id,
    model: custom?.upstreamId ?? model,
    row: null,
    node,
    facts: null,
    custom,
    noThinking: asked.noThinking,
    level: asked.level ?? null,
    via
  }
}

const notFound = (
  indexes: Indexes,
  asked: ModelQuery,
  hint?: string
): ModelNotFound | UnknownProvider => {
  const slash = asked.id.indexOf("/")
  const prefix = hint === undefined && slash > 0 ? asked.id.slice(0, slash) : null
  const nearMatches = hint === undefined ? indexes.near(asked.id).filter((id) => id !== asked.requested) : []
  // A known prefix comes here only without a model behind it.
  const isOwned = prefix !== null && isPrefix(indexes, prefix)
  const why = prefix === null
    ? ""
    : isOwned ? `the model name after '${shown(prefix)}/' is missing` : `no provider, alias or node has the prefix '${shown(prefix)}'`
  const led = hint !== undefined || asked.via === null || asked.id === asked.requested ? "" : `an alias leads to '${shown(asked.id)}'`
  const reasons = [led, why].filter((reason) => reason !== "").join(", and ")
  const what = `Model '${shown(asked.requested)}' was not found${reasons === "" ? "" : `: ${reasons}`}.`
  const todo = hint ??
    (nearMatches.length > 0
      ? `Did you mean ${nearMatches.join(", ")}?`
      : "Ask for <provider>/<model>, or see GET /v1/models for what is offered.")
  const refused = { _tag: "Unresolved", requested: asked.requested, message: `${what} ${todo}`, nearMatches } as const
  return prefix === null || isOwned ? { ...refused, reason: "ModelNotFound" } : { ...refused, reason: "UnknownProvider", prefix }
}

const shown = (id: string): string => id.length > 120 ? `${id.slice(0, 117)}...` : id

/**
 * The order of the steps: combo name, `combo/<name>` and combo mappings come in front of these steps (the `first`
 * argument of `makeResolver`), then alias, `<provider>/<model>`, registered bare id. A redirect starts from the top.
 */
const steps: ReadonlyArray<Step> = [noThinkingPrefix, exactAlias, discoveryAlias, wildcardAlias, thinkingVariant, providerModel]

/**
 * A resolver over one view; keep it as long as the view. `first` are steps asked before the built-in ones, each time an
 * id is (re)started; their answers are returned as they are, and remembered too. So are those of `bare`.
 */
export const makeResolver = <E = never>(
  view: ResolverView,
  first: ReadonlyArray<(asked: ModelQuery) => E | undefined> = [],
  bare: BareRules<E> | null = null
): (id: string) => Resolution | E => {
  const indexes = indexView(view)
  const memo = new Map<string, Resolution | E>()

  const resolve = (id: string): Resolution | E => {
    let asked: ModelQuery = { requested: id, id, via: null, noThinking: false, level: undefined }
    hops: for (let hop = 0; hop <= ALIAS_HOPS_MAX; hop++) {
      for (const step of first) {
        const answer = step(asked)
        if (answer !== undefined) return answer
      }
      for (const step of steps) {
        const answer = step(indexes, asked)
        if (answer === undefined) continue
        if (answer._tag !== "Redirect") return answer
        asked = { requested: id, id: answer.to, via: answer.via, noThinking: answer.noThinking ?? asked.noThinking, level: answer.level ?? asked.level }
        continue hops
      }
      return bareId(indexes, asked, bare) ?? notFound(indexes, asked)
    }
    return notFound(indexes, asked, "Its aliases lead in a circle: see /api/models/alias and settings.wildcardAliases.")
  }

  return (id) => {
    const known = memo.get(id)
    if (known !== undefined) return known
    const answer = resolve(id)
    if (id.length <= MEMO_ID_MAX) {
      if (memo.size >= MEMO_ENTRIES_MAX) {
        for (const oldest of memo.keys()) {
          memo.delete(oldest)
          break
        }
      }
      memo.set(id, answer)
    }
    return answer
  }
}

const resolvers = new WeakMap<ResolverView, (id: string) => Resolution>()

/** Resolves one id; the resolver of a view is made once and kept beside it. */
export const resolveModel = (view: ResolverView, id: string): Resolution => {
  let resolver = resolvers.get(view)
  if (resolver === undefined) {
    resolver = makeResolver(view)
    resolvers.set(view, resolver)
  }
  return resolver(id)
}
