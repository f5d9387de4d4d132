/** The decision as it was, beside what the router would do with the same request now. Nothing is sent. */
import { useCallback, useEffect } from "react"
import { useChange } from "../../api/query.ts"
import { keysAct } from "../../app/privacy.ts"
import { duration } from "../../format/numbers.ts"
import { exact } from "../../format/time.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Button } from "../../parts/Button.tsx"
import { Targets } from "../combos/Targets.tsx"
import { type CallLog, toneOf } from "./outcome.ts"
import { isTyping } from "./filters.ts"
import type { Ghost } from "./waterfall.ts"

export const ThenNow = ({ attempts, ghosts, log }: { readonly log: CallLog; readonly attempts: ReadonlyArray<CallLog>; readonly ghosts: ReadonlyArray<Ghost> }) => {
  const explain = useChange("POST /api/routing/explain", [])
  const { mutate } = explain
  const { apiKeyId, requestedModel: model } = log
  const find = useCallback(() => mutate({ body: { model, ...(apiKeyId === null ? {} : { keyId: apiKeyId }) } }), [apiKeyId, model, mutate])
  useEffect(() => {
    const press = (event: KeyboardEvent): void => {
      if (event.key === "d" && !event.metaKey && !event.ctrlKey && !event.altKey && keysAct() && !isTyping(event.target)) find()
    }
    window.addEventListener("keydown", press)
    return () => window.removeEventListener("keydown", press)
  }, [find])
  return (
    <Panel
      title="Then and now"
      actions={
        <Button kind="small" disabled={explain.isPending} title="d" onClick={find}>
          {explain.data === undefined ? "Find out" : "Find out again"}
        </Button>
      }
    >
      <div className="panel-body columns">
        <section aria-label="Then" className="stack-tight">
          <h3>Then, {exact(log.timestamp)}</h3>
          <ol className="stack-tight">
            {attempts.map((attempt) => <li key={attempt.id} className="row wrap"><Status tone={toneOf(attempt)} word={`${attempt.provider}/${attempt.model}`} /><span className="small muted">{attempt.error ?? attempt.outcome}, {duration(attempt.duration)}</span></li>)}
            {ghosts.map((ghost) => <li key={ghost.name + ghost.reason} className="row wrap"><Status tone="skip" word={ghost.name} /><span className="small">{ghost.reason}</span></li>)}
          </ol>
        </section>
        <section aria-label="Now" className="stack-tight">
          <h3>Now</h3>
          <Failure what="No plan could be made" error={explain.error} />
          {explain.data === undefined ? explain.error === null ? <p className="muted">Nothing is sent: the router answers as it would to this request now.</p> : null : <Targets plan={explain.data} />}
        </section>
      </div>
    </Panel>
  )
}
