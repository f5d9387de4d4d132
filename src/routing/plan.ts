/**
 * From a model id to the ordered targets of one request. Pure over one configuration snapshot, and remembered per model id:
 * a repeated plan costs one map look-up, because it stands on the hot path.
 */
import type { Target } from "#actors/request/ports/Target.ts"
import { headerOf } from "#actors/request/ports/Upstream.ts"
import { blockedProviders, shownModel, type Snapshot } from "#actors/ports/Configuration.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { ProviderNode } from "#schemas/records/ProviderNode.ts"
import type { Price, Provider } from "#schemas/Provider.ts"
import type { FamilyName } from "#schemas/wire/conversation.ts"
import { type CallFormat, isOneShot, type OneShotKind, type TargetFamily } from "#schemas/wire/formats.ts"
import * as ModelFormats from "#src/providers/modelFormats.ts"
import * as ConversationPlace from "#src/providers/conversationPlace.ts"
import * as UpstreamEndpoint from "#src/providers/upstreamEndpoint.ts"
import type { Registry } from "#src/providers/Registry.ts"
import * as OneShotPlaces from "#src/routing/oneShotPlaces.ts"
import * as PayloadPlans from "#src/routing/payload/PayloadPlans.ts"
import type { ModelVariants } from "#src/routing/models/resolverView.ts"
import { codeOf, makeResolver, type Resolution, type ResolvedModel, type ResolverView } from "#src/routing/models/resolveModel.ts"

/** An ordered, non-empty list of targets, or why there is none. */
export type Plan = ReadonlyArray<Target> | PublicError

export interface Planner {
  /** For every key. `face`: the client's format, because a provider with the same format is called in it. */
  readonly plan: (model: string, face: CallFormat) => Plan
  /** Canonical id of a provider by its id, its alias or a node's prefix; null when there is none. */
  readonly aliasOf: (prefix: string) => string | null
}

export interface PlannerOptions extends ModelVariants {
  readonly snapshot: Snapshot
  readonly registry: Registry
  readonly thinkingLevels: boolean
  readonly priceOf: (provider: string, model: string) => Price | null
  /** Flags that let remote nodes serve some kinds of requests; absent: all are off. */
  readonly isOn?: (flag: OneShotPlaces.RemoteFlag | "CAPABILITY_FILTER_ENABLED") => boolean
}

const off = (): boolean => false

/** Plans remembered per snapshot; the oldest goes first. */
const rememberedPlans = 4096
/** A model id longer than this is planned each time rather than remembered (characters). */
const longestRememberedId = 256

/** Longest model id that is looked up at all (characters): ids travel in headers and rows. Those of combos may be longer than a client's. */
const longestId = 512

/** No control character either: none may enter a header. */
const wellFormed = (model: string): boolean => model.length <= longestId && !/[\p{Cc}\p{Cs}]/u.test(model)

const malformed = Errors.make(
  "bad_request", `Field 'model' must hold no control characters, and name no model whose id has more than ${longestId} characters.`, { extra: { param: "model" } }
)

/** Providers that can be called now: an active connection, or none needed; not blocked. */
export const activeProviders = (snapshot: Snapshot, registry: Registry): ReadonlySet<string> => {
  const active = new Set(snapshot.activeByProvider.keys())
  for (const row of registry.all) if (row.category === "no-auth") active.add(row.id)
  if (snapshot.simulatorListed) active.add("sim")
  for (const blocked of blockedProviders(snapshot)) active.delete(blocked)
  return active
}

/** What a resolver of model ids reads of one configuration snapshot. */
export const resolverView = ({ discoveryAliases = false, noThinkingAliases, registry, snapshot, thinkingLevels }: PlannerOptions): ResolverView => ({
  registry,
  nodes: snapshot.nodes,
  aliases: snapshot.aliases,
  wildcardAliases: wildcards(snapshot.settings.get("wildcardAliases")),
  customModels: snapshot.customModels.map((custom) => ({
    provider: custom.provider,
    modelId: custom.modelId,
    listed: custom.source === "synced",
    upstreamId: typeof custom.extra["upstreamId"] === "string" ? custom.extra["upstreamId"] : null,
    upstreamHeaders: custom.upstreamHeaders,
    maxOutputTokens: custom.maxOutputTokens,
    formats: ModelFormats.of(custom)
  })),
  activeProviders: activeProviders(snapshot, registry),
  simulatorCallable: snapshot.simulatorUrl !== null,
  noThinkingAliases,
  thinkingLevels,
  discoveryAliases
})

