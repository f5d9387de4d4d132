/** Whether sums are whole: the ledger counts what began, what ended and what runs, and says what is missing. */
import { useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Status } from "../../parts/Status.tsx"

const EVERY_MS = 10_000

export const Complete = () => {
  const { data } = useRead("GET /api/usage/reconciliation", {}, { everyMs: EVERY_MS })
  if (data === undefined) return null
  const sum = `${count(data.started)} calls began = ${count(data.settled)} settled + ${count(data.live)} running`
  return data.gap === 0
    ? <span><Status tone="ok" word="Complete: gap 0" title={sum} /> <span className="small muted number">{sum}</span></span>
    : <span><Status tone="bad" word={`Incomplete: gap ${count(data.gap)}`} title={sum} /> <span className="small">What is spent may be more than what is shown.</span></span>
}
