/** When does it heal: all that blocks on one clock, and who is asked meanwhile. */
import { useId, useState } from "react"
import { useChange, useRead } from "../../api/query.ts"
import { useSkew } from "../../api/clock.ts"
import { Empty, Failure, Skeleton } from "../../parts/Feedback.tsx"
import { TextField } from "../../parts/Field.tsx"
import { useNow } from "../../parts/now.ts"
import { Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import { Form } from "../../parts/edit/Form.tsx"
import { Button } from "../../parts/Button.tsx"
import { Targets } from "../combos/Targets.tsx"
import { healingOf, placeOf } from "./healing.ts"

const EVERY_MS = 2_000
const SLOW_MS = 10_000

const Meanwhile = ({ asked, onAsk }: { readonly asked: string; readonly onAsk: (model: string) => void }) => {
  const combos = useRead("GET /api/combos")
  const explain = useChange("POST /api/routing/explain", [])
  const [sent, setSent] = useState<string | null>(null)
  const list = useId()
  const ask = (model: string): void => {
    setSent(model)
    explain.mutate({ body: { model } })
  }
  return (
    <Form aria-label="Who is asked meanwhile" onSubmit={() => ask(asked.trim())}>
      <div className="filters">
        <TextField className="field-wide" label="Model or combo" value={asked} onChange={onAsk} list={list} required />
        <datalist id={list}>{combos.data?.combos.map(({ name }) => <option key={name} value={name}>{name}</option>)}</datalist>
        <Button type="submit" disabled={explain.isPending || asked.trim() === ""}>Who is asked now?</Button>
      </div>
      <p className="small muted">Nothing is sent: the router answers as it would to a request now.</p>
      <Failure what="No plan could be made" error={explain.error} />
      {explain.data === undefined ? null : <section aria-label={`Asked for ${sent ?? ""}`}><Targets plan={explain.data} /></section>}
    </Form>
  )
}

export const Healing = () => {
  const now = useNow()
  const skew = useSkew()
  const [asked, setAsked] = useState("")
  const resilience = useRead("GET /api/resilience", {}, { everyMs: EVERY_MS })
  const lockouts = useRead("GET /api/resilience/model-cooldowns", {}, { everyMs: EVERY_MS })
  const places = useRead("GET /api/rate-limits", {}, { everyMs: EVERY_MS })
  const budgets = useRead("GET /api/usage/budget", {}, { everyMs: SLOW_MS })
  const quotas = useRead("GET /api/usage/quota", {}, { everyMs: SLOW_MS })
  const leases = useRead("GET /api/leases", {}, { everyMs: SLOW_MS })
  const reads = [resilience, lockouts, places, budgets, quotas, leases]
  const failed = reads.find(({ isError }) => isError)
  const rows = healingOf({ resilience: resilience.data, readAt: resilience.dataUpdatedAt + skew, lockouts: lockouts.data, places: places.data, budgets: budgets.data, quotas: quotas.data, leases: leases.data }, now)
  const last = rows.at(-1)?.until ?? now
  return (
    <Panel title="When does it heal?">
      {failed === undefined || failed.error === null ? null : (
        <div className="panel-body">
          <Failure what="Not everything could be read" error={failed.error} retry={() => reads.forEach(({ refetch }) => void refetch())} />
          {failed.dataUpdatedAt === 0 ? null : <p className="small muted">A part is as of <Ago at={new Date(failed.dataUpdatedAt + skew).toISOString()} />.</p>}
        </div>
      )}
      {reads.some(({ data, isError }) => data === undefined && !isError) ? <Skeleton rows={3} /> : rows.length === 0 ? failed === undefined ? <Empty icon="check" title="Nothing blocks">No breaker is open, no model is locked out, no connection rests, no budget or quota is used up, and nothing is leased.</Empty> : null : (
        <ol className="list healing" aria-label="What blocks, and until when">
          {rows.map((row) => (
            <li key={row.id} className="heal">
              <Status tone="info" word={row.kind} />
              <div className="stack-tight">
                <span className="wrap">{row.what}</span>
                <span className="small muted wrap">{row.why}</span>
                <span className="heal-track" aria-hidden="true"><span style={{ width: `${placeOf(row.until, now, last) * 100}%` }} /></span>
              </div>
              <span className="row">
                <Countdown until={new Date(row.until).toISOString()} />
                {row.model === null ? null : <Button kind="small" onClick={() => setAsked(row.model ?? "")} aria-label={`Take ${row.what} as the model below`}>Who meanwhile?</Button>}
              </span>
            </li>
          ))}
        </ol>
      )}
      <Meanwhile asked={asked} onAsk={setAsked} />
    </Panel>
  )
}
