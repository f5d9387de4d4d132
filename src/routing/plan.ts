/**
 * From a model id to the ordered targets of one request. Pure over one configuration snapshot, and remembered per model id:
 * a repeated plan costs one map look-up, because it stands on the hot path.
 */
import type { Target } from "#actors/ports/Target.ts"
import type { Snapshot } from "#actors/ports/Configuration.ts"
import * as Errors from "#schemas/errors.ts"
import { PublicError } from "#schemas/errors.ts"
import type { ApiKey } from "#schemas/records/ApiKey.ts"
import type { Connection } from "#schemas/records/Connection.ts"
import type { Price } from "#schemas/Provider.ts"
import * as Endpoint from "#src/providers/endpoint.ts"
import type { Registry } from "#src/providers/Registry.ts"
import { makeResolver, type Resolution, type ResolvedModel } from "#src/routing/resolveModel.ts"

/** An ordered, non-empty list of targets, or why there is none. */
export type Plan = ReadonlyArray<Target> | PublicError

export interface Planner {
  readonly plan: (model: string, key: ApiKey | null) => Plan
}

export interface PlannerOptions {
  readonly snapshot: Snapshot
  readonly registry: Registry
  readonly noThinkingAliases: boolean
  readonly priceOf: (provider: string, model: string) => Price | null
}

/** Plans remembered per snapshot; the oldest goes first. */
const rememberedPlans = 4096
/** A model id longer than this is planned each time rather than remembered (characters). */
const longestRememberedId = 256

/** Longest model id that is looked up at all (characters): ids travel in headers and rows. */
const longestId = 512

/** No control character either: none may enter a header. */
const wellFormed = (model: string): boolean => model.length <= longestId && !/[\p{Cc}\p{Cs}]/u.test(model)

const malformed = Errors.make(
  "bad_request", `Field 'model' must be at most ${longestId} characters and hold no control characters.`, { extra: { param: "model" } }
)

/** Providers that can be called now: an active connection, or none needed. */
export const activeProviders = (snapshot: Snapshot, registry: Registry): ReadonlySet<string> => {
  const active = new Set(snapshot.activeByProvider.keys())
  for (const row of registry.all) if (row.category === "no-auth") active.add(row.id)
  if (snapshot.simulatorUrl !== null) active.add("sim")
  return active
}

export const makePlanner = (options: PlannerOptions): Planner => {
  const { registry, snapshot } = options
  const resolve = makeResolver({
    registry,
    nodes: snapshot.nodes,
    aliases: snapshot.aliases,
    wildcardAliases: wildcards(snapshot.settings.get("wildcardAliases")),
    customModels: snapshot.customModels.map((custom) => ({
      provider: custom.provider,
      modelId: custom.modelId,
      upstreamId: typeof custom.extra["upstreamId"] === "string" ? custom.extra["upstreamId"] : null
    })),
    activeProviders: activeProviders(snapshot, registry),
    noThinkingAliases: options.noThinkingAliases
  })
  const remembered = new Map<string, Plan>()

  const planAll = (model: string): Plan => {
    const known = remembered.get(model)
    if (known !== undefined) return known
    const plan = wellFormed(model) ? planOf(options, resolve(model)) : malformed
    if (model.length <= longestRememberedId) {
      if (remembered.size >= rememberedPlans) remembered.delete(remembered.keys().next().value as string)
      remembered.set(model, plan)
    }
    return plan
  }

  return {
    plan: (model, key) => {
      const plan = planAll(model)
      if (plan instanceof PublicError || key === null) return plan
      return forKey(plan, key)
    }
  }
}

