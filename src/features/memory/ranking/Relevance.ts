/**
 * How much texts have to do with a question, by the words that they share: Okapi BM25 (Robertson and Zaragoza, "The Probabilistic
 * Relevance Framework: BM25 and Beyond", 2009). Words that few texts have count more, and repeats in a long text less. Pure.
 */
import { wordsOf } from "./words.ts"

/** How soon repeats of a word stop to count, and how much long texts are at a disadvantage: the usual values. */
const K1 = 1.2
const B = 0.75

interface Posting {
  readonly text: number
  readonly count: number
}

export class Relevance {
  readonly #postings = new Map<string, Array<Posting>>()
  readonly #lengths: ReadonlyArray<number>
  readonly #average: number

  constructor(texts: ReadonlyArray<string>) {
    this.#lengths = texts.map((said, text) => {
      const words = wordsOf(said)
      const counts = new Map<string, number>()
      for (const word of words) counts.set(word, (counts.get(word) ?? 0) + 1)
      for (const [word, count] of counts) {
        const known = this.#postings.get(word)
        if (known === undefined) this.#postings.set(word, [{ text, count }])
        else known.push({ text, count })
      }
      return words.length
    })
    this.#average = this.#lengths.reduce((sum, length) => sum + length, 0) / Math.max(1, texts.length) || 1
  }

  /** The score of each text by its place; a text that shares no word with the question has none. */
  scores(question: string): ReadonlyMap<number, number> {
    const scores = new Map<number, number>()
    const total = this.#lengths.length
    for (const word of new Set(wordsOf(question))) {
      const postings = this.#postings.get(word)
      if (postings === undefined) continue
      const rarity = Math.log(1 + (total - postings.length + 0.5) / (postings.length + 0.5))
      for (const { count, text } of postings) {
        const share = 1 - B + B * (this.#lengths[text] ?? 0) / this.#average
        scores.set(text, (scores.get(text) ?? 0) + rarity * count * (K1 + 1) / (count + K1 * share))
      }
    }
    return scores
  }
}
