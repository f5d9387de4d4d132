/**
 * Ids that could have been meant, by the letter pairs they share: an inverted index, so that a wrong id costs
 * microseconds however many ids there are.
 */

const NEAR_MATCHES_MAX = 3
/** Two ids are near when they share at least this part of their letter pairs (Dice coefficient). */
const NEAR_SCORE_MIN = 0.45
/** Characters of an id that are looked at. */
const READ_MAX = 256

const pairsOf = (id: string): ReadonlySet<string> => {
  const text = id.slice(0, READ_MAX).toLowerCase().replaceAll(/[^a-z0-9]+/g, "")
  const pairs = new Set<string>()
  for (let i = 0; i + 1 < text.length; i++) pairs.add(text.slice(i, i + 2))
  return pairs
}

/** Indexes the ids that may be offered; the answer holds up to three of them, the nearest first. */
export const makeNearMatches = (ids: ReadonlyArray<string>): (id: string) => ReadonlyArray<string> => {
  const byPair = new Map<string, Array<number>>()
  const sizes = ids.map((id, index) => {
    const pairs = pairsOf(id)
    for (const pair of pairs) {
      const posted = byPair.get(pair)
      if (posted === undefined) byPair.set(pair, [index])
      else posted.push(index)
    }
    return pairs.size
  })
  return (id) => {
    const pairs = pairsOf(id)
    const shared = new Map<number, number>()
    for (const pair of pairs) {
      for (const index of byPair.get(pair) ?? []) shared.set(index, (shared.get(index) ?? 0) + 1)
    }
    return [...shared]
      .map(([index, count]) => ({ id: ids[index] ?? "", score: 2 * count / (pairs.size + (sizes[index] ?? 0)) }))
      .filter(({ score }) => score >= NEAR_SCORE_MIN)
      .toSorted((a, b) => b.score - a.score || (a.id < b.id ? -1 : 1))
      .slice(0, NEAR_MATCHES_MAX)
      .map((match) => match.id)
  }
}
