/** What goes through, in figures; each opens what it is made of. */
import { Link } from "@tanstack/react-router"
import { useRead } from "../../api/query.ts"
import { count, duration, percent, tokens, total as sum, unknown } from "../../format/numbers.ts"
import { beginOf } from "../../format/ranges.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { useNow } from "../../parts/now.ts"

const FAST_MS = 3_000
const SLOW_MS = 10_000
const MINUTE_MS = 60_000
const MINUTE_S = 60

const perSecond = (value: number | undefined): string => value === undefined ? unknown : value === 0 ? "0" : value >= 10 ? count(value) : value.toFixed(2)

export const Tiles = () => {
  const minute = Math.floor(useNow() / MINUTE_MS) * MINUTE_MS
  const history = useRead("GET /api/usage/history", {}, { everyMs: FAST_MS })
  const hour = useRead("GET /api/usage/trend", { query: { from: beginOf("1h", minute), bucket: "hour" } }, { everyMs: SLOW_MS })
  const cache = useRead("GET /api/cache/stats", {}, { everyMs: SLOW_MS })
  const total = hour.data?.total
  const last = history.data?.last10Minutes.at(-1)
  const inFlight = history.data?.activeRequests.reduce((sum, row) => sum + row.count, 0)
  const known = total === undefined ? 0 : total.successes + total.failures
  const failed = [history, hour, cache].find(({ isError }) => isError)
  return (
    <>
      <Failure what="Not all figures could be read; what stands here is older" error={failed?.error} retry={() => [history, hour, cache].forEach(({ refetch }) => void refetch())} />
      <dl className={failed === undefined ? "tiles" : "tiles stale"} aria-label="What goes through">
        <div className="tile"><dt><Link to="/requests">In flight</Link></dt><dd>{count(inFlight)}</dd><dd className="unit">calls now</dd></div>
        <div className="tile"><dt><Link to="/requests" search={{ range: "15m" }}>Calls</Link></dt><dd title={last === undefined ? undefined : `${last.requests} in the last minute`}>{perSecond(last === undefined ? undefined : last.requests / MINUTE_S)}</dd><dd className="unit">a second, last minute</dd></div>
        <div className="tile"><dt><Link to="/requests" search={{ range: "1h", status: "error" }}>Errors</Link></dt><dd title={total === undefined ? undefined : `${total.failures} of ${known}`}>{known === 0 ? unknown : percent((total?.failures ?? 0) / known)}</dd><dd className="unit">of calls, last hour</dd></div>
        <div className="tile"><dt><Link to="/usage" search={{ range: "1h", metric: "first" }}>First token</Link></dt><dd>{duration(total?.firstTokenMs?.p50)}</dd><dd className="unit">p50; p99 {duration(total?.firstTokenMs?.p99)}</dd></div>
        <div className="tile"><dt><Link to="/usage" search={{ range: "1h" }}>Own time</Link></dt><dd>{duration(total?.ownMs?.p50)}</dd><dd className="unit">gateway's p50, of {duration(total?.latencyMs?.p50)}</dd></div>
        <div className="tile"><dt><Link to="/usage" search={{ range: "1h", metric: "tokens" }}>Tokens</Link></dt><dd>{perSecond(last === undefined ? undefined : (last.promptTokens + last.completionTokens) / MINUTE_S)}</dd><dd className="unit">a second; {tokens(total === undefined ? undefined : total.promptTokens + total.completionTokens)} last hour</dd></div>
        <div className="tile"><dt><Link to="/usage" search={{ range: "1h" }}>Cost</Link></dt><dd title={total === undefined ? undefined : `$${total.cost}`}>{sum(total?.cost)}</dd><dd className="unit">last hour</dd></div>
        <div className="tile"><dt><Link to="/cache">Cache hits</Link></dt><dd>{cache.data?.semanticCache.hitRate ?? unknown}</dd><dd className="unit">this node, since its start</dd></div>
      </dl>
    </>
  )
}
