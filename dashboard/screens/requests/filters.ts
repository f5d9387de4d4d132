/** Choices of the filters. Pure but for the clock. */
import type { Choice } from "../../parts/Field.tsx"

const HOUR_MS = 3_600_000

const known: ReadonlyArray<Choice> = [
  { value: "", word: "Any" }, { value: "success", word: "Success" }, { value: "error", word: "Error" }, { value: "4xx", word: "4xx" }, { value: "5xx", word: "5xx" }, { value: "429", word: "429" }
]

/** With the one that is chosen, wherever it comes from. */
export const statuses = (chosen: string | undefined): ReadonlyArray<Choice> =>
  chosen === undefined || known.some(({ value }) => value === chosen) ? known : [...known, { value: chosen, word: chosen }]

const spans: ReadonlyArray<Choice> = [
  { value: "", word: "Any" }, { value: String(HOUR_MS / 4), word: "Last 15 min" }, { value: String(HOUR_MS), word: "Last hour" }, { value: String(24 * HOUR_MS), word: "Last 24 h" }, { value: String(168 * HOUR_MS), word: "Last 7 days" }
]
const CHOSEN = "chosen"

export const rangeOf = (from: string | undefined, to: string | undefined): string => from === undefined && to === undefined ? "" : CHOSEN

export const ranges = (from: string | undefined, to: string | undefined): ReadonlyArray<Choice> => {
  if (from === undefined && to === undefined) return spans
  const short = (iso: string | undefined, none: string): string => iso === undefined || Number.isNaN(Date.parse(iso)) ? none : new Date(iso).toLocaleString("en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false })
  return [...spans, { value: CHOSEN, word: `${short(from, "…")} to ${short(to, "now")}` }]
}

/** Keys belong to a field while somebody types in it. */
export const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches("input, textarea, select")) || document.querySelector("dialog[open]") !== null
