/** What became of a request: who answered, what it cost, and where the router went. */
import { useQuery } from "@tanstack/react-query"
import { Link } from "@tanstack/react-router"
import { call } from "../../api/call.ts"
import { count, duration, money } from "../../format/numbers.ts"
import { Skeleton } from "../../parts/Feedback.tsx"
import { Status } from "../../parts/Status.tsx"
import { toneOf } from "../requests/outcome.ts"

/** A row is in the ledger a moment after the stream's end. */
const TRIES = 25
const BETWEEN_MS = 300

export const useCallLog = (requestId: string | null) => useQuery({
  queryKey: ["GET /api/usage/call-logs/:id", requestId],
  queryFn: ({ signal }) => call("GET /api/usage/call-logs/:id", { params: { id: requestId ?? "" }, signal }),
  enabled: requestId !== null,
  retry: TRIES,
  retryDelay: BETWEEN_MS
})

export const Outcome = ({ requestId }: { readonly requestId: string }) => {
  const { data, isError } = useCallLog(requestId)
  if (isError) return <p className="muted small">No attempt of this request is in the ledger: it was refused before any provider was asked.</p>
  if (data === undefined) return <Skeleton rows={2} />
  return (
    <div className="stack">
      <dl className="pairs">
        <dt>Answered by</dt>
        <dd>{data.provider}/{data.model}{data.account === null ? "" : `, ${data.account}`}</dd>
        <dt>Cost</dt>
        <dd className="number">{money(data.cost)}{data.unpriced ? " (no price is known)" : data.estimated ? " (estimated)" : ""}</dd>
        <dt>Tokens</dt>
        <dd className="number">{count(data.tokensIn)} in, {count(data.tokensOut)} out</dd>
        <dt>Decision</dt>
        <dd>
          <ol className="stack-tight">
            {data.attempts.map((attempt) => (
              <li key={attempt.id} className="row"><Status tone={toneOf(attempt)} word={`${attempt.attempt}. ${attempt.provider}/${attempt.model}`} /><span className="muted small">{attempt.outcome}, {duration(attempt.duration)}</span></li>
            ))}
          </ol>
        </dd>
      </dl>
      <p><Link to="/requests/$id" params={{ id: requestId }}>Open the request</Link></p>
    </div>
  )
}
