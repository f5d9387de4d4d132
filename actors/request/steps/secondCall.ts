/** Whether a target that refused a call may be asked once more in another way, and in which. Pure. */
import type { Target } from "#actors/request/ports/Target.ts"
import type { PublicError } from "#schemas/errors.ts"
import * as StatusReason from "#schemas/statusReason.ts"
import { mayLearn } from "#schemas/words/ParamFilters.ts"

/** Characters of an upstream's words that are looked at. */
const mostWords = 500

const name = "([A-Za-z_]\\w{0,63}(?:\\.[A-Za-z_]\\w{0,63}){0,7})"

/** How servers refuse a member of a body by its name. */
const wordings: ReadonlyArray<RegExp> = [
  new RegExp(`\\b(?:unsupported|unknown|unrecognized) parameter(?:s|\\(s\\))?:? ['"\`]?${name}`, "i"),
  new RegExp(`\\bunrecognized request arguments? supplied: ['"\`]?${name}`, "i"),
  new RegExp(`^${name}: extra inputs are not permitted`, "i"),
  new RegExp(`\\bunknown name ['"]${name}['"]: cannot find field`, "i")
]

/** The member that the upstream refused by name; null when it named none, or one that is never left out by itself. */
export const refusedPath = (error: PublicError): string | null => {
  if (error.upstream === null || StatusReason.of(error.status) !== "invalid") return null
  const words = error.message.slice(0, mostWords)
  for (const wording of wordings) {
    const path = wording.exec(words)?.[1]
    if (path !== undefined) return mayLearn(path) ? path : null
  }
  return null
}

/** The target as it is asked the second time; null when it is not. */
export const targetAfter = (target: Target, status: number, error: PublicError): Target | null => {
  const { learns = null, payload = null, secondPath = null } = target
  if (secondPath !== null && StatusReason.of(status) === "not-found") return { ...target, path: secondPath, streamPath: secondPath, secondPath: null }
  const learned = learns === null ? null : refusedPath(error)
  return learned === null || learns?.includes(learned) === true ? null : { ...target, payload: [...payload ?? [], { kind: "filter", path: learned.split(".") }], learns: null, learned }
}
