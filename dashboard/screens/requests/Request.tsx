/** One request: what became of it, each attempt on a common clock, and where it would go now. */
import { Link, useParams } from "@tanstack/react-router"
import type { ReactNode } from "react"
import { useChange, useRead } from "../../api/query.ts"
import { count, duration, money } from "../../format/numbers.ts"
import { exact } from "../../format/time.ts"
import { Copy } from "../../parts/Copy.tsx"
import { Failure, Loaded } from "../../parts/Feedback.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Targets } from "../combos/Targets.tsx"
import { type CallLog, toneOf } from "./outcome.ts"

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

const Lanes = ({ attempts }: { readonly attempts: ReadonlyArray<CallLog> }) => {
  const start = Math.min(...attempts.map(({ timestamp }) => Date.parse(timestamp)))
  const end = Math.max(...attempts.map(({ duration: ms, timestamp }) => Date.parse(timestamp) + ms), start + 1)
  const share = (ms: number): string => `${Math.max(0, Math.min(100, ms / (end - start) * 100))}%`
  return (
    <ol aria-label="Attempts">
      {attempts.map((attempt) => {
        const from = Date.parse(attempt.timestamp) - start
        const isOk = attempt.outcome === "completed"
        return (
          <li key={attempt.id} className="lane">
            <div className="stack-tight">
              <Status tone={toneOf(attempt)} word={`${attempt.attempt}. ${nameOf(attempt)}`} />
              <span className="small muted wrap">{attempt.account ?? ""}{attempt.account === null ? "" : ", "}{attempt.outcome}{attempt.error === null ? "" : `: ${attempt.error}`}</span>
            </div>
            <div className="lane-track" aria-hidden="true">
              <span className={`lane-bar${isOk ? " ok" : ""}`} style={{ left: share(from), width: share(attempt.duration) }} />
              {attempt.ttft === null ? null : <span className="lane-first" style={{ left: share(from + attempt.ttft) }} />}
            </div>
            <span className="small number">{attempt.ttft === null ? "" : `first ${duration(attempt.ttft)}, `}{duration(attempt.duration)}</span>
          </li>
        )
      })}
    </ol>
  )
}

const Fact = ({ children, name }: { readonly name: string; readonly children: ReactNode }) => <><dt>{name}</dt><dd>{children}</dd></>

/** The plan of the same model as it is now: what blocks a target, and until when. */
const Now = ({ apiKeyId, model }: { readonly model: string; readonly apiKeyId: string | null }) => {
  const explain = useChange("POST /api/routing/explain", [])
  return (
    <Panel
      title="Where it would go now"
      actions={
        <button type="button" className="button button-small" disabled={explain.isPending} onClick={() => explain.mutate({ body: { model, ...(apiKeyId === null ? {} : { keyId: apiKeyId }) } })}>
          {explain.data === undefined ? "Find out" : "Find out again"}
        </button>
      }
    >
      <div className="panel-body">
        {explain.error === null ? null : <Failure what="No plan could be made" error={explain.error} />}
        {explain.data === undefined ? explain.error === null ? <p className="muted">Nothing is sent: the router answers as it would to this request now.</p> : null : <Targets plan={explain.data} />}
      </div>
    </Panel>
  )
}

const Decision = ({ requestId }: { readonly requestId: string }) => {
  const read = useRead("GET /api/routing/decisions/:requestId", { params: { requestId } })
  if (read.data === undefined) return null
  return (
    <details className="panel">
      <summary className="panel-head">The decision as it was kept</summary>
      <div className="panel-body"><pre className="well well-scroll" tabIndex={0} aria-label="Decision">{JSON.stringify(read.data.decision, null, 2)}</pre></div>
    </details>
  )
}

const Request = () => {
  const { id } = useParams({ from: "/requests/$id" })
  const read = useRead("GET /api/usage/call-logs/:id", { params: { id } })
  return (
    <Page title="Request" lead={<><Link to="/requests">Requests</Link> / <Copy value={id} most={40} /></>}>
      <Loaded read={read} what="This request" rows={6}>
        {(log) => (
          <div className="stack">
            <p className="wrap"><strong>{verdict(log.attempts)}</strong></p>
            <Panel title="Attempts"><Lanes attempts={log.attempts} /></Panel>
            <div className="columns">
              <Panel title="Facts">
                <div className="panel-body">
                  <dl className="pairs">
                    <Fact name="Time">{exact(log.timestamp)}</Fact>
                    <Fact name="Client got">{log.clientStatus ?? "–"}</Fact>
                    <Fact name="Asked for">{log.requestedModel}</Fact>
                    <Fact name="Path">{log.method} {log.path}</Fact>
                    <Fact name="Formats">{log.sourceFormat} → {log.targetFormat}</Fact>
                    <Fact name="Key">{log.apiKeyName ?? "none"}</Fact>
                    <Fact name="Combo">{log.comboName ?? "none"}</Fact>
                    <Fact name="Session">{log.session_tag ?? "none"}</Fact>
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
                </div>
              </Panel>
            </div>
            <p className="muted small">Prompts and answers are not kept by this gateway.</p>
            <Now model={log.requestedModel} apiKeyId={log.apiKeyId} />
            <Decision requestId={log.requestId} />
          </div>
        )}
      </Loaded>
    </Page>
  )
}

export default Request