/** Models only: combos are the router's. */
export const makePlanner = (options: PlannerOptions): Planner => {
  const { registry, snapshot } = options
  const resolve = makeResolver(resolverView(options))
  const payloads = PayloadPlans.make(snapshot.settings, snapshot.paramFilters)
  const rememberedOf = new Map<CallFormat, Map<string, Plan>>()

  const plan = (model: string, face: CallFormat): Plan => {
    let remembered = rememberedOf.get(face)
    if (remembered === undefined) {
      remembered = new Map()
      rememberedOf.set(face, remembered)
    }
    const known = remembered.get(model)
    if (known !== undefined) return known
    const made = wellFormed(model) ? planOf({ ...options, payloads }, resolve(model), face) : malformed
    if (model.length <= longestRememberedId) {
      if (remembered.size >= rememberedPlans) remembered.delete(remembered.keys().next().value as string)
      remembered.set(model, made)
    }
    return made
  }

  return {
    plan,
    aliasOf: (prefix) => registry.byPrefix.get(prefix)?.id ?? snapshot.nodes.find((node) => node.prefix === prefix)?.id ?? null
  }
}

/** `payloads`: null while no rule changes bodies. */
interface PlanOptions extends PlannerOptions {
  readonly payloads: PayloadPlans.PayloadPlans | null
}

const planOf = (options: PlanOptions, resolution: Resolution, face: CallFormat): Plan => {
  if (resolution._tag === "Unresolved") {
    if (isOneShot(face) && resolution.reason === "UnknownProvider") return OneShotPlaces.unknownProvider(face, resolution.prefix)
    return Errors.make(codeOf(resolution), resolution.message, resolution.reason === "ProviderRequired" ? { extra: { candidates: resolution.candidates } } : undefined)
  }
  if (blockedProviders(options.snapshot).has(resolution.provider)) return blocked(resolution)
  if (!isOneShot(face) && servesOthersOnly(resolution)) return cannotChat(resolution)
  let connections = options.snapshot.activeByProvider.get(resolution.provider) ?? []
  if (isOneShot(face)) {
    // What a provider cannot do is said before a credential is asked for.
    const place = OneShotPlaces.placeOf(face, resolution, resolution.node === null ? null : options.snapshot.nodeById.get(resolution.node.id) ?? null)
    if (place instanceof PublicError) return place
    connections = OneShotPlaces.connectionsOf(place, connections, resolution.provider, options.snapshot.connections)
  }
  const needsCredential = resolution.row !== null && !resolution.row.authKinds.includes("none")
  if (connections.length === 0 && (needsCredential || resolution.node !== null)) return noConnection(options, resolution, face)
  const targets: Array<Target> = []
  let refusal: PublicError | null = null
  for (const connection of connections.length === 0 ? [null] : connections) {
    const target = targetOf(options, resolution, connection, face)
    if (target instanceof PublicError) refusal ??= target
    else targets.push(target)
  }
  if (targets.length > 0) return targets
  return refusal ?? noConnection(options, resolution, face)
}

const labelOf = ({ node, provider, row }: ResolvedModel): string => row?.id ?? node?.prefix ?? provider

const blocked = (resolved: ResolvedModel): PublicError =>
  Errors.make("provider_blocked", `Provider ${labelOf(resolved)} is blocked on this gateway (setting blockedProviders): ask for a model of another provider.`)

/** Inactive connections are named as such; a provider without any answers 400 `No credentials for provider`. */
const noConnection = (options: PlannerOptions, resolved: ResolvedModel, face: CallFormat): PublicError => {
  const label = labelOf(resolved)
  const known = options.snapshot.connections.some((connection) => connection.provider === resolved.provider)
  return known
    ? Errors.make("ALL_ACCOUNTS_INACTIVE", `Every connection of provider ${label} is inactive or unusable: activate or test one.`)
    : isOneShot(face) ? OneShotPlaces.noCredentials(face, label) : Errors.make("bad_request", `No credentials for provider: ${label}`)
}

/** Where a provider takes requests, and in which format. */
interface Place {
  readonly family: TargetFamily
  readonly path: string
  readonly streamPath: string
}

const isFamily = (format: CallFormat): format is FamilyName => format !== "completions" && !isOneShot(format)

/**
 * In which format and where a conversation is sent: the model's own format, where an operator named one; else the client's where the
 * provider has it (nothing is translated); else the provider's main one. A connection with providerSpecificData.mainFormatOnly is not
 * called in the client's (a server whose compatible endpoints lack something).
 */
const placeOf = (resolved: ResolvedModel, face: CallFormat, node: ProviderNode | null, connection: Connection | null): Place | null => {
  const wanted = resolved.custom?.formats?.family ?? null
  if (node !== null) return ConversationPlace.ofNode(node, wanted)
  const { row } = resolved
  if (row === null) return null
  if (wanted === null && isFamily(face) && row.wireFormat !== face && connection?.providerSpecificData["mainFormatOnly"] !== true) {
    const own = row.paths?.[face]
    if (own !== undefined) return ConversationPlace.onePath(face, own)
  }
  return ConversationPlace.ofRow(row, wanted)
}

const oneShotPlaceOf = (kind: OneShotKind, resolved: ResolvedModel, node: ProviderNode | null): Place | PublicError => {
  const place = OneShotPlaces.placeOf(kind, resolved, node)
  return place instanceof PublicError ? place : ConversationPlace.onePath(place.family, place.path)
}

