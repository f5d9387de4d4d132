/** How much the answers of a debate agree: the Jaccard similarity of their words. Pure. */

/** Words as they are compared: letters and digits of any script, lower case. */
export const wordsOf = (text: string): ReadonlySet<string> => new Set(text.normalize("NFKC").toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [])

/** Shared words over all words, 0 to 1; two texts without words are the same. */
export const jaccard = (a: ReadonlySet<string>, b: ReadonlySet<string>): number => {
  const [small, large] = a.size <= b.size ? [a, b] : [b, a]
  if (large.size === 0) return 1
  let shared = 0
  for (const word of small) if (large.has(word)) shared++
  return shared / (a.size + b.size - shared)
}

/** The similarity of the two texts that differ most: a panel agrees when all members agree. One text agrees with itself. */
export const agreement = (texts: ReadonlyArray<string>): number => {
  const words = texts.map(wordsOf)
  let lowest = 1
  for (const [i, one] of words.entries()) {
    for (const other of words.slice(i + 1)) lowest = Math.min(lowest, jaccard(one, other))
  }
  return lowest
}
