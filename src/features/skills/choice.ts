/** Which skill a name means. Pure. */
import * as Result from "effect/Result"
import * as SemVer from "effect/SemVer"

/** `name` or `name@version`; a name holds no `@`. */
export const named = (text: string): { readonly name: string; readonly version: string | null } => {
  const at = text.indexOf("@")
  return at < 0 ? { name: text, version: null } : { name: text.slice(0, at), version: text.slice(at + 1) }
}

/** The highest version by the precedence of semver.org; null without any. */
export const newest = <A extends { readonly version: string }>(found: ReadonlyArray<A>): A | null => {
  let best: { readonly one: A; readonly version: SemVer.SemVer } | null = null
  for (const one of found) {
    const version = Result.getOrNull(SemVer.parse(one.version))
    if (version !== null && (best === null || SemVer.Order(version, best.version) > 0)) best = { one, version }
  }
  return best?.one ?? null
}
