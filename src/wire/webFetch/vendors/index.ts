/** The vendors that fetch pages by the id of their provider, in the order in which the pool is asked. */
import type { StatusReason } from "#schemas/statusReason.ts"
import type { TargetFamily } from "#schemas/wire/formats.ts"
import type { FetchVendor } from "#src/wire/webFetch/FetchVendor.ts"
import { builtin } from "./builtin.ts"
import { firecrawl } from "./firecrawl.ts"
import { jinaReader } from "./jinaReader.ts"
import { nimble } from "./nimble.ts"
import { tavily } from "./tavily.ts"
import { tinyfish } from "./tinyfish.ts"

/** Serves where it is named, and where no provider of the pool is connected. */
export const builtinId = "rs-trafilatura"

/** Fixed: the first that is connected and free is asked. */
export const pool = ["firecrawl", "jina-reader", "tavily-search", "tinyfish", "nimble-search"] as const

const vendors: ReadonlyMap<string, FetchVendor> = new Map<string, FetchVendor>([
  ["firecrawl", firecrawl], ["jina-reader", jinaReader], ["tavily-search", tavily], ["tinyfish", tinyfish], ["nimble-search", nimble], [builtinId, builtin]
])

/** Null for a provider that fetches nothing. */
export const ofProvider = (provider: string): FetchVendor | null => vendors.get(provider) ?? null

/** Null for a family that is no vendor's. */
export const ofFamily = (family: TargetFamily): FetchVendor | null => family.startsWith("web-fetch/") ? ofProvider(family.slice("web-fetch/".length)) : null

/** Another provider of the pool is asked after a rate limit, and after a plan that is used up. */
export const isSpentAfter = (provider: string, reason: StatusReason): boolean => reason === "rate-limit" || ofProvider(provider)?.spent.has(reason) === true
