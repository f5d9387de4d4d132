/** What a detector finds in a text, and the text with it replaced. Pure. */
import { isWordCharacter } from "./characters.ts"

export interface Finding {
  /** Offset of its first character. */
  readonly start: number
  /** Offset behind its last character. */
  readonly end: number
  /** What it is, such as `email`. */
  readonly type: string
  /** What stands in its place. */
  readonly placeholder: string
  /** It may as well begin later, but before this offset; absent: it begins where it does. */
  readonly core?: number
  /** Set where more of the text may belong to it than there was to read. */
  readonly open?: Open
}

/** How a finding goes on behind the end of the text: while characters match, or up to the end of a block. */
export type Open = { readonly kind: "run"; readonly of: RegExp } | { readonly kind: "block"; readonly left: number }

/** What is left of it behind an offset: the same, less, or null for nothing. */
export const behind = <F extends Finding>(finding: F, offset: number, text: string): F | null => {
  if (finding.start >= offset) return finding
  let start = offset
  while (finding.core !== undefined && start < finding.core && !isWordCharacter(text.charCodeAt(start))) start++
  return finding.core !== undefined && start < finding.core ? { ...finding, start } : null
}

/** By their starts, and of two that overlap the first one; of two with one start the longer one. */
export const ordered = <F extends Finding>(found: ReadonlyArray<F>, text: string): ReadonlyArray<F> => {
  if (found.length < 2) return found
  const kept: Array<F> = []
  let last = 0
  for (const finding of found.toSorted((a, b) => a.start - b.start || b.end - a.end)) {
    const left = behind(finding, last, text)
    if (left === null) continue
    kept.push(left)
    last = left.end
  }
  return kept
}

/** The text with the findings replaced; they are ordered. */
export const masked = (text: string, findings: ReadonlyArray<Finding>): string => {
  if (findings.length === 0) return text
  let out = ""
  let at = 0
  for (const { end, placeholder, start } of findings) {
    out += text.slice(at, start) + placeholder
    at = end
  }
  return out + text.slice(at)
}
