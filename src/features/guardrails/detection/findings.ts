/** What a detector finds in a text, and the text with it replaced. Pure. */

export interface Finding {
  /** Offset of its first character. */
  readonly start: number
  /** Offset behind its last character. */
  readonly end: number
  /** What it is, such as `email`. */
  readonly type: string
  /** What stands in its place. */
  readonly placeholder: string
  /** Set where more of the text may belong to it than there was to read. */
  readonly open?: Open
}

/** How a finding goes on behind the end of the text: while characters match, or up to the end of a block. */
export type Open = { readonly kind: "run"; readonly of: RegExp } | { readonly kind: "block"; readonly left: number }

/** By their starts, and of two that overlap the first one; of two with one start the longer one. */
export const ordered = (found: ReadonlyArray<Finding>): ReadonlyArray<Finding> => {
  if (found.length < 2) return found
  let last = 0
  return found.toSorted((a, b) => a.start - b.start || b.end - a.end).filter(({ end, start }) => {
    if (start < last) return false
    last = end
    return true
  })
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
