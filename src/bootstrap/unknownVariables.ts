/** Variables that look meant for the gateway and are read by nothing: a typing slip in one would otherwise act in silence. Pure. */
import * as FlagCatalogue from "#schemas/flagCatalogue.ts"
import type { Provider } from "#schemas/Provider.ts"
import * as Settings from "#src/platform/configuration/Settings.ts"

export interface UnknownVariable {
  readonly name: string
  /** The variable that it resembles most; null when none does. */
  readonly meant: string | null
}

/** Ours whatever follows. */
const prefix = "GATEWAY_"
/** Read by the gateway's own tests. */
const testPrefix = "GATEWAY_TEST_"
/** Read by commands only. */
const ofCommands = ["GATEWAY_TOKEN"]
/** A name without the prefix is suspected only from this length on: short names of other programs resemble each other. */
const shortest = 8
/** Letters that may be wrong, missing or too many. */
const slips = 2

/** Changes of one letter that turn `a` into `b` (Levenshtein), `limit + 1` when there are more than `limit`. */
const distance = (a: string, b: string, limit: number): number => {
  if (Math.abs(a.length - b.length) > limit) return limit + 1
  let row = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const next = [i]
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1)))
    }
    // It never becomes less: most pairs are over after a few letters.
    if (Math.min(...next) > limit) return limit + 1
    row = next
  }
  return Math.min(row[b.length] ?? 0, limit + 1)
}

/** Case and underscores are slips of their own: `require_apikey` is `REQUIRE_API_KEY`. */
const letters = (name: string): string => name.toUpperCase().replaceAll("_", "")

/** `known`: with their letters. */
const resembled = (name: string, known: ReadonlyMap<string, string>): string | null => {
  const own = letters(name)
  let best: string | null = null
  let least = slips + 1
  for (const [candidate, its] of known) {
    const away = distance(own, its, slips)
    if (away < least) {
      best = candidate
      least = away
    }
  }
  return best
}

/** In the environment's order; empty values count, because they were written down, too. `taken`: by the configuration file. */
export const unknownVariables = (
  environment: Readonly<Record<string, string | undefined>>,
  providers: ReadonlyArray<Provider>,
  taken: ReadonlySet<string>
): ReadonlyArray<UnknownVariable> => {
  const names = [...Settings.names, ...ofCommands, ...FlagCatalogue.catalogue.map((flag) => flag.key), ...providers.flatMap((provider) => provider.env)]
  const known = new Map(names.map((name) => [name, letters(name)]))
  return Object.keys(environment).flatMap((name) => {
    if (known.has(name) || taken.has(name) || name.startsWith(testPrefix)) return []
    const ours = name.toUpperCase().startsWith(prefix)
    if (!ours && name.length < shortest) return []
    const meant = resembled(name, known)
    return ours || meant !== null ? [{ name, meant }] : []
  })
}

/** One sentence for a person. */
export const describe = ({ meant, name }: UnknownVariable): string =>
  `${name} is set, and the gateway reads no such variable${meant === null ? " (docs/settings.md lists them)" : `: did you mean ${meant}?`}`
