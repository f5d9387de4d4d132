/** What one request was: the same parts in the drawer and on its own page. */
import { Link } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { useRead } from "../../api/query.ts"
import type { Answer } from "../../api/contract.ts"
import { count, duration, money } from "../../format/numbers.ts"
import { exact } from "../../format/time.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Bodies } from "./bodies/Bodies.tsx"
import type { CallLog } from "./outcome.ts"
import { ThenNow } from "./ThenNow.tsx"
import { ghostsIn, waterfall } from "./waterfall.ts"
import { Waterfall } from "./Waterfall.tsx"

const nameOf = (log: CallLog): string => `${log.provider}/${log.model}`

/** "Answered by b/x after a/y: 429. 0.8 s were lost." */
export const verdict = (attempts: ReadonlyArray<CallLog>): string => {
  const won = attempts.find(({ outcome }) => outcome === "completed")
  const lost = attempts.filter((attempt) => attempt !== won && (won === undefined || attempt.attempt < won.attempt))
  const failures = lost.map((attempt) => `${nameOf(attempt)}: ${attempt.error ?? attempt.outcome} (${attempt.status})`).join(", ")
  if (won === undefined) return attempts.length === 0 ? "No provider was asked." : `Not answered. ${failures}.`
  if (lost.length === 0) return `Answered by ${nameOf(won)} at the first attempt.`
  const ms = Date.parse(won.timestamp) - Math.min(...lost.map(({ timestamp }) => Date.parse(timestamp)))
  return `Answered by ${nameOf(won)} after ${failures}. ${duration(Math.max(0, ms))} were lost.`
}

const Fact = ({ children, name }: { readonly name: string; readonly children: ReactNode }) => <><dt>{name}</dt><dd>{children}</dd></>

export const Details = ({ log }: { readonly log: Answer<"GET /api/usage/call-logs/:id"> }) => {
  const decision = useRead("GET /api/routing/decisions/:requestId", { params: { requestId: log.requestId } }).data?.decision
  const ghosts = ghostsIn(decision)
  return (
    <div className="stack">
      <p className="wrap"><strong>{verdict(log.attempts)}</strong></p>
      <Panel title="Waterfall"><Waterfall drawn={waterfall(log.attempts)} ghosts={ghosts} /></Panel>
      <div className="columns">
        <Panel title="Facts">
          <div className="panel-body">
            <dl className="pairs">
              <Fact name="Time">{exact(log.timestamp)}</Fact>
              <Fact name="Request"><Copy value={log.requestId} most={28} /></Fact>
              <Fact name="Client got">{log.clientStatus ?? "–"}</Fact>
              <Fact name="Asked for"><Link to="/requests" search={{ model: log.requestedModel }}>{log.requestedModel}</Link></Fact>
              <Fact name="Path">{log.method} {log.path}</Fact>
              <Fact name="Formats">{log.sourceFormat} → {log.targetFormat}</Fact>
              <Fact name="Key">{log.apiKeyId === null ? "none" : <Link to="/requests" search={{ key: log.apiKeyId, exact: "true" }}>{log.apiKeyName ?? log.apiKeyId}</Link>}</Fact>
              <Fact name="Combo">{log.comboName === null ? "none" : <Link to="/requests" search={{ combo: log.comboName, exact: "true" }}>{log.comboName}</Link>}</Fact>
              <Fact name="Session">{log.session_tag === null ? "none" : <Link to="/requests" search={{ search: log.session_tag }}>{log.session_tag}</Link>}</Fact>
            </dl>
          </div>
        </Panel>
        <Panel title="Cost">
          <div className="panel-body">
            <dl className="pairs">
              <Fact name="Cost"><span className="number">{money(log.attempts.reduce((sum, { cost }) => sum + cost, 0))}</span>{log.unpriced ? " (no price is known for some of it)" : log.estimated ? " (estimated)" : ""}</Fact>
              <Fact name="Tokens in">{count(log.tokensIn)}</Fact>
              <Fact name="Tokens out">{count(log.tokensOut)}</Fact>
              <Fact name="Of them thought">{count(log.tokensReasoning)}</Fact>
              <Fact name="Read from a cache">{count(log.tokensCacheRead)}</Fact>
              <Fact name="Written to a cache">{count(log.tokensCacheCreation)}</Fact>
            </dl>
            <p><Link to="/play" search={{ model: log.requestedModel }}>Ask the same model in the playground</Link></p>
          </div>
        </Panel>
      </div>
      <Bodies key={log.id} id={log.id} attempts={log.attempts} />
      <ThenNow log={log} attempts={log.attempts} ghosts={ghosts} />
      {decision === undefined ? null : (
        <details className="panel">
          <summary className="panel-head">The decision as it was kept</summary>
          <div className="panel-body"><pre className="well well-scroll" tabIndex={0} aria-label="Decision">{JSON.stringify(decision, null, 2)}</pre></div>
        </details>
      )}
    </div>
  )
}
