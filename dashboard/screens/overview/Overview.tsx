/** Is all well: what needs somebody, and what goes through right now. */
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import { useRead } from "../../api/query.ts"
import { count } from "../../format/numbers.ts"
import { Bars } from "../../parts/Bars.tsx"
import { Empty, Failure, Skeleton } from "../../parts/Feedback.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Button } from "../../parts/Button.tsx"
import { Ribbon } from "./Ribbon.tsx"
import { Tiles } from "./Tiles.tsx"
import { useMatters } from "./useMatters.ts"

const FAST_MS = 3_000
const SLOW_MS = 10_000
const MINUTES = 10
/** Matters that have room without scrolling. */
const FEW = 3

const Overview = () => {
  const { connections, ledger, list, reads } = useMatters(FAST_MS, SLOW_MS)
  const history = useRead("GET /api/usage/history", {}, { everyMs: FAST_MS })
  const broken = reads.find(({ error }) => error !== null)?.error ?? null
  const pending = reads.some(({ data, error }) => data === undefined && error === null)
  const [isOpen, setOpen] = useState(false)
  const isNew = connections.data?.connections.length === 0
  const minutes = history.data?.last10Minutes ?? []
  return (
    <Page title="Overview" lead="What needs somebody, and what goes through.">
      <Panel
        title="Attention"
        actions={pending ? null : (
          <span className="row">
            <span className="muted small">{list.length === 0 ? "nothing" : list.length}</span>
            {list.length > FEW ? <Button kind="small" style={{ marginBlock: "-.3rem" }} aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>{isOpen ? "Show fewer" : "Show all"}</Button> : null}
          </span>
        )}
      >
        <Failure what="Not everything could be looked at; what stands here is older" error={broken} retry={() => reads.forEach(({ refetch }) => void refetch())} inPanel />
        {/* Its place is kept while the list is on its way, and a long list scrolls in it: nothing below moves. */}
        <div className={isOpen || list.length === 0 ? "reserved" : "reserved reserved-box"}>
          {pending ? <Skeleton rows={2} /> : list.length === 0 ? broken === null ? isNew ? (
            <Empty icon="welcome" title="No provider is connected yet" action={<Link to="/welcome" className="button button-primary">First steps</Link>}>The built-in simulator already answers. Stream from it, add a key, and connect your programs.</Empty>
          ) : <Empty icon="check" title="All is well">No connection is broken, no breaker is open, no budget is near its end, and the ledger is complete.</Empty> : null : (
            <ul className="list">
              {isNew ? <li className="attention"><Status tone="info" word="Begin" /><Link to="/welcome">First steps</Link><span className="small">no provider is connected yet</span></li> : null}
              {list.map((matter) => (
                <li key={matter.id} className="attention">
                  <Status tone={matter.tone} word={matter.word} />
                  <div className="stack-tight">
                    <Link to={matter.to} className="wrap">{matter.what}</Link>
                    <span className="small muted wrap">{matter.why}{matter.since === null ? null : <>, <Ago at={matter.since} /></>}</span>
                  </div>
                  <span className="small">{matter.until === null ? matter.heals ? "is tried again" : "needs you" : <>heals in <Countdown until={matter.until} /></>}</span>
                </li>
              ))}
            </ul>
          )}
        </div>
      </Panel>
      <Tiles />
      <Ribbon />
      <div className="columns">
        <Panel title="Requests per minute">
          <div className="panel-body">
            {minutes.length === 0 ? <p className="muted">Nothing in the last ten minutes.</p> : (
              <Bars label="Attempts per minute" first={`${MINUTES} min ago`} last="now" shown={count} bars={minutes.map(({ requests }, index) => ({ word: `${minutes.length - index} min ago`, value: requests }))} />
            )}
          </div>
        </Panel>
        <Panel title="Ledger" actions={<Link to="/usage" className="small">Usage &amp; cost</Link>}>
          <div className="panel-body">
            {ledger.data === undefined ? <Skeleton rows={3} /> : (
              <dl className="pairs">
                <dt>Complete</dt>
                <dd>{ledger.data.gap === 0 ? <Status tone="ok" word="gap 0" /> : <Status tone="bad" word={`gap ${count(ledger.data.gap)}`} />}</dd>
                <dt>Started</dt><dd className="number">{count(ledger.data.started)}</dd>
                <dt>Settled</dt><dd className="number">{count(ledger.data.settled)}</dd>
                <dt>Running</dt><dd className="number">{count(ledger.data.live)}</dd>
                <dt>On the way to the database</dt><dd className="number">{count(ledger.data.journaled)}</dd>
              </dl>
            )}
          </div>
        </Panel>
      </div>
    </Page>
  )
}

export default Overview