const planOf = (options: PlannerOptions, resolution: Resolution): Plan => {
  if (resolution._tag === "Unresolved") {
    return new PublicError(resolution.code, resolution.status, "invalid_request_error", resolution.message, null,
      resolution.candidates.length > 0 ? { candidates: resolution.candidates } : null)
  }
  const connections = options.snapshot.activeByProvider.get(resolution.provider) ?? []
  const needsCredential = resolution.row !== null && !resolution.row.authKinds.includes("none")
  if (connections.length === 0 && (needsCredential || resolution.node !== null)) return noConnection(options, resolution)
  const targets: Array<Target> = []
  let refusal: PublicError | null = null
  for (const connection of connections.length === 0 ? [null] : connections) {
    const target = targetOf(options, resolution, connection)
    if (target instanceof PublicError) refusal ??= target
    else targets.push(target)
  }
  if (targets.length > 0) return targets
  return refusal ?? noConnection(options, resolution)
}

/** The words of the inference document's embedding rule 6, for every endpoint. */
const noConnection = (options: PlannerOptions, resolved: ResolvedModel): PublicError => {
  const label = resolved.row?.id ?? resolved.node?.prefix ?? resolved.provider
  const known = options.snapshot.connections.some((connection) => connection.provider === resolved.provider)
  return known
    ? Errors.make("ALL_ACCOUNTS_INACTIVE", `Every connection of provider ${label} is inactive or unusable: activate or test one.`)
    : Errors.make("bad_request", `No credentials for provider: ${label}`)
}

const targetOf = (options: PlannerOptions, resolved: ResolvedModel, connection: Connection | null): Target | PublicError => {
  const { snapshot } = options
  const node = resolved.node === null ? null : snapshot.nodeById.get(resolved.node.id) ?? null
  let endpoint: Endpoint.Endpoint | Endpoint.EndpointMissing
  if (node !== null) {
    if (node.type !== "openai-compatible" || (node.apiType !== null && node.apiType !== "chat")) return cannotChat(resolved)
    endpoint = Endpoint.ofNode(node, connection, node.chatPath ?? "/chat/completions")
  } else if (resolved.row !== null) {
    const path = Endpoint.pathFor(resolved.row, "chat-completions")
    if (path === null) return cannotChat(resolved)
    const base = resolved.row.id === "sim" ? snapshot.simulatorUrl : null
    endpoint = Endpoint.ofProvider(resolved.row, connection, path, resolved.model, base)
  } else return cannotChat(resolved)
  if ("_tag" in endpoint) return Errors.make("bad_request", endpoint.message)
  return {
    provider: resolved.provider,
    providerAlias: resolved.row?.alias ?? resolved.node?.prefix ?? resolved.provider,
    publicModel: resolved.id,
    model: resolved.model,
    connection,
    wireFormat: "chat-completions",
    origin: endpoint.origin,
    path: endpoint.path,
    headers: endpoint.headers,
    price: options.priceOf(resolved.provider, resolved.model),
    streamOptions: connection?.providerSpecificData["disableStreamOptions"] !== true,
    proxy: null
  }
}

const cannotChat = (resolved: ResolvedModel): PublicError =>
  Errors.make("model_not_supported", `Model '${resolved.id}' is not reachable through the chat-completions format.`)

/** Drops what the key may not use, and puts what it prefers first (supplement 1.9, 3.1). */
const forKey = (plan: ReadonlyArray<Target>, key: ApiKey): Plan => {
  const { allowedConnections, connectionAccessMode, preferredConnections } = key.policy
  const restricted = connectionAccessMode === "restricted" || allowedConnections.length > 0
  if (!restricted && preferredConnections.length === 0) return plan
  const allowed = restricted
    ? plan.filter((target) => target.connection !== null && allowedConnections.includes(target.connection.id))
    : plan
  if (allowed.length === 0) return Errors.make("insufficient_permissions", "This key may not use any connection that serves the model.")
  if (preferredConnections.length === 0) return allowed
  const preferred = (target: Target) => target.connection !== null && preferredConnections.includes(target.connection.id)
  return [...allowed.filter(preferred), ...allowed.filter((target) => !preferred(target))]
}

const wildcards = (value: unknown): ReadonlyArray<{ readonly pattern: string; readonly target: string }> =>
  Array.isArray(value)
    ? value.filter((entry): entry is { pattern: string; target: string } =>
      typeof entry === "object" && entry !== null && typeof entry.pattern === "string" && typeof entry.target === "string")
    : []
