/**
 * Which providers a search is sent to that names none: those with credentials and a search of its type, the cheapest first. One more than the
 * first is asked when that fails. Pure.
 */
import { blockedProviders, type Snapshot } from "#actors/ports/Configuration.ts"
import type { Target } from "#actors/request/ports/Target.ts"
import * as Errors from "#schemas/errors.ts"
import type { PublicError } from "#schemas/errors.ts"
import type { Price, Provider } from "#schemas/Provider.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import type { Registry } from "#src/providers/Registry.ts"

const prefix = "auto/search:"

/** The id that stands for automatic choice among the providers of a type. */
export const automaticId = (type: string): string => prefix + type

/** The combo's name is such an id. */
export const isAutomatic = (name: string): boolean => name.startsWith(prefix)

/** Providers that are asked for one search. */
const mostProviders = 2

/** The types of searches, as the models of a row are called. */
const typesOf = ({ models }: Provider): ReadonlyArray<string> => models.filter(({ kind }) => kind === "search").map(({ id }) => id)

/** Rows that can be asked now, with their types. */
export const configured = (snapshot: Snapshot, registry: Registry): ReadonlyArray<{ readonly row: Provider; readonly types: ReadonlyArray<string> }> => {
  const blocked = blockedProviders(snapshot)
  return registry.all.flatMap((row) => {
    const types = typesOf(row)
    return types.length > 0 && !blocked.has(row.id) && (row.category === "no-auth" || snapshot.activeByProvider.has(row.id)) ? [{ row, types }] : []
  })
}

/** Without a price: as if it were dearest. */
const costOf = (price: Price | null): number => price?.per_query ?? price?.per_request ?? Number.MAX_VALUE

export const noProvider = (type: string): PublicError =>
  Errors.make("bad_request", `No credentials for any search provider of type '${type}': add a connection with POST /api/providers.`)

/** The combo behind `automaticId`; null for any other id. */
export const automatic = (id: string, snapshot: Snapshot, registry: Registry, priceOf: (provider: string, model: string) => Price | null): Combo | null => {
  const type = id.slice(prefix.length)
  if (!id.startsWith(prefix) || (type !== "web" && type !== "news")) return null
  const models = configured(snapshot, registry).filter(({ types }) => types.includes(type))
    .map(({ row }) => ({ id: row.id, cost: costOf(priceOf(row.id, type)) })).sort((a, b) => a.cost - b.cost)
    .map(({ id: provider }) => ({
      kind: "model" as const, id: provider, model: `${provider}/${type}`, provider: null, connectionId: null, weight: 0, label: null, tags: [], prompt: null
    }))
  return {
    id: `auto:${id}`, name: id, description: null, models, strategy: "priority", config: { maxRetries: 0 }, allowedProviders: [], system_message: null, tool_filter_regex: null,
    context_cache_protection: false, context_length: null, dimensions: null, isActive: true, isHidden: false, sortOrder: 0, createdAt: "", updatedAt: ""
  }
}

/** The targets of the first providers of a list. */
export const firstProviders = (targets: ReadonlyArray<Target>): ReadonlyArray<Target> => {
  const providers = new Set<string>()
  const end = targets.findIndex(({ provider }) => providers.add(provider).size > mostProviders)
  return end < 0 ? targets : targets.slice(0, end)
}
