/** What is typed over a stored record. While nothing is typed it follows the record: another operator's change, or one that was taken back. */
import { useState } from "react"

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b)

/** `stored`: of a query, whose answers are the same object while they say the same. */
export const useDraft = <S, D>(stored: S, draftOf: (stored: S) => D): readonly [draft: D, set: (draft: D) => void] => {
  const [held, setHeld] = useState(() => ({ base: stored, draft: draftOf(stored) }))
  const draft = held.base !== stored && isSame(held.draft, draftOf(held.base)) ? draftOf(stored) : held.draft
  if (held.base !== stored) setHeld({ base: stored, draft })
  return [draft, (next) => setHeld({ base: stored, draft: next })]
}
