/**
 * A short form of an older message, made without a model: sentences that open a paragraph, hold something that stays, or say what is not,
 * must or was decided. The others go, and a line says so. Applied to its own text it changes nothing. English alone. Pure, in linear time.
 */
import { languageOf } from "#src/compression/language.ts"
import * as Masking from "#src/compression/masking.ts"

/** Characters of one token. */
export const perToken = 4
const marker = "[Sentences of this older message are left out.]"
const never = (): boolean => false
const placeholder = /[\uE000-\uE001]/
const weighty = /\b(?:not|never|no|none|nothing|cannot|can't|don't|doesn't|won't|isn't|aren't|wasn't|didn't|only|unless|except|without|must|should|need|needs|because|instead|however|but|decid\w*|decision|agree\w*|chose\w*|important\w*|careful\w*|error\w*|fail\w*|wrong|broken|fix\w*|todo|next|remain\w*|conclu\w*|result\w*)\b|[?!:]/i
const listItem = /^\s*(?:[-*+•]|\d+[.)])\s/
const sentences = /(?<=[.!?…])[ \t]+/

/** `most`: characters beyond which opening sentences go, too. */
export const of = (text: string, most: number): string => {
  if (languageOf(text) !== "en") return text
  const masked = Masking.mask(text, never)
  if (masked === null) return text
  let opens = true
  let used = 0
  let gone = false
  const lines = masked.text.split("\n").flatMap((line) => {
    if (line.trim() === "") {
      opens = true
      return [line]
    }
    if (line === marker) return [line]
    const item = listItem.test(line)
    const all = line.split(sentences)
    const kept = all.filter((sentence, i) => {
      const first = i === 0 && (opens || item)
      const stays = placeholder.test(sentence) || weighty.test(sentence) || (first && used <= most)
      if (stays) used += sentence.length
      return stays
    })
    opens = false
    if (kept.length === all.length) return [line]
    gone = true
    return kept.length === 0 ? [] : [kept.join(" ")]
  })
  if (!gone) return text
  const said = Masking.unmask(lines.join("\n").replace(/\n{3,}/g, "\n\n").trimEnd(), masked.kept)
  const whole = said.endsWith(marker) ? said : `${said}\n${marker}`
  return whole.length < text.length ? whole : text
}
