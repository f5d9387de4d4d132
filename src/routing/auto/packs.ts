/** Weights of the scoring factors: the named packs as data, modes as names of packs, and custom weights. */
import type { ComboConfig } from "#schemas/records/Combo.ts"

export const factorNames = [
  "quota", "health", "costInv", "latencyInv", "taskFit", "stability", "tierPriority", "tierAffinity", "specificityMatch",
  "contextAffinity", "sessionAvailability", "connectionDensity", "cacheAffinity", "resetWindowAffinity", "quality"
] as const
export type Factor = typeof factorNames[number]

/** A weight for every factor; they sum to 1. */
export type Weights = Readonly<Record<Factor, number>>

/** In the order of `factorNames`, before they are scaled to a sum of 1. */
const printed = {
  "default": [.1429, .1605, .1429, .1143, .0762, .0476, .0476, .0476, .0476, .0476, .0476, .0476, 0, 0, .03],
  "ship-fast": [.1333, .2667, .0476, .3048, .0952, 0, .0476, 0, 0, .0095, .0476, .0476, 0, 0, 0],
  "cost-saver": [.1333, .1810, .3524, .0476, .0952, .0476, .0476, 0, 0, 0, .0476, .0476, 0, 0, 0],
  "quality-first": [.0952, .1714, .0476, .0476, .3524, .1429, .0476, 0, 0, 0, .0476, .0476, 0, 0, 0],
  "offline-friendly": [.3524, .2667, .0952, .0476, 0, .0952, .0476, 0, 0, 0, .0476, .0476, 0, 0, 0],
  "reliability-first": [.1333, .3524, .0381, .0476, .0952, .1905, .0476, 0, 0, 0, .0476, .0476, 0, 0, 0],
  "chaos-mode": [.0476, .4, .019, .0286, .1905, .1714, .019, 0, 0, .0286, .0476, .0476, 0, 0, 0]
} as const satisfies Record<string, ReadonlyArray<number>>

export type Pack = keyof typeof printed
export const packNames = Object.keys(printed) as ReadonlyArray<Pack>
export const isPack = (name: string): name is Pack => Object.hasOwn(printed, name)

/** Modes of X-Gateway-Mode beside the names of the packs. */
const modes: Readonly<Record<string, Pack>> = {
  fast: "ship-fast", balanced: "default", quality: "quality-first", cheap: "cost-saver", reliable: "reliability-first", offline: "offline-friendly"
}

/** Every name that `modePack` may have. */
export const modeNames: ReadonlyArray<string> = [...packNames, ...Object.keys(modes)]

/** The pack of a mode or of its own name, without regard to case and outer blanks; null when there is none. */
export const packOf = (name: string): Pack | null => {
  const plain = name.trim().toLowerCase()
  return Object.hasOwn(modes, plain) ? modes[plain] as Pack : isPack(plain) ? plain : null
}

/** Weights that sum to 1; names that are no factor are ignored, missing ones are 0. Null when nothing positive is left. */
export const normalized = (given: Readonly<Record<string, number>>): Weights | null => {
  let total = 0
  const valid = (name: string): number => {
    const value = Object.hasOwn(given, name) ? given[name] as number : 0
    return Number.isFinite(value) && value > 0 ? value : 0
  }
  for (const name of factorNames) total += valid(name)
  if (!(total > 0) || !Number.isFinite(total)) return null
  return Object.fromEntries(factorNames.map((name) => [name, valid(name) / total])) as Record<Factor, number>
}

/** The weights of a pack are rounded, so that they are scaled to a sum of 1, too. */
export const packs: Readonly<Record<Pack, Weights>> = Object.fromEntries(packNames.map((pack) => [
  pack, normalized(Object.fromEntries(factorNames.map((name, i) => [name, printed[pack][i] as number])))
])) as Record<Pack, Weights>

const custom = new WeakMap<object, Weights>()

/** A pack (or mode) replaces the whole map; else the custom weights; else the defaults. */
export const weightsOf = (config: ComboConfig): Weights => {
  const pack = config.modePack === undefined ? null : packOf(config.modePack)
  if (pack !== null) return packs[pack]
  const { weights } = config
  if (weights === undefined) return packs.default
  const known = custom.get(weights)
  if (known !== undefined) return known
  const made = normalized(weights) ?? packs.default
  custom.set(weights, made)
  return made
}
