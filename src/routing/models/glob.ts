/** Whole-string globs of operators: `*` any characters, `?` exactly one, letter case ignored. */

const QUESTION = 63

/**
 * Compiles a glob. No regular expression is built from the pattern, and no star is tried twice: between two stars the
 * leftmost place is taken, so a match costs at most text length times the longest part.
 */
export const compileGlob = (pattern: string): (text: string) => boolean => {
  const parts = pattern.toLowerCase().split("*")
  const first = parts[0] ?? ""
  if (parts.length === 1) return (text) => text.length === first.length && matchesAt(text.toLowerCase(), first, 0)
  const last = parts[parts.length - 1] ?? ""
  const middle = parts.slice(1, -1).filter((part) => part !== "")
  return (input) => {
    const text = input.toLowerCase()
    const end = text.length - last.length
    if (end < first.length || !matchesAt(text, first, 0) || !matchesAt(text, last, end)) return false
    let at = first.length
    for (const part of middle) {
      at = indexOfPart(text, part, at, end)
      if (at < 0) return false
      at += part.length
    }
    return true
  }
}

const matchesAt = (text: string, part: string, at: number): boolean => {
  for (let i = 0; i < part.length; i++) {
    const code = part.charCodeAt(i)
    if (code !== QUESTION && code !== text.charCodeAt(at + i)) return false
  }
  return true
}

const indexOfPart = (text: string, part: string, from: number, end: number): number => {
  for (let at = from; at + part.length <= end; at++) if (matchesAt(text, part, at)) return at
  return -1
}
