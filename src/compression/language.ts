/** Which language a text is in, by its most frequent small words. Pure. */
import type { Language } from "./packs/index.ts"

/** Characters of a text that are read. */
const readCharacters = 4_000
/** A text with fewer of a language's words is in no known language. */
const fewestWords = 2

const words: Readonly<Record<Exclude<Language, "ja">, ReadonlySet<string>>> = {
  "en": new Set("the and of to is that it for with this are you be on have not what how can please would in my i".split(" ")),
  "de": new Set("der die das und ist nicht ein eine ich mit für auf zu den von wie dass es bitte wir sie im auch".split(" ")),
  "es": new Set("el la los las de que y en un una por para con no es cómo qué se mi del al favor".split(" ")),
  "fr": new Set("le la les des et est une pour dans que qui je vous avec pas ce du au sur comment il s'il nous".split(" ")),
  "pt-BR": new Set("o os as de que e em um uma para com não é como do da no na por favor você eu meu".split(" "))
}
const kana = /[\u3040-\u30ff]/
const word = /[\p{L}']+/gu

/** Null where it cannot be said. */
export const languageOf = (text: string): Language | null => {
  const start = text.slice(0, readCharacters)
  if (kana.test(start)) return "ja"
  const found = start.toLowerCase().match(word) ?? []
  let best: Language | null = null
  let most = fewestWords - 1
  let second = 0
  for (const [language, small] of Object.entries(words) as ReadonlyArray<[Exclude<Language, "ja">, ReadonlySet<string>]>) {
    let count = 0
    for (const one of found) if (small.has(one)) count++
    if (count > most) [best, second, most] = [language, most, count]
    else if (count > second) second = count
  }
  return best !== null && most > second ? best : null
}
