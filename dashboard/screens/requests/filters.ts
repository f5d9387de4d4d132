/** Choices of the filters. Pure but for the clock. */
import { type Asked, isRange, ranges, spanWord } from "../../format/ranges.ts"
import type { Choice } from "../../parts/Field.tsx"

const known: ReadonlyArray<Choice> = [
  { value: "", word: "Any" }, { value: "success", word: "Success" }, { value: "error", word: "Error" }, { value: "4xx", word: "4xx" }, { value: "5xx", word: "5xx" }, { value: "429", word: "429" }
]

/** With the one that is chosen, wherever it comes from. */
export const statuses = (chosen: string | undefined): ReadonlyArray<Choice> =>
  chosen === undefined || known.some(({ value }) => value === chosen) ? known : [...known, { value: chosen, word: chosen }]

const spans: ReadonlyArray<Choice> = [{ value: "", word: "Any" }, ...Object.entries(ranges).map(([value, { word }]) => ({ value, word }))]
const CHOSEN = "chosen"

export const rangeOf = ({ from, range, to }: Asked): string => from !== undefined || to !== undefined ? CHOSEN : isRange(range) ? range : ""

export const spansOf = (asked: Asked): ReadonlyArray<Choice> => rangeOf(asked) === CHOSEN ? [...spans, { value: CHOSEN, word: spanWord(asked) }] : spans

/** Keys belong to a field while somebody types in it. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select")) || document.querySelector("dialog[open]") !== null
