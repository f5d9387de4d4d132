/** Which providers a page is asked of when the client names none: the pool in its fixed order, else the gateway's own reader. Pure. */
import type { Snapshot } from "#actors/ports/Configuration.ts"
import { changed, type WalkPolicy } from "#actors/request/ports/WalkPolicy.ts"
import type { Combo } from "#schemas/records/Combo.ts"
import * as Vendors from "#src/wire/webFetch/vendors/index.ts"

/** The id that stands for the pool. */
export const automaticId = "auto/web-fetch"

/** The one model of each provider. */
export const model = "page"

/** The combo behind `automaticId`; null for any other id. */
export const automatic = (id: string, { activeByProvider }: Pick<Snapshot, "activeByProvider">): Combo | null => {
  if (id !== automaticId) return null
  const connected = Vendors.pool.filter((provider) => activeByProvider.has(provider))
  const models = (connected.length > 0 ? connected : [Vendors.builtinId]).map((provider) => ({
    kind: "model" as const, id: provider, model: `${provider}/${model}`, provider: null, connectionId: null, weight: 0, label: null, tags: [], prompt: null
  }))
  return {
    id: `auto:${id}`, name: id, description: null, models, strategy: "priority", config: { maxRetries: 0 }, allowedProviders: [], system_message: null, tool_filter_regex: null,
    context_cache_protection: false, context_length: null, dimensions: null, isActive: true, isHidden: false, sortOrder: 0, createdAt: "", updatedAt: ""
  }
}

/** How the pool is walked: only a rate limit or a plan that is used up moves on to the next provider. */
export const walked = (policy: WalkPolicy): WalkPolicy => {
  const own = changed(policy, (one) => one)
  return { ...own, at: (target) => ({ ...(own.at === undefined ? own : own.at(target)), fallsBackAfter: (reason) => Vendors.isSpentAfter(target.provider, reason) }) }
}
