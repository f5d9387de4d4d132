/** What asks a model for short answers, beside the instructions of a conversation. Pure. */
import type { Intensity, OutputMode } from "#schemas/words/Compression.ts"

const asked: Readonly<Record<Intensity, string>> = {
  lite: "Answer briefly, in whole sentences: no greetings, praise, fillers, hedging, repetition of the question or offers at the end.",
  full: "Answer tersely: short sentences or fragments, no articles, greetings, praise, fillers, hedging, repetition of the question or offers at the end.",
  ultra: "Answer as tersely as you can: fragments, no articles, usual abbreviations, arrows for causes, one word where one will do; no greetings, fillers, hedging or offers."
}
const exact = "Keep code, commands, paths, URLs, numbers, names and error messages exact, files and commit messages whole, and the language of the user."
const clear = "Say in full, clear sentences: warnings about security, steps that cannot be undone, orders of several steps, and anything that the user seems to misunderstand."

export const wordsOf = (intensity: Intensity, { autoClarity }: Pick<OutputMode, "autoClarity">): string => [asked[intensity], exact, ...autoClarity ? [clear] : []].join(" ")
