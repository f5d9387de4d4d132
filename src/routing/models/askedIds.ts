/** Which id a client's id is taken to be, by the operator's settings: without its provider, or the best match of one that leads nowhere. Pure. */
import { type ErrorCode, PublicError } from "#schemas/errors.ts"
import { Blocked } from "#src/routing/unavailable.ts"
import type { ResolvedCombo } from "#src/routing/combos/resolve.ts"
import { Generations } from "#src/routing/models/Generations.ts"
import type { Resolution } from "#src/routing/models/resolveModel.ts"

type Resolver = (id: string) => Resolution | ResolvedCombo

/** Ids whose meaning is remembered; longer ones are read each time (characters). */
const REMEMBERED = 1_000
const LONGEST = 256

const forbidden: ErrorCode = "insufficient_permissions"

/** The id without the part before its first slash, where that is a provider, or nothing that is known, and the rest is served. */
const bareOf = (id: string, resolve: Resolver): string => {
  const slash = id.indexOf("/")
  if (slash <= 0) return id
  const whole = resolve(id)
  const isUnknown = whole._tag === "Unresolved" && whole.reason === "UnknownProvider"
  if (!isUnknown && (whole._tag !== "Resolved" || whole.via !== "provider")) return id
  const bare = id.slice(slash + 1)
  const meant = resolve(bare)
  if (meant._tag === "Unresolved") return id
  if (isUnknown || meant._tag === "Combo") return bare
  return meant.via === "provider" || meant.id === (whole as typeof meant).id ? id : bare
}

/** Setting stripModelPrefix; null while it is off. */
export const strippedBy = (settings: ReadonlyMap<string, unknown>, resolve: Resolver): ((id: string) => string) | null => {
  if (settings.get("stripModelPrefix") !== true) return null
  const known = new Generations<string>(REMEMBERED)
  return (id) => {
    const before = known.get(id)
    if (before !== undefined) return before
    const bare = bareOf(id, resolve)
    if (id.length <= LONGEST) known.set(id, bare)
    return bare
  }
}

/**
 * For keys with autoResolve: the answer for the best match of an id that leads nowhere. Of an ambiguous id, the first provider by name that
 * answers; of an unknown one, the nearest id, even when it has to wait. `error`: the answer for the id itself.
 */
export const best = <A>(
  resolution: Resolution | ResolvedCombo, error: PublicError, admits: (id: string) => boolean, ask: (id: string) => A | PublicError
): { readonly id: string; readonly answer: A | PublicError } | null => {
  if (resolution._tag !== "Unresolved" || error instanceof Blocked) return null
  const isAmbiguous = resolution.reason === "ProviderRequired"
  for (const id of isAmbiguous ? [...resolution.candidates].sort() : resolution.nearMatches) {
    if (!admits(id)) continue
    const answer = ask(id)
    if (!(answer instanceof PublicError) || (!isAmbiguous && answer instanceof Blocked && answer.code !== forbidden)) return { id, answer }
  }
  return null
}
