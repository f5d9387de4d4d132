/** The ids of automatic routing (`auto`, `auto/<variant>`, `auto/<category>[:<tier>]`) and what each asks for. */
import type { ComboConfig } from "#schemas/records/Combo.ts"
import type { Candidate, ModelCategory, ModelTier, Skipped, Wanted } from "#src/routing/models/candidate.ts"
import { type Filtered, narrow } from "#src/routing/strategies/filter.ts"
import { blendedPrice } from "#src/routing/strategies/price.ts"

export interface Channel extends Wanted {
  /** What stands behind `auto/`; "" for `auto` itself. */
  readonly name: string
  readonly config: ComboConfig
  /** Only for keys with chaosModeEnabled. */
  readonly chaos: boolean
}

const categories: ReadonlyArray<ModelCategory> = ["coding", "reasoning", "vision", "chat", "multimodal"]

/** Tiers as they may be written; `floor` is the older word for `cheap`. */
const tiers: Readonly<Record<string, ModelTier>> = { fast: "fast", cheap: "cheap", floor: "cheap", reliable: "reliable", free: "free", pro: "pro" }

const variants: Readonly<Record<string, ComboConfig>> = {
  "lkgp": { routerStrategy: "lkgp" },
  "coding": { modePack: "quality-first" },
  "fast": { modePack: "ship-fast" },
  "cheap": { modePack: "cost-saver" },
  "offline": { modePack: "offline-friendly" },
  "smart": { modePack: "quality-first", explorationRate: 0.1 },
  "chaos": { modePack: "chaos-mode" }
}

/** How a tier weighs; `free` and `pro` are filters over the defaults. */
const tierConfigs: Readonly<Record<ModelTier, ComboConfig>> = {
  fast: { modePack: "ship-fast" }, cheap: { modePack: "cost-saver" }, reliable: { modePack: "reliability-first" }, free: {}, pro: {}
}

/** What an id asks for; null when it is no id of automatic routing. `defaultVariant` is settings.autoRoutingDefaultVariant. */
export const channelOf = (id: string, defaultVariant = "lkgp"): Channel | null => {
  if (id !== "auto" && !id.startsWith("auto/")) return null
  const name = id.slice("auto/".length)
  if (name === "") {
    if (id !== "auto") return null
    const config = Object.hasOwn(variants, defaultVariant) ? variants[defaultVariant] as ComboConfig : {}
    return { name, category: null, tier: null, config, chaos: defaultVariant === "chaos" }
  }
  const colon = name.indexOf(":")
  const head = colon < 0 ? name : name.slice(0, colon)
  const category = categories.find((known) => known === head) ?? null
  if (colon < 0 && Object.hasOwn(variants, head)) {
    return { name, category, tier: null, config: variants[head] as ComboConfig, chaos: head === "chaos" }
  }
  if (category === null) return null
  if (colon < 0) return { name, category, tier: null, config: {}, chaos: false }
  const written = name.slice(colon + 1)
  if (!Object.hasOwn(tiers, written)) return null
  const tier = tiers[written] as ModelTier
  // A tier's pack says more about what is wanted than the category's own.
  return { name, category, tier, config: { ...variants[category], ...tierConfigs[tier] }, chaos: false }
}

/** Every id that is offered: the variants, the categories and each category with each tier. */
export const channelIds: ReadonlyArray<string> = [
  "auto",
  ...Object.keys(variants).map((name) => `auto/${name}`),
  ...categories.filter((name) => !Object.hasOwn(variants, name)).map((name) => `auto/${name}`),
  ...categories.flatMap((category) => ["fast", "cheap", "reliable", "free", "pro"].map((tier) => `auto/${category}:${tier}`))
]

const needed: Readonly<Record<ModelCategory, string | null>> = {
  coding: "tools", reasoning: "reasoning", vision: "vision", multimodal: "vision", chat: null
}

/** A tag of the step decides; else the model's known capabilities. */
export const fitsCategory = ({ capabilities, tags }: Pick<Candidate, "capabilities" | "tags">, category: ModelCategory): "yes" | "no" | "unknown" => {
  if (tags.includes(category)) return "yes"
  const name = needed[category]
  if (name === null) return "yes"
  return capabilities === null ? "unknown" : capabilities.includes(name) ? "yes" : "no"
}

const isFree = ({ tags, target }: Candidate): boolean => tags.includes("free") || blendedPrice(target, 0) === 0

const fitsTier = (candidate: Candidate, tier: ModelTier): boolean => {
  if (tier === "free") return isFree(candidate)
  if (tier === "pro") return !isFree(candidate)
  // Fast, cheap and reliable are a matter of weights, not of membership.
  return true
}

const outside = (name: string): Skipped["unavailable"] => ({ reason: "excluded", until: null, detail: `Not in ${name}.` })

/**
 * The candidates of a channel: category first, then tier, each only while a candidate remains (a filter that leaves none is not
 * applied, and `relaxed` names it). A model of unknown capabilities stays only when no known one fits.
 */
export const withinChannel = (from: Filtered, { category, tier }: Wanted): Filtered => {
  let pool = from
  if (category !== null) {
    const sure = pool.available.some((candidate) => fitsCategory(candidate, category) === "yes")
    pool = narrow(pool, (candidate) => {
      const fits = fitsCategory(candidate, category)
      return fits === "yes" || (fits === "unknown" && !sure) ? null : outside(`category ${category}`)
    }, "pool")
  }
  return tier === null ? pool : narrow(pool, (candidate) => fitsTier(candidate, tier) ? null : outside(`tier ${tier}`), "pool")
}
