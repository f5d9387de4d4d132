/** The words of a text, as they are compared: in small letters; scripts without spaces as pairs of characters. Pure. */

const runs = /[\p{L}\p{N}]+/gu
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u

const pairsOf = (run: string): ReadonlyArray<string> => {
  const characters = [...run]
  return characters.length < 2 ? characters : characters.slice(1).map((character, i) => `${characters[i]}${character}`)
}

export const wordsOf = (text: string): ReadonlyArray<string> =>
  (text.normalize("NFKC").toLowerCase().match(runs) ?? []).flatMap((run) => unspaced.test(run) ? pairsOf(run) : run)