const targetOf = (options: PlanOptions, resolved: ResolvedModel, connection: Connection | null, face: CallFormat): Target | PublicError => {
  const { snapshot } = options
  const node = resolved.node === null ? null : snapshot.nodeById.get(resolved.node.id) ?? null
  const place = isOneShot(face) ? oneShotPlaceOf(face, resolved, node) : placeOf(resolved, face, node, connection) ?? cannotChat(resolved)
  if (place instanceof PublicError) return place
  const formats = resolved.custom?.formats ?? null
  const called = formats === null || formats.family === null || isOneShot(face) ? null : { family: formats.family, model: resolved.model }
  const endpointAt = (path: string): UpstreamEndpoint.UpstreamEndpoint | UpstreamEndpoint.EndpointMissing =>
    node !== null
      ? UpstreamEndpoint.ofNode(node, connection, path, called)
      : UpstreamEndpoint.ofProvider(resolved.row as Provider, connection, path, resolved.model, resolved.provider === "sim" ? snapshot.simulatorUrl : null)
  const endpoint = endpointAt(place.path)
  if ("_tag" in endpoint) return Errors.make("bad_request", endpoint.message)
  const streamed = place.streamPath === place.path ? endpoint : endpointAt(place.streamPath)
  if ("_tag" in streamed) return Errors.make("bad_request", streamed.message)
  // A connection may name another address than its node.
  const remote = isOneShot(face) && node !== null ? OneShotPlaces.remoteRefusal(face, node, endpoint.origin, options.isOn ?? off) : null
  if (remote !== null) return remote
  const headers = formats === null || isOneShot(face) ? undefined : ModelFormats.headersOf(formats, face)
  const capabilities = resolved.facts?.capabilities
  const payload = options.payloads === null || isOneShot(face) ? null : options.payloads({
    names: [resolved.provider, resolved.row?.alias ?? resolved.node?.prefix ?? resolved.provider], model: resolved.model, publicModel: shownModel(snapshot, resolved.id), family: place.family, connectionId: connection?.id ?? null
  })
  return {
    provider: resolved.provider,
    providerAlias: resolved.row?.alias ?? resolved.node?.prefix ?? resolved.provider,
    publicModel: resolved.id,
    model: resolved.model,
    connection,
    wireFormat: place.family,
    origin: endpoint.origin,
    path: endpoint.path,
    streamPath: streamed.path,
    headers: withOwn(withOwn(place.family === "messages" ? withVersion(endpoint.headers) : endpoint.headers, resolved.custom?.upstreamHeaders), headers),
    price: options.priceOf(resolved.provider, resolved.model),
    streamOptions: connection?.providerSpecificData["disableStreamOptions"] !== true,
    proxy: snapshot.egress === null ? null : snapshot.egress.of({ provider: resolved.provider, connection }).proxy,
    maxOutputTokens: resolved.custom?.maxOutputTokens ?? resolved.facts?.maxOutputTokens ?? null,
    reasoning: capabilities === undefined ? null : capabilities.includes("reasoning"),
    thinking: resolved.noThinking ? "off" : resolved.level,
    tokenFrom: endpoint.tokenFrom,
    inputModalities: resolved.facts?.inputModalities ?? null,
    bodyRules: node === null && place.family === resolved.row?.wireFormat ? resolved.row.body ?? null : null,
    compat: isOneShot(face) ? null : ModelFormats.compatOf(formats, face, connection?.providerSpecificData["reasoningControl"]),
    payload: payload === null ? null : payload.edits,
    transforms: payload === null ? null : payload.transforms,
    learns: payload === null ? null : payload.learns,
    learned: null
  }
}

/** The messages format names its version in a header that every server of it wants. */
const withVersion = (headers: ReadonlyArray<string>): ReadonlyArray<string> =>
  headerOf(headers, "anthropic-version") === undefined ? [...headers, "anthropic-version", "2023-06-01"] : headers

/** A custom model's own headers replace the provider's of the same name. */
const withOwn = (headers: ReadonlyArray<string>, own: Readonly<Record<string, string>> = {}): ReadonlyArray<string> => {
  const added = Object.entries(own).map(([name, value]) => [name.toLowerCase(), value] as const)
  if (added.length === 0) return headers
  const names = new Set(added.map(([name]) => name))
  const kept = headers.filter((_, index) => !names.has(headers[index - index % 2] as string))
  return [...kept, ...added.flat()]
}

/** The registry says that the model is for another kind of requests. A model that an operator added beside it is believed to be what it is asked for. */
const servesOthersOnly = ({ custom, facts }: ResolvedModel): boolean =>
  facts !== null && facts.kind !== "chat" && facts.conversations !== true && (custom === null || custom.listed === true)

const cannotChat = (resolved: ResolvedModel): PublicError =>
  Errors.make("model_not_supported", `Model '${resolved.id}' takes no conversations.`)

const wildcards = (value: unknown): ReadonlyArray<{ readonly pattern: string; readonly target: string }> =>
  Array.isArray(value)
    ? value.filter((entry): entry is { pattern: string; target: string } =>
      typeof entry === "object" && entry !== null && typeof entry.pattern === "string" && typeof entry.target === "string")
    : []
