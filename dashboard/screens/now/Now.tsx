/** For three in the morning, on a phone: what is broken, since when, what heals by itself, and three acts that make nothing worse. */
import { Link } from "@tanstack/react-router"
import { useChange } from "../../api/query.ts"
import { count, counted } from "../../format/numbers.ts"
import { Failure } from "../../parts/Feedback.tsx"
import { Page, Panel } from "../../parts/Page.tsx"
import { Status } from "../../parts/Status.tsx"
import { Ago, Countdown } from "../../parts/Time.tsx"
import type { Matter } from "../overview/attention.ts"
import { useMatters } from "../overview/useMatters.ts"
import { Button } from "../../parts/Button.tsx"

const EVERY_MS = 5_000

const Row = ({ matter }: { readonly matter: Matter }) => (
  <li className="stack-tight">
    <p><Status tone={matter.tone} word={matter.word} /> <Link to={matter.to} className="row-link wrap">{matter.what}</Link></p>
    <p className="small wrap">{matter.why}</p>
    <p className="small muted">
      {matter.since === null ? null : <>since <Ago at={matter.since} />; </>}
      {matter.heals ? matter.until === null ? "heals by itself" : <>heals by itself in <Countdown until={matter.until} /></> : "needs somebody"}
    </p>
  </li>
)

const List = ({ empty, rows, title }: { readonly title: string; readonly empty: string; readonly rows: ReadonlyArray<Matter> }) => (
  <Panel title={title}>{rows.length === 0 ? <p className="panel-body"><Status tone="ok" word={empty} /></p> : <ul className="list">{rows.map((matter) => <Row key={matter.id} matter={matter} />)}</ul>}</Panel>
)

const Now = () => {
  const { list: found, reads } = useMatters(EVERY_MS, EVERY_MS)
  const missing = reads.filter(({ data }) => data === undefined)
  const failed = reads.find(({ isError }) => isError)
  const touches = ["GET /api/providers", "GET /api/resilience", "GET /api/resilience/model-cooldowns"] as const
  const test = useChange("POST /api/providers/test-batch", touches, undefined, { said: ({ summary }) => `${count(summary.passed)} of ${count(summary.total)} connections work.`, isRecord: false })
  const close = useChange("POST /api/resilience/reset", touches, undefined, { said: ({ resetCount }) => `${counted(resetCount, "breaker is", "breakers are")} closed; those of providers that still fail open again.`, isRecord: false })
  const clear = useChange("DELETE /api/resilience/model-cooldowns", touches, undefined, { said: ({ cleared }) => `${counted(cleared, "lockout is", "lockouts are")} ended.`, isRecord: false })
  const broken = found.filter(({ heals }) => !heals)
  const error = test.error ?? close.error ?? clear.error
  return (
    <Page title="Now">
      <p role="status">
        {missing.length === reads.length ? <Status tone="info" word="Asking" /> : failed !== undefined ? <Status tone="warn" word="Not everything could be read" />
          : missing.length > 0 ? <Status tone="info" word="Asking" /> : broken.length > 0 ? <Status tone="bad" word={`${count(broken.length)} ${broken.length === 1 ? "matter needs" : "matters need"} somebody`} />
          : found.length > 0 ? <Status tone="warn" word="Something rests; it heals by itself" /> : <Status tone="ok" word="All is well. Go back to sleep." />}
      </p>
      <Failure what="Something could not be read" error={failed?.error} retry={() => reads.forEach(({ refetch }) => void refetch())} />
      {missing.length === reads.length ? null : (
        <>
          <List title="Needs somebody" empty="Nothing" rows={broken} />
          <List title="Heals by itself" empty="Nothing rests" rows={found.filter(({ heals }) => heals)} />
          <Panel title="Three safe acts">
            <div className="panel-body">
              <Button disabled={test.isPending} onClick={() => test.mutate({ body: { mode: "all" } })}>{test.isPending ? "Testing" : "Test every connection"}</Button>
              <Button disabled={close.isPending} onClick={() => close.mutate({ body: {} })}>Close the breakers</Button>
              <Button disabled={clear.isPending} onClick={() => clear.mutate({ body: { all: true } })}>End the lockouts</Button>
              <p className="small muted">None of them changes the configuration: what still fails rests again.</p>
              <Failure what="It was not done" error={error} />
            </div>
          </Panel>
        </>
      )}
    </Page>
  )
}

export default Now
